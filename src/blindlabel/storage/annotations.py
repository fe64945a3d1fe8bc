"""What people do in the owner's web app: who they are, how long a record takes, notes, and second questions.

Kept in the workspace, exported by `owner log export`, never sent to anybody. Three things, each in a table of its own:

1. A *visit* is one opening of a record by one person: when it was opened, when the first key or click changed the
   question, which suggestion was shown last and when, when and what was saved, how far that is from the suggestion
   (0: taken as it is, 1: nothing of it left), and the verdict at that moment. This is the annotation log.
2. A *mark* says "not sure", with a note. It belongs to a record and stays from round to round.
3. A *second* question is another annotator's question about the same record, to see how far two people agree. It is
   never asked of the other side.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from blindlabel.errors import InputError
from blindlabel.protocol.interfaces import CHANGED, PERSON, SUGGESTED, SavedQuestion, Task
from blindlabel.protocol.owner_rules import OwnerState
from blindlabel.storage import workspace_tables as tables
from blindlabel.storage.round_questions import task_of, upsert
from blindlabel.storage.workspace import Workspace

LONGEST_NOTE = 2000


@dataclass(frozen=True)
class Visit:
    """One opening of a record by one person. Times are seconds since 1970."""

    visit: int
    annotator: str
    round: int
    record: int
    opened: float
    typed: float | None = None
    """The first change of the question."""
    suggested: float | None = None
    """When the last suggestion was shown."""
    suggestion: str | None = None
    saved: float | None = None
    question: str | None = None
    source: str | None = None
    changed: float | None = None
    """How far the saved question is from the suggestion, 0 to 1, or None if none was shown."""
    verdict: str | None = None


@dataclass(frozen=True)
class Mark:
    """What a person noted about a record."""

    unsure: bool = False
    note: str = ""


def difference(before: str, after: str) -> float:
    """How far two texts are apart, as a share of their words: 0 for equal ones, 1 if nothing is left."""
    first, second = before.split(), after.split()
    return round(1.0 - difflib.SequenceMatcher(None, first, second, autojunk=False).ratio(), 3)


def source_of(text: str, suggestion: str | None) -> str:
    """The source of a question that a person saved after this suggestion was shown."""
    if suggestion is None:
        return PERSON
    apart = difference(suggestion, text)
    return SUGGESTED if apart == 0 else CHANGED if apart < 1 else PERSON


class Annotations:
    """The annotation log, marks and second questions of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._database = workspace.database

    # The log

    def opened(self, annotator: str, round: int, record: int) -> int:
        """Begin a visit; returns its number."""
        values = {"annotator": annotator, "round": round, "record": record, "opened": time.time()}
        with self._database.write() as connection:
            key = connection.execute(tables.visit.insert().values(**values)).inserted_primary_key
            assert key is not None
            return int(key[0])

    def typed(self, visit: int) -> None:
        """The question was changed; only the first time counts."""
        first = tables.visit.update().where(tables.visit.c.visit == visit, tables.visit.c.typed.is_(None))
        self._database.run(first.values(typed=time.time()))

    def suggested(self, visit: int, suggestion: str) -> None:
        """A suggestion was shown."""
        self._update(visit, suggested=time.time(), suggestion=suggestion)

    def saved(self, visit: int, question: str, source: str, changed: float | None, verdict: str) -> None:
        """A question was saved."""
        self._update(visit, saved=time.time(), question=question, source=source, changed=changed, verdict=verdict)

    def _update(self, visit: int, **values: Any) -> None:
        self._database.run(tables.visit.update().where(tables.visit.c.visit == visit).values(**values))

    def log(self) -> list[Visit]:
        """All visits, in the order in which they began."""
        return [Visit(**row._mapping) for row in self._database.rows(sa.select(tables.visit).order_by("visit"))]

    def latest(self, annotator: str, most: int = 30) -> list[Visit]:
        """The latest visits of one person in which a question was saved, oldest first."""
        table = tables.visit
        query = sa.select(table).where(table.c.annotator == annotator, table.c.saved.is_not(None))
        rows = self._database.rows(query.order_by(table.c.visit.desc()).limit(most))
        return [Visit(**row._mapping) for row in reversed(rows)]

    def last_suggestion(self, round: int, record: int) -> str | None:
        """The suggestion that was shown last for a record in a round."""
        table = tables.visit
        query = sa.select(table.c.suggestion).where(
            table.c.round == round, table.c.record == record, table.c.suggestion.is_not(None)
        )
        return self._database.value(query.order_by(table.c.suggested.desc()))

    def drafters(self, round: int) -> dict[int, str]:
        """Who was the last to begin writing about each record of a round."""
        table = tables.visit
        query = sa.select(table.c.record, table.c.annotator).where(table.c.round == round, table.c.typed.is_not(None))
        return {row.record: row.annotator for row in self._database.rows(query.order_by(table.c.typed))}

    # Marks

    def marks(self) -> dict[int, Mark]:
        """All marks, by record."""
        return {row.record: Mark(row.unsure, row.note) for row in self._database.rows(sa.select(tables.mark))}

    def mark(self, record: int, mark: Mark) -> None:
        """Keep what is noted about a record; an empty mark removes it."""
        if len(mark.note) > LONGEST_NOTE:
            raise InputError(f"A note has at most {LONGEST_NOTE:,} characters.")
        with self._database.write() as connection:
            connection.execute(tables.mark.delete().where(tables.mark.c.record == record))
            if mark != Mark():
                connection.execute(tables.mark.insert().values(record=record, unsure=mark.unsure, note=mark.note))

    # Second questions

    def seconds(self, tasks: Sequence[Task]) -> dict[int, Task]:
        """The second questions about the records of a round, by record, whether written or not."""
        if not tasks:
            return {}
        rows = self._database.rows(sa.select(tables.second).where(tables.second.c.round <= tasks[0].round))
        written = {(row.round, row.record): row for row in rows}
        return {task.record: task_of(task.record, task.round, task.back, written) for task in tasks}

    def save_second(self, record: int, values: dict[str, str | None], was: Mapping[int, str] | None = None) -> None:
        """Write a draft or question of the second annotator of a record."""
        with self._database.write() as connection:
            number = self._workspace.writable_round(connection, [record])
            upsert(connection, tables.second, number, record, values, was)

    def discard_second(self, record: int) -> None:
        """Forget the second question about a record in this round."""
        table = tables.second
        with self._database.write() as connection:
            number = self._workspace.writable_round(connection, [record])
            connection.execute(table.delete().where(table.c.round == number, table.c.record == record))


