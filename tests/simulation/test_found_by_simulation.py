"""What simulation and load found, each kept by name so that it does not come back."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from random import Random
from unittest.mock import patch

import httpcore
import pytest

from blindlabel.errors import OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import signed_by
from blindlabel.parties.owner import OwnerParty
from blindlabel.parties.owner import run as take_turns
from blindlabel.parties.questions import open_tasks
from blindlabel.protocol import facts, messages, next_steps
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.letters import LARGEST_LETTER
from blindlabel.protocol.messages import Message
from blindlabel.protocol.refusals import Forked, NotFitting, TwoLives, WrongRound
from blindlabel.protocol.standing import Known
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.files import BodyFiles
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel_lab.simulation.faults import Weather
from blindlabel_lab.simulation.judging import judged
from blindlabel_lab.simulation.parties import Mortality
from blindlabel_lab.simulation.places import InMemory
from blindlabel_lab.simulation.plan import Plan
from blindlabel_lab.simulation.schedule import run
from blindlabel_lab.simulation.study import Study
from blindlabel_lab.simulation.wire import Pipe, Wire
from support.study_parties import confirm_all, joined, small_agreement, write_person_tables


@pytest.mark.parametrize("seed", [2, 9, 37, 45, 50, 69, 84, 1787, 1790, 2426, 20101, 40000119, 40000975])
def test_seeds_that_once_failed(seed: int) -> None:
    assert run(seed).violations == ()


@pytest.mark.parametrize("seed", [41000012, 41000170, 41000227, 41000502])
def test_coordinator_that_is_restored_again_and_again_ends_nobodys_process(seed: int) -> None:
    """ "There is no such body for this owner" ended `owner run`; that the coordinator had forgotten messages was said
    after it had them again.
    """
    assert run(seed, rates={"backup of coordinator": 0.15, "stopped": 0.1, "crash": 0.01}).violations == ()


def test_what_is_forgotten_is_no_longer_said_once_others_have_brought_it_back(tmp_path: Path) -> None:
    """The coordinator knew it again, and named anna and clara until each of them asked again."""
    assert run(40002401, tmp_path, way="http").violations == ()


def test_who_has_to_send_a_body_again_that_no_backup_has_can_do_something(tmp_path: Path) -> None:
    """Clara said that anna or berta had to finish the round; the judge did not see that one of them could."""
    assert run(40002060, tmp_path).violations == ()


def test_lists_that_a_restored_coordinator_needs_again_are_taken_from_the_folder_once_more(tmp_path: Path) -> None:
    """Without its outcomes it needs the lists, whose files it had taken in: it waited for them for ever."""
    assert run(40004022, tmp_path, way="folder").violations == ()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_line_that_changes_bytes_ends_nobodys_run(seed: int, tmp_path: Path) -> None:
    """A proxy that changed a byte ended `owner run`, or let it say that the coordinator had been restored."""
    verdict = run(seed, tmp_path, rates={"damage": 0.2}, way="http")
    assert verdict.violations == () and verdict.faults["damage"] > 5


ROUND = messages.Round(
    open={"berta": messages.Open(own=(), others=(0,))},
    repeats=False,
    loose=(),
    aside={},
    kept=(),
    others_loose={},
    tallies={},
)


def founded(seed: int, owners: int = 2) -> Study:
    """A study without faults, in memory."""
    plan = Plan(seed, {}, owners=owners)
    weather = Weather(plan.random, {})
    return Study(plan, InMemory(), weather, Mortality(weather))


def sent_by(study: Study, name: str) -> list[str]:
    """The kinds of an owner's messages so far."""
    store = study.owners[name].store
    return [messages.parse(wire).message.kind for _, wire in (*store.sent(), *store.unsent())]


def quiet(seed: int, owners: int = 2, until: int = 1) -> Study:
    """A study without faults that has reached a round."""
    study = founded(seed, owners)
    while study.coordinator.known().round < until:
        for name in study.owners:
            if study.coordinator.known().round < until:
                study.act(name)
        study.work()
    return study


def test_coordinator_restored_to_before_the_sample_does_not_go_on_with_another_sample() -> None:
    """It would draw new rows, and owners that keep the old ones would get labels at the wrong rows."""
    for seed in range(8):
        study = founded(seed)
        while not study.coordinator.known().samples:
            study.place.back_up("coordinator")
            study.owners["anna"].turn(), study.owners["berta"].turn(), study.work()
        study.owners["anna"].turn(), study.owners["berta"].turn()
        study.place.restore("coordinator")
        study.restart_coordinator()
        study.weather.counts["backup of coordinator"] += 1
        assert study.calm()
        same = all(
            study.owners[name].store.state().sample.positions == study.coordinator.known().samples[name]  # type: ignore[union-attr]
            for name in study.owners
        )
        assert study.forked or same


