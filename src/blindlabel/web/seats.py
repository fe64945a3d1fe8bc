"""One person of an app: which records are theirs, in which order they go through them, and what they write.

For most records a person writes the question that is asked. Where somebody else has been asked first and this person
second (see `storage.team`), what is written here goes to the second question, and the first is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from blindlabel.language import Question
from blindlabel.protocol.interfaces import PERSON, OwnRecord, Task, TaskState
from blindlabel.storage.annotations import Mark
from blindlabel.web.cached_workspace import STATES, CachedWorkspace
from blindlabel.web.judging import Judging
from blindlabel.web.verdicts import RISKIEST, Judged

Filter = Literal["all", "mine", "open", "draft", "saved", "unsure"]


@dataclass(frozen=True)
class Row:
    """One line of the list."""

    own: OwnRecord
    task: Task
    verdict: Judged | None
    mark: Mark
    asked: str
    """Who is asked about it, where that is one person."""

    def to_json(self) -> dict[str, object]:
        """As the browser gets it."""
        return {
            "record": self.own.record,
            "id": self.own.id,
            "values": [" ".join(value.split()) for value in self.own.row.values()],
            "state": self.task.state,
            "verdict": self.verdict.brief if self.verdict else "",
            "level": self.verdict.level if self.verdict else "",
            "disagreed": "too loose" if self.task.loose else "yes" if self.task.disagreed else "",
            "unsure": self.mark.unsure,
            "note": self.mark.note,
            "asked": self.asked,
        }


class Seat:
    """One person who annotates."""

    def __init__(self, cache: CachedWorkspace, judging: Judging, name: str) -> None:
        self.cache, self._judging, self.name = cache, judging, name

    def is_second(self, record: int) -> bool:
        """Whether this person writes the second question about a record."""
        return bool(self.name) and self.cache.team.second(record) == self.name

    def is_mine(self, record: int) -> bool:
        """Whether this person is asked about a record."""
        return not self.cache.team.names or self.cache.team.is_asked(self.name, record)

    def task(self, record: int) -> Task | None:
        """What this person is to write about a record."""
        return (self.cache.seconds if self.is_second(record) else self.cache.tasks).get(record)

    # The list

    def rows(
        self, search: str = "", shown: Filter = "all", sort: str = "record", descending: bool = False
    ) -> list[Row]:
        """The tasks of the round as lines of the list. `sort` is a column of ours or an attribute."""
        words = search.casefold().split()
        found = [
            self._row(record)
            for record in self.cache.tasks
            if self._is_shown(record, shown) and self.cache.has_words(record, words)
        ]
        return sorted(found, key=lambda row: (*_sort_key(row, sort), row.own.record), reverse=descending)

    def _is_shown(self, record: int, shown: Filter) -> bool:
        task = self.task(record)
        if shown == "unsure":
            return self.cache.mark(record).unsure
        if shown == "mine":
            return self.is_mine(record)
        return task is not None and shown in ("all", task.state)

    def _row(self, record: int) -> Row:
        task = self.task(record)
        assert task is not None
        own, team = self.cache.record(record), self.cache.team
        verdict = self._judging.known_verdict(record, task.question)
        asked = " and ".join(name for name in (team.first(record), team.second(record)) if name)
        return Row(own, task, verdict, self.cache.mark(record), asked)

    def unwritten(self) -> list[Task]:
        """This person's tasks without a saved question."""
        tasks = [self.task(record) for record in self.cache.tasks if self.is_mine(record)]
        return [task for task in tasks if task is not None and task.state != "saved"]

    def next_unwritten(self, after: int | None, order: Sequence[int] = ()) -> int | None:
        """The next record without a saved question behind this one, in this order and from its start again at the end;
        None where all have one.
        """
        waiting = {task.record for task in self.unwritten() if task.record != after}
        first = list(order) or list(self.cache.tasks)
        ordered = [record for record in [*first, *self.cache.tasks] if record in waiting]
        if after in first:
            behind = set(first[first.index(after) + 1 :])
            return next((record for record in ordered if record in behind), ordered[0] if ordered else None)
        return ordered[0] if ordered else None

    # Writing

    def save_draft(self, record: int, text: str) -> None:
        """Keep a text that is being written."""
        task = self.task(record)
        if task is None or task.draft == text:
            return
        if not text and task.question is None:
            self.discard(record)
            return
        if self.is_second(record):
            self.cache.annotations.save_second(record, {"draft": text, "author": self.name})
        else:
            self.cache.workspace.save_draft(record, text)
        state: TaskState = "saved" if text == task.question else "draft"
        self._put(replace(task, draft=text, state=state))

    def save(self, record: int, text: str, source: str = PERSON) -> Question:
        """Make a text the record's question where it has no error; keep it as a draft in any case."""
        checked = self.cache.check(text)
        if not checked.ok:
            self.save_draft(record, text)
            return checked
        if self.is_second(record):
            values: dict[str, str | None] = {"draft": text, "question": text, "source": source, "author": self.name}
            self.cache.annotations.save_second(record, values)
        else:
            self.cache.workspace.save_questions({record: text}, source, self.name)
        task = self.task(record)
        assert task is not None
        self._put(replace(task, draft=text, question=text, state="saved", source=source, author=self.name))
        return checked

    def discard(self, record: int) -> tuple[Task, Task]:
        """Forget draft and question of a record in this round; what the task was and what it is now."""
        before = self.task(record)
        assert before is not None
        if self.is_second(record):
            self.cache.annotations.discard_second(record)
        else:
            self.cache.workspace.discard(record)
        after = replace(before, draft="", question=None, state="open", source="", author="")
        self._put(after)
        return before, after

    def take_back(self, change: tuple[Task, Task]) -> str:
        """Undo a change of one record; a sentence where it cannot be undone."""
        before, after = change
        if not self.is_second(before.record):
            return "It has changed again since, so it stays." if self.cache.take_back([change]) else ""
        if self.task(before.record) != after:
            return "It has changed again since, so it stays."
        values = {"draft": before.draft, "question": before.question, "source": before.source, "author": before.author}
        self.cache.annotations.save_second(before.record, values)
        self._put(before)
        return ""

    def _put(self, task: Task) -> None:
        self.cache.put(task, second=self.is_second(task.record))


def _sort_key(row: Row, sort: str) -> tuple[object, ...]:
    if sort == "state":
        return (STATES[row.task.state],)
    if sort == "verdict":
        return (len(RISKIEST), 0) if row.verdict is None else (RISKIEST.index(row.verdict.kind), -row.verdict.others)
    if sort == "disagreed":
        return (row.task.disagreed or row.task.loose,)
    if sort == "asked":
        return (row.asked,)
    if sort == "id":
        return (row.own.id.casefold(),)
    return (row.own.row[sort].casefold(),) if sort in row.own.row else ()
