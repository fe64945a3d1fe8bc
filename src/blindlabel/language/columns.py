"""Formulas over many records at once, column by column: for trying questions on a table, and for clear answers.

Each different predicate is worked out once for all records and remembered, since questions of one person, and the
versions of a question while it is typed, share most of theirs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from blindlabel.language.formula import Atom, Count, Formula, fold
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import Record, View

Bits = npt.NDArray[np.bool_]


class _Columns:
    """The algebra: a Boolean for each of `rows` cases, the predicates' given."""

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
    return fold(formula, _Columns(rows, atom))


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
