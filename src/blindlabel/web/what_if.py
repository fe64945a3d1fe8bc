"""What a question says about the owner's own records: how many it matches, and whether its own record is among them.

An oracle sees from that at once whether a question is too loose or too strict. Only the own table is looked at.
Predicates are evaluated column by column and remembered, since while a person types most of a question stays as it was.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blindlabel.engines.interface import EngineError
from blindlabel.engines.packed import PackedEngine
from blindlabel.errors import InputError
from blindlabel.language import Record
from blindlabel.language.formula import (
    Atom,
    Conjunction,
    Constant,
    Count,
    Disjunction,
    Formula,
    Negation,
    evaluate,
    in_order,
)
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import View
from blindlabel.parties.suggesting import prepared_rows
from blindlabel.storage.workspace import Workspace

MOST_ROWS = 5000
"""A larger table is looked at in a sample of this many rows, evenly spread."""
_REMEMBERED = 256

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Matches:
    """How a question fits the own records."""

    matches: int
    rows: int
    sampled: bool
    """Whether `rows` is only a part of the table."""
    itself: bool
    """Whether it matches the record that it was written for."""


class OwnRecords:
    """Prepared records of one table, to try questions on."""

    def __init__(self, records: Sequence[Record], *, sampled: bool = False) -> None:
        self.records = records
        self.sampled = sampled
        self._texts: dict[View, list[str]] = {}
        self._answers: OrderedDict[tuple[object, ...], Bits] = OrderedDict()

    def matches(self, formula: Formula, own: Record) -> Matches:
        """Count the records that a question matches."""
        answers = self._evaluate(formula)
        return Matches(int(np.count_nonzero(answers)), len(self.records), self.sampled, evaluate(formula, own))

    def _evaluate(self, formula: Formula) -> Bits:
        values: dict[int, Bits] = {}
        for node in in_order(formula):
            values[id(node)] = self._node(node, [values[id(part)] for part in _parts(node)])
        return values[id(formula)]

    def _node(self, node: Formula, parts: list[Bits]) -> Bits:
        if isinstance(node, Constant):
            return np.full(len(self.records), node.value, dtype=np.bool_)
        if isinstance(node, Atom):
            return self._atom(node)
        if isinstance(node, Negation):
            return ~parts[0]
        if isinstance(node, Conjunction):
            both: Bits = np.all(parts, axis=0)
            return both
        if isinstance(node, Disjunction):
            either: Bits = np.any(parts, axis=0)
            return either
        total = np.zeros(len(self.records), dtype=np.int64)
        for weight, part in zip(node.weights, parts):
            total += weight * part
        return (node.low <= total) & (total <= node.high)

    def _atom(self, atom: Atom) -> Bits:
        key = (atom.function, atom.arguments, atom.view)
        found = self._answers.get(key)
        if found is None:
            meaning, arguments = PREDICATES[atom.function].meaning, atom.arguments
            texts = self._column(atom.view)
            found = np.fromiter((meaning(text, arguments) for text in texts), dtype=np.bool_, count=len(texts))
            self._answers[key] = found
            if len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        else:
            self._answers.move_to_end(key)
        return found

    def _column(self, view: View) -> list[str]:
        if view not in self._texts:
            self._texts[view] = [record.text(view) for record in self.records]
        return self._texts[view]


def _parts(node: Formula) -> tuple[Formula, ...]:
    if isinstance(node, Negation):
        return (node.part,)
    return node.parts if isinstance(node, (Conjunction, Disjunction, Count)) else ()


def prepared_table(workspace: Workspace) -> tuple[list[Record], bool]:
    """The owner's table as questions see it, and whether it is only a part: where the table cannot be read any more,
    the sampled records have to do."""
    try:
        return prepared_rows(workspace), False
    except InputError:
        return [record.prepared for record in workspace.records()], True


def cost_sentence(formula: Formula, workspace: Workspace | None = None) -> str:
    """What a question costs to evaluate, in words. On the packed engine all questions of a round run together in a time
    that the agreement fixes, so that nobody learns from it what was asked; that time is said as well."""
    atoms = counts = negations = 0
    for node in in_order(formula):
        atoms += isinstance(node, Atom)
        counts += isinstance(node, Count)
        negations += isinstance(node, Negation)
    asked = "1 predicate" if atoms == 1 else f"{atoms} predicates"
    extra = [text for number, text in ((counts, "a count"), (negations, "a negation")) if number]
    found = f"{asked} with {' and '.join(extra)}" if extra else asked
    round_seconds = None if workspace is None else _round_seconds(workspace, formula)
    return (
        found
        if round_seconds is None
        else f"{found}; asking all questions of a round takes about {_duration(round_seconds)} on one core"
    )


def _round_seconds(workspace: Workspace, formula: Formula) -> float | None:
    if workspace.agreement.encoding.engine != "packed":
        return None
    try:
        return PackedEngine().explain(workspace.agreement.terms(), formula).seconds
    except EngineError:
        return None


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} minutes"
