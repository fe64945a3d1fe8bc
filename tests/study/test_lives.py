"""Lives of workspaces and of the coordinator's database: two at once end in a sentence; a restart is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Line, Told
from blindlabel.protocol.refusals import TwoLives
from blindlabel.protocol.standing import ONE_LIFE, Heard, Known, Life, heard_after
from blindlabel.storage import workspace as workspaces_module
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.patience import PATIENCE, Patience
from support.study_parties import clear_labels, confirm_all, joined, served, small_agreement, write_person_tables

FIRST = Life(name="1-first")
SECOND = Life(name="2-second", before=("1-first",))
COPY = Life(name="2-copy", before=("1-first",))


def test_a_life_that_follows_takes_over_at_once() -> None:
    heard = heard_after(Heard(), FIRST, 0.0)
    assert heard == Heard(life="1-first")
    assert heard_after(heard, SECOND, 0.1).life == "2-second", "started again"
    behind = Life(name="9-new", before=("8-unheard", "1-first"))
    assert heard_after(heard, behind, 0.1).life == "9-new", "a coordinator that was restored knows only the first"


def test_a_copy_waits_until_the_other_has_been_silent_since_it_asked() -> None:
    heard = heard_after(heard_after(Heard(), FIRST, 0.0), SECOND, 1.0)
    heard = heard_after(heard, COPY, 1000.0)  # however long ago that was: it may compute, or sleep
    assert (heard.life, heard.rival) == ("2-second", "2-copy")
    heard = heard_after(heard, COPY, 1000.0 + ONE_LIFE - 1)
    assert heard.life == "2-second"
    heard = heard_after(heard, SECOND, 1000.0 + ONE_LIFE - 1)  # heard after the newer one began
    heard = heard_after(heard, COPY, 1000.0 + ONE_LIFE)
    assert heard.life == "2-second"
    again = Life(name="3-copy", before=("2-copy", "1-first"))
    heard = heard_after(heard, again, 1000.0 + ONE_LIFE + 1)  # started again, which wins nothing and costs nothing
    heard = heard_after(heard, again, 1000.0 + 2 * ONE_LIFE)
    assert heard.life == "3-copy", "the other one is gone"
    assert heard_after(heard, SECOND, 1000.0 + 2 * ONE_LIFE).life == "3-copy", "or had slept: it is told"


def test_a_clock_that_was_set_back_locks_nobody_out() -> None:
    heard = Heard(life="2-second", rival="2-copy", since=5000.0)
    heard = heard_after(heard, COPY, 100.0)
    assert heard_after(heard, COPY, 100.0 + ONE_LIFE).life == "2-copy"


def is_over_now(owner: OwnerParty) -> bool:
    return run(owner, SuggestedQuestions(), once=True, tell=lambda _: None)


def begun(folder: Path) -> tuple[CoordinatorParty, list[Workspace]]:
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    return coordinator, joined(folder, coordinator.create(to_text(small_agreement())), write_person_tables(folder))


def ends(workspace: Workspace) -> None:
    """The process that speaks for the workspace is no more."""
    assert workspace._speaking is not None
    workspace._speaking()
    workspace._speaking = None


def test_processes_of_one_workspace_share_a_life_and_no_copy_does(tmp_path: Path) -> None:
    _, (anna, _) = begun(tmp_path)
    first = anna.life()
    beside = Workspace.open(tmp_path / "anna")
    assert beside.life() == first, "two processes at once are one life"
    anna.was_heard()
    shutil.copytree(tmp_path / "anna", tmp_path / "copy")  # a clone of the machine has every byte, and no process
    copy = Workspace.open(tmp_path / "copy").life()
    assert copy.name != first.name and not copy.before, "nothing there shows that the first has ended"
    for one in (anna, beside):
        ends(one)
    again = anna.life()
    assert again.name != copy.name and first.name in again.before, "two starts from the same bytes differ"
    assert int(again.name.partition("-")[0]) == int(first.name.partition("-")[0]) + 1


def test_life_follows_none_from_before_the_machine_was_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone of a machine has the same files, by the same numbers."""
    _, (anna, _) = begun(tmp_path)
    first = anna.life()
    anna.was_heard()
    ends(anna)
    (tmp_path / "boot_id").write_text("another-start\n")
    monkeypatch.setattr(workspaces_module, "_STARTED", tmp_path / "boot_id")
    assert anna.life().name != first.name and not anna.life().before


