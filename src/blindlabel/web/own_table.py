"""The owner's own table, to try questions on: which rows a question fits, and in how many rows a condition holds.

Only the owner's own table is looked at. Predicates are evaluated column by column and remembered, since while a person
types most of a question stays as it was; words come from an index.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from blindlabel.errors import InputError
from blindlabel.language import Record
from blindlabel.language.formula import Atom, Conjunction, Constant, Disjunction, Formula, Negation, in_order, parts_of
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import View
from blindlabel.language.words import words
from blindlabel.parties.joining import own_table
from blindlabel.records.preparation import prepare
from blindlabel.storage.workspace import OwnRecord, Workspace

MOST_ROWS = 5000
"""A larger table is looked at in a sample of this many rows, evenly spread."""
_REMEMBERED = 1024

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Prepared rows with their ids and their positions in the table."""

    records: Sequence[Record]
    ids: Sequence[str]
    positions: Sequence[int]
    sampled: bool = False
    """Whether these are only a part of the table."""
    places: Mapping[int, int] = field(init=False)
    """Where the row of a position stands here."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", {position: place for place, position in enumerate(self.positions)})


class OwnTable:
    """Rows of one table, to try questions on."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._texts: dict[View, list[str]] = {}
        self._index: dict[View, dict[str, list[int]]] = {}
        self._answers: OrderedDict[tuple[object, ...], Bits] = OrderedDict()

    def __len__(self) -> int:
        return len(self.rows.records)

    def place_of(self, own: OwnRecord) -> int | None:
        """Where an own record stands among the rows; None where the rows are a sample without it."""
        return self.rows.places.get(own.position)

    def fits(self, formula: Formula) -> Bits:
        """Which rows a question says yes to."""
        values: dict[int, Bits] = {}
        for node in in_order(formula):
            values[id(node)] = self._node(node, [values[id(part)] for part in parts_of(node)])
        return values[id(formula)]

    def _node(self, node: Formula, parts: list[Bits]) -> Bits:
        if isinstance(node, Constant):
            return np.full(len(self), node.value, dtype=np.bool_)
        if isinstance(node, Atom):
            return self.holds(node)
        if isinstance(node, Negation):
            return ~parts[0]
        if isinstance(node, Conjunction):
            both: Bits = np.all(parts, axis=0)
            return both
        if isinstance(node, Disjunction):
            either: Bits = np.any(parts, axis=0)
            return either
        total = np.zeros(len(self), dtype=np.int64)
        for weight, part in zip(node.weights, parts, strict=True):
            total += weight * part
        return (node.low <= total) & (total <= node.high)

    def holds(self, atom: Atom) -> Bits:
        """In which rows one predicate holds."""
        key = (atom.function, atom.arguments, atom.view)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._computed(atom)
            if len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        else:
            self._answers.move_to_end(key)
        return found

    def _computed(self, atom: Atom) -> Bits:
        found = np.zeros(len(self), dtype=np.bool_)
        if atom.function == "has_word":
            found[self._words(atom.view).get(str(atom.arguments[0]), [])] = True
            return found
        texts = self._column(atom.view)
        if atom.function == "is_in":
            needle = str(atom.arguments[0])
            return np.fromiter((needle in text for text in texts), dtype=np.bool_, count=len(texts))
        meaning, arguments = PREDICATES[atom.function].meaning, atom.arguments
        return np.fromiter((meaning(text, arguments) for text in texts), dtype=np.bool_, count=len(texts))

    def _column(self, view: View) -> list[str]:
        if view not in self._texts:
            self._texts[view] = [record.text(view) for record in self.rows.records]
        return self._texts[view]

    def _words(self, view: View) -> dict[str, list[int]]:
        if view not in self._index:
            index: dict[str, list[int]] = {}
            for place, text in enumerate(self._column(view)):
                for word in words(text):
                    index.setdefault(word, []).append(place)
            self._index[view] = index
        return self._index[view]


def read_rows(workspace: Workspace) -> Rows:
    """The owner's table as questions see it. Where it cannot be read any more, the sampled records have to do."""
    try:
        table, agreement = own_table(workspace), workspace.agreement
    except InputError:
        own = workspace.records()
        return Rows([one.prepared for one in own], [one.id for one in own], [one.position for one in own], sampled=True)
    step = max(1, -(-len(table) // MOST_ROWS))
    positions = range(0, len(table), step)
    records = [prepare(table.row(place), agreement.attributes, agreement.preparation.steps) for place in positions]
    return Rows(records, [table.ids[place] for place in positions], positions, sampled=step > 1)