def test_second_join_in_another_round_is_refused() -> None:
    """Its slot was another, so an owner could change its table's size and keys after joining."""
    study = quiet(5)
    join = next(
        messages.parse(wire).message for wire in study.network.carried if messages.parse(wire).message.kind == "join"
    )
    again = Message(join.study, join.sender, join.receiver, 3, 9, join.body, join.previous)
    with pytest.raises(WrongRound):
        study.coordinator.receive(messages.sign(again, study.network.signers[join.sender]).wire)


def test_round_that_asks_nothing_of_an_owner_needs_nobody_there(tmp_path: Path) -> None:
    """With three owners one can be through while the others are not; it had no question to hand in and the study waited
    for it.
    """
    state = owner.OwnerState(
        study="0" * 64,
        name="anna",
        coordinator_key="0" * 128,
        sample=messages.Sample(positions=(), others={"berta": 1}),
    )
    agreement = small_agreement()
    message = Message("0" * 64, "coordinator", "anna", 1, 1, ROUND)
    assert owner._HANDLERS["round"](agreement, state, message, ROUND).rounds[0].handed_in


def test_study_closed_before_the_sample_is_over_for_its_owners() -> None:
    study = founded(1)
    study.owners["anna"].turn(), study.owners["berta"].turn(), study.work()
    study.coordinator.close()
    study.owners["anna"].turn(), study.owners["berta"].turn()
    assert all(one.is_over() for one in study.owners.values())


def test_owner_with_answers_under_way_hears_that_the_study_was_closed() -> None:
    study = quiet(3)
    anna = study.owners["anna"]
    while not anna.work() or "answers" not in sent_by(study, "anna"):
        study.owners["berta"].turn(), study.work(), anna.fetch(), anna.send()
    study.coordinator.close()
    anna.turn()
    assert anna.is_over()


def test_full_disk_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = BodyFiles(tmp_path / "bodies")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OutsideError, match="No space left"):
        bodies.write([b"x"])


def started(folder: Path) -> tuple[CoordinatorParty, FolderServer, list[OwnerParty], Path]:
    """A study over a folder; the owners' workspaces lie beside it under their names."""
    agreement = small_agreement()
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    workspaces = joined(folder, coordinator.create(to_text(agreement)), write_person_tables(folder))
    shared = folder / "shared"
    shared.mkdir()
    owners = [
        OwnerParty(workspace, FolderTransport(shared, letters_of(workspace), workspace.name))
        for workspace in workspaces
    ]
    return coordinator, FolderServer(coordinator, shared), owners, shared


def test_owner_restored_from_a_backup_is_heard_over_the_folder(tmp_path: Path) -> None:
    """Its messages had the numbers, and so the file names, of its earlier life, and were not written; and where the
    coordinator had the earlier ones, the owner stopped at their refusal for ever."""
    coordinator, server, owners, shared = started(tmp_path)
    for _ in range(2):
        for one in owners:
            one.send()
        server.turn()
        for one in owners:
            one.fetch(0)
        confirm_all(owners)
    folder = tmp_path / "anna"
    store = Workspace.open(folder)
    owners[0] = OwnerParty(store, owners[0].line)
    shutil.copytree(folder, tmp_path / "backup")
    assert owners[0].work(), "the records are encrypted and sent"
    server.turn()
    store.database.close()
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)
    reopened = OwnerParty(Workspace.open(folder), owners[0].line)
    assert reopened.work(), "encrypted again, differently"
    letters = letters_of(reopened.store)
    sent = shared.glob("*/from-anna/*.message")
    records = [path for path in sent if b'"kind":"records"' in letters.open(path.read_bytes())]
    assert len(records) == 2 and len({path.name[:6] for path in records}) == 1
    server.turn()
    assert list(shared.glob("*/to-anna/refused-*.txt")), "the coordinator has the first ones"
    reopened.fetch(0)
    assert "berta>anna" in coordinator.load(reopened.agreement.hash).state.rounds[-1].records


