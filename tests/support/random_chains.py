"""Random questions with denials inside, for the chain and whoever answers it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

from blindlabel.language.record import Record

CONDITIONS = "abcdef"
DENIED = 0.3
"""Of all literals."""
RECORDS = tuple(
    Record.of({"name": "".join(letter for letter, there in zip(CONDITIONS, some) if there)})
    for some in product((False, True), repeat=len(CONDITIONS))
)
"""One record for every combination of conditions that hold."""


def random_source(random: Random, conditions: int | None = None) -> str:
    """The text of a question: AND, OR, weighted counts and `choose`, over Booleans and over texts, nested up to three
    deep, each with two or three parts, of which every other is a literal.

    It is about this many conditions; if no number is given, one to six, all equally often. Each literal is about any of
    them, so a condition may occur several times, denied here and not there.
    """
    return f"ret {_node(random, CONDITIONS[: conditions or random.randint(1, len(CONDITIONS))], 3)}"


def _part(random: Random, letters: Sequence[str], depth: int) -> str:
    if depth == 0 or random.random() < 0.5:
        return ("!" if random.random() < DENIED else "") + f'is_in("{random.choice(letters)}", $r)'
    return _node(random, letters, depth)


def _node(random: Random, letters: Sequence[str], depth: int) -> str:
    kind = random.choices(("&", "|", "count", "choose"), (4, 4, 3, 1))[0]
    parts = [_part(random, letters, depth - 1) for _ in range(random.randint(2, 3))]
    if kind == "choose" and len(parts) == 3:
        return f"choose({', '.join(parts)})"
    if kind == "choose":
        return f'is_in(choose({parts[0]}, "{random.choice(letters)}", "{random.choice(letters)}"), $r)'
    if kind == "count":
        weights = [random.randint(1, 3) for _ in parts]
        total = " + ".join(f"{weight}*{part}" for weight, part in zip(weights, parts))
        return f"({total} {random.choices(('>=', '<=', '=='), (8, 1, 1))[0]} {random.randint(1, sum(weights))})"
    return f"({f' {kind} '.join(parts)})"
