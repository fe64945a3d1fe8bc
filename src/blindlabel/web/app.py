"""One app over one workspace: what all its tabs share, and a seat for each person at it.

The sampled records and the questions of the round are kept in memory (`CachedWorkspace`), and read again only when the
workspace's state has changed (`owner run` received a round), so that opening, checking and saving stay quick with
thousands of records.

A seat says which records are a person's, in which order they go through them, and keeps what they write. For most
records a person writes the question that is asked. If somebody else is asked first and this person second (see
`storage.annotations.Team`), this person writes the second question, and the first is not shown.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from blindlabel.export import AgreedTruth
from blindlabel.export.truth import truths_of_owner
from blindlabel.language import Question
from blindlabel.language.diagnostics import error
from blindlabel.language.suggestions import RISKIEST
from blindlabel.language.tree import NOWHERE
from blindlabel.parties.questions import check_question
from blindlabel.protocol.interfaces import PERSON, Back, OwnRecord, Task, TaskState
from blindlabel.storage.annotations import Annotations, Mark, team_of
from blindlabel.storage.round_questions import RoundProgress, progress_of, task_of
from blindlabel.storage.workspace import Workspace
from blindlabel.web.judging import Judging
from blindlabel.web.practice import Practice, nearer, practice_folder

# What all tabs share


class CachedWorkspace:
    """The records and tasks of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.annotations = Annotations(workspace)
        self.edition = 0
        """Grows whenever something that is shown has changed."""
        self.team = team_of(workspace)
        self.version = -1
        """Of the protocol's state, which is `state`."""
        self.state = workspace.state()
        self.records: list[OwnRecord] = []
        """All sampled records."""
        self._searchable: list[str] = []
        self.tasks: dict[int, Task] = {}
        """What is to be asked in this round, by record, in the order of the sample."""
        self.seconds: dict[int, Task] = {}
        """The second questions, by record."""
        self._marks: dict[int, Mark] = {}
        self._earlier: dict[tuple[int, int], Task] = {}
        """Tasks of earlier rounds, by round and record."""
        self.writing: dict[int, str] = {}
        """Who wrote the draft about each record."""
        self._newest = (0, 0.0)
        """How many questions of the round there are, and when the newest was written."""
        self.refresh()

    def refresh(self) -> bool:
        """Read again what other processes changed; True if something did."""
        version = self.workspace.version()
        if version == self.version and (self.records or not self.state.sample):
            return self._catch_up()
        self.version = version
        self.state = self.workspace.state()
        if not self.records:
            self.records = self.workspace.records()
            self._searchable = [f"{record.id} {' '.join(record.row.values())}".casefold() for record in self.records]
        self.reread()
        return True

    def reread(self) -> None:
        """Read the questions again: another process may have written some."""
        self.tasks = {task.record: task for task in self.workspace.tasks()} if self.records else {}
        self.seconds = self.annotations.seconds(list(self.tasks.values())) if self.team.doubled else {}
        self._marks = self.annotations.marks()
        self.writing = self.annotations.drafters(self.state.round)
        self._newest = self.workspace.written_since(self.state.round, float("inf"))[1:]
        before = [task for number in range(1, self.state.round) for task in self.workspace.tasks(number)]
        self._earlier = {(task.round, task.record): task for task in before}
        self.edition += 1

    def _catch_up(self) -> bool:
        """Take over what another process wrote; True if there was anything."""
        rows, count, latest = self.workspace.written_since(self.state.round, self._newest[1])
        if (count, latest) == self._newest:
            return False
        known, self._newest = self.edition, (count, latest)
        for row in rows:
            before = self.tasks.get(row.record)
            now = task_of(row.record, row.round, before.back if before else "", {(row.round, row.record): row})
            if before and (now.draft, now.question, now.author) != (before.draft, before.question, before.author):
                self.writing = self.annotations.drafters(self.state.round)
                self.put(replace(now, previous=before.previous))
        if count != sum(task.state != "open" for task in self.tasks.values()):
            self.reread()  # something was discarded
        return self.edition != known

    def writer(self, record: int) -> str:
        """Who wrote the newest text about a record, if a name is known."""
        task = self.tasks.get(record)
        if task is None or task.state == "open":
            return ""
        return task.author if task.state == "saved" else self.writing.get(record, task.author)

    @property
    def writable(self) -> bool:
        """Whether questions of the current round can still change."""
        return bool(self.tasks) and not self.state.rounds[-1].handed_in and self.state.truth is None

    def progress(self) -> RoundProgress:
        """How far this owner is, from memory."""
        return progress_of(self.workspace.agreement, self.state, list(self.tasks.values()))

    def source_before(self, record: int, text: str) -> str:
        """The source of a question that is kept as it was asked in the previous round; empty if it is a
        different one.
        """
        before = self._earlier.get((self.state.round - 1, record))
        return before.source if before is not None and before.question == text else ""

    def back(self, round: int, record: int) -> Back:
        """Why a record came back in a round."""
        task = self.tasks.get(record) if round == self.state.round else self._earlier.get((round, record))
        return "" if task is None else task.back

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
        checked = check_question(self.workspace.agreement, text)
        return checked if text.strip() else _blank(checked)

    def save_many(
        self, texts: dict[int, str], source: str, author: str = "", was: Mapping[int, str] | None = None
    ) -> list[tuple[Task, Task]]:
        """Save many questions that have been checked; returns what each task was and what it became."""
        self.workspace.save_questions(texts, source, author, was)
        changes = []
        for record, text in texts.items():
            before = self.tasks[record]
            self.put(replace(before, draft=text, question=text, state="saved", source=source, author=author))
            changes.append((before, self.tasks[record]))
        return changes

    def take_back(self, changes: list[tuple[Task, Task]]) -> list[int]:
        """Undo changes, except for records that have changed again since; returns the records that were left alone."""
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
        (self.seconds if second else self.tasks)[task.record] = task
        self.edition += 1