def test_file_damaged_on_its_way_is_taken_in_when_it_comes_again(tmp_path: Path) -> None:
    coordinator, server, owners, shared = started(tmp_path)
    owners[0].send()
    path = next(shared.glob("*/from-anna/*.message"))
    good = path.read_bytes()
    path.write_bytes(good[:-20] + b"x" * 20)
    server.turn()
    path.write_bytes(good)
    owners[0].fetch(0)  # the refusal of the damaged copy is not the owner's business
    server.turn()
    assert coordinator.load(owners[0].agreement.hash).state.owners["anna"].join


def test_huge_file_in_the_folder_stops_nobody(tmp_path: Path) -> None:
    coordinator, server, owners, shared = started(tmp_path)
    for one in owners:
        one.send()
    with next(shared.glob("*/from-anna/*.message")).with_name("000099-00000000.message").open("wb") as file:
        file.truncate(LARGEST_LETTER + 1)
    server.turn()
    assert all(known.join for known in coordinator.load(owners[0].agreement.hash).state.owners.values())


def test_fork_of_the_coordinators_history_is_noticed_by_number_and_by_chain() -> None:
    study = quiet(4)
    anna = study.owners["anna"].store.state()
    sign = partial(signed_by, study.coordinator.party._identity(anna.study))
    other = Message(anna.study, "coordinator", "anna", 0, anna.received, messages.Keys(peers=()))
    follower = Message(anna.study, "coordinator", "anna", 2, anna.received + 1, ROUND, "f" * 64)
    for message in (other, follower):
        with pytest.raises(Forked):
            owner.handle(study.plan.agreement, anna, sign(message))


def test_one_study_that_fails_does_not_stop_the_others_in_the_folder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A study that could not be served ended the turn for all studies that came after; then it wrote five lines of
    error a second, and `serve --once` said that all was done.
    """
    broken = small_agreement(name="broken")
    invitations = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator")).create(to_text(broken))
    _, server, owners, shared = started(tmp_path)
    server._clock = lambda: 0.0  # however long the others take, it is too early to try again
    for workspace in joined(tmp_path / "broken", invitations, write_person_tables(tmp_path / "broken")):
        OwnerParty(workspace, FolderTransport(shared, letters_of(workspace), workspace.name)).send()
    shutil.rmtree(tmp_path / "coordinator" / "keys" / broken.hash)  # it cannot sign
    for one in owners:
        one.send()
    server.turn()
    for one in owners:
        assert one.fetch(0), "the good study went on"
    with pytest.raises(OutsideError, match="Not everything could be done"):
        server.serve(once=True)
    assert [json.loads(record.getMessage())["event"] for record in caplog.records] == ["work failed"], "not yet again"


def test_database_that_fails_does_not_end_the_folders_server(tmp_path: Path) -> None:
    coordinator, server, _, _ = started(tmp_path)
    with patch.object(coordinator.store, "studies", side_effect=OutsideError("The database failed: disk I/O error.")):
        assert not server.turn() and server.fails
        with pytest.raises(OutsideError, match="Run it again"):
            server.serve(once=True)


def test_everybody_restored_at_once_hears_that_the_coordinator_has_to_be_restored() -> None:
    """Seed 73311175 of the campaign in memory: owners that are back before they served their records, but after those
    of the others came, serve them anew; the coordinator has forgotten what these messages follow, so nobody can bring
    it forward. It was called stuck, and `owner run` said only that some messages wait."""
    study = quiet(73, owners=3)
    while any(one.store.state().round < 1 for one in study.owners.values()):
        for one in study.owners.values():
            one.fetch()
    for party in (*study.owners, "coordinator"):
        study.place.back_up(party)
        study._open(party)
    for name in study.owners:
        study.act(name)
    assert all("records" in sent_by(study, name) for name in study.owners)
    later = study.place.studies()
    for name in study.owners:
        assert study.place.restore(name)
        study.restart(name)
        with pytest.raises(TwoLives):
            study.owners[name].fetch()
    study.world.now += 60.0  # a second life speaks once the first is silent
    for name in study.owners:
        assert study.owners[name].fetch() and "records" not in sent_by(study, name)
    assert study.place.restore("coordinator")
    study.weather.counts["backup of coordinator"] += 1
    study.restart_coordinator()
    assert not study.calm()
    assert study.behind() == set(study.owners) and judged(study, finished=False) == []
    for one in study.owners.values():
        said: list[str] = []
        assert one.store.unsent() and not take_turns(one.owner, None, once=True, tell=said.append)
        assert "restore a newer backup" in said[-1]
    later.begin_life()
    study.coordinator.party.store = later
    later.begin_life()  # it is started again with the newer one
    for one in study.owners.values():
        one.turn()
        assert not one.owner.is_ahead
    assert study.calm() and judged(study, finished=True) == []


def test_owner_at_work_notices_that_the_coordinator_was_restored() -> None:
    """It noticed only when it was started again, and waited for others until then."""
    study = quiet(4)
    study.place.back_up("coordinator")
    study.restart_coordinator()
    anna = study.owners["anna"]
    study.owners["berta"].turn()
    assert anna.fetch() and study.behind() == set()
    study.place.restore("coordinator")
    study.restart_coordinator()
    anna.fetch()
    assert study.behind() == {"anna"} and "restored" in anna.owner.next_steps()[0].sentence
    study.weather.counts["backup of coordinator"] += 1
    assert study.calm() and judged(study, finished=True) == []


def test_answers_about_records_of_an_earlier_life_are_refused_and_not_opened() -> None:
    """Nobody else notices: with the plain engine any key opens them."""
    study = quiet(6)
    study.owners["anna"].fetch()
    study.place.back_up("anna")
    study.act("anna"), study.act("berta")
    assert "answers" in sent_by(study, "berta") and study.place.restore("anna")
    study.restart("anna")
    with pytest.raises(TwoLives):
        study.owners["anna"].fetch()
    study.world.now += 60.0
    study.act("anna")
    assert "refused" in sent_by(study, "anna") and "opened" not in sent_by(study, "anna")
    assert study.calm() and judged(study, finished=True) == []


def test_message_is_not_taken_in_before_its_body() -> None:
    study = quiet(6)
    anna = study.owners["anna"]
    lost = patch.object(study.network, "put_body")
    lost.start()
    anna.owner.fetch(0.0)
    anna.work()
    assert any(messages.parse(wire).message.kind == "records" for _, wire in anna.store.unsent()), "it waits"
    assert not study.coordinator.known().rounds[-1].records
    lost.stop()
    assert anna.send() and study.coordinator.known().rounds[-1].records
    assert study.calm() and judged(study, finished=True) == []


def introduced(seed: int) -> Study:
    """A study whose owners have each other's keys and have confirmed nobody."""
    study = founded(seed)
    for one in study.owners.values():
        one.send()
    for one in study.owners.values():
        assert one.fetch() and one.store.state().keys
    return study


