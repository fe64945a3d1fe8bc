"""An owner's workspace: a folder with everything the owner's side of one study has to remember. The table itself stays
where it is.

For the web app and the commands alike. Safe for several processes at once (the web app beside `owner run`): every call
is one short transaction, and nothing is cached between calls but what never changes: the agreement, and what a version
of the state says.

    workspace = Workspace.open(Path("workspace")) workspace.agreement, workspace.name, workspace.table_name
    workspace.state()                         the protocol's view (`protocol.owner.State`): peers, rounds, truth
    workspace.version()                       grows whenever that state changes workspace.records()
    own sampled records, by place in the sample: position, id, row as in the table, prepared Record workspace.tasks()
    the current round: one Task a record to ask: state open | draft | saved, draft,
                                              saved question, why it comes back, questions of
                                              earlier rounds
    workspace.progress()                      counts of the round and of the study, for the head of a page
    workspace.save_draft(record, text)        keeps any text; autosave calls this
    workspace.save_questions({record: text})  makes texts the records' questions; `parties.asking` checks them before
    workspace.discard(record)
    forgets draft and question of this round workspace.hand_in()                       all questions are there: fix
    them; `owner run` goes on from here workspace.activity()                      what `owner run` is doing: phase,
    share done, what it waits for workspace.labels()                        after the end: {other owner: labels matrix,
    own records as rows}; 0 open, else 2*round + label

`record` is always a place in the sample, 0 to n-1, in the current round. Errors are `InputError` with a sentence.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import sqlalchemy as sa

from blindlabel.errors import InputError
from blindlabel.language import Record
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels as labelling
from blindlabel.protocol import owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import OwnRecord, Signer, Task, TaskState
from blindlabel.storage import workspace_tables as tables
from blindlabel.storage.database import Database
from blindlabel.storage.files import Bodies, private_folder, remove_abandoned
from blindlabel.storage.secret_files import SecretsInMemory, remove_secret


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


@dataclass(frozen=True)
class Activity:
    """What `owner run` is doing, or was when it last said so."""

    phase: str
    share: float
    sentence: str
    began: float
    updated: float


class Workspace:
    """One owner's side of one study."""

    def __init__(self, folder: Path, passphrase: str | None = None) -> None:
        self.folder = folder
        self._secrets = SecretsInMemory(passphrase, most=16)
        self._writable: _Writable | None = None

    @cached_property
    def database(self) -> Database:
        """The workspace's database."""
        return Database(self.folder / "workspace.sqlite", "workspace")

    @cached_property
    def bodies(self) -> Bodies:
        """Large bodies that were made here or came."""
        return Bodies(self.folder / "bodies")

    @classmethod
    def create(cls, folder: Path, passphrase: str | None = None) -> Workspace:
        """A new workspace, nothing on disk until `found`; refuses a folder that is one already. One whose making was
        interrupted is made anew: nothing of it was ever sent.
        """
        workspace = cls(folder, passphrase)
        if (folder / "workspace.sqlite").exists() and "agreement" in workspace.settings:
            raise InputError(f"{folder} is a workspace already. Choose another folder, or delete that study first.")
        return workspace

    def found(self, settings: dict[str, str], secrets: Mapping[str, bytes], begin: owner.Step, sign: Signer) -> None:
        """Keep what an owner begins a study with, its first message included: all of it, or nothing is left."""
        private_folder(self.folder)
        try:
            for name, content in secrets.items():
                self.keep_secret(name, content)
            with self.database.write() as connection:
                rows = [{"name": name, "value": value} for name, value in settings.items()]
                connection.execute(tables.setting.insert(), rows)
                connection.execute(tables.state.insert().values(id=1, state=begin.state.model_dump_json(), version=1))
                _put_into_outbox(connection, begin, sign)
        except BaseException:
            self.database.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    @classmethod
    def open(cls, folder: Path, passphrase: str | None = None) -> Workspace:
        """An existing workspace."""
        if not (folder / "workspace.sqlite").exists():
            raise InputError(f"{folder} is no workspace. Make one with `blindlabel owner join`.")
        workspace = cls(folder, passphrase)
        if "agreement" not in workspace.settings:
            raise InputError(f"{folder} is a workspace whose making was interrupted. Join again.")
        return workspace

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Keep a second process from doing the same here; a process that dies gives way by itself."""
        with (self.folder / "alone.lock").open("w") as file:
            if not any(_locked(file, fcntl.LOCK_EX, pause) for pause in (0.0, 0.02, 0.1, 0.2)):  # `is_run` may look
                raise InputError(f"Another `blindlabel {what}` is at work in {self.folder}.")
            remove_abandoned(self.folder)
            self.bodies.remove_abandoned()
            yield

    @property
    def is_run(self) -> bool:
        """Whether a process (`owner run`) is at work here now."""
        with (self.folder / "alone.lock").open("w") as file:
            return not _locked(file, fcntl.LOCK_SH)

    @property
    def journal(self) -> Path:
        """Where an engine keeps half-finished work."""
        return self.folder / "journal"

    def secret(self, name: str) -> bytes:
        """A secret that was kept under this name."""
        return self._secrets.read(self.folder / f"{name}.key")

    def keep_secret(self, name: str, content: bytes) -> None:
        """Keep a secret, for this user alone."""
        self._secrets.write(self.folder / f"{name}.key", content)

    def drop_secret(self, name: str) -> None:
        """Forget a secret, where there is one of this name."""
        path = self.folder / f"{name}.key"
        if path.exists():
            remove_secret(path)

    def delete(self) -> None:
        """Remove everything: keys first, since without them nothing else can be read; the database last, so that a
        deletion that was interrupted can be repeated.
        """
        for path in (*self.folder.glob("*.key"), *self.folder.glob(".new-*")):
            remove_secret(path)
        self.bodies.remove_all()
        shutil.rmtree(self.journal, ignore_errors=True)
        self.database.close()
        shutil.rmtree(self.folder)

    @property
    def settings(self) -> dict[str, str]:
        """What was settled when joining: agreement, owner, table, columns, address."""
        with self.database.read() as connection:
            return {row.name: row.value for row in connection.execute(sa.select(tables.setting))}

    def remember(self, name: str, value: str) -> None:
        """Keep a small fact that is no part of the protocol's state."""
        with self.database.write() as connection:
            connection.execute(tables.setting.delete().where(tables.setting.c.name == name))
            connection.execute(tables.setting.insert().values(name=name, value=value))

    def remembered(self, name: str) -> str | None:
        """Such a fact; None where there is none."""
        return self.settings.get(name)

    @cached_property
    def agreement(self) -> Agreement:
        """The study's agreement."""
        return agreements.from_text(self.settings["agreement"])

    @cached_property
    def name(self) -> str:
        """This owner's name in the study."""
        return self.settings["owner"]

    @property
    def table_name(self) -> str:
        """What the owner's table is called."""
        return Path(self.settings["table"]).name

    # The protocol's state and outbox

    def state(self) -> owner.State:
        """What the protocol knows."""
        with self.database.read() as connection:
            return _load(connection)[0]

    def version(self) -> int:
        """A number that grows whenever the protocol's state changes."""
        with self.database.read() as connection:
            version: int = connection.execute(sa.select(tables.state.c.version)).scalar_one()
            return version

    def change(self, event: Callable[[owner.State], owner.Step], sign: Signer | None = None) -> owner.Step:
        """Apply an event of the protocol and save state and messages together; messages then wait in the outbox."""
        while True:
            with self.database.read() as connection:
                state, version = _load(connection)
            step = event(state)
            if step.state == state and not step.messages:
                return step
            with self.database.write() as connection:
                row = tables.state.update().where(tables.state.c.version == version)
                if (
                    connection.execute(row.values(state=step.state.model_dump_json(), version=version + 1)).rowcount
                    != 1
                ):
                    continue  # another process came first: apply the event to the new state
                _put_into_outbox(connection, step, sign)
            return step

    def unsent(self) -> list[tuple[int, bytes]]:
        """Messages that have not been handed over, in order: number and bytes."""
        query = sa.select(tables.outbox.c.sequence, tables.outbox.c.wire).where(tables.outbox.c.sent.is_(False))
        with self.database.read() as connection:
            return [
                (row.sequence, bytes(row.wire)) for row in connection.execute(query.order_by(tables.outbox.c.sequence))
            ]

    def sent(self) -> list[tuple[int, bytes]]:
        """Messages that have been handed over, in order."""
        query = sa.select(tables.outbox.c.sequence, tables.outbox.c.wire).where(tables.outbox.c.sent.is_(True))
        with self.database.read() as connection:
            return [
                (row.sequence, bytes(row.wire)) for row in connection.execute(query.order_by(tables.outbox.c.sequence))
            ]

    def mark_sent(self, sequence: int) -> None:
        """The coordinator has this message."""
        with self.database.write() as connection:
            connection.execute(tables.outbox.update().where(tables.outbox.c.sequence == sequence).values(sent=True))

    # Records

    def store_records(self, records: Iterable[OwnRecord]) -> None:
        """Keep the sampled records, once."""
        rows = [
            {
                "record": r.record,
                "position": r.position,
                "id": r.id,
                "row": json.dumps(r.row),
                "prepared": json.dumps(_packed(r.prepared)),
            }
            for r in records
        ]
        with self.database.write() as connection:
            if connection.execute(sa.select(sa.func.count()).select_from(tables.record)).scalar_one() == 0:
                connection.execute(tables.record.insert(), rows)

    def records(self) -> list[OwnRecord]:
        """Own sampled records in the order of the sample; empty before the sample is drawn."""
        with self.database.read() as connection:
            rows = connection.execute(sa.select(tables.record).order_by(tables.record.c.record)).all()
        return [
            OwnRecord(row.record, row.position, row.id, json.loads(row.row), _unpacked(json.loads(row.prepared)))
            for row in rows
        ]

    # Questions

    def tasks(self, round: int | None = None) -> list[Task]:
        """What is to be asked in a round (the current one), in the order of the sample."""
        state = self.state()
        number = state.round if round is None else round
        if not 1 <= number <= state.round:
            return []
        with self.database.read() as connection:
            rows = connection.execute(sa.select(tables.question).where(tables.question.c.round <= number)).all()
        written = {(row.round, row.record): row for row in rows}
        current = state.rounds[number - 1]
        back = number > 1 and not current.repeats
        return [
            task_of(record, number, back and record not in current.loose, written, record in current.loose)
            for record in current.ask
        ]

    def save_draft(self, record: int, text: str) -> None:
        """Keep a text that is being written; an earlier saved question of this round stays until the text is saved."""
        self._write(record, draft=text)

    def save_questions(self, texts: dict[int, str], source: str, author: str = "") -> None:
        """Many questions at once, all checked before by the caller."""
        with self.database.write() as connection:
            number = self.writable_round(connection, list(texts))
            for record, text in texts.items():
                values = {"draft": text, "question": text, "source": source, "author": author}
                upsert(connection, tables.question, number, record, values)

    def take_back(self, changes: Sequence[tuple[Task, Task]]) -> list[int]:
        """Undo changes, given as what a task was and what it became. What has changed again since is left alone;
        gives the records that are as before.
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
                    values = {
                        "draft": before.draft,
                        "question": before.question,
                        "source": before.source,
                        "author": before.author,
                    }
                    upsert(connection, table, number, before.record, values)
                done.append(before.record)
        return done

    def discard(self, record: int) -> None:
        """Forget draft and question of this record in the current round."""
        with self.database.write() as connection:
            number = self.writable_round(connection, [record])
            connection.execute(
                tables.question.delete().where(tables.question.c.round == number, tables.question.c.record == record)
            )

    def _write(self, record: int, **values: str) -> None:
        with self.database.write() as connection:
            upsert(connection, tables.question, self.writable_round(connection, [record]), record, values)

    def writable_round(self, connection: sa.Connection, records: Sequence[int]) -> int:
        """The current round, where these records can be asked in it and it has not been handed in."""
        version = connection.execute(sa.select(tables.state.c.version)).scalar_one()
        if (
            self._writable is None or self._writable.version != version
        ):  # reading a large state takes long, and a version never changes
            self._writable = _Writable.of(*_load(connection))
        writable = self._writable
        if writable.problem:
            raise InputError(writable.problem)
        unknown = [record for record in records if record not in writable.asked]
        if unknown:
            raise InputError(f"Record {unknown[0] + 1} is not asked in round {writable.round}.")
        return writable.round

    def hand_in(self) -> None:
        """Fix the questions of the current round; every record must have one."""
        with (
            self.database.write() as connection
        ):  # one transaction, so that no question changes between the check and the fixing
            state, version = _load(connection)
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
        state, tasks = self.state(), self.tasks()
        count = {kind: sum(1 for task in tasks if task.state == kind) for kind in ("open", "draft", "saved")}
        handed_in = bool(state.rounds) and state.rounds[-1].handed_in
        return RoundProgress(
            state.round,
            self.agreement.rounds,
            len(tasks),
            count["open"],
            count["draft"],
            count["saved"],
            handed_in,
            state.truth is not None,
        )

    # What `owner run` says

    def say(self, phase: str, share: float, sentence: str) -> None:
        """Tell other processes (the web app) what this one is doing."""
        now = time.time()
        with self.database.write() as connection:
            row = connection.execute(sa.select(tables.activity)).one_or_none()
            began = row.began if row is not None and row.phase == phase and row.share <= share else now
            connection.execute(tables.activity.delete())
            connection.execute(
                tables.activity.insert().values(phase=phase, share=share, sentence=sentence, began=began, updated=now)
            )

    def activity(self) -> Activity | None:
        """What `owner run` is doing; None when it never ran."""
        with self.database.read() as connection:
            row = connection.execute(sa.select(tables.activity)).one_or_none()
        return None if row is None else Activity(row.phase, row.share, row.sentence, row.began, row.updated)

    # The result

    def labels(self) -> dict[str, labelling.Labels]:
        """After the end: for each other owner the labels, with this owner's sampled records as rows and the other's as
        columns.
        """
        state = self.state()
        if state.truth is None:
            raise InputError("The study is not over yet.")
        found: dict[str, labelling.Labels] = {}
        own = len(state.sample.positions) if state.sample else 0
        for pairing in state.truth.pairings:
            first = self.name < pairing.peer
            rows, columns = (own, len(pairing.positions)) if first else (len(pairing.positions), own)
            matrix = labelling.from_bytes(self.bodies.read_all(pairing.labels), rows, columns)
            found[pairing.peer] = matrix if first else np.ascontiguousarray(matrix.T)
        return found


def _locked(file: IO[str], kind: int, pause: float = 0.0) -> bool:
    time.sleep(pause)
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _put_into_outbox(connection: sa.Connection, step: owner.Step, sign: Signer | None) -> None:
    for message in step.messages:
        if sign is None:
            raise ValueError("messages need a signature")
        row = {"sequence": message.sequence, "kind": message.kind, "wire": sign(message).wire, "sent": False}
        connection.execute(tables.outbox.insert().values(**row))


def _load(connection: sa.Connection) -> tuple[owner.State, int]:
    row = connection.execute(sa.select(tables.state.c.state, tables.state.c.version)).one()
    return owner.State.model_validate_json(row.state), row.version


@dataclass(frozen=True)
class _Writable:
    """What a version of the state says about writing questions."""

    version: int
    round: int
    asked: frozenset[int]
    problem: str
    """Why nothing can be written, or nothing."""

    @classmethod
    def of(cls, state: owner.State, version: int) -> _Writable:
        problem = ""
        if not state.rounds or state.truth is not None:
            problem = "There is no round to write questions for: " + (
                "the study is over." if state.truth else "none has begun."
            )
        elif state.rounds[-1].handed_in:
            problem = f"Round {state.round} has been handed in; its questions are fixed."
        asked = frozenset(state.rounds[-1].ask) if state.rounds else frozenset()
        return cls(version, state.round, asked, problem)


def _packed(record: Record) -> list[Any]:
    return [dict(record.attributes), record.whole]


def _unpacked(value: list[Any]) -> Record:
    return Record(value[0], value[1])


def upsert(connection: sa.Connection, table: sa.Table, round: int, record: int, values: Mapping[str, Any]) -> None:
    """Write what belongs to a record of a round, in the table of questions or of second ones."""
    now = {**values, "updated": time.time()}
    changed = connection.execute(table.update().where(table.c.round == round, table.c.record == record).values(**now))
    if changed.rowcount == 0:
        connection.execute(table.insert().values(round=round, record=record, **now))


def task_of(
    record: int, round: int, disagreed: bool, written: Mapping[tuple[int, int], Any], loose: bool = False
) -> Task:
    """A record to ask, from the rows of the table of questions (or of second ones) by round and record."""
    row = written.get((round, record))
    question = row.question if row is not None else None
    draft = (row.draft if row is not None else None) or ""
    state: TaskState = (
        "open"
        if row is None or not (draft or question)
        else "saved"
        if question is not None and draft == question
        else "draft"
    )
    earlier = [
        (number, written[(number, record)].question) for number in range(1, round) if (number, record) in written
    ]
    previous = tuple((number, text) for number, text in earlier if text)
    source, author = (row.source or "", row.author or "") if row is not None else ("", "")
    return Task(record, round, state, draft, question, disagreed, previous, source, author, loose)
