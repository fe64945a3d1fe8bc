"""What a coordinator keeps: its studies, the messages that came and that leave, who may fetch which body, what has been moved. No rules
here.

State and messages change in one transaction (`save`), guarded by the state's version: several processes can serve the same studies, and the
one that comes second reads the new state and tries again. Bodies are files beside the database, in a folder for each study.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from blindlabel.protocol.facts import State
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.shape import Blob
from blindlabel.storage.database import Database
from blindlabel.storage.files import Bodies

tables = sa.MetaData()

_study = sa.Table(
    "study",
    tables,
    sa.Column("study", sa.String(64), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("agreement", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("ended", sa.Boolean, nullable=False, default=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("worker", sa.String(64), nullable=False, default=""),
    sa.Column("worker_until", sa.Float, nullable=False, default=0.0),
)
_token = sa.Table(
    "token",
    tables,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("owner", sa.String(40), primary_key=True),
    sa.Column("token_hash", sa.String(64), nullable=False),
)
_incoming = sa.Table(
    "incoming",
    tables,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("sender", sa.String(40), nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("round", sa.Integer, nullable=False),
    sa.Column("wire", sa.LargeBinary, nullable=False),
    sa.Column("received", sa.Float, nullable=False),
)
_outgoing = sa.Table(
    "outgoing",
    tables,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("receiver", sa.String(40), primary_key=True),
    sa.Column("sequence", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("wire", sa.LargeBinary, nullable=False),
    sa.Column("made", sa.Float, nullable=False),
)
_grant = sa.Table(
    "fetchable",
    tables,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("owner", sa.String(40), primary_key=True),
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("length", sa.BigInteger, nullable=False),
)
_traffic = sa.Table(
    "traffic",
    tables,
    sa.Column("study", sa.ForeignKey("study.study", ondelete="CASCADE"), primary_key=True),
    sa.Column("owner", sa.String(40), primary_key=True),
    sa.Column("kind", sa.String(20), primary_key=True),
    sa.Column("times", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
)


@dataclass(frozen=True)
class Loaded:
    """A study's state as it was read."""

    state: State
    version: int


@dataclass(frozen=True)
class StudyRow:
    """A study in a list."""

    study: str
    name: str
    ended: bool
    created: float


