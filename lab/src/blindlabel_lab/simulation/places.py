"""Where the parties of a simulated study keep what they know: in memory, or in databases and files under a folder.

A place opens stores, shuts them, and makes and restores backups. Schedules and judge are the same over both.
"""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Protocol

from blindlabel.protocol.interfaces import Store, Studies
from blindlabel.protocol.shape import COORDINATOR
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel_lab.simulation.memory import MemoryStore, MemoryStudies, OwnerContents, StudyContents
from blindlabel_lab.simulation.power import Disk


class Clock:
    """A machine's clock: the simulated time, which somebody may have set wrong."""

    def __init__(self) -> None:
        self.right: Callable[[], float] = itertools.count(1_000_000).__next__
        """Outside a simulation every look takes a second."""
        self._wrong = 0.0

    def now(self) -> float:
        """The time that it shows."""
        return self.right() + self._wrong

    def jump(self, seconds: float) -> None:
        """Somebody sets the clock."""
        self._wrong += seconds


class Place(Protocol):
    """The disks of all parties."""

    clock: Clock

    def studies(self, process: str = COORDINATOR) -> Studies:
        """The coordinator's store, opened (again) by one of its processes."""

    def new_store(self, owner: str) -> Store:
        """A store for an owner that is about to join."""

    def store(self, owner: str) -> Store:
        """An owner's store, opened (again)."""

    def back_up(self, party: str) -> None:
        """Copy everything of a party."""

    def restore(self, party: str) -> bool:
        """Go back to the copy; False where there is none or nothing has changed since."""

    def second(self, owner: str, *, keep: bool = False) -> Store | None:
        """A second life of an owner's workspace, from its backup; None if there is none. `keep`: from now on it is
        the only one, in place of the first.
        """

    def cut(self, party: str) -> list[str]:
        """A party's process died: what was lost that it had committed. Where the disk forgets, its power goes too."""

    def shut(self) -> None:
        """End all processes."""


class InMemory:
    """No files at all: thousands of schedules in a minute or two."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._owners: dict[str, OwnerContents] = {}
        self._study = StudyContents()
        self._backups: dict[str, OwnerContents | StudyContents] = {}

    def studies(self, process: str = COORDINATOR) -> Studies:  # noqa: ARG002
        return MemoryStudies(self._study, self.clock.now)

    def new_store(self, owner: str) -> Store:
        self._owners[owner] = OwnerContents()
        return self.store(owner)

    def store(self, owner: str) -> Store:
        return MemoryStore(self._owners[owner])

    def back_up(self, party: str) -> None:
        kept = self._study if party == COORDINATOR else self._owners[party]
        self._backups[party] = kept.copy()

    def restore(self, party: str) -> bool:
        if party not in self._backups:
            return False
        kept = self._backups[party].copy()
        if isinstance(kept, StudyContents):
            changed, self._study = kept != self._study, kept
        else:
            changed, self._owners[party] = kept != self._owners[party], kept
        return changed

    def second(self, owner: str, *, keep: bool = False) -> Store | None:
        if keep:
            self._owners[owner] = self._owners.pop(f"{owner} again")
            return self.store(owner)
        kept = self._backups.get(owner)
        if not isinstance(kept, OwnerContents):
            return None
        self._owners[f"{owner} again"] = kept.copy()
        return self.store(f"{owner} again")

    def cut(self, party: str) -> list[str]:  # noqa: ARG002
        """What is committed is kept."""
        return []

    def shut(self) -> None:
        """Nothing is open."""


class InFolders:
    """Databases and files, as users have them."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.clock = Clock()
        self._folder = folder
        self._disk = disk
        self._open: dict[str, CoordinatorStore | Workspace] = {}

    def studies(self, process: str = COORDINATOR) -> Studies:
        self._close(process)
        store = self._open[process] = CoordinatorStore(self._folder / COORDINATOR)
        store.database.clock = self.clock.now
        return store

    def new_store(self, owner: str) -> Store:
        return Workspace.create(self._folder / owner)

    def store(self, owner: str) -> Store:
        self._close(owner)
        store = self._open[owner] = Workspace.open(self._folder / owner)
        return store

    def back_up(self, party: str) -> None:
        for process in (party, f"{party} again") if party == COORDINATOR else (party,):
            if process in self._open:
                self._open[process].database.close()
        copy = self._folder / f"{party}.backup"
        shutil.rmtree(copy, ignore_errors=True)
        left = shutil.ignore_patterns("bodies") if party == COORDINATOR else None  # the documented backup has none
        shutil.copytree(self._folder / party, copy, ignore=left)

    def restore(self, party: str) -> bool:
        copy = self._folder / f"{party}.backup"
        if not copy.exists():
            return False
        self._close(party)
        shutil.rmtree(self._folder / party)
        shutil.copytree(copy, self._folder / party)
        if self._disk:
            self._disk.settle(self._folder)
        return True

    def second(self, owner: str, *, keep: bool = False) -> Store | None:
        again, copy = self._folder / f"{owner} again", self._folder / f"{owner}.backup"
        if keep:
            self._close(owner)
            self._close(again.name)
            shutil.rmtree(self._folder / owner)
            shutil.copytree(again, self._folder / owner)
            return self.store(owner)
        if not copy.exists():
            return None
        self._close(again.name)
        shutil.rmtree(again, ignore_errors=True)
        shutil.copytree(copy, again)
        return self.store(again.name)

    def cut(self, party: str) -> list[str]:
        if self._disk is None:
            return []
        self._close(party)
        before = _rows(self._folder / party)
        self._disk.cut(self._folder / party)
        return [] if _rows(self._folder / party) == before else [f"{party} lost in a power cut what it had committed"]

    def shut(self) -> None:
        for party in list(self._open):
            self._close(party)

    def _close(self, party: str) -> None:
        for process in (party, f"{party} again") if party == COORDINATOR else (party,):
            if process in self._open:
                self._open.pop(process).database.close()


def _rows(folder: Path) -> list[list[str]]:
    """Everything in a party's database."""
    found = []
    for file in sorted(folder.glob("*.sqlite")):
        with closing(sqlite3.connect(file)) as connection:
            found.append(list(connection.iterdump()))
    return found
