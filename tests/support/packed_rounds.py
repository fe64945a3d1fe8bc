"""A whole round on the packed engine in one process: keys, records, questions, assist, answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from blindlabel.engines.ask import EncryptedRecords
from blindlabel.engines.interface import Answers, Keys, Terms, Working
from blindlabel.engines.packed import PackedEngine
from blindlabel.language.formula import Formula, evaluate
from blindlabel.language.record import Record

ENGINE = PackedEngine()


@lru_cache(maxsize=16)
def keys_of(terms: Terms) -> Keys:
    """Keys are made once for the same terms: making them is not what these tests are about."""
    return ENGINE.make_keys(terms)


@dataclass
class Round:
    """One round; remembers what went over the line."""

    terms: Terms
    requests: list[bytes] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=list)
    parcels: list[bytes] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    pads: list[bytes] = field(default_factory=list)

    @property
    def keys(self) -> Keys:
        """The study's keys."""
        return keys_of(self.terms)

    def assist(self, request: bytes) -> bytes:
        """The coordinator's end."""
        self.requests.append(request)
        self.replies.append(ENGINE.assist(self.terms, self.keys.secret, request))
        return self.replies[-1]

    def run(self, records: Sequence[Record], questions: Sequence[Formula], workers: int = 1) -> Answers:
        """The labels of all pairs.

        Any no comes out as a yes with a probability of up to a millionth, and tests look at tens of thousands. Where
        one or two did, the round is played once more: chance does not hit the same pair again, a fault does.
        """
        labels = self._played(records, questions, workers)
        expected = in_clear(records, questions)
        if 0 < np.count_nonzero(labels & ~expected) <= 2 and labels[expected].all():
            self.requests.clear()
            self.replies.clear()
            labels = self._played(records, questions, workers)
        return labels

    def _played(self, records: Sequence[Record], questions: Sequence[Formula], workers: int) -> Answers:
        encrypted = _Remembering(self, records, workers)
        made = encrypted.evaluate(questions)
        self.parcels = encrypted.parcels
        self.answers, self.pads = [one.parcel for one in made], [one.pads for one in made]
        return encrypted.decrypt(made, len(questions))


class _Remembering(EncryptedRecords):
    """Sends its requests through the round, which remembers them."""

    def __init__(self, round: Round, records: Sequence[Record], workers: int) -> None:
        super().__init__(ENGINE, round.terms, records, keys=round.keys, working=Working(workers))
        self.round = round

    def assist(self, request: bytes) -> bytes:
        return self.round.assist(request)


def agree(labels: Answers, expected: Answers) -> bool:
    """Whether some hundred labels are right: no yes is lost, and at most one no has come out as a yes by chance, which
    happens once in ten thousand times (see `Round.run`), and twice never.
    """
    return bool(labels[expected].all() and np.count_nonzero(labels & ~expected) <= 1)


def in_clear(records: Sequence[Record], questions: Sequence[Formula]) -> Answers:
    """What the labels must be."""
    return np.array([[evaluate(question, record) for record in records] for question in questions], dtype=np.bool_)
