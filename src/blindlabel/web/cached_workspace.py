"""What an owner's page works with: the sampled records and the questions of the round, kept in memory over the
workspace.

One cache serves all tabs of one app; each person has a `Seat` over it (see `seats`). It reads the workspace again only
when its state has changed there (`owner run` took in a round), so that opening, checking and saving stay quick with
thousands of records. Knows nothing of browsers.
"""

from __future__ import annotations

from dataclasses import replace

from blindlabel.language import Question
from blindlabel.language.diagnostics import error
from blindlabel.language.tree import NOWHERE
from blindlabel.parties.asking import check_question
from blindlabel.protocol.interfaces import OwnRecord, Task, TaskState
from blindlabel.protocol.owner import State
from blindlabel.storage.annotations import Annotations, Mark
from blindlabel.storage.round_questions import RoundProgress
from blindlabel.storage.team import team_of
from blindlabel.storage.workspace import Workspace

STATES: dict[TaskState, int] = {"open": 0, "draft": 1, "saved": 2}
"""The states of a task, in the order of a round."""


class CachedWorkspace:
    """The records and tasks of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.annotations = Annotations(workspace)
        self.edition = 0
        """Grows whenever something to be shown has changed."""
        self.team = team_of(workspace)
        self._version = -1
        self._state = workspace.state()
        self._records: list[OwnRecord] = []
        self._searchable: list[str] = []
        self._tasks: dict[int, Task] = {}
        self._seconds: dict[int, Task] = {}
        self._marks: dict[int, Mark] = {}
        self._asked_before: dict[int, Task] = {}
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
        self.reread()
        return True

    def reread(self) -> None:
        """Read the questions again: another process may have written some."""
        self._tasks = {task.record: task for task in self.workspace.tasks()} if self._records else {}
        self._seconds = self.annotations.seconds(list(self._tasks.values())) if self.team.doubled else {}
        self._marks = self.annotations.marks()
        before = self.workspace.tasks(self._state.round - 1) if self._state.round > 1 else []
        self._asked_before = {task.record: task for task in before}
        self.edition += 1

    @property
    def version(self) -> int:
        """Of the protocol's state."""
        return self._version

    @property
    def state(self) -> State:
        """The protocol's view."""
        return self._state

    @property
    def records(self) -> list[OwnRecord]:
        """All sampled records."""
        return self._records

    @property
    def tasks(self) -> dict[int, Task]:
        """What is to be asked in this round, by record, in the order of the sample."""
        return self._tasks

    @property
    def seconds(self) -> dict[int, Task]:
        """The second questions, by record."""
        return self._seconds

    @property
    def writable(self) -> bool:
        """Whether questions of the current round can still change."""
        return bool(self._tasks) and not self._state.rounds[-1].handed_in and self._state.truth is None

    def progress(self) -> RoundProgress:
        """Where this owner stands, from memory."""
        count = dict.fromkeys(STATES, 0)
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

    def source_before(self, record: int, text: str) -> str:
        """Where a question came from that is kept as it was asked in the round before; empty where it is another."""
        before = self._asked_before.get(record)
        return before.source if before is not None and before.question == text else ""

    def has_words(self, record: int, words: list[str]) -> bool:
        """Whether a search for these words, in lower case, finds a record."""
        return all(word in self._searchable[record] for word in words)

    def mark(self, record: int) -> Mark:
        """What is noted about a record."""
        return self._marks.get(record, Mark())

    def set_mark(self, record: int, mark: Mark) -> None:
        """Note something about a record."""
        self.annotations.mark(record, mark)
        self._marks[record] = mark
        self.edition += 1

    # Writing

    def check(self, text: str) -> Question:
        """Read a question under the agreement; a blank one gets its own sentence."""
        return (
            _blank(check_question(self.workspace.agreement, text))
            if not text.strip()
            else check_question(self.workspace.agreement, text)
        )

    def save_many(self, texts: dict[int, str], source: str, author: str = "") -> list[tuple[Task, Task]]:
        """Many questions at once, checked before; what each task was and what it became."""
        self.workspace.save_questions(texts, source, author)
        changes = []
        for record, text in texts.items():
            before = self._tasks[record]
            self.put(replace(before, draft=text, question=text, state="saved", source=source, author=author))
            changes.append((before, self._tasks[record]))
        return changes

    def take_back(self, changes: list[tuple[Task, Task]]) -> list[int]:
        """Undo changes, but for records that have changed again since; the records that were left alone."""
        done = set(self.workspace.take_back(changes))
        for before, _ in changes:
            if before.record in done:
                self.put(before)
        if len(done) < len(changes):
            self.reread()  # another process may have written what is left alone
        return [before.record for before, _ in changes if before.record not in done]

    def hand_in(self) -> None:
        """Fix the questions of the round."""
        self.workspace.hand_in()
        self.refresh()

    def put(self, task: Task, *, second: bool = False) -> None:
        """Take over what was written."""
        (self._seconds if second else self._tasks)[task.record] = task
        self.edition += 1


def _blank(checked: Question) -> Question:
    hint = "Click a word of your record, or let one be suggested."
    return checked.refused(error("blank", "There is no question yet.", NOWHERE, hint), alone=True)
