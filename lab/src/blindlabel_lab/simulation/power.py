"""A disk that forgets at a power cut whatever was not synced: contents of files, names in folders, commits of SQLite.

`Disk.recording()` listens to `os.fsync` and to commits. What a file holds when it is synced is kept, and so are the
names in a folder when the folder is synced. `Disk.cut(folder)` makes the folder what would be left: a file whose name
was synced and whose content was not is empty, a file whose folder was not synced after it was renamed has its old name
or none. SQLite syncs in its own code, where nobody can listen; its commits count as synced where the connection's
`synchronous` says so (FULL or more, in a write-ahead log), by SQLite's own documentation.

A real disk may keep more than this, never less. Linux only: descriptors are read through /proc.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

_FULL = 2
"""What SQLite calls `synchronous = FULL`."""


@dataclass(frozen=True)
class _Entry:
    """A name in a folder: what it stands for."""

    inode: int
    is_folder: bool


@dataclass
class Disk:
    """What is durable of everything below a folder."""

    root: Path
    alive: Callable[[], bool] = lambda: True
    """Whether the process that syncs is alive: after its death nothing becomes durable any more."""
    _contents: dict[int, bytes] = field(default_factory=dict)
    _folders: dict[int, dict[str, _Entry]] = field(default_factory=dict)
    _held: dict[int, int] = field(default_factory=dict)
    """Descriptors of all files that are known here: while they are open, nobody else gets their inodes."""
    _committed: set[Path] = field(default_factory=set)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keep what is synced meanwhile; what is there at the beginning counts as synced."""
        self.settle(self.root)
        honest = os.fsync

        def fsync(handle: int) -> None:
            honest(handle)
            self._synced(handle)

        os.fsync = fsync  # type: ignore[assignment]
        sa.event.listen(sa.Engine, "commit", self._commits)
        sa.event.listen(sa.pool.Pool, "checkin", self._has_committed)
        try:
            yield
        finally:
            os.fsync = honest
            sa.event.remove(sa.Engine, "commit", self._commits)
            sa.event.remove(sa.pool.Pool, "checkin", self._has_committed)
            self._let_go()

    def settle(self, folder: Path) -> None:
        """Everything in a folder is durable as it is now."""
        for path in [folder, *folder.rglob("*")]:
            handle = os.open(path, os.O_RDONLY)
            self._keep(handle)
            os.close(handle)

    def _synced(self, handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if self.alive() and (path == self.root or self.root in path.parents):
            self._keep(handle)

    def _keep(self, handle: int) -> None:
        known = os.fstat(handle)
        if known.st_ino not in self._held:
            self._held[known.st_ino] = os.dup(handle)
        if stat.S_ISDIR(known.st_mode):
            self._folders[known.st_ino] = {name: _entry(name, handle) for name in os.listdir(handle)}
        else:
            self._contents[known.st_ino] = Path(f"/proc/self/fd/{handle}").read_bytes()

    # Databases

    def _commits(self, connection: sa.Connection) -> None:
        """A transaction is about to be committed: is SQLite told to sync it?"""
        raw: Any = connection.connection.driver_connection
        if not isinstance(raw, sqlite3.Connection):
            return
        file = Path(raw.execute("PRAGMA database_list").fetchone()[2])
        level, mode = (raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode"))
        if level >= _FULL and mode == "wal" and self.root in file.parents:
            self._committed.add(file)

    def _has_committed(self, _connection: object, _record: object) -> None:
        """A connection is given back: what it committed is on the disk, with the names of the files."""
        while self._committed and self.alive():
            database = self._committed.pop()
            folder = self._folders.setdefault(database.parent.stat().st_ino, {})
            for path in (database, database.with_name(database.name + "-wal")):
                if path.exists():
                    handle = os.open(path, os.O_RDONLY)
                    self._keep(handle)
                    folder[path.name] = _Entry(os.fstat(handle).st_ino, False)
                    os.close(handle)

    # The power cut

    def cut(self, folder: Path) -> None:
        """Make a folder what is left of it after a power cut. Nobody has a file in it open."""
        inode = folder.stat().st_ino
        above = self._folders[folder.parent.stat().st_ino]
        left = self._folders.get(inode, {}) if folder.name in above else None
        shutil.rmtree(folder)
        if left is not None:
            self._build(folder, left)
            self.settle(folder)
            handle = os.open(folder.parent, os.O_RDONLY)
            above[folder.name] = _entry(folder.name, handle)
            os.close(handle)

    def _build(self, folder: Path, entries: dict[str, _Entry]) -> None:
        folder.mkdir(mode=0o700)
        for name, entry in entries.items():
            if entry.is_folder:
                self._build(folder / name, self._folders.get(entry.inode, {}))
            else:
                (folder / name).touch(0o600)
                (folder / name).write_bytes(self._contents.get(entry.inode, b""))

    def _let_go(self) -> None:
        for handle in self._held.values():
            os.close(handle)
        self._held.clear()


def _entry(name: str, folder: int) -> _Entry:
    known = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return _Entry(known.st_ino, stat.S_ISDIR(known.st_mode))
