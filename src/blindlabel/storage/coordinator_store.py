"""What a coordinator keeps: its studies, the messages that came and those that leave, who may fetch which body, and
what has been moved. No rules here.

State and messages change in one transaction (`save`), guarded by the state's version: several processes can serve the
same studies, and one that comes second reads the new state and tries again. Every transaction that changes a study
locks the study's row before anything else, so no two wait for each other. Bodies are files beside the database, in a
folder for each study: what arrived in `bodies`, what was made here in `made`. Only the latter has to be in a backup:
owners send again what a coordinator needs and does not have.

A database belongs to one folder: keys and bodies are there. The folder's `coordinator.id` and the database must agree,
so a process that was started with another folder is refused before it accepts anything.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from blindlabel.errors import InputError
from blindlabel.protocol.facts import StudyState
from blindlabel.protocol.interfaces import Loaded, StudyRow, Traffic
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.shape import Blob
from blindlabel.protocol.standing import Heard, Known, Life, heard_after
from blindlabel.storage import coordinator_tables as tables
from blindlabel.storage.database import Database, next_life
from blindlabel.storage.files import BodyFiles, remove_abandoned, write_once
from blindlabel.storage.secret_files import SecretsInMemory

_IDENTITY, _LIFE = "identity", "life"

_OF_WORKSPACE = {tables.token: "owner", tables.outgoing: "receiver", tables.fetchable: "owner", tables.heard: "owner"}
"""Tables with what belongs to an owner's workspace, and the column with the owner's name."""

_BOTH_WAYS = ((tables.outgoing, "receiver", "made"), (tables.incoming, "sender", "received"))
"""Messages to owners and from them: the columns with the owner's name and the time."""


