"""The workload that the engines are compared on: sampled records of one length, and questions of three shapes about
them.

Deterministic and made up, so that a measurement can be repeated and no data of others is needed. No encryption here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from blindlabel.engines.interface import Terms
from blindlabel.language.formula import Atom, Conjunction, Disjunction, Formula, Negation
from blindlabel.language.record import Record, View

NEEDLE_LENGTH = 6
"""The average of the tokens in the publication's four data sets."""
PUBLISHED_SECONDS = {46: 4.6e5, 53: 5.4e5, 118: 1.28e6, 148: 1.6e6}
"""Record length to the seconds that the publication reports for one needle and 2,500 pairs, in serial mode."""
PUBLISHED_PAIRS = 2500
PUBLISHED_PARALLEL = "more than 3 times as fast in parallel mode (OpenMP, 8 cores)"

_LETTERS = "eeeeaaaiiioootttnnnssrrrlldcumphgbfywkvxzjq0123456789"


SHAPES: Mapping[str, int] = MappingProxyType({"one needle": 1, "five, one OR": 5, "five, one NOT": 5})
"""What is asked, and how many needles it has: as the publication measured, a & b & c & (d | e), a & b & c & d & !e."""


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


def workload(length: int, size: int = 50, shape: str = "five, one OR", *, full: bool = False) -> Workload:
    """This many records of exactly this length, and as many questions about them. The agreement encodes what they need
    alone, or (`full`) is the one that a study gets which says nothing.
    """
    made = words(size * (length // (NEEDLE_LENGTH + 1) + 1), length)
    share = len(made) // size
    texts = [" ".join(made[i * share : (i + 1) * share])[:length].ljust(length, "x") for i in range(size)]
    records = tuple(Record({"text": text} if full else {}, text) for text in texts)
    questions = tuple(_question(record.whole, words(2, i), shape) for i, record in enumerate(records))
    return Workload(_default(length, size) if full else _least(length, size, shape), records, questions, SHAPES[shape])


def _least(length: int, size: int, shape: str) -> Terms:
    return Terms(
        attributes=(),
        record_length=length,
        encode_attributes=False,
        functions=("is_in",),
        profile=(1, 1) if "OR" in shape else (1,),
        exclusions=int("NOT" in shape),
        records=size,
    )


def _default(length: int, size: int) -> Terms:
    from blindlabel.protocol import agreement as agreements  # noqa: PLC0415 (not there under the Python of the gates)

    encoding, sampling = {"record_length": length}, {"records": size}
    return agreements.new("costs", ("a", "b"), ("text",), encoding=encoding, sampling=sampling).terms()


def _question(own: str, others: list[str], shape: str) -> Formula:
    found = own.split()[:3]
    a, b, c, d, e = (Atom("is_in", (needle,), View()) for needle in (*found, *others))
    if shape == "one needle":
        return a
    if "OR" in shape:
        return Conjunction((a, b, c, Disjunction((d, e))))
    last = Atom("is_in", (own[-NEEDLE_LENGTH:],), View())
    return Conjunction((a, b, c, last, Negation(e)))