# Several annotators


_SETTING = "annotators"


@dataclass(frozen=True)
class Team:
    """The annotators of one owner."""

    names: tuple[str, ...] = ()
    assigned: bool = False
    doubled: float = 0.0
    """The share of records that two people are asked about."""

    def is_doubled(self, record: int) -> bool:
        """Whether two people are asked about a record."""
        if len(self.names) < 2 or not self.doubled:
            return False
        digest = hashlib.blake2b(f"doubled {record}".encode(), digest_size=4).digest()
        return int.from_bytes(digest) < self.doubled * 2**32

    def first(self, record: int) -> str:
        """Who writes the question that is asked, or empty if anybody may."""
        named = self.assigned or self.is_doubled(record)
        return self.names[record % len(self.names)] if self.names and named else ""

    def second(self, record: int) -> str:
        """Who writes the second question, or empty if nobody does."""
        return self.names[(record + 1) % len(self.names)] if self.is_doubled(record) else ""

    def is_asked(self, name: str, record: int) -> bool:
        """Whether a person is asked about a record."""
        return self.first(record) in ("", name) or self.second(record) == name


def team_of(workspace: Workspace) -> Team:
    """The annotators as the owner named them; nobody in particular if it did not."""
    known = workspace.remembered(_SETTING)
    if known is None:
        return Team()
    values = json.loads(known)
    return Team(tuple(values["names"]), bool(values["assigned"]), float(values["doubled"]))


def name_team(workspace: Workspace, names: Sequence[str], *, assigned: bool, doubled: float) -> Team:
    """Keep who the annotators are."""
    cleaned = tuple(" ".join(name.split()) for name in names)
    if len(set(cleaned)) != len(cleaned) or not all(cleaned):
        raise InputError("Every annotator needs a name of its own.")
    if doubled and len(cleaned) < 2:
        raise InputError("Asking two people about a record needs two annotators.")
    team = Team(cleaned, assigned, doubled)
    workspace.remember(_SETTING, json.dumps(asdict(team)))
    return team


# All questions, round by round


def questions_asked(workspace: Workspace) -> list[SavedQuestion]:
    """Every saved question, by round and place in the sample. A void round and the one that repeats it are one."""
    records = workspace.records()
    counted = _counted(workspace.state())
    query = sa.select(tables.question).where(tables.question.c.question.is_not(None))
    rows = workspace.database.rows(query.order_by(tables.question.c.round, tables.question.c.record))
    found: dict[tuple[int, int], SavedQuestion] = {}
    for row in rows:
        own, key = records[row.record], (counted[row.round], row.record)
        if key in found and found[key].text == row.question:
            continue  # carried over from the void round, which says who wrote it, and when
        source, author = row.source or "", row.author or ""
        found[key] = SavedQuestion(key[0], own.position, own.id, row.question, source, author, row.updated)
    return [found[key] for key in sorted(found)]


def _counted(state: OwnerState) -> dict[int, int]:
    """From the number of a round in messages to its number without repetitions."""
    numbers, anew = {}, 0
    for number, one in enumerate(state.rounds, start=1):
        anew += 0 if one.repeats else 1
        numbers[number] = anew
    return numbers
