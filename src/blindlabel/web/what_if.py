"""What a question says about the owner's own records: how many it matches, and whether its own record is among them.

An oracle sees from that at once whether a question is too loose or too strict. Only its own table is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blindlabel.engines.interface import EngineError
from blindlabel.engines.packed import PackedEngine
from blindlabel.errors import InputError
from blindlabel.language import Record
from blindlabel.language.columns import Columns
from blindlabel.language.formula import Atom, Count, Formula, Negation, evaluate, in_order
from blindlabel.parties.suggesting import prepared_rows
from blindlabel.storage.workspace import Workspace

MOST_ROWS = 5000
"""A larger table is looked at in a sample of this many rows, evenly spread."""
_REMEMBERED = 256
"""Predicates whose answers are kept: while a person types, most of a question stays as it was."""


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
        self.sampled = sampled
        self._columns = Columns(records, _REMEMBERED)

    def matches(self, formula: Formula, own: Record) -> Matches:
        """Count the records that a question matches."""
        answers = self._columns.answers(formula)
        return Matches(int(np.count_nonzero(answers)), len(answers), self.sampled, evaluate(formula, own))


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