def test_starts_that_never_reach_the_coordinator_do_not_forget_what_it_heard(tmp_path: Path) -> None:
    _, (anna, _) = begun(tmp_path)
    heard = anna.life().name
    anna.was_heard()
    for _ in range(40):
        ends(anna)
        last = anna.life()
    assert heard in last.before and len(last.before) < 10


Over = Callable[[str, Workspace], HttpTransport]


@pytest.fixture
def over() -> Iterator[Over]:
    """Lines to a coordinator, each with the life of its workspace."""
    with ExitStack() as lines:

        def made(address: str, workspace: Workspace) -> HttpTransport:
            token, life = workspace.secret("token").decode(), workspace.life()
            line = HttpTransport(address, letters_of(workspace), token, life=life, patience=PATIENCE)
            return lines.enter_context(closing(line))

        yield made


def test_clone_beside_its_original_costs_no_round_and_says_so(tmp_path: Path, over: Over) -> None:
    coordinator, workspaces = begun(tmp_path)
    said: list[str] = []
    with served(coordinator) as address:
        owners = [OwnerParty(one, over(address, one)) for one in workspaces]
        for one in owners:
            one.turn()
        shutil.copytree(tmp_path / "anna", tmp_path / "copy")
        clone = OwnerParty(Workspace.open(tmp_path / "copy"), over(address, Workspace.open(tmp_path / "copy")))
        patience = Patience()
        while not all(list(map(is_over_now, owners))):
            confirm_all(owners)
            with pytest.raises(TwoLives, match="stop one of the two"):
                run(clone, SuggestedQuestions(), once=True, tell=said.append)
            patience.check(lambda: [one.next_steps() for one in owners])
    state = coordinator.load(workspaces[0].agreement.hash).state
    assert state.ended and not any(facts.void for facts in state.rounds)
    assert np.array_equal(next(iter(coordinator.labels(state.study).values())), clear_labels(*workspaces))


def test_older_copy_whose_original_is_gone_goes_on_by_itself(tmp_path: Path, over: Over) -> None:
    coordinator, workspaces = begun(tmp_path)
    store, study = coordinator.store, workspaces[0].agreement.hash
    assert isinstance(store, CoordinatorStore)
    now = 1_000_000.0
    store.database.clock = lambda: now
    with served(coordinator) as address:
        owners = [OwnerParty(one, over(address, one)) for one in workspaces]
        for one in owners:
            one.turn()
        shutil.copytree(tmp_path / "anna", tmp_path / "copy")  # a backup, from before the words were compared
        for one in owners:
            one.fetch(0)
        confirm_all(owners)
        ends(workspaces[0])
        owners[0] = OwnerParty(workspaces[0], over(address, workspaces[0]))  # started again, and heard
        for one in owners:
            one.turn()
        assert coordinator.load(study).state.round == 1
        copy = Workspace.open(tmp_path / "copy")
        owners[0] = OwnerParty(copy, over(address, copy))
        with pytest.raises(TwoLives):
            owners[0].turn()
        now += ONE_LIFE
        patience = Patience()
        while not all(list(map(is_over_now, owners))):
            confirm_all(owners)
            patience.check(lambda: [one.next_steps() for one in owners])
    assert np.array_equal(next(iter(coordinator.labels(study).values())), clear_labels(copy, workspaces[1]))


