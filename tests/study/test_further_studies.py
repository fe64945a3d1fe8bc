"""Studies with what is not the default: enriched sampling, files of questions, passphrases, the packed engine over a
folder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from blindlabel.errors import InputError
from blindlabel.export.truth import truths_of_coordinator, truths_of_owner
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import TableOptions, join, own_table
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import FolderQuestions, QuestionSource
from blindlabel.parties.study import standing
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.secret_files import PASSPHRASE_VARIABLE, read_secret
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.patience import PATIENCE, Patience
from support.study_parties import (
    clear_labels,
    confirm_all,
    joined,
    over_http,
    play,
    served,
    small_agreement,
    told,
    write_person_tables,
)


def test_enriched_study_draws_partners_and_labels_right(tmp_path: Path) -> None:
    agreement = small_agreement(sampling={"method": "enriched", "records": 10, "blocking": ["surname", "given_name"]})
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    with served(coordinator) as address:
        workspaces = joined(
            tmp_path, coordinator.create(to_text(agreement), address), write_person_tables(tmp_path, rows=60)
        )
        play(workspaces, over_http(address))
    assert np.array_equal(workspaces[0].labels()["berta"], told(clear_labels(*workspaces)))
    assert {row.kind for row in standing(coordinator, agreement.hash).traffic} >= {
        "offered",
        "blinded",
        "picked",
        "sampled",
        "truth",
    }


def test_owner_and_coordinator_export_the_same_truth(tmp_path: Path) -> None:
    agreement = small_agreement()
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    with served(coordinator) as address:
        workspaces = joined(tmp_path, coordinator.create(to_text(agreement), address), write_person_tables(tmp_path))
        play(workspaces, over_http(address))
    of_anna, of_berta = truths_of_owner(workspaces[0])["berta"], truths_of_owner(workspaces[1])["anna"]
    of_coordinator = truths_of_coordinator(coordinator, agreement.hash)[("anna", "berta")]
    unsaid = {(pair.i, pair.j, pair.label, 0) for pair in of_coordinator.pairs}  # rounds of single pairs go to nobody
    for truth in (of_anna, of_berta):
        assert {(pair.i, pair.j, pair.label, pair.round) for pair in truth.pairs} == unsaid
    assert (of_anna.dataset_a, of_anna.dataset_b) == ("anna", "berta")
    assert of_anna.ids_a is not None
    assert of_anna.ids_b is None
    assert of_berta.ids_a is None
    assert of_berta.ids_b is not None
    assert of_coordinator.ids_a is None


def silent(_: str) -> None:
    """Whoever needs not be told."""


def run_until_round(owners: list[OwnerParty], round: int, source: QuestionSource | None = None) -> None:
    """Take turns until everybody is in this round; words are compared on the way."""
    patience = Patience()
    while any(owner.store.state().round < round for owner in owners):
        for owner in owners:
            run(owner, source, once=True, tell=silent)
        confirm_all(owners)
        patience.check()


def test_questions_from_files_need_one_for_every_record(tmp_path: Path) -> None:
    agreement = small_agreement(records=3)
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    questions = tmp_path / "questions"
    (questions / "round-2").mkdir(parents=True)
    with served(coordinator) as address:
        workspaces = joined(
            tmp_path, coordinator.create(to_text(agreement), address), write_person_tables(tmp_path, rows=3)
        )
        owners = [OwnerParty(workspace, over_http(address)(workspace)) for workspace in workspaces]
        run_until_round(owners, 1)
        with pytest.raises(InputError, match=r"no question for 3 of them: (.*\(row [123]\)){3}"):
            run(owners[0], FolderQuestions(questions), once=True, tell=silent)
        for record in range(3):
            (questions / f"{record}.question").write_text('ret is_in("##", $r)')
        (questions / "0.question").write_text('ret !is_in("##", $r)')  # which the other side's others deny
        (questions / "1.question").write_text('ret is_in("e" $r)')
        with pytest.raises(InputError, match=r"1\.question cannot be used"):
            run(owners[0], FolderQuestions(questions), once=True, tell=silent)
        (questions / "1.question").write_text('ret is_in("##", $r)')
        for owner in owners:  # round 1 is asked; in round 2 nothing of it is asked again by itself
            run(owner, FolderQuestions(questions), once=True, tell=silent)
        with pytest.raises(InputError, match="The questions of earlier rounds are not asked again by themselves"):
            run_until_round(owners, 2, FolderQuestions(questions))
        for number in (2, 3):
            (questions / f"round-{number}").mkdir(exist_ok=True)
            for record in range(3):
                (questions / f"round-{number}" / f"{record}.question").write_text('ret is_in("##", $r)')
        for owner in owners:
            owner.line.close()
        play(workspaces, over_http(address), FolderQuestions(questions))
    assert np.array_equal(workspaces[0].labels()["berta"], told(clear_labels(*workspaces)))


def test_keys_under_a_passphrase_serve_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "correct horse")
    agreement = small_agreement(records=3)
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator", passphrase="correct horse"))
    coordinator.create(to_text(agreement))
    coordinator.work(agreement.hash)
    for path in (tmp_path / "coordinator" / "keys").rglob("*.key"):
        assert path.read_bytes().startswith(b"blindlabel secret 1 passphrase")
        with pytest.raises(InputError, match="does not open"):
            read_secret(path, "wrong")


def test_nothing_is_encrypted_before_the_words_are_confirmed(tmp_path: Path) -> None:
    agreement = small_agreement(records=3)
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    with served(coordinator) as address:
        workspaces = joined(
            tmp_path, coordinator.create(to_text(agreement), address), write_person_tables(tmp_path, rows=3)
        )
        owners = [OwnerParty(workspace, over_http(address)(workspace)) for workspace in workspaces]
        said: list[str] = []
        patience = Patience()
        while not said or "verification words" not in said[-1]:
            for owner in owners:
                run(owner, None, once=True, tell=said.append)
            patience.check()
        with pytest.raises(InputError, match="compared the verification words"):
            owners[0].rounds.serve("berta", 1)
        assert workspaces[0].state().rounds == ()
        assert coordinator.load(agreement.hash).state.samples == {}
        for owner in owners:
            owner.line.close()


def test_table_that_does_not_fit_is_refused_when_joining(tmp_path: Path) -> None:
    agreement = small_agreement(encoding={"engine": "plain", "record_length": 20})
    invitation = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator")).create(to_text(agreement))[0]
    table = write_person_tables(tmp_path)[0]
    with pytest.raises(InputError, match="8 rows are too long"):
        join(Workspace.create(tmp_path / "w"), invitation, TableOptions(table))
    assert not (tmp_path / "w").exists()


CHANGES: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "sorted": (lambda rows: [rows[0], *reversed(rows[1:])], "another order"),
    "shorter": (lambda rows: rows[:-1], "had 8 rows when you joined, and has 7 now"),
    "other value": (lambda rows: [*rows[:-1], rows[-1].replace(",", ",Q", 1)], "values of [a-z_]+ have changed"),
    "other id": (lambda rows: [*rows[:-1], "Q" + rows[-1]], "ids are not those"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_table_that_changed_since_joining_is_refused_with_what_changed(tmp_path: Path, change: str) -> None:
    """Rows are named by position, so a table sorted anew would give labels of other records without a word."""
    invitation = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator")).create(to_text(small_agreement()))[0]
    table = write_person_tables(tmp_path)[0]
    workspace = join(Workspace.create(tmp_path / "w"), invitation, TableOptions(table))
    own_table(workspace)
    changed, sentence = CHANGES[change]
    table.write_text("\n".join(changed(table.read_text("utf-8").splitlines())) + "\n", "utf-8")
    with pytest.raises(InputError, match=sentence):
        own_table(workspace)


@pytest.mark.slow
def test_packed_engine_over_a_shared_folder(tmp_path: Path) -> None:
    encoding = {"engine": "packed", "record_length": 160, "attributes": False, "functions": ["is_in", "is_empty"]}
    agreement = small_agreement(records=3, encoding=encoding, rounds=1)
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    workspaces = joined(tmp_path, coordinator.create(to_text(agreement)), write_person_tables(tmp_path, rows=3))
    folder = tmp_path / "shared"
    folder.mkdir()
    server, over = FolderServer(coordinator, folder), threading.Event()

    def serve() -> None:
        while not over.is_set():
            if not server.turn():
                time.sleep(0.02)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        play(workspaces, lambda w: FolderTransport(folder, letters_of(w), w.name))
    finally:
        over.set()
        thread.join(PATIENCE)
    assert np.array_equal(workspaces[0].labels()["berta"], told(clear_labels(*workspaces)))
