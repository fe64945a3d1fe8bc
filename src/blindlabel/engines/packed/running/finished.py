"""A folder of finished answers, so that an evaluation that was stopped goes on where it was.

One file an answers parcel, named by batch, group and the digest of the batch's ciphertexts; written beside its place
first and moved there when it is whole. The folder belongs to one evaluation, named by a digest of terms, keys and
questions: another evaluation that is given the same folder empties it first. What is in it is ready to leave for the
coordinator anyway: sanitised ciphertexts. It stays until the next evaluation, because only the caller knows when the
answers are safe elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from blindlabel.engines.interface import ParcelError, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Study
from blindlabel.engines.packed.records import Batch
from blindlabel.engines.packed.ways.interface import MOST_VALUES
from blindlabel.language.formula import Formula
from blindlabel.language.formula_document import formula_document

Place = tuple[int, int]
"""Where an answers parcel belongs: batch of records, group of questions."""

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
        for item in batch.items:
            digest.update(hashlib.sha256(item).digest())
        self._digests[batch.index] = digest.hexdigest()[:16]
        found: dict[Place, Path] = {}
        for path in sorted(self._folder.glob(f"{batch.index}-*.answers")):
            named = _FILE.fullmatch(path.name)
            if named is None or named[3] != self._digests[batch.index]:
                continue
            try:
                place = place_of(path.read_bytes(), self._study)
            except ParcelError:  # damaged on disk: made again
                path.unlink()
                continue
            if place == (int(named[1]), int(named[2])):
                found[place] = path
        return found

    def keep(self, content: bytes) -> None:
        """Write down one answers parcel."""
        batch, group = place_of(content, self._study)
        _write(self._folder / f"{batch}-{group}-{self._digests[batch]}.answers", content)


def place_of(content: bytes, study: Study) -> Place:
    """Where an answers parcel belongs, from its header."""
    parcel = parcels.read(content, (Kind.ANSWERS,), study, most_items=MOST_VALUES, most_bytes=len(content))
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
        digest.update(b"question")
        digest.update(json.dumps(formula_document(question)).encode())
    return digest.hexdigest()
