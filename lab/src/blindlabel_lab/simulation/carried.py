"""The product's own folder transport over folders as people have them: one that all see, or one for each party, between
which somebody copies files, badly.

- `left behind`: some files are not copied this time;
- `half copied`: a file arrives cut off, under its own name, until somebody copies it again;
- `damaged copy`: one bit of a file changes on its way, until somebody copies it again;
- `old stick`: an old copy of the coordinator's folder comes back to an owner or to the coordinator;
- `junk`: what systems and sync programs leave beside files: `._000001.message`, `000001 (1).message` and the like;
- `damage at rest`: a file that lies there is cut, emptied, lost, or one of its bits changes;
- `torn file`: a file that was just written is cut, as where a stick is pulled out.

Files are copied in any order, again and again. Of two standings the newer one is kept, as sync programs do it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.interfaces import Line, Store
from blindlabel.protocol.shape import COORDINATOR
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel_lab.simulation.faults import Weather
from blindlabel_lab.simulation.world import World

FAULTS = ("left behind", "half copied", "damaged copy", "old stick", "junk", "damage at rest", "torn file")
_JUNK = ("._{}", "{} (1){}", "{} (conflict copy){}", ".{}.swp", "{}~")


class CarriedFolders:
    """The folders of all parties, and who carries files between them."""

    def __init__(
        self, root: Path, coordinator: Callable[[], CoordinatorParty], weather: Weather, *, shared: bool = False
    ) -> None:
        self._root = root
        self._coordinator = coordinator
        self.weather = weather
        self._shared = shared
        self._owners: list[str] = []
        self._bad: dict[Path, int] = {}
        """Files that are not whole, or not as they were, and when they became so; until they are written again."""
        self._first_seen: dict[tuple[Path, int], float] = {}
        self._folder(COORDINATOR)

    def _folder(self, party: str) -> Path:
        folder = self._root / ("stick" if self._shared else f"stick-{party}")
        folder.mkdir(exist_ok=True)
        return folder

    def line(self, store: Store, machine: str = "") -> Line:
        """An owner's line: the folder of the machine on which it runs."""
        machine = machine or store.name
        if machine not in self._owners:
            self._owners.append(machine)
        return FolderTransport(self._folder(machine), letters_of(store), store.name, store.life())

    def server(self) -> FolderServer:
        """The coordinator's side."""
        return FolderServer(self._coordinator(), self._folder(COORDINATOR))

    @contextmanager
    def aging(self, world: World) -> Iterator[None]:
        """Files have been there since somebody first saw them, in simulated time."""

        def age(path: Path) -> float:
            return world.now - self._first_seen.setdefault((path, path.stat().st_mtime_ns), world.now)

        with patch("blindlabel.transport.folder._age", age):
            yield

    def stir(self) -> None:
        """Files are carried both ways; some are damaged where they lie, and others come beside them."""
        chance = self.weather.random
        for owner in self._owners if not self._shared else ():
            if self.weather.calm or chance.random() < 0.7:
                self._carry(self._folder(owner), self._folder(COORDINATOR))
                self._carry(self._folder(COORDINATOR), self._folder(owner))
        if not self._shared and self.weather.strikes("old stick"):
            old = self._root / "old-stick"
            if old.exists():
                target = chance.choice([*self._owners, COORDINATOR])
                self._carry(old, self._folder(target))
            shutil.rmtree(old, ignore_errors=True)
            shutil.copytree(self._folder(COORDINATOR), old)
        files = self._files(self._folder(chance.choice([COORDINATOR, *self._owners])))
        if files and self.weather.strikes("junk"):
            file = chance.choice(files)
            file.with_name(chance.choice(_JUNK).format(file.stem, file.suffix)).write_bytes(b"\0\5\26\7Mac OS X")
        if files and self.weather.strikes("torn file"):
            newest = max(files, key=lambda file: file.stat().st_mtime_ns)
            self._write(newest, newest.read_bytes()[:20])
        if files and self.weather.strikes("damage at rest"):
            self._damage(chance.choice(files))

    def _files(self, folder: Path) -> list[Path]:
        return sorted(path for path in folder.rglob("*") if path.is_file())

    def _damage(self, file: Path) -> None:
        content, chance = file.read_bytes(), self.weather.random
        kind = chance.choice(("lost", "cut", "emptied", "changed"))
        if kind == "lost":
            file.unlink()
        elif kind == "changed" and content:
            self._write(file, self.weather.flipped(content))
        else:
            self._write(file, content[: chance.randrange(len(content) or 1)] if kind == "cut" else b"")

    def _write(self, file: Path, content: bytes) -> None:
        file.write_bytes(content)
        self._bad[file] = file.stat().st_mtime_ns

    def _is_bad(self, file: Path) -> bool:
        return self._bad.get(file) == file.stat().st_mtime_ns

    def _carry(self, source: Path, target: Path) -> None:
        files = self._files(source)
        self.weather.random.shuffle(files)
        for path in files:
            copy, content, bad = target / path.relative_to(source), path.read_bytes(), self._is_bad(path)
            if copy.exists() and copy.read_bytes() == content:
                continue
            newer = path.suffix == ".json" and copy.exists() and path.stat().st_mtime_ns > copy.stat().st_mtime_ns
            wanted = newer or not copy.exists() or (self._is_bad(copy) and not bad)
            if not wanted or self.weather.strikes("left behind"):
                continue  # nobody puts a bad copy in place of a good file
            if content and self.weather.strikes("half copied"):
                content, bad = content[: self.weather.random.randrange(len(content))], True
            elif content and self.weather.strikes("damaged copy"):
                content, bad = self.weather.flipped(content), True
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
            os.utime(copy, ns=(path.stat().st_mtime_ns, path.stat().st_mtime_ns))
            self._bad.pop(copy, None)
            if bad:
                self._bad[copy] = copy.stat().st_mtime_ns
