"""What is left of a question once its variables are filled in: a Boolean formula over predicates of views of the
record.

Engines compile this, not the tree. `formula_of` in `rewriting.py` makes it from a checked question: `lower` and `upper`
have become views, `choose` and `common_words` have been rewritten, constants are folded, weights are whole numbers.
Nodes are shared: equal parts are one object, so a formula is a graph whose size is bounded by the question's, even
where its written-out form would be exponential. Walk it with `in_order`, which visits every node once, parts before
wholes, without recursion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from blindlabel.language.functions import PREDICATES, Clear
from blindlabel.language.record import Record, View


@dataclass(frozen=True, eq=False)
class Constant:
    """Yes or no whatever the record."""

    value: bool


@dataclass(frozen=True, eq=False)
class Atom:
    """One predicate of one view. Never one that its clear arguments alone decide."""

    function: str
    arguments: tuple[Clear, ...]
    view: View


@dataclass(frozen=True, eq=False)
class Negation:
    part: Formula


@dataclass(frozen=True, eq=False)
class Conjunction:
    """Two or more different parts, all of which must hold."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, eq=False)
class Disjunction:
    """Two or more different parts, one of which must hold."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, eq=False)
class Count:
    """Whether low <= sum of the weights of the parts that hold <= high.

    Weights are positive whole numbers with no common divisor; 0 <= low <= high <= total, and not the full range.
    """

    weights: tuple[int, ...]
    parts: tuple[Formula, ...]
    low: int
    high: int

    @property
    def total(self) -> int:
        """The largest value the sum can have."""
        return sum(self.weights)


Formula = Union[Constant, Atom, Negation, Conjunction, Disjunction, Count]


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly inside a formula."""
    if isinstance(formula, Negation):
        return (formula.part,)
    if isinstance(formula, (Conjunction, Disjunction, Count)):
        return formula.parts
    return ()


def in_order(formula: Formula) -> Iterator[Formula]:
    """Every node once, parts before wholes."""
    seen: set[int] = set()
    waiting: list[tuple[Formula, bool]] = [(formula, False)]
    while waiting:
        node, parts_done = waiting.pop()
        if parts_done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.append((node, True))
            waiting.extend((part, False) for part in reversed(parts_of(node)))


def atoms_of(formula: Formula) -> tuple[Atom, ...]:
    """The different predicates of a formula, in order of first use."""
    return tuple(node for node in in_order(formula) if isinstance(node, Atom))


def evaluate(formula: Formula, record: Record) -> bool:
    """The formula's value on a clear record. The interpreter defines the meaning; tests hold this to it."""
    values: dict[int, bool] = {}
    for node in in_order(formula):
        if isinstance(node, Constant):
            value = node.value
        elif isinstance(node, Atom):
            value = PREDICATES[node.function].meaning(record.text(node.view), node.arguments)
        elif isinstance(node, Negation):
            value = not values[id(node.part)]
        elif isinstance(node, Conjunction):
            value = all(values[id(part)] for part in node.parts)
        elif isinstance(node, Disjunction):
            value = any(values[id(part)] for part in node.parts)
        else:
            total = sum(weight for weight, part in zip(node.weights, node.parts) if values[id(part)])
            value = node.low <= total <= node.high
        values[id(node)] = value
    return values[id(formula)]
