"""A whole round on the packed engine in one process: keys, records, questions, answers, opening."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from blindlabel.engines.interface import AnswerMatrix, Evaluated, KeyPair, Outcomes, Terms, Working, is_yes, outcomes
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Parcel, ParcelKind
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.engines.packed.running.engine import PackedEngine
from blindlabel.language import Question
from blindlabel.language.formula import Formula, evaluate
from blindlabel.language.record import Record

ENGINE = PackedEngine()


@lru_cache(maxsize=16)
def keys_of(terms: Terms) -> KeyPair:
    """Keys are made once for the same terms: making them is not what these tests are about."""
    return ENGINE.make_keys(terms)


def asked(*sources: str) -> list[Formula]:
    """The formulas of questions."""
    return [Question(source).usable() for source in sources]


def parcel_of(terms: Terms, content: bytes) -> Parcel:
    """A parcel of this agreement, opened, whatever it holds."""
    kind = ParcelKind(content[6])
    return parcels.read(content, kind, room_of(terms).study(b""), most_items=1000, most_bytes=1 << 30)


@dataclass
class Round:
    """One round; remembers what went over the line, and the pads that did not."""

    terms: Terms
    working: Working = field(default_factory=Working)
    parcels: list[bytes] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    pads: list[bytes] = field(default_factory=list)

    @property
    def keys(self) -> KeyPair:
        """The round's keys."""
        return keys_of(self.terms)

    def run(self, records: Sequence[Record], questions: Sequence[Formula]) -> AnswerMatrix:
        """The labels of all pairs.

        Any no comes out as a yes with a probability of up to a millionth, and tests look at tens of thousands. Where
        one or two did, the round is played once more: chance does not hit the same pair again, a fault does.
        """
        labels = self._played(records, questions)
        if not (labels == (expected := in_clear(records, questions))).all() and agree(labels, expected):
            labels = self._played(records, questions)
        return labels

    def _played(self, records: Sequence[Record], questions: Sequence[Formula]) -> AnswerMatrix:
        self.parcels = list(ENGINE.encrypt(self.terms, self.keys.secret, records, len(questions), self.working))
        made = list(ENGINE.evaluate(self.terms, self.keys.public, self.parcels, questions, self.working))
        self.answers, self.pads = [one.parcel for one in made], [one.pads for one in made]
        return is_yes(compared(self.terms, made, len(questions), len(records)))


def compared(terms: Terms, made: Sequence[Evaluated], questions: int, records: int) -> Outcomes:
    """What whoever compares learns of all pairs."""
    opened = ENGINE.open(terms, keys_of(terms).secret, [one.parcel for one in made], questions, records)
    return outcomes(opened == ENGINE.pad_values(terms, [one.pads for one in made], questions, records))


def agree(labels: AnswerMatrix, expected: AnswerMatrix) -> bool:
    """Whether some hundred labels are right but for chance: at most two, which happens once in 10^8 times."""
    return int(np.count_nonzero(labels != expected)) <= 2


def in_clear(records: Sequence[Record], questions: Sequence[Formula]) -> AnswerMatrix:
    """What the labels must be."""
    return np.array([[evaluate(question, record) for record in records] for question in questions], dtype=np.bool_)
