"""The questions of an owner's rounds, as the workspace keeps them: drafts, saved questions, and the hand-in.

    workspace.tasks()                         the current round: one Task a record to ask: open, draft or saved
    workspace.progress()                      counts of the round and of the study, for the head of a page
    workspace.save_draft(record, text)        keeps any text; autosave calls this
    …(…, was={record: text})                  only where the newest text of the record is still this one
    workspace.save_questions({record: text})  makes texts the records' questions; `parties.asking` checks them before
    workspace.discard(record)                 forgets draft and question of this round
    workspace.hand_in()                       all questions are there: fix them; `owner run` goes on from here

`record` is always a place in the sample, 0 to n-1, in the current round.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from blindlabel.errors import InputError
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import Back, Task, TaskState
from blindlabel.storage import workspace_tables as tables
from blindlabel.storage.database import Database


@dataclass(frozen=True)
class RoundProgress:
    """Where this owner stands."""

    round: int
    rounds: int
    asked: int
    open: int
    drafts: int
    saved: int
    handed_in: bool
    over: bool


class WrittenMeanwhile(InputError):
    """Somebody has written about a record since it was read; `task_now` is what is there now."""

    def __init__(self, now: Task) -> None:
        super().__init__(f"Record {now.record + 1} was written by somebody else meanwhile; look at both texts.")
        self.task_now = now


class RoundQuestions(ABC):
    """The part of a workspace in which people write."""

    def __init__(self) -> None:
        self._read: tuple[owner.OwnerState, int] | None = None
        """The state that was read last, and its version."""

    @property
    @abstractmethod
    def database(self) -> Database:
        """The workspace's database."""

    @property
    @abstractmethod
    def agreement(self) -> Agreement:
        """The study's agreement."""

    def state(self) -> owner.OwnerState:
        """What the protocol knows."""
        with self.database.read() as connection:
            return self.load_state(connection)[0]

    def load_state(self, connection: sa.Connection) -> tuple[owner.OwnerState, int]:
        """The protocol's state and its version. What a version says never changes, so a large state is read once."""
        known, read = tables.state.c, self._read
        version = connection.execute(sa.select(known.version)).scalar_one()
        if read is None or read[1] != version:
            text = connection.execute(sa.select(known.state)).scalar_one()
            self._read = read = owner.OwnerState.model_validate_json(text), version
        return read

    def tasks(self, round: int | None = None) -> list[Task]:
        """What is to be asked in a round (the current one), in the order of the sample."""
        state = self.state()
        number = state.round if round is None else round
        if not 1 <= number <= state.round:
            return []
        rows = self.database.rows(sa.select(tables.question).where(tables.question.c.round <= number))
        written = {(row.round, row.record): row for row in rows}
        current = state.rounds[number - 1]
        why: dict[int, Back] = dict.fromkeys(current.ask, "disagreed") if number > 1 and not current.repeats else {}
        why.update(dict.fromkeys(current.loose, "loose"))
        why.update(dict.fromkeys(current.kept, "kept"))
        return [task_of(record, number, why.get(record, ""), written) for record in current.ask]

    def save_draft(self, record: int, text: str, was: Mapping[int, str] | None = None) -> None:
        """Keep a text that is being written; an earlier saved question of this round stays until the text is saved."""
        with self.database.write() as connection:
            number = self.writable_round(connection, [record])
            upsert(connection, tables.question, number, record, {"draft": text}, was)

    def save_questions(
        self, texts: dict[int, str], source: str, author: str = "", was: Mapping[int, str] | None = None
    ) -> None:
        """Many questions at once, all checked before by the caller."""
        with self.database.write() as connection:
            number = self.writable_round(connection, list(texts))
            for record, text in texts.items():
                values = {"draft": text, "question": text, "source": source, "author": author}
                upsert(connection, tables.question, number, record, values, was)

    def written_since(self, round: int, since: float) -> tuple[list[Any], int, float]:
        """What was written in a round since a time: rows, how many rows the round has in all, and the time of the
        newest; so that other tabs and processes see it.
        """
        table = tables.question
        here = table.c.round == round
        with self.database.read() as connection:
            all_of_them = sa.select(sa.func.count(), sa.func.max(table.c.updated)).where(here)
            count, latest = connection.execute(all_of_them).one()
            rows = connection.execute(sa.select(table).where(here, table.c.updated >= since)).all()
        return list(rows), count, latest or 0.0

    def take_back(self, changes: Sequence[tuple[Task, Task]]) -> list[int]:
        """Undo changes, given as what a task was and what it became. What has changed again since is left alone.
        Returns the records that were restored.
        """
        table, done = tables.question, []
        with self.database.write() as connection:
            number = self.writable_round(connection, [before.record for before, _ in changes])
            for before, after in changes:
                here = sa.and_(table.c.round == number, table.c.record == before.record)
                row = connection.execute(sa.select(table).where(here)).one_or_none()
                now = ("", None) if row is None else (row.draft or "", row.question)
                if before.round != number or now != (after.draft, after.question):
                    continue
                connection.execute(table.delete().where(here))
                if before.state != "open":
                    values = {name: getattr(before, name) for name in ("draft", "question", "source", "author")}
                    upsert(connection, table, number, before.record, values)
                done.append(before.record)
        return done

    def discard(self, record: int, was: Mapping[int, str] | None = None) -> None:
        """Forget draft and question of this record in the current round."""
        with self.database.write() as connection:
            number = self.writable_round(connection, [record])
            unchanged(connection, tables.question, number, record, was)
            known = tables.question.c
            connection.execute(tables.question.delete().where(known.round == number, known.record == record))

    def writable_round(self, connection: sa.Connection, records: Sequence[int]) -> int:
        """The current round; refuses if these records are not asked about in it, or if it has been handed in."""
        state, _ = self.load_state(connection)
        if not state.rounds or state.truth is not None:
            why = "the study is over" if state.truth else "none has begun"
            raise InputError(f"There is no round to write questions for: {why}.")
        if state.rounds[-1].handed_in:
            raise InputError(f"Round {state.round} has been handed in; its questions are fixed.")
        asked = frozenset(state.rounds[-1].ask)
        if unknown := [record for record in records if record not in asked]:
            raise InputError(f"Record {unknown[0] + 1} is not asked in round {state.round}.")
        return state.round

    def hand_in(self) -> None:
        """Fix the questions of the current round; every record must have one."""
        # One transaction, so that no question changes between the check and the fixing.
        with self.database.write() as connection:
            state, version = self.load_state(connection)
            if state.rounds and state.rounds[-1].handed_in:
                return
            after = owner.hands_in(state, state.round)
            query = sa.select(tables.question.c.record).where(
                tables.question.c.round == state.round, tables.question.c.question.is_not(None)
            )
            there = set(connection.execute(query).scalars())
            missing = [record for record in state.rounds[-1].ask if record not in there]
            if missing:
                raise InputError(
                    f"{len(missing)} records of round {state.round} have no saved question yet, record"
                    f" {missing[0] + 1} the first."
                )
            connection.execute(tables.state.update().values(state=after.model_dump_json(), version=version + 1))

    def progress(self) -> RoundProgress:
        """Where this owner stands."""
        return progress_of(self.agreement, self.state(), self.tasks())