def test_confirmation_of_another_key_than_the_one_that_joined_is_refused() -> None:
    study = introduced(1)
    anna = study.owners["anna"].store.state()
    confirm = messages.Confirm(peer="berta", envelope_key="ab" * 32)
    wrong = Message(anna.study, "anna", "coordinator", 0, anna.sent + 1, confirm, owner.latest(anna))
    with pytest.raises(NotFitting):
        study.coordinator.receive(messages.sign(wrong, study.network.signers["anna"]).wire)


def test_owner_does_not_even_block_before_everybody_is_confirmed() -> None:
    seed = next(seed for seed in range(50) if Plan(seed, {}, owners=2).agreement.sampling.method == "enriched")
    study = introduced(seed)
    for one in study.owners.values():
        assert owner.work(study.plan.agreement, one.store.state()) == []


def test_message_that_did_not_get_through_waits_in_the_outbox() -> None:
    """Not only until the next start, when everything of the round is handed over again."""
    study = founded(2)
    anna = study.owners["anna"]
    with patch.object(study.network, "post", side_effect=Unreachable("lost")), pytest.raises(Unreachable):
        anna.send()
    assert [number for number, _ in anna.store.unsent()] == [1] and anna.store.sent() == []


def test_bodies_of_a_round_that_goes_on_are_needed() -> None:
    study = quiet(6)
    study.owners["anna"].turn()
    assert study.coordinator.known().rounds[-1].bodies and facts.spent_bodies(study.coordinator.known()) == set()


def test_labels_are_not_removed_because_an_owner_names_them_too() -> None:
    """It could name any body as its records of a round."""
    study = quiet(6)
    assert study.calm()
    state = study.coordinator.known()
    named = [*state.labels.values(), *state.released.values()]
    for one in named:
        records = {way: sent.model_copy(update={"blob": one.blob}) for way, sent in state.rounds[0].records.items()}
        rounds = (state.rounds[0].model_copy(update={"records": records}), *state.rounds[1:])
        assert records and one.blob not in facts.spent_bodies(state.model_copy(update={"rounds": rounds}))