def test_copy_beside_its_original_is_told_over_a_shared_folder(tmp_path: Path) -> None:
    coordinator, (anna, _) = begun(tmp_path)
    shared = tmp_path / "shared"
    shared.mkdir()
    first = OwnerParty(anna, FolderTransport(shared, letters_of(anna), "anna", anna.life()))
    first.turn(), FolderServer(coordinator, shared).turn(), first.turn()
    shutil.copytree(tmp_path / "anna", tmp_path / "copy")
    ends(anna)
    again = FolderTransport(shared, letters_of(anna), "anna", anna.life())
    again.fetch(Known(), 0.0)  # a restart is no second life
    copy = FolderTransport(shared, letters_of(anna), "anna", Workspace.open(tmp_path / "copy").life())
    with pytest.raises(TwoLives, match="stop one of the two"):
        copy.fetch(Known(), 0.0)


class TurnByTurn:
    """A line that ends at two coordinators, one after the other."""

    def __init__(self, *lines: Line) -> None:
        self.lines = list(lines)

    def fetch(self, known: Known, wait: float) -> Told:
        if len(self.lines) > 1:
            self.lines.append(self.lines.pop(0))
        return self.lines[0].fetch(known, wait)

    def __getattr__(self, name: str) -> object:
        return getattr(self.lines[0], name)


def test_owner_notices_two_copies_of_the_coordinators_database(tmp_path: Path, over: Over) -> None:
    coordinator, (anna, _) = begun(tmp_path)
    with served(coordinator) as address:
        OwnerParty(anna, over(address, anna)).turn()
        shutil.copytree(tmp_path / "coordinator", tmp_path / "restored")
        restored = CoordinatorParty(CoordinatorStore(tmp_path / "restored"))
        with served(restored) as other:
            both = TurnByTurn(over(address, anna), over(other, anna))
            owner = OwnerParty(anna, both)  # type: ignore[arg-type]
            owner.fetch(0), owner.fetch(0)  # that could be a restored coordinator
            for _ in range(3):
                with pytest.raises(TwoLives, match="operator has to stop one"):
                    owner.fetch(0)
            both.lines.pop()
            for _ in range(10):  # the same one may answer several times by chance
                with pytest.raises(TwoLives):
                    owner.fetch(0)
            patience = Patience()
            while True:  # one was stopped: it goes on by itself
                try:
                    owner.fetch(0)
                    break
                except TwoLives:
                    patience.check(owner.next_steps)


def test_restored_coordinator_whose_original_is_gone_alarms_nobody(tmp_path: Path) -> None:
    coordinator, (anna, _) = begun(tmp_path)
    shared = tmp_path / "shared"
    shared.mkdir()
    owner = OwnerParty(anna, FolderTransport(shared, letters_of(anna), "anna"))
    original = FolderServer(coordinator, shared)
    owner.turn(), original.turn(), owner.turn()
    old = shared / anna.agreement.hash[:16] / "to-anna" / "standing.json"
    left = old.read_bytes()
    shutil.copytree(tmp_path / "coordinator", tmp_path / "restored")
    restored = FolderServer(CoordinatorParty(CoordinatorStore(tmp_path / "restored")), shared)
    for _ in range(3):
        restored.turn(), owner.fetch(0)
    old.write_bytes(left)  # an old stick: nobody speaks through it
    owner.fetch(0)
    original.turn()
    with pytest.raises(TwoLives, match="Two copies of the coordinator's database"):
        owner.fetch(0)


def test_processes_over_one_database_are_one_life(tmp_path: Path, over: Over) -> None:
    coordinator, (anna, _) = begun(tmp_path)
    with served(coordinator) as address, served(CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))) as other:
        line = TurnByTurn(over(address, anna), over(other, anna))
        owner = OwnerParty(anna, line)  # type: ignore[arg-type]
        owner.send()
        for _ in range(6):
            owner.fetch(0)
    assert len(owner._lives_there) == 2, "each process began one, and all told the newest"