def _blank(checked: Question) -> Question:
    hint = "Click a word of your record, or ask for a suggestion."
    return checked.refused(error("blank", "There is no question yet.", NOWHERE, hint), alone=True)


# One person

Filter = Literal["all", "mine", "open", "draft", "saved", "unsure"]


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
        """The task of this person about a record."""
        return (self.cache.seconds if self.is_second(record) else self.cache.tasks).get(record)

    # The list

    def listed(
        self, search: str = "", shown: Filter = "all", sort: str = "record", descending: bool = False
    ) -> list[int]:
        """The records of the round that a list shows, in its order. `sort` is a column of ours or an attribute."""
        words = search.casefold().split()
        found = [one for one in self.cache.tasks if self._is_shown(one, shown) and self.cache.has_words(one, words)]
        return sorted(found, key=lambda record: (*self._sort_key(record, sort), record), reverse=descending)

    def _sort_key(self, record: int, sort: str) -> tuple[object, ...]:
        task, own = self.task(record), self.cache.records[record]
        assert task is not None
        if sort == "state":
            return (get_args(TaskState).index(task.state),)
        if sort == "verdict":
            verdict = self._judging.known_verdict(record, task.question)
            return (len(RISKIEST), 0) if verdict is None else (RISKIEST.index(verdict.kind), -verdict.risk)
        if sort == "disagreed":
            return (bool(task.back),)
        if sort in ("id", "asked", "writer"):
            return (str(self.line(record)[sort]).casefold(),)
        return (own.row[sort].casefold(),) if sort in own.row else ()

    def line(self, record: int) -> dict[str, object]:
        """One line of the list, as the browser gets it."""
        task, own, team, mark = self.task(record), self.cache.records[record], self.cache.team, self.cache.mark(record)
        assert task is not None
        verdict = self._judging.known_verdict(record, task.question)
        return {
            "record": record,
            "id": own.id,
            "values": [" ".join(value.split()) for value in own.row.values()],
            "state": task.state,
            "verdict": verdict.brief if verdict else "",
            "level": verdict.level if verdict else "",
            "disagreed": _BACK[task.back],
            "unsure": mark.unsure,
            "note": mark.note,
            "asked": " and ".join(name for name in (team.first(record), team.second(record)) if name),
            "writer": self.cache.writer(record),
        }

    def _is_shown(self, record: int, shown: Filter) -> bool:
        task = self.task(record)
        if shown == "unsure":
            return self.cache.mark(record).unsure
        if shown == "mine":
            return self.is_mine(record)
        return task is not None and shown in ("all", task.state)

    def unwritten(self) -> list[Task]:
        """This person's tasks without a saved question."""
        if not self.cache.team.names:
            return [task for task in self.cache.tasks.values() if task.state != "saved"]
        tasks = [self.task(record) for record in self.cache.tasks if self.is_mine(record)]
        return [task for task in tasks if task is not None and task.state != "saved"]

    def next_unwritten(self, after: int | None, order: Sequence[int] = ()) -> int | None:
        """The next record after this one without a saved question, in this order and wrapping around at the end, or
        None if all have one.
        """
        waiting = {task.record for task in self.unwritten() if task.record != after}
        first = list(order) or list(self.cache.tasks)
        ordered = [record for record in [*first, *self.cache.tasks] if record in waiting]
        if after in first:
            behind = set(first[first.index(after) + 1 :])
            return next((record for record in ordered if record in behind), ordered[0] if ordered else None)
        return ordered[0] if ordered else None

    # Writing

    def save_draft(self, record: int, text: str, was: str | None = None) -> None:
        """Keep a text that is being written; with `was`, only over that text (`WrittenMeanwhile`)."""
        task = self.task(record)
        if task is None or task.draft == text:
            return
        if not text and task.question is None:
            self.discard(record, was)
            return
        over = None if was is None else {record: was}
        if self.is_second(record):
            self.cache.annotations.save_second(record, {"draft": text, "author": self.name}, over)
        else:
            self.cache.workspace.save_draft(record, text, over)
            self.cache.writing[record] = self.name
        state: TaskState = "saved" if text == task.question else "draft"
        self._put(replace(task, draft=text, state=state))

    def save(self, record: int, text: str, source: str = PERSON, was: str | None = None) -> Question:
        """Make a text the record's question if it has no error; keep it as a draft in any case."""
        checked = self.cache.check(text)
        over = None if was is None else {record: was}
        if not checked.ok:
            self.save_draft(record, text, was)
            return checked
        if self.is_second(record):
            values: dict[str, str | None] = {"draft": text, "question": text, "source": source, "author": self.name}
            self.cache.annotations.save_second(record, values, over)
        else:
            self.cache.workspace.save_questions({record: text}, source, self.name, over)
        task = self.task(record)
        assert task is not None
        self._put(replace(task, draft=text, question=text, state="saved", source=source, author=self.name))
        return checked

    def discard(self, record: int, was: str | None = None) -> tuple[Task, Task]:
        """Forget draft and question of a record in this round; returns what the task was and what it is now."""
        before = self.task(record)
        assert before is not None
        if self.is_second(record):
            self.cache.annotations.discard_second(record)
        else:
            self.cache.workspace.discard(record, None if was is None else {record: was})
        after = replace(before, draft="", question=None, state="open", source="", author="")
        self._put(after)
        return before, after

    def take_back(self, change: tuple[Task, Task]) -> str:
        """Undo a change to one record; a sentence if it cannot be undone."""
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


