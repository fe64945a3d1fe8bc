"""Verdicts and suggestions for one workspace: what is made from the owner's whole table, and so takes time. Verdicts
are worked out in `language.suggestions`; here they are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cached_property

from blindlabel.errors import InputError, OutsideError
from blindlabel.language import Record
from blindlabel.language.chain import Chain, Term
from blindlabel.language.formula import Bits, Formula
from blindlabel.language.suggestions import Suggester, Suggestion, Verdict
from blindlabel.parties.joining import own_table
from blindlabel.parties.piloting import level_of
from blindlabel.parties.questions import check_question, suggester_for
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.storage.workspace import Workspace


class Judging:
    """Verdicts and suggestions for one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.RLock()
        """The suggester and its table remember what they have worked out, so only one thread at a time may ask them."""
        self._known: dict[tuple[int, str], Verdict] = {}
        self.edition = 0
        """Grows whenever a verdict becomes known."""
        self.problem = ""
        """Why verdicts are not about the owner's whole table, if they are not."""

    @cached_property
    def _suggester(self) -> Suggester:
        made = suggester_for(self._workspace, self.rows[0])
        made.level = level_of(self._workspace)
        return made

    @cached_property
    def rows(self) -> tuple[Sequence[Record], Sequence[str]]:
        """The rows of the table and their ids. If it can no longer be read, the sampled records have to do, and
        `problem` says so.
        """
        agreement = self._workspace.agreement
        try:
            table = own_table(self._workspace)
        except (InputError, OutsideError) as error:
            own = self._workspace.records()
            self.problem = f"{error} Until then verdicts and suggestions know your {len(own):,} sampled records alone."
            return [one.prepared for one in own], [one.id for one in own]
        return agreement.recipe.rows(table, agreement.attributes), table.ids

    @property
    def ready(self) -> bool:
        """Whether the table has been read."""
        return "_suggester" in self.__dict__

    def warm_up(self) -> None:
        """Read the table now."""
        with self._lock:
            _ = self._suggester

    # Verdicts

    def verdict(self, own: OwnRecord, text: str) -> Verdict:
        """The verdict on a question; reads the table first, if that has not been done."""
        known = self._known.get((own.record, text))
        if known is not None:
            return known
        with self._lock:
            made = self._suggester.verdict(check_question(self._workspace.agreement, text), own.prepared)
        self._known[(own.record, text)] = made
        self.edition += 1
        return made

    def known_verdict(self, record: int, text: str | None) -> Verdict | None:
        """The verdict on a question, if it is known already."""
        return self._known.get((record, text)) if text is not None else None

    def fitting(self, formula: Formula) -> Bits:
        """Which rows of the table a question fits."""
        with self._lock:
            return self._suggester.table.fitting(formula)

    # Single conditions

    def others(self, own: OwnRecord, terms: Iterable[Term]) -> int | None:
        """In how many other rows of the table any of these holds; None while the table is being read."""
        if not self.ready:
            return None
        with self._lock:
            held = self._suggester.table.holding(terms)
            held[self._suggester.table.same_as(self._suggester.own(own.prepared))] = False
        return int(held.sum())

    def most_points(self, own: OwnRecord, points: Chain) -> int:
        """The most points that another row of the table has."""
        with self._lock:
            table = self._suggester.table
            held = table.points(points)
            held[table.same_as(self._suggester.own(own.prepared))] = 0
        return int(held.max(initial=0))

    # Suggestions

    def suggest(self, own: OwnRecord, task: Task) -> Suggestion:
        """A question for one record that can be used as it is."""
        with self._lock:
            previous = [text for _, text in task.previous]
            made = self._suggester.suggest(own.prepared, task.round, previous, loose=task.back == "loose")
        checked = check_question(self._workspace.agreement, made.text)
        if not checked.ok:
            raise InputError(f"The suggestion for {own.id} cannot be used: {checked.problems[0].message}")
        return made

    def neighbours(self, own: OwnRecord, task: Task, points: Chain) -> dict[str, Suggestion]:
        """A question a little looser than this one, and one a little stricter, if there are any."""
        with self._lock:
            looser = self._suggester.looser(points, own.prepared, task.round)
            stricter = self._suggester.stricter(points, own.prepared, task.round)
        return {name: made for name, made in (("Looser", looser), ("Stricter", stricter)) if made is not None}
