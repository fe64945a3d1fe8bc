"""What an owner's page works with: the sampled records and the questions of the round, kept in memory over the
workspace.

One desk serves all tabs of one app. It reads the workspace again only when its state has changed there (`owner run`
took in a round), so that opening, checking and saving stay quick with thousands of records. Knows nothing of browsers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from blindlabel.language import Question
from blindlabel.language.diagnostics import error
from blindlabel.language.tree import NOWHERE
from blindlabel.parties.asking import check_question
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.protocol.owner import State
from blindlabel.storage.workspace import RoundProgress, Workspace

BRIEF_LENGTH = 160

Filter = Literal["all", "open", "draft", "saved"]
Sort = Literal["record", "state", "id", "brief", "disagreed"]

_ORDER = {"open": 0, "draft": 1, "saved": 2}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    record: int
    state: str
    id: str
    brief: str
    disagreed: int

    def to_json(self) -> dict[str, object]:
        """As the browser gets it."""
        return {
            "record": self.record,
            "state": self.state,
            "id": self.id,
            "brief": self.brief,
            "disagreed": self.disagreed,
        }


class Desk:
    """The records and tasks of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.edition = 0
        """Grows whenever something to be shown has changed."""
        self._version = -1
        self._state = workspace.state()
        self._records: list[OwnRecord] = []
        self._searchable: list[str] = []
        self._briefs: list[str] = []
        self._tasks: dict[int, Task] = {}
        self.refresh()

    def refresh(self) -> bool:
        """Read again what other processes changed; True where something did."""
        version = self.workspace.version()
        if version == self._version and (self._records or not self._state.sample):
            return False
        self._version = version
        self._state = self.workspace.state()
        if not self._records:
            self._records = self.workspace.records()
            self._searchable = [f"{record.id} {' '.join(record.row.values())}".casefold() for record in self._records]
            self._briefs = [brief(record) for record in self._records]
        self._tasks = {task.record: task for task in self.workspace.tasks()} if self._records else {}
        self.edition += 1
        return True

    @property
    def state(self) -> State:
        """The protocol's view."""
        return self._state

    @property
    def records(self) -> list[OwnRecord]:
        """All sampled records."""
        return self._records

    @property
    def writable(self) -> bool:
        """Whether questions of the current round can still change."""
        return bool(self._tasks) and not self._state.rounds[-1].handed_in and self._state.truth is None

    def progress(self) -> RoundProgress:
        """Where this owner stands, from memory."""
        count = dict.fromkeys(_ORDER, 0)
        for task in self._tasks.values():
            count[task.state] += 1
        rounds = self._state.rounds
        return RoundProgress(
            self._state.round,
            self.workspace.agreement.rounds,
            len(self._tasks),
            count["open"],
            count["draft"],
            count["saved"],
            bool(rounds) and rounds[-1].handed_in,
            self._state.truth is not None,
        )

    def task(self, record: int) -> Task | None:
        """What is to be asked about a record in this round; None where it is not asked."""
        return self._tasks.get(record)

    def record(self, record: int) -> OwnRecord:
        """An own record by its place in the sample."""
        return self._records[record]

    def rows(
        self, search: str = "", shown: Filter = "all", sort: Sort = "record", descending: bool = False
    ) -> list[Row]:
        """The tasks of the round as lines of the table."""
        words = search.casefold().split()
        found = [
            self._row(task)
            for task in self._tasks.values()
            if (shown in ("all", task.state)) and all(word in self._searchable[task.record] for word in words)
        ]
        keys = {
            "record": lambda row: row.record,
            "state": lambda row: (_ORDER[row.state], row.record),
            "id": lambda row: (row.id.casefold(), row.record),
            "brief": lambda row: (row.brief.casefold(), row.record),
            "disagreed": lambda row: (row.disagreed, row.record),
        }
        return sorted(found, key=keys[sort], reverse=descending)

    def _row(self, task: Task) -> Row:
        return Row(task.record, task.state, self._records[task.record].id, self._briefs[task.record], task.disagreed)

    def unwritten(self) -> list[Task]:
        """Tasks without a saved question."""
        return [task for task in self._tasks.values() if task.state != "saved"]

    def next_unwritten(self, after: int | None) -> int | None:
        """The next record without a saved question behind this one, from the start again at the end; None where all
        have one.
        """
        waiting = [task.record for task in self.unwritten() if task.record != after]
        return next((record for record in waiting if after is None or record > after), waiting[0] if waiting else None)

    def neighbour(self, record: int, step: int) -> int | None:
        """The task before or behind this one in the order of the sample."""
        order = list(self._tasks)
        place = order.index(record) + step if record in self._tasks else 0
        return order[place] if 0 <= place < len(order) else None

    def place(self, record: int) -> tuple[int, int]:
        """Which task of how many this is, counted from 1."""
        return list(self._tasks).index(record) + 1, len(self._tasks)

    # Writing

    def check(self, text: str) -> Question:
        """Read a question under the agreement; a blank one gets its own sentence."""
        if not text.strip():
            return _blank(check_question(self.workspace.agreement, text))
        return check_question(self.workspace.agreement, text)

    def save_draft(self, record: int, text: str) -> None:
        """Keep a text that is being written."""
        task = self._tasks[record]
        if task.draft == text:
            return
        if not text and task.question is None:
            self.discard(record)
            return
        self.workspace.save_draft(record, text)
        state: Literal["draft", "saved"] = "saved" if text == task.question else "draft"
        self._put(replace(task, draft=text, state=state))

    def save(self, record: int, text: str, source: str = "person") -> Question:
        """Make a text the record's question where it has no error; keep it as a draft in any case."""
        checked = self.check(text)
        if not checked.ok:
            self.save_draft(record, text)
            return checked
        self.workspace.save_questions({record: text}, source)
        self._put(replace(self._tasks[record], draft=text, question=text, state="saved"))
        return checked

    def save_many(self, texts: dict[int, str], source: str) -> None:
        """Many questions at once, checked before."""
        self.workspace.save_questions(texts, source)
        for record, text in texts.items():
            self._put(replace(self._tasks[record], draft=text, question=text, state="saved"))

    def discard(self, record: int) -> None:
        """Forget draft and question of a record in this round."""
        self.workspace.discard(record)
        self._put(replace(self._tasks[record], draft="", question=None, state="open"))

    def restore(self, task: Task) -> None:
        """Undo what was done to a record since this was its task."""
        self.workspace.discard(task.record)
        if task.question is not None:
            self.workspace.save_questions({task.record: task.question}, "person")
        if task.draft != (task.question or ""):
            self.workspace.save_draft(task.record, task.draft)
        self._put(task)

    def hand_in(self) -> None:
        """Fix the questions of the round."""
        self.workspace.hand_in()
        self.refresh()

    def _put(self, task: Task) -> None:
        self._tasks[task.record] = task
        self.edition += 1


def brief(own: OwnRecord) -> str:
    """A record in one line."""
    text = " · ".join(value for value in (" ".join(value.split()) for value in own.row.values()) if value)
    return text if len(text) <= BRIEF_LENGTH else text[: BRIEF_LENGTH - 1] + "…"


def _blank(checked: Question) -> Question:
    hint = "Click a word of your record, or let one be suggested."
    return checked.refused(error("blank", "There is no question yet.", NOWHERE, hint), alone=True)
