"""Where the places of a group of questions stand: columns of a record's slots. Pure arithmetic, all public.

With many questions a column is a question, and every place has a ciphertext of its own. With few, several places share
one, `copies` of them, side by side. Rotations by one place then bring each of them to the columns of the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Ring
from blindlabel.engines.packed.ways.points import periodic


@dataclass(frozen=True)
class Columns:
    """The columns of a group of questions with so many places each."""

    layout: RecordLayout
    places: int
    copies: int
    width: int
    """Columns that can be used: the first of a record's slots."""

    @classmethod
    def of(cls, layout: RecordLayout, questions: int, places: int, width: int = 0) -> Columns:
        """As many copies as few questions leave room for, and no more than the fewest ciphertexts need. Where no width
        is given, it is the smallest power of two that they need.
        """
        room = max(1, min((width or layout.stride) // max(1, questions), places))
        copies = -(-places // -(-places // room))
        needed = 1 << (questions * copies - 1).bit_length()
        return cls(layout, places, copies, width or min(layout.stride, needed))

    @property
    def questions(self) -> int:
        """Questions of a group, at most."""
        return self.width // self.copies

    @property
    def outputs(self) -> int:
        """Ciphertexts that the places of a group take."""
        return -(-self.places // self.copies)

    def column(self, copy: int, question: int) -> int:
        """The column of a question's place."""
        return question * self.copies + copy

    def aligned(self, ring: Ring, outputs: list[Cipher], keys: Any) -> list[Cipher]:
        """Every place as a ciphertext of its own, in the columns of the first copy. Other columns hold anything."""
        return [place for output in outputs for place in self._moved(ring, output, keys)][: self.places]

    def _moved(self, ring: Ring, cipher: Cipher, keys: Any) -> Iterator[Cipher]:
        for copy in range(self.copies):
            if copy:
                cipher = ring.automorphism(cipher, ring.rotation(1), keys)
            yield cipher

    def spread(self, values: Residues) -> Residues:
        """values[…, question] as values[…, column], zero in other columns."""
        result = np.zeros((*values.shape[:-1], self.layout.stride), dtype=np.uint64)
        result[..., [self.column(0, question) for question in range(values.shape[-1])]] = values
        return result

    def pair_slots(self, questions: int, records: int) -> npt.NDArray[np.bool_]:
        """Which slots are pairs of these questions and records."""
        wanted = np.zeros((self.layout.block, self.layout.stride), dtype=np.uint64)
        wanted[:records] = self.spread(np.ones(questions, dtype=np.uint64))
        return np.asarray(periodic.in_slots(self.layout, wanted) == 1)

    def pairs(self, slots: Residues) -> Residues:
        """The slots of an answer as [question, record]."""
        columns = [self.column(0, question) for question in range(self.questions)]
        return periodic.from_slots(self.layout, slots)[:, columns].T
