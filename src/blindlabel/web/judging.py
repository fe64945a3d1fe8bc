"""What is made from the owner's whole table and therefore not at once: rows to try questions on, verdicts about them,
and suggestions. One for all tabs of an app; threads share it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blindlabel.errors import InputError
from blindlabel.language.formula import Atom, Formula
from blindlabel.language.points import PointsQuestion
from blindlabel.language.suggestions import Suggester
from blindlabel.parties.suggesting import suggester_for
from blindlabel.storage.workspace import OwnRecord, Task, Workspace
from blindlabel.web.costs import cost_sentence
from blindlabel.web.own_table import Bits, OwnTable, read_rows
from blindlabel.web.verdicts import Verdict, judge


@dataclass(frozen=True)
class Suggested:
    """A question for a record, and in a sentence why this one."""

    record: int
    question: str
    why: str


class Judging:
    """Verdicts and suggestions for one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._table_lock, self._suggester_lock = threading.Lock(), threading.Lock()
        self._verdicts: dict[tuple[int, str], Verdict] = {}
        self.edition = 0
        """Grows whenever a verdict has become known."""

    @cached_property
    def table(self) -> OwnTable:
        """The table's rows."""
        return OwnTable(read_rows(self._workspace))

    @cached_property
    def _suggester(self) -> Suggester:
        return suggester_for(self._workspace)

    @property
    def ready(self) -> bool:
        """Whether the table has been read."""
        return "table" in self.__dict__

    def warm_up(self) -> None:
        """Make everything now."""
        with self._table_lock:
            _ = self.table
        with self._suggester_lock:
            _ = self._suggester

    # Verdicts

    def verdict(self, own: OwnRecord, text: str, formula: Formula) -> Verdict:
        """What is to be thought of a question; reads the table first where that has not been done."""
        known = self._verdicts.get((own.record, text))
        if known is not None:
            return known
        with self._table_lock:
            made = judge(formula, own, self.table)
        self._verdicts[(own.record, text)] = made
        self.edition += 1
        return made

    def known_verdict(self, record: int, text: str | None) -> Verdict | None:
        """The verdict about a question where it is known already."""
        return self._verdicts.get((record, text)) if text is not None else None

    def judge_all(self, questions: Iterable[tuple[OwnRecord, str]]) -> None:
        """Come to know the verdicts about many questions."""
        for own, text in questions:
            if (own.record, text) not in self._verdicts:
                checked = self._workspace.check(text)
                if checked.formula is not None:
                    self.verdict(own, text, checked.formula)

    # Single conditions

    def others(self, own: OwnRecord, atoms: Iterable[Atom]) -> int | None:
        """In how many other own rows any of these holds; None while the table is being read."""
        return None if not self.ready else int(np.count_nonzero(self._others(own, atoms)))

    def _others(self, own: OwnRecord, atoms: Iterable[Atom]) -> Bits:
        with self._table_lock:
            found: Bits = np.any([self.table.holds(atom) for atom in atoms], axis=0)
        place = self.table.place_of(own)
        if place is not None:
            found = found.copy()
            found[place] = False
        return found

    def most_points(self, own: OwnRecord, points: PointsQuestion) -> int:
        """The most points that another own row has."""
        held = np.zeros(len(self.table), dtype=np.int64)
        for condition in points.conditions:
            held += condition.points * self._others(own, condition.any_of)
        return int(held.max(initial=0))

    # Suggestions

    def cost(self, formula: Formula) -> str:
        """What a question costs, in words."""
        return cost_sentence(formula, self._workspace)

    def suggest(self, own: OwnRecord, task: Task) -> Suggested:
        """A question for one record that can be used as it is."""
        with self._suggester_lock:
            made = self._suggester.suggest(own.prepared, task.round, [text for _, text in task.previous])
        checked = self._workspace.check(made.question)
        if not checked.ok:
            raise InputError(f"The suggestion for {own.id} cannot be used: {checked.diagnostics[0].message}")
        return Suggested(task.record, made.question, made.why)
