"""The product's own folder transport over folders that are carried: every owner has a folder of its own, and somebody
copies files from one to the other, badly.

- `left behind`: some files are not copied this time;
- `half copied`: a file arrives cut off, under its own name, until somebody copies it again;
- `damaged copy`: one bit of a file changes on its way, until somebody copies it again;
- `old stick`: an old copy of the coordinator's folder comes back to an owner or to the coordinator.

Files are copied in any order, again and again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.interfaces import Line, Store
from blindlabel.protocol.shape import COORDINATOR
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel_lab.simulation.faults import Weather

FAULTS = ("left behind", "half copied", "damaged copy", "old stick")


class CarriedFolders:
    """The folders of all parties, and who carries files between them."""

    def __init__(self, root: Path, coordinator: Callable[[], CoordinatorParty], weather: Weather) -> None:
        self._root = root
        self._coordinator = coordinator
        self.weather = weather
        self._owners: list[str] = []
        self._bad: set[Path] = set()
        """Copies that are not whole, or not as they were."""
        self._folder(COORDINATOR)

    def _folder(self, party: str) -> Path:
        folder = self._root / f"stick-{party}"
        folder.mkdir(exist_ok=True)
        return folder

    def line(self, store: Store) -> Line:
        """An owner's line: its own folder."""
        if store.name not in self._owners:
            self._owners.append(store.name)
        return FolderTransport(self._folder(store.name), store.agreement.hash, store.name, store.life())

    def work(self) -> bool:
        """The coordinator takes in what is in its folder, and puts out what it has."""
        return FolderServer(self._coordinator(), self._folder(COORDINATOR)).turn()

    def stir(self) -> None:
        """Somebody carries files both ways."""
        for owner in self._owners:
            if self.weather.calm or self.weather.random.random() < 0.7:
                self._carry(self._folder(owner), self._folder(COORDINATOR))
                self._carry(self._folder(COORDINATOR), self._folder(owner))
        if self.weather.strikes("old stick"):
            old = self._root / "old-stick"
            if old.exists():
                target = self.weather.random.choice([*self._owners, COORDINATOR])
                self._carry(old, self._folder(target))
            shutil.rmtree(old, ignore_errors=True)
            shutil.copytree(self._folder(COORDINATOR), old)

    def _carry(self, source: Path, target: Path) -> None:
        files = sorted(path for path in source.rglob("*") if path.is_file())
        self.weather.random.shuffle(files)
        for path in files:
            copy, content, bad = target / path.relative_to(source), path.read_bytes(), path in self._bad
            if (copy.exists() and (bad or copy not in self._bad)) or self.weather.strikes("left behind"):
                continue  # nobody puts a bad copy in place of a good file
            if content and self.weather.strikes("half copied"):
                content, bad = content[: self.weather.random.randrange(len(content))], True
            elif content and self.weather.strikes("damaged copy"):
                content, bad = self.weather.flipped(content), True
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
            (self._bad.add if bad else self._bad.discard)(copy)
