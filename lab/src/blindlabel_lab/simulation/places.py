"""Where the parties of a simulated study keep what they know: in memory, or in databases and files under a folder.

A place opens stores, shuts them, and makes and restores backups. Schedules and judge are the same over both.
"""

from __future__ import annotations

import shutil
import sqlite3
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
    """Seconds that pass with every look, and jump where told."""

    def __init__(self) -> None:
        self._now = 1_000_000.0

    def now(self) -> float:
        """The time; every look takes a second."""
        self._now += 1.0
        return self._now

    def jump(self, seconds: float) -> None:
        """Somebody sets the clock."""
        self._now += seconds


class Place(Protocol):
    """The disks of all parties."""

    clock: Clock

    def studies(self) -> Studies:
        """The coordinator's store, opened (again)."""
        ...

    def new_store(self, owner: str) -> Store:
        """A store for an owner that is about to join."""
        ...

    def store(self, owner: str) -> Store:
        """An owner's store, opened (again)."""
        ...

    def back_up(self, party: str) -> None:
        """Copy everything of a party."""
        ...

    def restore(self, party: str) -> bool:
        """Go back to the copy; False where there is none or nothing has changed since."""
        ...

    def cut(self, party: str) -> list[str]:
        """A party's process died: what was lost that it had committed. Where the disk forgets, its power goes too."""
        ...

    def shut(self) -> None:
        """End all processes."""
        ...


class InMemory:
    """No files at all: thousands of schedules in a minute or two."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._owners: dict[str, OwnerContents] = {}
        self._study = StudyContents()
        self._backups: dict[str, OwnerContents | StudyContents] = {}

    def studies(self) -> Studies:
        """The coordinator's store."""
        return MemoryStudies(self._study)

    def new_store(self, owner: str) -> Store:
        """A store for a new owner."""
        self._owners[owner] = OwnerContents()
        return self.store(owner)

    def store(self, owner: str) -> Store:
        """An owner's store."""
        return MemoryStore(self._owners[owner])

    def back_up(self, party: str) -> None:
        """Copy everything of a party."""
        kept = self._study if party == COORDINATOR else self._owners[party]
        self._backups[party] = kept.copy()

    def restore(self, party: str) -> bool:
        """Go back to the copy."""
        if party not in self._backups:
            return False
        kept = self._backups[party].copy()
        if isinstance(kept, StudyContents):
            changed, self._study = kept != self._study, kept
        else:
            changed, self._owners[party] = kept != self._owners[party], kept
        return changed

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

    def studies(self) -> Studies:
        """The coordinator's store."""
        self._close(COORDINATOR)
        store = self._open[COORDINATOR] = CoordinatorStore(self._folder / COORDINATOR)
        store.database.clock = self.clock.now
        return store

    def new_store(self, owner: str) -> Store:
        """A workspace for a new owner."""
        return Workspace.create(self._folder / owner)

    def store(self, owner: str) -> Store:
        """An owner's workspace."""
        self._close(owner)
        store = self._open[owner] = Workspace.open(self._folder / owner)
        return store

    def back_up(self, party: str) -> None:
        """Copy a party's folder; whoever has it open opens it again afterwards."""
        self._close(party)
        copy = self._folder / f"{party}.backup"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._folder / party, copy)

    def restore(self, party: str) -> bool:
        """Go back to the copy."""
        copy = self._folder / f"{party}.backup"
        if not copy.exists():
            return False
        self._close(party)
        shutil.rmtree(self._folder / party)
        shutil.copytree(copy, self._folder / party)
        if self._disk:
            self._disk.settle(self._folder)
        return True

    def cut(self, party: str) -> list[str]:
        """Where the disk forgets: what is left of the party's folder. Nothing that was committed may be lost."""
        if self._disk is None:
            return []
        self._close(party)
        before = _rows(self._folder / party)
        self._disk.cut(self._folder / party)
        return [] if _rows(self._folder / party) == before else [f"{party} lost in a power cut what it had committed"]

    def shut(self) -> None:
        """End all processes."""
        for party in list(self._open):
            self._close(party)

    def _close(self, party: str) -> None:
        if party in self._open:
            self._open.pop(party).database.close()


def _rows(folder: Path) -> list[list[str]]:
    """Everything in a party's database."""
    found = []
    for file in sorted(folder.glob("*.sqlite")):
        with closing(sqlite3.connect(file)) as connection:
            found.append(list(connection.iterdump()))
    return found
