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
from blindlabel.language.record import SEPARATOR, Record, View

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


def workload(length: int, size: int = 50, shape: str = "five, one OR", said: str = "least") -> Workload:
    """This many records of exactly this length, and as many questions about them, under an agreement (`agreed`)."""
    from blindlabel_lab.bench.agreed import agreed  # noqa: PLC0415 (not there under the Python of the gates)

    room = {"profile": [1, 1] if "OR" in shape else [1], "exclusions": int("NOT" in shape), "unless": 0}
    agreement = agreed(said, size, length, room, lower=False)
    first, *others = agreement.attributes
    length = agreement.encoding.record_length - len(SEPARATOR) * len(others)
    made = words(size * (length // (NEEDLE_LENGTH + 1) + 1), length)
    share = len(made) // size
    texts = [" ".join(made[i * share : (i + 1) * share])[:length].ljust(length, "x") for i in range(size)]
    records = tuple(Record.of({first: text} | dict.fromkeys(others, "")) for text in texts)
    questions = tuple(_question(text, words(2, i), shape) for i, text in enumerate(texts))
    return Workload(agreement.terms(), records, questions, SHAPES[shape])


def _question(own: str, others: list[str], shape: str) -> Formula:
    found = own.split()[:3]
    a, b, c, d, e = (Atom("is_in", (needle,), View()) for needle in (*found, *others))
    if shape == "one needle":
        return a
    if "OR" in shape:
        return Conjunction((a, b, c, Disjunction((d, e))))
    last = Atom("is_in", (own[-NEEDLE_LENGTH:],), View())
    return Conjunction((a, b, c, last, Negation(e)))