class CoordinatorStore:
    """The coordinator's studies."""

    def __init__(self, home: Path, address: str | None = None) -> None:
        self.home = home
        self.clock: Callable[[], float] = time.time
        self.database = Database(address or home / "coordinator.sqlite", tables)

    def bodies(self, study: str) -> Bodies:
        """The bodies of a study."""
        return Bodies(self.home / "bodies" / study)

    def create(self, name: str, agreement: str, state: State) -> None:
        """A new study."""
        row = {"study": state.study, "name": name, "agreement": agreement, "state": state.model_dump_json(), "version": 1}
        with self.database.write() as connection:
            connection.execute(_study.insert().values(**row, created=self.clock(), ended=False, worker="", worker_until=0.0))

    def studies(self) -> list[StudyRow]:
        """All studies, oldest first."""
        with self.database.read() as connection:
            rows = connection.execute(sa.select(_study.c.study, _study.c.name, _study.c.ended, _study.c.created).order_by(_study.c.created))
            return [StudyRow(*row) for row in rows]

    def agreement(self, study: str) -> str | None:
        """The text of a study's agreement; None where there is no such study."""
        with self.database.read() as connection:
            return connection.execute(sa.select(_study.c.agreement).where(_study.c.study == study)).scalar_one_or_none()

    def load(self, study: str) -> Loaded | None:
        """A study's state; None where there is no such study."""
        with self.database.read() as connection:
            row = connection.execute(sa.select(_study.c.state, _study.c.version).where(_study.c.study == study)).one_or_none()
        return None if row is None else Loaded(State.model_validate_json(row.state), row.version)

    def save(
        self,
        loaded: Loaded,
        state: State,
        *,
        incoming: Signed | None = None,
        outgoing: Sequence[Signed] = (),
        fetchable: Iterable[tuple[str, Blob]] = (),
    ) -> bool:
        """Save the new state with everything that goes with it; False (and nothing saved) where another process was faster."""
        now = self.clock()
        with self.database.write() as connection:
            changed = connection.execute(
                _study.update()
                .where(_study.c.study == state.study, _study.c.version == loaded.version)
                .values(state=state.model_dump_json(), version=loaded.version + 1, ended=state.ended is not None)
            )
            if changed.rowcount != 1:
                return False
            for owner, facts in state.owners.items():
                if facts.join and not loaded.state.owners[owner].join:
                    connection.execute(_token.insert().values(study=state.study, owner=owner, token_hash=facts.join.token_hash))
            if incoming is not None:
                self._keep_incoming(connection, incoming, now)
            for signed in outgoing:
                message = signed.message
                row = {"study": message.study, "receiver": message.receiver, "sequence": message.sequence, "kind": message.kind}
                connection.execute(_outgoing.insert().values(**row, wire=signed.wire, made=now))
            for owner, blob in fetchable:
                self._allow(connection, state.study, owner, blob)
        return True

    def _keep_incoming(self, connection: sa.Connection, signed: Signed, now: float) -> None:
        message = signed.message
        row = {"study": message.study, "digest": signed.digest, "sender": message.sender, "kind": message.kind, "round": message.round}
        connection.execute(_incoming.insert().values(**row, wire=signed.wire, received=now))

    def _allow(self, connection: sa.Connection, study: str, owner: str, blob: Blob) -> None:
        where = (_grant.c.study == study, _grant.c.owner == owner, _grant.c.hash == blob.hash)
        if connection.execute(sa.select(_grant.c.length).where(*where)).one_or_none() is None:
            connection.execute(_grant.insert().values(study=study, owner=owner, hash=blob.hash, length=blob.length))

    def outgoing(self, study: str, receiver: str, after: int, most: int = 50) -> list[bytes]:
        """Messages to an owner with numbers above `after`, in order."""
        query = sa.select(_outgoing.c.wire).where(
            _outgoing.c.study == study, _outgoing.c.receiver == receiver, _outgoing.c.sequence > after
        )
        with self.database.read() as connection:
            return [bytes(row.wire) for row in connection.execute(query.order_by(_outgoing.c.sequence).limit(most))]

    def fetchable(self, study: str, owner: str, hash: str) -> Blob | None:
        """The body of this name where the owner may fetch it."""
        query = sa.select(_grant.c.length).where(_grant.c.study == study, _grant.c.owner == owner, _grant.c.hash == hash)
        with self.database.read() as connection:
            length = connection.execute(query).scalar_one_or_none()
        return None if length is None else Blob(hash=hash, length=length)

    def owner_of_token(self, study: str, token_hash: str) -> str | None:
        """Whose token this is."""
        query = sa.select(_token.c.owner).where(_token.c.study == study, _token.c.token_hash == token_hash)
        with self.database.read() as connection:
            return connection.execute(query).scalar_one_or_none()

    def count(self, study: str, owner: str, kind: str, size: int) -> None:
        """Count what has been moved, by owner and kind of message."""
        where = (_traffic.c.study == study, _traffic.c.owner == owner, _traffic.c.kind == kind)
        more = {"times": _traffic.c.times + 1, "bytes": _traffic.c.bytes + size}
        for _ in range(2):
            try:
                with self.database.write() as connection:
                    if connection.execute(_traffic.update().where(*where).values(**more)).rowcount == 0:
                        connection.execute(_traffic.insert().values(study=study, owner=owner, kind=kind, times=1, bytes=size))
                return
            except sa.exc.IntegrityError:  # another process made the row at the same moment, or the study is gone
                continue

    def traffic(self, study: str) -> list[tuple[str, str, int, int]]:
        """What has been moved: owner, kind, times, bytes."""
        query = sa.select(_traffic.c.owner, _traffic.c.kind, _traffic.c.times, _traffic.c.bytes).where(_traffic.c.study == study)
        with self.database.read() as connection:
            return [(row.owner, row.kind, row.times, row.bytes) for row in connection.execute(query.order_by(_traffic.c.owner))]

    def milestones(self, study: str) -> list[tuple[str, float]]:
        """When a study got how far: keys given out, samples drawn, records exchanged, each round settled."""
        sent = sa.select(_outgoing.c.kind, _outgoing.c.made).where(_outgoing.c.study == study).order_by(_outgoing.c.made)
        with self.database.read() as connection:
            rows = [(row.kind, row.made) for row in connection.execute(sent)]
        last = {kind: max((made for other, made in rows if other == kind), default=None) for kind in ("keys", "sample", "relay")}
        names = {"keys": "joining and keys", "sample": "verification and sample", "relay": "encryption and exchange"}
        found = [(names[kind], at) for kind, at in last.items() if at is not None]
        settled = sorted({made for kind, made in rows if kind in ("round", "truth")})[1:]
        return found + [(f"round {number}", at) for number, at in enumerate(settled, start=1)]

    def claim(self, study: str, worker: str, seconds: float) -> bool:
        """Take on a study's work for some time, so that no other process does the same. It lapses by itself when the process dies."""
        now = self.clock()
        with self.database.write() as connection:
            row = connection.execute(sa.select(_study.c.worker, _study.c.worker_until).where(_study.c.study == study)).one_or_none()
            held = row is not None and now <= row.worker_until <= now + seconds  # later: the clock was set back, nobody holds so long
            if row is None or (held and row.worker != worker and not _is_dead(row.worker, worker)):
                return False
            unchanged = (_study.c.study == study, _study.c.worker == row.worker, _study.c.worker_until == row.worker_until)
            taken = connection.execute(_study.update().where(*unchanged).values(worker=worker, worker_until=now + seconds))
            return taken.rowcount == 1

    def release(self, study: str, worker: str) -> None:
        """Give the study's work back."""
        with self.database.write() as connection:
            connection.execute(_study.update().where(_study.c.study == study, _study.c.worker == worker).values(worker_until=0.0))

    def delete(self, study: str) -> None:
        """Remove a study: rows, then bodies, then what is left of them in the database's files."""
        with self.database.write() as connection:
            for table in (_token, _incoming, _outgoing, _grant, _traffic, _study):
                connection.execute(table.delete().where(table.c.study == study))
        self.bodies(study).remove_all()
        self.database.scrub()


def _is_dead(worker: str, mine: str) -> bool:
    """Whether a worker (`pid:chance:host`) was a process of this machine that is no more."""
    pid, _, where = worker.partition(":")
    own_pid, _, own_where = mine.partition(":")
    if where.partition(":")[2] != own_where.partition(":")[2] or not pid.isdigit():
        return False
    if pid == own_pid:
        return False  # another coordinator object of this very process
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
