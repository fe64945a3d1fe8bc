"""An owner's workspace: a folder with everything the owner's side of one study has to remember. The table itself stays
where it is.

For both the web app and the commands. Safe for several processes at once (the web app beside `owner run`): every call
is one short transaction, and nothing is cached between calls except what never changes: the agreement, and what a
version of the state says.

    workspace = Workspace.open(Path("workspace"))
    workspace.agreement, workspace.name, workspace.table_name
    workspace.state()       the protocol's view (`protocol.owner_rules.OwnerState`): peers, rounds, truth
    workspace.version()     grows whenever that state changes
    workspace.records()     this owner's sampled records, in the order of the sample
    workspace.activity()    what `owner run` is doing: phase, share done, what it waits for
    workspace.labels()      after the end: the labels with each other owner; this owner's records are the rows

What is written and handed in round by round is in `storage.round_questions`.

`record` is always a place in the sample, 0 to n-1, in the current round. Errors are `InputError` with a sentence.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
import sqlalchemy as sa

from blindlabel.errors import InputError
from blindlabel.language import Record
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels as labelling
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import MessageSigner, OwnRecord
from blindlabel.protocol.standing import Life
from blindlabel.storage import workspace_tables as tables
from blindlabel.storage.database import Database, next_life
from blindlabel.storage.files import BodyFiles, private_folder, remove_abandoned
from blindlabel.storage.round_questions import RoundQuestions
from blindlabel.storage.secret_files import SecretsInMemory

_LIVES, _HEARD = "lives", "lives_heard"
"""The place and name of the life that runs, or ran last, and the one that it follows; and the earlier ones that the
coordinator has heard.
"""
_MOST_HEARD = 8
_ACTIVITY = "activity"
_STARTED = Path("/proc/sys/kernel/random/boot_id")
"""Different each time the machine starts."""


@dataclass(frozen=True)
class Activity:
    """What `owner run` is doing, or was when it last said so."""

    phase: str
    share: float
    sentence: str
    began: float
    updated: float


class Workspace(RoundQuestions):
    """One owner's side of one study."""

    def __init__(self, folder: Path, passphrase: str | None = None) -> None:
        super().__init__()
        self.folder = folder
        self._secrets = SecretsInMemory(passphrase, most=16)
        self._speaking: weakref.finalize[..., Workspace] | None = None

    @cached_property
    def database(self) -> Database:
        """The workspace's database."""
        return Database(self.folder / "workspace.sqlite", tables.metadata)

    @cached_property
    def bodies(self) -> BodyFiles:
        """Large bodies that were made here or came."""
        return BodyFiles(self.folder / "bodies")

    @classmethod
    def create(cls, folder: Path, passphrase: str | None = None) -> Workspace:
        """A new workspace, with nothing on disk until `begin`; refuses a folder that already is one. If making one was
        interrupted it is made again: nothing of it was ever sent.
        """
        workspace = cls(folder, passphrase)
        if (folder / "workspace.sqlite").exists() and "agreement" in workspace.settings:
            raise InputError(f"{folder} is a workspace already. Choose another folder, or delete that study first.")
        return workspace

    def begin(
        self, settings: dict[str, str], secrets: Mapping[str, bytes], begin: owner.OwnerStep, sign: MessageSigner
    ) -> None:
        """Keep what an owner begins a study with, including its first message: all of it or nothing."""
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
            raise InputError(f"{folder} is not a workspace. Make one with `blindlabel owner join`.")
        workspace = cls(folder, passphrase)
        if "agreement" not in workspace.settings:
            raise InputError(f"{folder} is a workspace whose making was interrupted. Join again.")
        return workspace

    @contextmanager
    def locked_for(self, what: str) -> Iterator[None]:
        """Keep a second process from doing the same here; a process that dies releases it."""
        with (self.folder / "running.lock").open("w") as file:
            if not any(_locked(file, fcntl.LOCK_EX, pause) for pause in (0.0, 0.02, 0.1, 0.2)):  # `is_running` may look
                raise InputError(f"Another `blindlabel {what}` is at work in {self.folder}.")
            remove_abandoned(self.folder)
            self.bodies.remove_abandoned()
            yield

    @property
    def is_running(self) -> bool:
        """Whether a process (`owner run`) is at work here now."""
        with (self.folder / "running.lock").open("w") as file:
            return not _locked(file, fcntl.LOCK_SH)

    @property
    def journal(self) -> Path:
        """Where an engine keeps half-finished work."""
        return self.folder / "journal"

    def begin_journal(self, name: str) -> None:
        """From now on an engine's half-finished work belongs to `name`; anything that belonged to another name is
        deleted, so that no bytes made for one round or owner ever go out in another.
        """
        if self.remembered("journal") != name:
            for path in self.journal.glob("*"):
                path.unlink()
            self.remember("journal", name)

    def secret(self, name: str) -> bytes:
        """A secret that was kept under this name."""
        return self._secrets.read(self.folder / f"{name}.key")

    def keep_secret(self, name: str, content: bytes) -> None:
        """Keep a secret, for this user alone."""
        self._secrets.write(self.folder / f"{name}.key", content)

    def drop_secret(self, name: str) -> None:
        """Forget the secret of this name, if there is one."""
        self._secrets.remove(self.folder / f"{name}.key")

    def delete(self) -> None:
        """Remove everything: keys first, because without them nothing else can be read; the database last, so that an
        interrupted deletion can be repeated.
        """
        for path in (*self.folder.glob("*.key"), *self.folder.glob(".new-*")):
            self._secrets.remove(path)
        self.bodies.remove_all()
        shutil.rmtree(self.journal, ignore_errors=True)
        self.database.close()
        shutil.rmtree(self.folder)

    @property
    def settings(self) -> dict[str, str]:
        """What was settled when joining: agreement, owner, table, columns, address."""
        return {row.name: row.value for row in self.database.rows(sa.select(tables.setting))}

    def remember(self, name: str, value: str) -> None:
        """Keep a small fact that is not part of the protocol's state."""
        with self.database.write() as connection:
            connection.execute(tables.setting.delete().where(tables.setting.c.name == name))
            connection.execute(tables.setting.insert().values(name=name, value=value))

    def remembered(self, name: str) -> str | None:
        """Such a fact, or None if there is none."""
        return self.database.value(sa.select(tables.setting.c.value).where(tables.setting.c.name == name))

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
        """The name of the owner's table."""
        return Path(self.settings["table"]).name

    # The protocol's state and outbox

    def version(self) -> int:
        """A number that grows whenever the protocol's state changes."""
        return self.database.value(sa.select(tables.state.c.version)) or 0

    def change(
        self, event: Callable[[owner.OwnerState], owner.OwnerStep], sign: MessageSigner | None = None
    ) -> owner.OwnerStep:
        """Apply an event of the protocol and save state and messages together; messages then wait in the outbox."""
        while True:
            with self.database.read() as connection:
                state, version = self.load_state(connection)
            step = event(state)
            if step.state == state and not step.messages:
                return step
            with self.database.write() as connection:
                row, new = tables.state.update(), {"state": step.state.model_dump_json(), "version": version + 1}
                if connection.execute(row.where(tables.state.c.version == version).values(**new)).rowcount != 1:
                    continue  # another process came first: apply the event to the new state
                _put_into_outbox(connection, step, sign)
            return step

    def unsent(self) -> list[tuple[int, bytes]]:
        """Messages that have not been handed over, in order: number and bytes."""
        return self._outbox(sent=False)

    def sent(self) -> list[tuple[int, bytes]]:
        """Messages that have been handed over, in order."""
        return self._outbox(sent=True)

    def _outbox(self, *, sent: bool) -> list[tuple[int, bytes]]:
        known = tables.outbox.c
        query = sa.select(known.sequence, known.wire).where(known.sent.is_(sent)).order_by(known.sequence)
        return [(row.sequence, bytes(row.wire)) for row in self.database.rows(query)]

    def mark_sent(self, sequence: int) -> None:
        """Note that the coordinator has this message."""
        self.database.run(tables.outbox.update().where(tables.outbox.c.sequence == sequence).values(sent=True))

    # Records

    def store_records(self, records: Iterable[OwnRecord]) -> None:
        """Keep the sampled records, once."""
        rows = [
            {"record": one.record, "position": one.position, "id": one.id, "row": json.dumps(one.row)}
            | {"prepared": json.dumps([dict(one.prepared.attributes), one.prepared.whole])}
            for one in records
        ]
        with self.database.write() as connection:
            if connection.execute(sa.select(sa.func.count()).select_from(tables.record)).scalar_one() == 0:
                connection.execute(tables.record.insert(), rows)

    def records(self) -> list[OwnRecord]:
        """This owner's sampled records in the order of the sample; empty before the sample is drawn."""
        return [
            OwnRecord(row.record, row.position, row.id, json.loads(row.row), Record(*json.loads(row.prepared)))
            for row in self.database.rows(sa.select(tables.record).order_by(tables.record.c.record))
        ]

    def life(self) -> Life:
        """This life of the workspace. The first process that speaks for it while no other does begins it; the others
        share it. Each holds a lock, which neither a copy nor a restored backup nor a cloned machine has. It is certain
        that the previous life has ended only in the same place: a file that was not copied, on a machine that was not
        restarted. Elsewhere a life follows none.
        """
        if self._speaking is None:
            file = os.open(self.folder / "life.lock", os.O_CREAT | os.O_RDWR, 0o600)
            self._speaking = weakref.finalize(self, os.close, file)
            if _locked(file, fcntl.LOCK_EX):
                place, last = [*(self.remembered(_LIVES) or "").split(), "", ""][:2]
                if place != (here := _place(file)):
                    self.remember(_HEARD, "")
                self.remember(_LIVES, f"{here} {next_life(last)} {last if place == here else ''}")
            fcntl.flock(file, fcntl.LOCK_SH)  # another process may have just begun one
        _, now, *ended = (self.remembered(_LIVES) or "").split()
        return Life(name=now, before=(*ended, *(self.remembered(_HEARD) or "").split()))

    def was_heard(self) -> None:
        """Note that the coordinator has heard this life; later lives follow it."""
        now, heard = self.life().name, (self.remembered(_HEARD) or "").split()
        if now not in heard:
            self.remember(_HEARD, " ".join([now, *heard][:_MOST_HEARD]))

    # What `owner run` says

    def say(self, phase: str, share: float, sentence: str) -> None:
        """Tell other processes (the web app) what this one is doing."""
        now, last = time.time(), self.activity()
        began = last.began if last and last.phase == phase and last.share <= share else now
        self.remember(_ACTIVITY, json.dumps([phase, share, sentence, began, now]))

    def activity(self) -> Activity | None:
        """What `owner run` is doing; None if it never ran."""
        said = self.remembered(_ACTIVITY)
        return None if said is None else Activity(*json.loads(said))

    # The result

    def labels(self) -> dict[str, labelling.Labels]:
        """After the end: for each other owner the labels, with this owner's sampled records as rows and the other's as
        columns.
        """
        state = self.state()
        if state.truth is None:
            raise InputError("The study is not over yet.")
        found: dict[str, labelling.Labels] = {}
        for pairing in state.truth.pairings:
            assert state.sample is not None
            own, other, first = len(state.sample.positions), state.sample.others[pairing.peer], self.name < pairing.peer
            rows, columns = (own, other) if first else (other, own)
            content = labelling.unlocked(pairing.labels, self.bodies.read_all(pairing.labels.blob))
            matrix = labelling.from_bytes(content, rows, columns)
            found[pairing.peer] = matrix if first else np.ascontiguousarray(matrix.T)
        return found


def _locked(file: IO[str] | int, kind: int, pause: float = 0.0) -> bool:
    time.sleep(pause)
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _place(file: int) -> str:
    """Where a file is: a different place once it was copied or the machine was restarted."""
    made = os.fstat(file)
    return f"{_STARTED.read_text().strip() if _STARTED.exists() else ''}-{made.st_ino:x}-{made.st_ctime_ns:x}"


def _put_into_outbox(connection: sa.Connection, step: owner.OwnerStep, sign: MessageSigner | None) -> None:
    for message in step.messages:
        if sign is None:
            raise ValueError("messages need a signature")
        row = {"sequence": message.sequence, "kind": message.kind, "wire": sign(message).wire, "sent": False}
        connection.execute(tables.outbox.insert().values(**row))
