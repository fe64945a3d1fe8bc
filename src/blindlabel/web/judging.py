"""What is made from the owner's whole table and therefore not at once: verdicts about questions, how rare a condition
is, and suggestions. One for all tabs of an app; threads share it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from blindlabel.errors import InputError, OutsideError
from blindlabel.language import Record
from blindlabel.language.columns import Bits
from blindlabel.language.formula import Atom, Formula
from blindlabel.language.points import PointsQuestion
from blindlabel.language.suggestions import Suggester, Suggestion
from blindlabel.parties.asking import check_question
from blindlabel.parties.joining import own_table
from blindlabel.parties.suggesting import suggester_for
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.records.preparation import prepare_rows
from blindlabel.storage.workspace import Workspace
from blindlabel.web.costs import cost_sentence
from blindlabel.web.verdicts import Judged, judged


class Judging:
    """Verdicts and suggestions for one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.RLock()
        """The suggester and its table remember what they worked out, so one thread at a time asks them."""
        self._known: dict[tuple[int, str], Judged] = {}
        self.edition = 0
        """Grows whenever a verdict has become known."""
        self.problem = ""
        """Why verdicts are not about the owner's whole table, where they are not."""

    @cached_property
    def _suggester(self) -> Suggester:
        return suggester_for(self._workspace, self.rows[0])

    @cached_property
    def rows(self) -> tuple[Sequence[Record], Sequence[str]]:
        """The rows of the table and their ids; where it cannot be read any more, the sampled records have to do, and
        `problem` says so.
        """
        agreement = self._workspace.agreement
        try:
            table = own_table(self._workspace)
        except (InputError, OutsideError) as error:
            own = self._workspace.records()
            self.problem = f"{error} Until then verdicts and suggestions know your {len(own):,} sampled records alone."
            return [one.prepared for one in own], [one.id for one in own]
        return prepare_rows(table, agreement.attributes, agreement.preparation.steps), table.ids

    @property
    def ready(self) -> bool:
        """Whether the table has been read."""
        return "_suggester" in self.__dict__

    def warm_up(self) -> None:
        """Read the table now."""
        with self._lock:
            _ = self._suggester

    # Verdicts

    def verdict(self, own: OwnRecord, text: str, formula: Formula) -> Judged:
        """What is to be thought of a question; reads the table first where that has not been done."""
        known = self._known.get((own.record, text))
        if known is not None:
            return known
        with self._lock:
            made = judged(self._suggester.verdict(formula, own.prepared), formula)
        self._known[(own.record, text)] = made
        self.edition += 1
        return made

    def known_verdict(self, record: int, text: str | None) -> Judged | None:
        """The verdict about a question where it is known already."""
        return self._known.get((record, text)) if text is not None else None

    def judge_all(self, questions: Iterable[tuple[OwnRecord, str]]) -> None:
        """Come to know the verdicts about many questions."""
        for own, text in questions:
            if (own.record, text) not in self._known:
                checked = check_question(self._workspace.agreement, text)
                if checked.formula is not None:
                    self.verdict(own, text, checked.formula)

    def fitting(self, formula: Formula) -> Bits:
        """Which own rows a question fits."""
        with self._lock:
            return self._suggester.table.fitting(formula)

    # Single conditions

    def others(self, own: OwnRecord, atoms: Iterable[Atom]) -> int | None:
        """In how many other own rows any of these holds; None while the table is being read."""
        return len(self._rows_with(own, atoms)) if self.ready else None

    def _rows_with(self, own: OwnRecord, atoms: Iterable[Atom]) -> npt.NDArray[np.int64]:
        """Other rows than this record, by the suggester's rule: those that say the very same are not others."""
        with self._lock:
            records = self._suggester.table.records
            found = np.unique(np.concatenate([self._suggester.table.rows_with(atom) for atom in atoms]))
        whole = Record.of({name: own.prepared.attributes.get(name, "") for name in self._suggester.attributes}).whole
        return np.array([row for row in found.tolist() if records[row].whole != whole], dtype=np.int64)

    def most_points(self, own: OwnRecord, points: PointsQuestion) -> int:
        """The most points that another own row has."""
        held = np.zeros(len(self.rows[0]), dtype=np.int64)
        for condition in points.conditions:
            held[self._rows_with(own, condition.any_of)] += condition.points
        return int(held.max(initial=0))

    # Suggestions

    def cost(self, formula: Formula) -> str:
        """What a question costs, in words."""
        return cost_sentence(formula, self._workspace)

    def suggest(self, own: OwnRecord, task: Task) -> Suggestion:
        """A question for one record that can be used as it is."""
        with self._lock:
            previous = [text for _, text in task.previous]
            made = self._suggester.suggest(own.prepared, task.round, previous, loose=task.loose)
        checked = check_question(self._workspace.agreement, made.text)
        if not checked.ok:
            raise InputError(f"The suggestion for {own.id} cannot be used: {checked.problems[0].message}")
        return made

    def neighbours(self, own: OwnRecord, task: Task, points: PointsQuestion) -> dict[str, Suggestion]:
        """A question a little looser than this one, and one a little stricter, where there are such."""
        with self._lock:
            looser = self._suggester.looser(points, own.prepared, task.round)
            stricter = self._suggester.stricter(points, own.prepared, task.round)
        return {name: made for name, made in (("Looser", looser), ("Stricter", stricter)) if made is not None}
