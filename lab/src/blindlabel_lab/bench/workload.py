"""The workload that the engines are compared on: sampled records of one length, and questions of five needles with one
OR.

Deterministic and made up, so that a measurement can be repeated and no data of others is needed. No encryption here.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from blindlabel.engines.interface import Terms
from blindlabel.language.formula import Atom, Conjunction, Disjunction, Formula
from blindlabel.language.record import Record, View

NEEDLE_LENGTH = 6
"""The average of the tokens in the publication's four data sets."""
PUBLISHED_SECONDS = {46: 4.6e5, 53: 5.4e5, 118: 1.28e6, 148: 1.6e6}
"""Record length to the seconds that the publication reports for one needle and 2,500 pairs on eight cores."""
PUBLISHED_PAIRS = 2500

_LETTERS = "eeeeaaaiiioootttnnnssrrrlldcumphgbfywkvxzjq0123456789"


@dataclass(frozen=True)
class Workload:
    """Records and questions of one study's pairing."""

    terms: Terms
    records: tuple[Record, ...]
    questions: tuple[Formula, ...]
    needles: int
    """Needles of one question."""


def words(count: int, seed: int) -> list[str]:
    """Made-up words of the needle length."""
    choice = random.Random(seed)  # noqa: S311 - nothing secret
    return ["".join(choice.choice(_LETTERS) for _ in range(NEEDLE_LENGTH)) for _ in range(count)]


def workload(length: int, size: int = 50) -> Workload:
    """So many records of exactly this length, and as many questions a & b & c & (d | e) about them."""
    made = words(size * (length // (NEEDLE_LENGTH + 1) + 1), length)
    share = len(made) // size
    records = tuple(
        Record({}, " ".join(made[i * share : (i + 1) * share])[:length].ljust(length, "x")) for i in range(size)
    )
    questions = tuple(_question(record.whole, words(2, i)) for i, record in enumerate(records))
    terms = Terms(
        attributes=(),
        record_length=length,
        encode_attributes=False,
        functions=("is_in",),
        profile=(1, 1),
        exclusions=0,
        records=size,
    )
    return Workload(terms, records, questions, needles=5)


def _question(own: str, others: list[str]) -> Formula:
    found = own.split()[:3]
    a, b, c, d, e = (Atom("is_in", (needle,), View()) for needle in (*found, *others))
    return Conjunction((a, b, c, Disjunction((d, e))))
