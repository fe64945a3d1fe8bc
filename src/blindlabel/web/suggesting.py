"""The app's way to the suggestion oracle: one suggester over the owner's own table, made once, in the background."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property

from blindlabel.errors import InputError
from blindlabel.language import Record
from blindlabel.language.formula import Formula
from blindlabel.language.suggestions import Suggester
from blindlabel.parties.asking import check_question
from blindlabel.parties.suggesting import suggester_for
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.storage.workspace import Workspace
from blindlabel.web.what_if import MOST_ROWS, Matches, OwnRecords, cost_sentence, prepared_table


@dataclass(frozen=True)
class Suggested:
    """A question for a record, and in a sentence why this one."""

    record: int
    question: str
    why: str


class Background:
    """What is made from the whole table and therefore not at once: records to try questions on, and the suggester."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        """Threads of several tabs share what is made here."""

    @cached_property
    def _table(self) -> tuple[list[Record], bool]:
        return prepared_table(self._workspace)

    @cached_property
    def own(self) -> OwnRecords:
        """The table's records, at most `MOST_ROWS` of them."""
        records, partial = self._table
        step = max(1, -(-len(records) // MOST_ROWS))
        return OwnRecords(records[::step], sampled=partial or step > 1)

    @cached_property
    def _suggester(self) -> Suggester:
        return suggester_for(self._workspace, self._table[0])

    @property
    def ready(self) -> bool:
        """Whether the table has been read."""
        return "own" in self.__dict__

    def matches(self, formula: Formula, own: Record) -> Matches:
        """How a question fits the own records."""
        with self._lock:
            return self.own.matches(formula, own)

    def cost(self, formula: Formula) -> str:
        """What a question costs, in words."""
        return cost_sentence(formula, self._workspace)

    def warm_up(self) -> None:
        """Make everything now."""
        with self._lock:
            _ = self.own, self._suggester

    def suggest(self, own: OwnRecord, task: Task) -> Suggested:
        """A question for one record that can be used as it is."""
        with self._lock:
            made = self._suggester.suggest(own.prepared, task.round, [text for _, text in task.previous])
        checked = check_question(self._workspace.agreement, made.text)
        if not checked.ok:
            raise InputError(f"The suggestion for {own.id} cannot be used: {checked.problems[0].message}")
        return Suggested(task.record, made.text, made.why)
