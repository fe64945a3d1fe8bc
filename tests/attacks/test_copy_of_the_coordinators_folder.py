"""A cheating owner and a copy of an honest coordinator's folder, keys included. In an earlier version the documented
backup, taken in the middle of a round, held the lists of that round: with its own secret the owner read what the other
had opened, 24 bits a pair, where the account allows 1.6 a record. Now lists are in no backup and are gone once they are
compared; what a copy gives after the round is a label and a round for each pair.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from blindlabel.envelope.identity import Context, EnvelopeError
from blindlabel.envelope.stream import open_
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import SuggestedQuestions, open_tasks
from blindlabel.protocol import labels
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.facts import RoundFacts
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from support.direct_line import DirectLine
from support.study_parties import confirm_all, joined, small_agreement, write_person_tables

N = 4


class Study:
    """Two owners and a coordinator whose folder somebody copies."""

    def __init__(self, folder: Path) -> None:
        self.folder, agreement = folder, small_agreement(2, records=N, rounds=2)
        self.home = folder / "coordinator"
        self.coordinator = CoordinatorParty(CoordinatorStore(self.home))
        self.workspaces = joined(
            folder, self.coordinator.create(to_text(agreement)), write_person_tables(folder, rows=N)
        )
        self.study = agreement.hash
        self.owners = [self.owner(one) for one in self.workspaces]

    def owner(self, workspace: Workspace) -> OwnerParty:
        return OwnerParty(workspace, DirectLine(self.coordinator, self.study, workspace.name))

    def until_both_lists_of_a_direction_are_there(self, *, only_anna: bool = False) -> None:
        """The coordinator does not get to comparing them: that is the moment of the copy. `only_anna`: berta's people
        take their time.
        """
        self.coordinator.work = lambda study: False  # type: ignore[method-assign]
        for _ in range(20):
            for owner in self.owners:
                owner.turn()
                if open_tasks(owner.store) and (owner.store.name == "anna" or not only_anna):
                    SuggestedQuestions().provide(owner.store)
            confirm_all(self.owners)
            rounds = self.coordinator.load(self.study).state.rounds
            if rounds and rounds[-1].is_ready("anna>berta"):
                return
        raise AssertionError("no lists")

    def to_the_end(self) -> None:
        for _ in range(40):
            over = [run(owner, SuggestedQuestions(), once=True, tell=lambda _: None) for owner in self.owners]
            if all(over):
                return
            confirm_all(self.owners)
        raise AssertionError([owner.next_steps() for owner in self.owners])

    def backup(self) -> Path:
        """As `docs/how-to/operations.md` says."""
        to = self.folder / "backup" / "coordinator"
        to.parent.mkdir()
        lines = (Path(__file__).parents[2] / "docs" / "how-to" / "operations.md").read_text("utf-8").splitlines()
        (tar,) = (line for line in lines if line.startswith("tar --create") and "coordinator.tar" in line)
        subprocess.run(tar, shell=True, cwd=self.folder, check=True)
        unpack = ["tar", "--extract", "--directory", "backup", "--file", "backup/coordinator.tar"]
        subprocess.run(unpack, cwd=self.folder, check=True)
        with (
            closing(sqlite3.connect(self.home / "coordinator.sqlite")) as database,
            closing(sqlite3.connect(to / "coordinator.sqlite")) as copied,
        ):
            database.backup(copied)
        return to

    def restored_from(self, copy: Path) -> None:
        self.coordinator.store.close()
        shutil.rmtree(self.home)
        shutil.copytree(copy, self.home)
        self.coordinator = CoordinatorParty(CoordinatorStore(self.home))
        self.owners = [self.owner(one) for one in self.workspaces]

    def lists_in(self, home: Path) -> int:
        """Lists that somebody opens who has the folder with its keys."""
        found, identity = 0, self.coordinator._identity(self.study)
        assert (home / "keys" / self.study / "signing.key").exists()
        for path in home.rglob("*"):
            for sender in self.workspaces if path.is_file() else ():
                for kind in ("listed", "opened"):
                    context, public = Context(bytes.fromhex(self.study), kind, 1), own_identity(sender).public
                    try:
                        found += bool(b"".join(open_(identity, public, context, [path.read_bytes()])))
                    except EnvelopeError:
                        continue
        return found


def test_the_documented_backup_holds_no_list_and_a_restored_coordinator_gets_them_again(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.until_both_lists_of_a_direction_are_there()
    assert study.lists_in(study.home) >= 2, "the control: they lie in the folder, and its keys open them"
    copy = study.backup()
    assert study.lists_in(copy) == 0
    study.restored_from(copy)
    study.to_the_end()
    assert study.coordinator.load(study.study).state.ended in ("agreed", "rounds")


def test_the_documented_backup_holds_no_outcome_of_a_round_under_way(tmp_path: Path) -> None:
    """Anna has handed in and is compared, berta's people take their time. In an earlier version a backup of these days
    held an outcome for each of anna's answers: 2,500 tests of berta's key, five times what the account has.
    """
    study = Study(tmp_path)
    anna = study.owners[0]
    for _ in range(20):
        for owner in study.owners:
            owner.turn()
        confirm_all(study.owners)
        if open_tasks(anna.store):
            SuggestedQuestions().provide(anna.store)
        state = study.coordinator.load(study.study).state
        if state.rounds and state.rounds[-1].read:
            break
    (outcomes,) = state.rounds[-1].read.values()
    assert study.coordinator.store.bodies(study.study).has(outcomes.blob), "the control: its folder has them"
    copy = study.backup()
    assert not [path for path in copy.rglob("*") if path.name == outcomes.blob.hash]
    assert outcomes.key.encode() in (copy / "coordinator.sqlite").read_bytes(), "and their key is in the copy"
    study.restored_from(copy)
    study.to_the_end()
    assert study.coordinator.load(study.study).state.ended in ("agreed", "rounds")


def test_lists_are_gone_once_they_are_compared(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.until_both_lists_of_a_direction_are_there(only_anna=True)
    del study.coordinator.work
    assert study.lists_in(study.home) == 2, "the control"
    assert study.coordinator.work(study.study)
    (underway,) = study.coordinator.load(study.study).state.rounds
    assert list(underway.read) == ["anna>berta"] and not underway.is_over
    assert study.lists_in(study.home) == 0
    study.to_the_end()
    assert study.lists_in(study.home) == 0


def test_lists_are_gone_where_a_study_is_closed_before_they_are_compared(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.until_both_lists_of_a_direction_are_there()
    assert study.lists_in(study.home) >= 2, "the control"
    study.coordinator.close(study.study)
    assert study.lists_in(study.home) == 0
    study.to_the_end()


def test_after_the_rounds_a_copy_gives_a_label_and_a_round_for_each_pair_and_no_outcome(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.to_the_end()
    state = study.coordinator.load(study.study).state
    made = {path.name for path in (study.home / "made" / study.study).iterdir()}
    outcomes = [named for one in state.rounds for named in one.read.values()]
    assert outcomes and not made & {named.blob.hash for named in outcomes}
    (matrix,) = study.coordinator.labels(study.study).values()
    possible = {0, labels.ASIDE, *(labels.byte_of(label, number) for label in (False, True) for number in (1, 2))}
    assert set(matrix.ravel().tolist()) <= possible and len(possible) == 6, "log2(2t + 2) bits a pair"
    known = {"asked", "repeats", "void", "kept"}  # follow from labels, and from what is counted here
    gone = {"records", "answers", "answered", "listed", "opened", "read"}  # names of bodies that were removed
    assert set(RoundFacts.model_fields) == known | gone | {"tallies", "loose", "aside"}


@pytest.mark.parametrize("passphrase", [None, "a long one"])
def test_keys_of_the_last_round_are_dropped_when_the_study_is_over(tmp_path: Path, passphrase: str | None) -> None:
    study = Study(tmp_path)
    for workspace in study.workspaces:
        workspace._secrets._passphrase = passphrase
    study.until_both_lists_of_a_direction_are_there()
    assert all(list(one.folder.glob("round-*.key")) for one in study.workspaces), "the control"
    kept = study.workspaces[1].secret("round-1-anna")
    del study.coordinator.work
    study.to_the_end()
    for workspace in study.workspaces:
        assert not list(workspace.folder.glob("round-*.key"))
        cached = workspace._secrets._known
        assert not any(path.name.startswith("round-") for path in cached)
        assert kept not in [content for _, content in cached.values()]