def progress_of(agreement: Agreement, state: owner.OwnerState, tasks: Sequence[Task]) -> RoundProgress:
    """Where an owner stands with these tasks of its round."""
    count = Counter(task.state for task in tasks)
    counts, handed_in = (count["open"], count["draft"], count["saved"]), any(one.handed_in for one in state.rounds[-1:])
    return RoundProgress(state.round, agreement.rounds, len(tasks), *counts, handed_in, state.truth is not None)


def unchanged(
    connection: sa.Connection, table: sa.Table, round: int, record: int, was: Mapping[int, str] | None
) -> None:
    """Refuse to go on if the newest text of a record is not what the writer has seen."""
    if was is None:
        return
    row = connection.execute(sa.select(table).where(table.c.round == round, table.c.record == record)).one_or_none()
    now = task_of(record, round, "", {} if row is None else {(round, record): row})
    if now.draft != was[record]:
        raise WrittenMeanwhile(now)


def upsert(
    connection: sa.Connection,
    table: sa.Table,
    round: int,
    record: int,
    values: Mapping[str, Any],
    was: Mapping[int, str] | None = None,
) -> None:
    """Write what belongs to a record of a round, in the table of questions or of second ones; with `was`, only over
    that text.
    """
    unchanged(connection, table, round, record, was)
    newest = connection.execute(sa.select(sa.func.max(table.c.updated)).where(table.c.round == round)).scalar()
    now = {**values, "updated": max(time.time(), (newest or 0.0) + 1e-6)}  # later, even if a clock was set back
    changed = connection.execute(table.update().where(table.c.round == round, table.c.record == record).values(**now))
    if changed.rowcount == 0:
        connection.execute(table.insert().values(round=round, record=record, **now))


def task_of(record: int, round: int, back: Back, written: Mapping[tuple[int, int], Any]) -> Task:
    """A record to ask, from the rows of the table of questions (or of second ones) by round and record."""
    row = written.get((round, record))
    question = row.question if row is not None else None
    draft = (row.draft if row is not None else None) or ""
    state: TaskState = "open" if not (draft or question) else "saved" if draft == question else "draft"
    earlier = [(number, written.get((number, record))) for number in range(1, round)]
    previous = tuple((number, one.question) for number, one in earlier if one is not None and one.question)
    source, author = (row.source or "", row.author or "") if row is not None else ("", "")
    return Task(record, round, state, draft, question, back, previous, source, author)
