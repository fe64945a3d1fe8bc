"""The results folder: finished samples are kept there and used again, so that an interrupted experiment goes on where
it stopped.

A kept result is found by a key made of everything it depends on: data, attributes, seed, sizes, engine, and the code
that made it: labels depend on language, suggestions and rules, measured costs on the engines. How things are shown
changes nothing. A file is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import blindlabel
from blindlabel.errors import InputError

_HERE = Path(__file__).resolve().parent
_HOUSE = Path(blindlabel.__file__).resolve().parent
_SUGGESTIONS = _HOUSE / "language" / "suggestions"
_SHOWING = ("plots.py", "report.py", "tables.py", "published.py")
_LABELS = (_HERE, _HOUSE / "language", _HOUSE / "records", _HOUSE / "protocol", _HOUSE / "parties")
_COSTS = (_HERE / "costs.py", _HERE.parent / "bench", _HOUSE / "engines", _HOUSE / "protocol", _HOUSE / "language")
COSTS = "costs"
"""The kind of results that depends on the engines' code, and not on what is suggested."""
_VERSION = 1


def code_fingerprint(places: Sequence[Path], without: Sequence[Path] = ()) -> str:
    """Changes whenever the code in these folders and files does: results of older code are not used."""
    digest = hashlib.sha256()
    for place in places:
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            if path.name not in _SHOWING and not any(path.is_relative_to(one) for one in without):
                digest.update(path.relative_to(place.parent).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class Results:
    """One results folder."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; name a folder for the results.")
        self.folder = folder
        self._labels = code_fingerprint(_LABELS, (_HERE / "costs.py",))
        self._costs = code_fingerprint(_COSTS, (_SUGGESTIONS,))

    def _path(self, kind: str, key: object) -> Path:
        code = self._costs if kind == COSTS else self._labels
        name = hashlib.sha256(json.dumps([_VERSION, code, kind, key], sort_keys=True).encode()).hexdigest()[:32]
        return self.folder / "finished" / kind / f"{name}.json"

    def kept(self, kind: str, key: object) -> Any | None:
        """A result kept earlier; None if there is none, or if the file is damaged."""
        try:
            return json.loads(self._path(kind, key).read_text(encoding="utf-8"))["result"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, kind: str, key: object, result: Any) -> None:
        """Keep a result for another time."""
        self.write(self._path(kind, key), json.dumps({"key": key, "result": result}))

    def once(self, kind: str, key: object, work: Callable[[], Any]) -> Any:
        """What was kept earlier, else the result of doing it now, kept for another time."""
        found = self.kept(kind, key)
        if found is None:
            found = work()
            self.keep(kind, key, found)
        return found

    def document(self, name: str, content: Any) -> Path:
        """Write a whole experiment's document."""
        path = self.folder / f"{name}.json"
        self.write(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        return path

    @staticmethod
    def write(path: Path, text: str) -> None:
        """Whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
