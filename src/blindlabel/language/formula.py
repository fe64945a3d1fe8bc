"""What is left of a question once its variables are filled in: a Boolean formula over predicates of views of the
record.

Engines compile this, not the tree. `rewritten` in `rewriting.py` makes it from a checked question: `lower` and `upper`
have become views, `choose` and `common_words` have been rewritten, constants are folded, weights are whole numbers.
Nodes are shared: equal parts are one object, so a formula is a graph whose size is bounded by the question's, even
where its written-out form would be exponential.

There is one walk over a formula: `fold` goes through it once, parts before wholes, without recursion, and asks an
`Algebra` what each node comes to, given what its parts came to. Whatever evaluates, explains or compiles a formula is
an algebra; a new kind of node is a new method that the type checker misses in each of them. `in_order` is the same walk
for whoever looks for nodes of one kind.

Over many records a formula is evaluated column by column: for trying questions on a table, and for clear answers. Each
different predicate is worked out once for all records and remembered, because one person's questions, and the versions
of a question while it is typed, share most of theirs.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, Union

import numpy as np
import numpy.typing as npt

from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import Record, View
from blindlabel.language.signatures import Clear


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


T = TypeVar("T")


class Algebra(Protocol[T]):
    """What each kind of node comes to. `parts` are what the parts of the node came to, in their order."""

    def constant(self, value: bool) -> T:
        """Yes or no."""

    def atom(self, atom: Atom) -> T:
        """A predicate."""

    def negation(self, part: T) -> T:
        """The opposite of its part."""

    def conjunction(self, parts: Sequence[T]) -> T:
        """All of the parts."""

    def disjunction(self, parts: Sequence[T]) -> T:
        """Any of the parts."""

    def count(self, count: Count, parts: Sequence[T]) -> T:
        """Whether the weights of the parts that hold add up to something within the count's bounds."""


def fold(formula: Formula, algebra: Algebra[T]) -> T:
    """What the formula comes to: every node once, parts before wholes."""
    done: dict[int, T] = {}
    for node in in_order(formula):
        done[id(node)] = _fold_node(node, algebra, [done[id(part)] for part in parts_of(node)])
    return done[id(formula)]


def _fold_node(node: Formula, algebra: Algebra[T], parts: Sequence[T]) -> T:
    if isinstance(node, Constant):
        return algebra.constant(node.value)
    if isinstance(node, Atom):
        return algebra.atom(node)
    if isinstance(node, Negation):
        return algebra.negation(parts[0])
    if isinstance(node, Conjunction):
        return algebra.conjunction(parts)
    if isinstance(node, Disjunction):
        return algebra.disjunction(parts)
    return algebra.count(node, parts)


def digest_of(formula: Formula) -> str:
    """A digest of a formula: the same in every process for formulas that are written the same way."""
    digests: dict[int, str] = {}
    for node in in_order(formula):
        own = [value for name, value in vars(node).items() if name not in ("part", "parts")]
        said = repr((type(node).__name__, own, [digests[id(part)] for part in parts_of(node)]))
        digests[id(node)] = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
    return digests[id(formula)]


Bits = npt.NDArray[np.bool_]


class _OnColumns:
    """The algebra of columns: a Boolean for each of `rows` cases; those of the predicates are given."""

    def __init__(self, rows: int, atom: Callable[[Atom], Bits]) -> None:
        self.rows = rows
        self._atom = atom

    def constant(self, value: bool) -> Bits:
        return np.full(self.rows, value, dtype=np.bool_)

    def atom(self, atom: Atom) -> Bits:
        return self._atom(atom)

    def negation(self, part: Bits) -> Bits:
        return ~part

    def conjunction(self, parts: Sequence[Bits]) -> Bits:
        both: Bits = np.logical_and.reduce(parts)
        return both

    def disjunction(self, parts: Sequence[Bits]) -> Bits:
        either: Bits = np.logical_or.reduce(parts)
        return either

    def count(self, count: Count, parts: Sequence[Bits]) -> Bits:
        total = np.zeros(self.rows, dtype=np.int64)
        for weight, part in zip(count.weights, parts):
            total += weight * part
        return (count.low <= total) & (total <= count.high)


def column(formula: Formula, rows: int, atom: Callable[[Atom], Bits]) -> Bits:
    """The formula's value in each of `rows` cases, where `atom` gives those of its predicates."""
    return fold(formula, _OnColumns(rows, atom))


def holds(atom: Atom, record: Record) -> bool:
    """Whether a predicate holds for a clear record."""
    return PREDICATES[atom.function].meaning(record.text(atom.view), atom.arguments)


def evaluate(formula: Formula, record: Record) -> bool:
    """The formula's value on a clear record. The interpreter defines the meaning; tests hold this to it."""
    return bool(column(formula, 1, lambda atom: np.array([holds(atom, record)]))[0])


class Columns:
    """Some records, to ask formulas about. Remembers the answers of up to `remembered` predicates."""

    def __init__(self, records: Sequence[Record], remembered: int | None = None) -> None:
        self.records = records
        self._remembered = remembered
        self._texts: dict[View, list[str]] = {}
        self._answers: OrderedDict[tuple[object, ...], Bits] = OrderedDict()

    def answers(self, formula: Formula) -> Bits:
        """The formula's value on every record."""
        return column(formula, len(self.records), self._atom)

    def _atom(self, atom: Atom) -> Bits:
        key = (atom.function, atom.arguments, atom.view)
        found = self._answers.get(key)
        if found is None:
            meaning, arguments = PREDICATES[atom.function].meaning, atom.arguments
            texts = self._column(atom.view)
            found = np.fromiter((meaning(text, arguments) for text in texts), dtype=np.bool_, count=len(texts))
            self._answers[key] = found
            if self._remembered is not None and len(self._answers) > self._remembered:
                self._answers.popitem(last=False)
        else:
            self._answers.move_to_end(key)
        return found

    def _column(self, view: View) -> list[str]:
        if view not in self._texts:
            self._texts[view] = [record.text(view) for record in self.records]
        return self._texts[view]