def test_round_of_three_owners_is_not_void_where_nothing_goes_wrong() -> None:
    """Each asker has a key of its own; serving one must not cost another its answers."""
    study = quiet(8, owners=3)
    assert study.calm() and judged(study, finished=True) == []
    assert not any(one.void for one in study.coordinator.known().rounds)


@pytest.mark.parametrize(
    "request_", [b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nhalf", b"GET /v1"]
)
def test_request_whose_end_never_comes_is_given_up(tmp_path: Path, request_: bytes) -> None:
    """Damage to the length of a body: the server waits for the rest, and the simulated client waited for ever."""
    wire = Wire(lambda: CoordinatorParty(CoordinatorStore(tmp_path)), Weather(Random(1), {}))
    with wire.open():
        pipe = Pipe(wire)
        pipe.feed(request_)
        with pytest.raises(httpcore.ReadTimeout):
            pipe.answer()
        wire.arrives(request_)


def test_a_turn_in_which_only_a_crash_happened_is_not_a_study_that_is_stuck(tmp_path: Path) -> None:
    """The coordinator died while nobody else had anything to do, and was judged at once."""
    assert run(90001, tmp_path, rates={}, crash_at=541, owners=2).violations == ()


def test_owner_that_cannot_take_in_what_waits_looks_again_after_a_pause_only() -> None:
    """An owner restored to before it compared words polled as fast as it could: messages came at once, every time."""
    study = introduced(5)
    anna = study.owners["anna"]
    study.place.back_up("anna")
    study.act("anna"), study.act("berta"), study.act("anna")
    assert study.place.restore("anna")
    study.restart("anna")
    anna = study.owners["anna"]
    with pytest.raises(TwoLives):
        anna.fetch()
    study.world.now += 60.0
    with study.world.instead():
        assert study.coordinator.outgoing("anna", anna.store.state().received), "the sample waits for its person"
        before = study.world.now
        assert not anna.owner.fetch(8.0) and study.world.now >= before + 8.0
        assert [step.what for step in anna.owner.next_steps()] == ["verify"]


def test_sampled_rows_that_could_not_be_stored_are_the_machines_business() -> None:
    """A full disk between the sample and its rows: the person was told to write questions, and there was no record."""
    study = quiet(6)
    anna = study.owners["anna"]
    with patch.object(anna.store, "store_records", side_effect=OutsideError("The disk is full.")):
        with pytest.raises(OutsideError):
            anna.fetch()
        assert anna.store.state().rounds and not open_tasks(anna.store)
        assert [(step.who, step.what) for step in anna.owner.next_steps()] == [("machine", "keep")]
    anna.owner.work()
    assert ("you", "write") in [(step.who, step.what) for step in anna.owner.next_steps()]


def test_study_is_not_over_before_the_labels_are_there() -> None:
    study = quiet(3)
    anna, lost = study.owners["anna"], patch.object(study.network, "get_body", side_effect=Unreachable("lost"))
    while anna.store.state().truth is None:
        study.act("berta"), study.work()
        if study.coordinator.known().ended:
            lost.start()
        study.act("anna")
    assert not anna.is_over()
    lost.stop()
    study.act("anna")
    assert anna.is_over()


def test_owner_that_waits_for_records_is_not_told_to_answer() -> None:
    """It has handed in, and the machine of the other, which has to send them, does not run."""
    study = quiet(6)
    study.act("berta"), study.act("berta")
    steps = next_steps.of_coordinator(study.plan.agreement, study.coordinator.known())
    assert {step.who: step.what for step in steps} == {"anna": "records"} and study.view().can_do("berta") == set()
    assert study.calm() and judged(study, finished=True) == []


def test_standing_that_was_left_behind_is_no_restored_backup(tmp_path: Path) -> None:
    """Seed 40000002: the messages were carried and the standing beside them was not, and the owner said that the
    coordinator had been restored."""
    coordinator, server, owners, shared = started(tmp_path)
    for one in owners:
        one.send()
    server.turn()
    (standing,) = shared.glob("*/to-anna/standing.json")
    old = standing.read_bytes()
    for one in owners:
        one.fetch(0)
    confirm_all(owners)
    for one in owners:
        one.send()
    server.turn()
    standing.write_bytes(old)
    assert owners[0].fetch(0) and not owners[0].is_ahead
    owners[0].fetch(0)
    assert not owners[0].is_ahead
    server.turn()
    forgotten = Known(received=99, latest="ab" * 32)
    assert coordinator.hears(owners[0].agreement.hash, "anna", forgotten).heard == 99