class CoordinatorStore:
    """The coordinator's studies."""

    def __init__(self, home: Path, address: str | None = None, passphrase: str | None = None) -> None:
        self.home = home
        self.secrets = SecretsInMemory(passphrase, most=256)
        file = home / "coordinator.sqlite"
        if address is None and not file.exists():
            self._check_keys()
        self.database = Database(address or file, tables.metadata)
        self._check_folder()

    def _check_folder(self) -> None:
        """Refuse a folder that is not the one with the keys and bodies of this database."""
        file = self.home / "coordinator.id"
        known = self.setting(_IDENTITY)
        if known is None:
            self._check_keys()
            write_once(file, secrets.token_hex(16))
            self._set(_IDENTITY, file.read_text("ascii"), keep=True)
            known = self.setting(_IDENTITY)
        if not file.exists() or file.read_text("ascii") != known:
            raise InputError(
                f"The database belongs to a coordinator whose folder is not {self.home}. All its processes need the"
                " same folder, with its keys and bodies (on several machines: a shared one); a restored backup needs"
                " folder and database together."
            )

    def _check_keys(self) -> None:
        if any((self.home / "keys").glob("*")):
            raise InputError(
                f"{self.home} holds the keys of studies, and there is no database that knows them. Restore the database"
                " from a backup; to begin anew, choose another folder."
            )

    def close(self) -> None:
        """Close all connections to the database."""
        self.database.close()

    def secret(self, study: str, name: str) -> bytes:
        """A secret of a study; each is a file of its own."""
        return self.secrets.read(self._keys(study) / f"{name}.key")

    def keep_secret(self, study: str, name: str, content: bytes) -> None:
        """Keep a secret of a study."""
        self.secrets.write(self._keys(study) / f"{name}.key", content)

    def drop_secrets(self, study: str) -> None:
        """Overwrite and remove the secrets of a study."""
        for path in self._keys(study).glob("*.key"):
            self.secrets.remove(path)
        shutil.rmtree(self._keys(study), ignore_errors=True)

    def _keys(self, study: str) -> Path:
        return self.home / "keys" / study

    def setting(self, name: str) -> str | None:
        """A fact about the coordinator, or None if it is not known."""
        return self.database.value(sa.select(tables.setting.c.value).where(tables.setting.c.name == name))

    def _set(self, name: str, value: str, *, keep: bool = False) -> None:
        """Set a fact; with `keep`, leave an existing one."""
        new = self._insert(tables.setting).values(name=name, value=value)
        changed = new.on_conflict_do_update(index_elements=["name"], set_={"value": value})
        self.database.run(new.on_conflict_do_nothing() if keep else changed)

    def _insert(self, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
        return sqlite.insert(table) if self.database.is_sqlite else postgresql.insert(table)

    def bodies(self, study: str) -> BodyFiles:
        """The bodies of a study."""
        return BodyFiles(self.home / "bodies" / study, self.home / "made" / study)

    def free(self) -> int:
        """Bytes that there is room for on the disk."""
        return shutil.disk_usage(self.home).free

    def create(
        self, name: str, agreement: str, state: StudyState, before_commit: Callable[[], object] = lambda: None
    ) -> bool:
        """A new study; False if it is there already. `before_commit` runs in the one process that makes it."""
        row = {"study": state.study, "name": name, "agreement": agreement, "state": state.model_dump_json()}
        more = {"version": 1, "created": time.time(), "ended": False}
        with self.database.write() as connection:
            insert = self._insert(tables.study).values(**row, **more).on_conflict_do_nothing()
            if connection.execute(insert.returning(tables.study.c.study)).one_or_none() is None:
                return False
            before_commit()
        return True

    def studies(self) -> list[StudyRow]:
        """All studies, oldest first."""
        known = tables.study.c
        query = sa.select(known.study, known.name, known.ended, known.created).order_by(known.created)
        return [StudyRow(*row) for row in self.database.rows(query)]

    def agreement(self, study: str) -> str | None:
        """The text of a study's agreement, or None if there is no such study."""
        return self.database.value(sa.select(tables.study.c.agreement).where(tables.study.c.study == study))

    def load(self, study: str) -> Loaded | None:
        """A study's state, or None if there is no such study."""
        query = sa.select(tables.study.c.state, tables.study.c.version).where(tables.study.c.study == study)
        found = [Loaded(StudyState.model_validate_json(row.state), row.version) for row in self.database.rows(query)]
        return found[0] if found else None

    def save(
        self, loaded: Loaded, state: StudyState, *, incoming: Signed | None = None, outgoing: Sequence[Signed] = ()
    ) -> bool:
        """Save the new state with everything that goes with it; False (and nothing saved) where another process was
        faster. Whoever gets a message may fetch the bodies that it names.
        """
        now = time.time()
        with self.database.write() as connection:
            changed = connection.execute(
                tables.study.update()
                .where(tables.study.c.study == state.study, tables.study.c.version == loaded.version)
                .values(state=state.model_dump_json(), version=loaded.version + 1, ended=state.ended is not None)
            )
            if changed.rowcount != 1:
                return False
            for owner, facts in state.owners.items():
                if loaded.state.owners[owner].join and not facts.join:  # its workspace is lost
                    for table, name in _OF_WORKSPACE.items():
                        connection.execute(table.delete().where(table.c.study == state.study, table.c[name] == owner))
                if facts.join and not loaded.state.owners[owner].join:
                    connection.execute(
                        tables.token.insert().values(study=state.study, owner=owner, token_hash=facts.join.token_hash)
                    )
            if incoming is not None:
                self._keep_incoming(connection, incoming, now)
            for signed in outgoing:
                row = {name: getattr(signed.message, name) for name in ("study", "receiver", "sequence", "kind")}
                row |= {"wire": signed.wire, "made": now, "size": _size(signed)}
                connection.execute(tables.outgoing.insert().values(**row))
                for blob in signed.message.blobs:
                    named = {"study": state.study, "owner": signed.message.receiver, **blob.model_dump()}
                    connection.execute(self._insert(tables.fetchable).values(**named).on_conflict_do_nothing())
        return True

    def _keep_incoming(self, connection: sa.Connection, signed: Signed, now: float) -> None:
        message = signed.message
        row = {"study": message.study, "digest": signed.digest, "sender": message.sender, "kind": message.kind}
        more = {"wire": signed.wire, "received": now, "size": _size(signed)}
        insert = self._insert(tables.incoming).values(**row, **more)
        connection.execute(insert.on_conflict_do_nothing())  # a lost workspace may have sent the same

    def outgoing(self, study: str, receiver: str, after: int, most: int = 50) -> list[bytes]:
        """Messages to an owner with numbers above `after`, in order."""
        known = tables.outgoing.c
        theirs = sa.select(known.wire).where(known.study == study, known.receiver == receiver, known.sequence > after)
        return [bytes(row.wire) for row in self.database.rows(theirs.order_by(known.sequence).limit(most))]

    def fetchable(self, study: str, owner: str, hash: str) -> Blob | None:
        """The body with this hash, if the owner may fetch it."""
        known = tables.fetchable.c
        query = sa.select(known.length).where(known.study == study, known.owner == owner, known.hash == hash)
        length = self.database.value(query)
        return None if length is None else Blob(hash=hash, length=length)

    def owner_of_token(self, study: str | None, token_hash: str) -> str | None:
        """The owner whose token this is, in this study or (None) in any."""
        query = sa.select(tables.token.c.owner).where(tables.token.c.token_hash == token_hash)
        return self.database.value(query if study is None else query.where(tables.token.c.study == study))

    def traffic(self, study: str) -> list[Traffic]:
        """What has been moved, by owner and kind."""
        found: list[Traffic] = []
        with self.database.read() as connection:
            for table, who, _ in _BOTH_WAYS:
                by = (table.c[who], table.c.kind)
                rows = sa.select(*by, sa.func.count(), sa.func.sum(table.c.size)).where(table.c.study == study)
                for owner, kind, times, size in connection.execute(rows.group_by(*by)):
                    found.append(Traffic(owner, kind, times, int(size)))
        return sorted(found)

    def waited_since(self, study: str) -> dict[str, float]:
        """When the last message went to each owner or came from it: since then everybody waits for what it has
        to do.
        """
        found = dict[str, float]()
        with self.database.read() as connection:
            for table, who, at in _BOTH_WAYS:
                rows = sa.select(table.c[who], sa.func.max(table.c[at])).where(table.c.study == study)
                for owner, latest in connection.execute(rows.group_by(table.c[who])):
                    found[owner] = max(latest, found.get(owner, 0.0))
        return found

    def milestones(self, study: str) -> list[tuple[str, float]]:
        """When a study reached each point: keys given out, samples drawn, each round settled (records go out in it)."""
        known = tables.outgoing.c
        sent = sa.select(known.kind, known.made).where(known.study == study).order_by(known.made)
        rows = [(row.kind, row.made) for row in self.database.rows(sent)]
        last = {kind: max((made for other, made in rows if other == kind), default=None) for kind in ("keys", "sample")}
        names = {"keys": "joining and keys", "sample": "verification and sample"}
        found = [(names[kind], at) for kind, at in last.items() if at is not None]
        settled = sorted({made for kind, made in rows if kind in ("round", "truth")})[1:]
        return found + [(f"round {number}", at) for number, at in enumerate(settled, start=1)]

    def lives(self, study: str, owner: str, life: Life) -> bool:
        """Note that this life of an owner's workspace speaks; returns whether it is the one that takes part. While the
        same one speaks nothing is written, so that a poll is cheap.
        """
        known, start = tables.heard.c, {"study": study, "owner": owner}
        mine = sa.and_(known.study == study, known.owner == owner)
        while True:
            with self.database.read() as connection:
                row = connection.execute(sa.select(known.life, known.rival, known.since).where(mine)).one_or_none()
                now: float = connection.execute(sa.select(self.database.now())).scalar_one()
            before = Heard() if row is None else Heard(life=row.life, rival=row.rival, since=row.since)
            after = heard_after(before, life, now)
            if after == before:
                return after.life == life.name
            same = sa.and_(mine, known.life == before.life, known.rival == before.rival)
            with self.database.write() as connection:
                connection.execute(self._insert(tables.heard).values(start).on_conflict_do_nothing())
                if connection.execute(tables.heard.update().where(same).values(**after.model_dump())).rowcount == 1:
                    return after.life == life.name

    def begin_life(self) -> None:
        """Begin a new life of the database: a process serves it from now on. It counts for all that serve it."""
        self._set(_LIFE, next_life(self.life()))

    def life(self) -> str:
        """The newest life of the database."""
        return self.setting(_LIFE) or ""

    def note_ahead(self, study: str, owner: str, known: Known) -> None:
        """Remember how far an owner is that has messages which this coordinator has forgotten; `Known()` if it has
        none.
        """
        said = {"received": known.received, "latest": known.latest}
        insert = self._insert(tables.heard).values(study=study, owner=owner, **said)
        self.database.run(insert.on_conflict_do_update(index_elements=["study", "owner"], set_=said))

    def ahead(self, study: str) -> dict[str, Known]:
        """The owners for which that was noted. The study's state may have caught up with them since."""
        known = tables.heard.c
        noted = sa.select(known.owner, known.received, known.latest).where(known.study == study, known.received > 0)
        return {one.owner: Known(received=one.received, latest=one.latest) for one in self.database.rows(noted)}

    def announce(self, study: str, owner: str, blob: Blob, most: int, most_bodies: int) -> bool:
        """An owner uploads this body; False if its uploads would then be more than this many bytes or bodies.
        If an owner later announces a smaller length, the largest one still counts: that part may lie here.
        """
        mine = sa.and_(tables.upload.c.study == study, tables.upload.c.owner == owner)
        others = sa.select(sa.func.coalesce(sa.func.sum(tables.upload.c.length), 0), sa.func.count()).where(
            mine, tables.upload.c.hash != blob.hash
        )
        with self.database.write() as connection:
            length, bodies = connection.execute(others).one()
            this = sa.and_(mine, tables.upload.c.hash == blob.hash)
            before = connection.execute(sa.select(tables.upload.c.length).where(this)).scalar() or 0
            if length + max(before, blob.length) > most or bodies >= most_bodies:
                return False
            connection.execute(tables.upload.delete().where(this))
            row = {"study": study, "owner": owner, "hash": blob.hash, "length": max(before, blob.length)}
            connection.execute(tables.upload.insert().values(**row))
        return True

    def remove_bodies(self, study: str, spent: Callable[[StudyState], Collection[Blob]]) -> None:
        """Remove the bodies that a study no longer needs, judged by its newest state.

        The state's version goes up with that, so a process that looked for one of these bodies a moment ago, because a
        message names it again, fails to save and looks again.
        """
        loaded = self.load(study)
        if loaded is None or not spent(loaded.state):
            return
        raised = tables.study.update().where(tables.study.c.study == study).values(version=tables.study.c.version + 1)
        with self.database.write() as connection:
            row = connection.execute(raised.returning(tables.study.c.state)).one_or_none()
            if row is not None:
                for blob in spent(StudyState.model_validate_json(row.state)):
                    self.bodies(study).remove(blob)
                    connection.execute(tables.upload.delete().where(tables.upload.c.hash == blob.hash))

    def delete(self, study: str) -> None:
        """Remove a study: rows (those of other tables go with the study's), then bodies, then what is left in the
        database's files.
        """
        with self.database.write() as connection:
            connection.execute(tables.study.delete().where(tables.study.c.study == study))
        self.bodies(study).remove_all()
        self.database.scrub()

    def remove_orphans(self) -> None:
        """Remove bodies of studies that are gone (a process that was at work on one may have stored a body after it was
        deleted), and what was begun in the others and abandoned.
        """
        # before the studies, so that no new study is taken for one that is gone
        there = [path.name for path in (self.home / "bodies").glob("*")]
        known = {row.study for row in self.studies()}
        for study in there:
            if study not in known:
                self.bodies(study).remove_all()
            else:
                self.bodies(study).remove_abandoned()
                remove_abandoned(self._keys(study))


def _size(signed: Signed) -> int:
    """Bytes of a message with its bodies."""
    return len(signed.wire) + sum(blob.length for blob in signed.message.blobs)