_BACK: dict[Back, str] = {"": "", "disagreed": "disagreed", "loose": "too loose", "kept": "it stands"}


class OwnerApp:
    """One app over one workspace; of a study, or of a practice at the address `base`."""

    def __init__(self, workspace: Workspace, practice: Practice | None = None, base: str = "/") -> None:
        self.workspace, self.practice, self.base = workspace, practice, base
        self.cache = CachedWorkspace(workspace)
        self.judging = Judging(workspace) if practice is None else practice.judging
        self._practices: dict[str, OwnerApp] = {}
        self._judged = -1
        self._judging_now = threading.Lock()

    def seat(self, name: str) -> Seat:
        """One person who annotates."""
        return Seat(self.cache, self.judging, name)

    def practice_of(self, name: str, *, make: bool = False) -> OwnerApp | None:
        """The practice of a person of this study, or None if there is none and none shall be made."""
        folder = practice_folder(self.workspace, name)
        if name not in self._practices and (make or folder.exists()):
            made = self.made_practice(folder)
            self._practices[name] = OwnerApp(made.workspace, made, "/practice")
        return self._practices.get(name)

    def made_practice(self, folder: Path) -> Practice:
        """A practice in this folder."""
        return Practice(folder, nearer(self.workspace.agreement.attributes))

    def truths(self) -> dict[str, AgreedTruth]:
        """After the end: the ground truth with every other owner; empty while its labels are still on their way, or if
        the agreement releases none.
        """
        truth = self.cache.state.truth
        if truth is None or self.workspace.agreement.release == "none":
            return {}
        if not all(self.workspace.bodies.has(pairing.labels.blob) for pairing in truth.pairings):
            return {}
        return truths_of_owner(self.workspace)

    def prepare(self) -> None:
        """Read the table and judge all saved questions, in a thread of its own."""

        def work() -> None:
            self.judging.warm_up()
            self.judge_saved()

        threading.Thread(target=work, daemon=True).start()

    def judge_saved(self) -> None:
        """Work out the verdicts on all saved questions of the round."""
        with self._judging_now:
            if self._judged == self.cache.edition:
                return
            self._judged = self.cache.edition
            for task in [*self.cache.tasks.values(), *self.cache.seconds.values()]:
                if task.question is not None and self.cache.check(task.question).formula is not None:
                    self.judging.verdict(self.cache.records[task.record], task.question)
