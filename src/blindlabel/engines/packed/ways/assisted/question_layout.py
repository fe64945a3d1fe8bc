"""Where questions stand, with the assist: in the coefficients of packed ciphertexts, and in slots of the ring for bits.

A packed ciphertext has one value for each record and each of `stride` columns. A column
is (copy, question): a group of up to `stride / copies` questions is evaluated together, and `copies` probes of each
share a ciphertext. In the ring for bits, copies are whole stretches of slots, so that rotations can add them up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.encoding.layout import RecordLayout


@dataclass(frozen=True)
class QuestionLayout:
    """How a group of questions shares packed ciphertexts."""

    degree: int
    block: int
    copies: int

    @classmethod
    def of(cls, layout: RecordLayout, questions: int, probes: int) -> QuestionLayout:
        """As many copies as few questions leave room for, and no more than there are probes."""
        columns = 1 << max(0, min(questions, layout.stride) - 1).bit_length()
        most = 1 << max(0, probes - 1).bit_length()
        return cls(layout.degree, layout.block, min(max(1, layout.stride // columns), most))

    @property
    def stride(self) -> int:
        """Columns of a packed ciphertext."""
        return self.degree // self.block

    @property
    def questions(self) -> int:
        """Questions of a group, at most."""
        return self.stride // self.copies

    def units(self, probes: int) -> int:
        """Packed ciphertexts that the probes of a group take."""
        return -(-probes // self.copies)

    def slot_of_coefficient(self) -> npt.NDArray[np.intp]:
        """For each coefficient of a packed ciphertext the slot that its value gets."""
        record, column = np.divmod(np.arange(self.degree), self.stride)
        copy, question = np.divmod(column, self.questions)
        return np.asarray(copy * (self.degree // self.copies) + record * self.questions + question, dtype=np.intp)

    def slots(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """For each slot: its copy, record and question."""
        copy, rest = np.divmod(np.arange(self.degree), self.degree // self.copies)
        record, question = np.divmod(rest, self.questions)
        return copy, record, question

    def folds(self) -> tuple[int, ...]:
        """Rotations that add up all copies: 0 is the swap of the halves, others are steps."""
        steps = []
        half = 2
        while half <= self.copies:
            steps.append(0 if half == 2 else self.degree // half)
            half *= 2
        return tuple(steps)
