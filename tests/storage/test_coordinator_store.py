"""What a coordinator keeps: nothing is lost or doubled where several processes save at once, on SQLite and on
PostgreSQL.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blindlabel.errors import InputError, OutsideError
from blindlabel.protocol import messages
from blindlabel.protocol.facts import StudyState, new_state, with_owner
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.shape import blob_of
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.study_parties import naming, small_agreement

AGREEMENT = small_agreement()
STUDY = AGREEMENT.hash
BODY = blob_of(b"labels")


@pytest.fixture
def stores(tmp_path: Path, database: str | None) -> Iterator[list[CoordinatorStore]]:
    """Four stores over one database and folder, as four processes have them, with one study."""
    made = [CoordinatorStore(tmp_path / "coordinator", database) for _ in range(4)]
    assert made[0].create(
        "persons", "the text", new_state(AGREEMENT, {"anna": "ab" * 32, "berta": "cd" * 32}, "ef" * 32)
    )
    yield made
    for store in made:
        store.database.close()


def _at_once(jobs: list[Callable[[], object]]) -> list[object]:
    """Run jobs in threads that start together; their results."""
    start = threading.Barrier(len(jobs))
    results: list[object] = [None] * len(jobs)

    def run(number: int, job: Callable[[], object]) -> None:
        start.wait()
        results[number] = job()

    threads = [threading.Thread(target=run, args=(number, job)) for number, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def _message(number: int) -> Signed:
    return naming(BODY, STUDY, "anna", number)


def _send_one(store: CoordinatorStore) -> int:
    """Send the next message to anna, as `Coordinator._apply` does; how often another process was faster."""
    for lost in range(10_000):
        loaded = store.load(STUDY)
        assert loaded is not None
        number = loaded.state.owners["anna"].sent + 1
        state = with_owner(loaded.state, "anna", sent=number)
        if store.save(loaded, state, outgoing=[_message(number)]):
            return lost
    raise AssertionError("never came through")


def test_messages_of_several_processes_get_every_number_once(stores: list[CoordinatorStore]) -> None:
    def five(store: CoordinatorStore) -> Callable[[], object]:
        return lambda: [_send_one(store) for _ in range(5)]

    _at_once([five(store) for store in stores])
    found = [messages.parse(wire).message.sequence for wire in stores[0].outgoing(STUDY, "anna", 0)]
    assert found == list(range(1, 21))
    size = sum(len(wire) + BODY.length for wire in stores[0].outgoing(STUDY, "anna", 0))
    assert stores[1].traffic(STUDY) == [("anna", "truth", 20, size)]
    assert stores[2].fetchable(STUDY, "anna", BODY.hash) == BODY
    assert stores[3].fetchable(STUDY, "berta", BODY.hash) is None


def test_state_that_is_not_the_newest_is_not_saved(stores: list[CoordinatorStore]) -> None:
    first, second = stores[0].load(STUDY), stores[1].load(STUDY)
    assert first is not None and second is not None
    assert stores[0].save(first, with_owner(first.state, "anna", sent=1), outgoing=[_message(1)])
    assert not stores[1].save(second, with_owner(second.state, "berta", sent=1), outgoing=[_message(2)])
    assert len(stores[2].outgoing(STUDY, "anna", 0)) == 1
    now = stores[3].load(STUDY)
    assert now is not None and now.state.owners["berta"].sent == 0


def test_study_is_made_by_one_process_only(stores: list[CoordinatorStore]) -> None:
    other = small_agreement()
    state = new_state(other, {"anna": "ab" * 32, "berta": "cd" * 32}, "ef" * 32)
    wrote: list[int] = []

    def make(number: int, store: CoordinatorStore) -> Callable[[], object]:
        return lambda: store.create("persons", "text", state, lambda: wrote.append(number))

    made = _at_once([make(number, store) for number, store in enumerate(stores)])
    assert sorted(map(bool, made)) == [False, False, False, True]
    assert wrote == [made.index(True)]


def test_deleted_study_takes_everything_with_it_while_others_write(stores: list[CoordinatorStore]) -> None:
    over = threading.Event()

    def write(store: CoordinatorStore) -> Callable[[], object]:
        def go() -> bool:
            while not over.is_set():
                loaded = store.load(STUDY)
                if loaded is not None:
                    number = loaded.state.owners["anna"].sent + 1
                    store.save(loaded, with_owner(loaded.state, "anna", sent=number), outgoing=[_message(number)])
            return True

        return go

    def delete() -> None:
        time.sleep(0.2)
        stores[3].delete(STUDY)
        over.set()

    assert _at_once([write(store) for store in stores[:3]] + [delete])[:3] == [True] * 3
    assert (
        stores[0].load(STUDY) is None and stores[0].outgoing(STUDY, "anna", 0) == [] and stores[0].traffic(STUDY) == []
    )


def test_body_that_a_message_names_again_is_not_removed_under_it(stores: list[CoordinatorStore]) -> None:
    bodies = stores[0].bodies(STUDY)
    old, kept = bodies.write([b"old"]), bodies.write([b"kept"])
    loaded = stores[1].load(STUDY)
    assert loaded is not None
    stores[0].remove_bodies(STUDY, lambda _: [old])
    assert not bodies.has(old) and bodies.has(kept)
    assert not stores[1].save(loaded, with_owner(loaded.state, "anna", sent=1)), (
        "who looked before the removal has to look again"
    )


def test_bodies_of_a_study_that_is_gone_are_swept(stores: list[CoordinatorStore]) -> None:
    here = stores[0].bodies(STUDY).write([b"needed"])
    stores[0].bodies("ef" * 32).write([b"left by a process that was at work when the study was deleted"])
    stores[1].remove_orphans()
    assert stores[0].bodies(STUDY).has(here)
    assert not (stores[0].home / "bodies" / ("ef" * 32)).exists()


def test_process_with_another_folder_is_refused(tmp_path: Path, postgres_database: str) -> None:
    CoordinatorStore(tmp_path / "one", postgres_database).database.close()
    with pytest.raises(InputError, match="whose folder is not"):
        CoordinatorStore(tmp_path / "two", postgres_database)
    assert not (tmp_path / "two" / "coordinator.id").exists()
    CoordinatorStore(tmp_path / "one", postgres_database).database.close()


def test_first_processes_of_a_coordinator_agree_on_its_folder(tmp_path: Path, database: str | None) -> None:
    stores = _at_once([lambda: CoordinatorStore(tmp_path / "fresh", database)] * 4)
    for store in stores:
        assert isinstance(store, CoordinatorStore)
        store.database.close()


def test_database_that_does_not_answer_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="The database failed"):
        CoordinatorStore(tmp_path / "coordinator", f"postgresql://nobody@/none?host={tmp_path}")


def test_state_of_a_large_study_comes_back_as_it_was(stores: list[CoordinatorStore]) -> None:
    loaded = stores[0].load(STUDY)
    assert loaded is not None
    state: StudyState = loaded.state.model_copy(
        update={"samples": {"anna": tuple(range(5000)), "berta": tuple(range(0, 10**9, 200_000))}}
    )
    assert stores[0].save(loaded, state)
    now = stores[1].load(STUDY)
    assert now is not None and now.state == state
