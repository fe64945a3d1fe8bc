"""A folder of finished answers, so that a stopped evaluation continues where it was.

One file an answers parcel with its pads, named by batch, group and the digest of all that came for the batch; written
beside its place first and moved there when it is whole. So an answer that was kept comes back with the same bytes it
had, pads and all, and one that was not is made anew. The folder belongs to one evaluation, named by a digest of terms,
keys and questions: another evaluation that is given the same folder empties it first. Parcels are ready to leave
anyway; pads are as secret as the questions. It stays until the next evaluation, because only the caller knows when the
answers are safe elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from blindlabel.engines.interface import Evaluated, ParcelError, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import ParcelKind, Study
from blindlabel.engines.packed.running.records import Batch
from blindlabel.language.formula import Formula, digest_of

Place = tuple[int, int]
"""Where an answers parcel belongs: batch of records, group of questions."""

_MOST_VALUES = 3
_SIZE = 8
"""Bytes of the length in front of a parcel."""
_FILE = re.compile(r"(\d+)-(\d+)-([0-9a-f]{16})\.answers")


class FinishedAnswers:
    """The finished answers of one evaluation."""

    def __init__(self, folder: Path, terms: Terms, study: Study, questions: Sequence[Formula]) -> None:
        self._folder = folder
        self._study = study
        self._digests: dict[int, str] = {}
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = _name(terms, study, questions)
        title = folder / "evaluation"
        if not title.exists() or title.read_text() != name:
            for path in folder.glob("*.answers"):
                path.unlink()
            _write(title, name.encode())

    def finished(self, batch: Batch) -> dict[Place, Path]:
        """The answers of this batch that are there and whole."""
        digest = hashlib.sha256()
        for item in (*batch.items, *batch.shares):
            digest.update(hashlib.sha256(item).digest())
        self._digests[batch.index] = digest.hexdigest()[:16]
        found: dict[Place, Path] = {}
        for path in sorted(self._folder.glob(f"{batch.index}-*.answers")):
            named = _FILE.fullmatch(path.name)
            if named is None or named[3] != self._digests[batch.index]:
                continue
            try:
                place = place_of(read_answer(path), self._study)
            except ParcelError:  # damaged on disk: made again
                path.unlink()
                continue
            if place == (int(named[1]), int(named[2])):
                found[place] = path
        return found

    def keep(self, made: Evaluated) -> None:
        """Write down one answers parcel and its pads."""
        batch, group = place_of(made, self._study)
        content = len(made.parcel).to_bytes(_SIZE, "little") + made.parcel + made.pads
        _write(self._folder / f"{batch}-{group}-{self._digests[batch]}.answers", content)


def read_answer(path: Path) -> Evaluated:
    """An answers parcel and its pads from their file."""
    content = path.read_bytes()
    size = int.from_bytes(content[:_SIZE], "little") + _SIZE
    return Evaluated(content[_SIZE:size], content[size:])


def place_of(made: Evaluated, study: Study) -> Place:
    """Where an answers parcel and its pads belong, from their headers."""
    place = _place(made.parcel, ParcelKind.ANSWERS, study)
    if _place(made.pads, ParcelKind.PADS, study) != place:
        raise ParcelError("These pads belong to other answers.")
    return place


def _place(content: bytes, kind: ParcelKind, study: Study) -> Place:
    parcel = parcels.read(content, kind, study, most_items=_MOST_VALUES, most_bytes=len(content))
    return parcel.numbers[0], parcel.numbers[1]


def _write(path: Path, content: bytes) -> None:
    beside = path.with_suffix(".part")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _name(terms: Terms, study: Study, questions: Sequence[Formula]) -> str:
    digest = hashlib.sha256(repr((terms, study, len(questions))).encode())
    for question in questions:
        digest.update(digest_of(question).encode())
    return digest.hexdigest()
