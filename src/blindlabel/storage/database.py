"""Opening a database: SQLite as a file by default, PostgreSQL by its address.

SQLite is set up so that a commit outlasts a power cut, deleted content is overwritten, and several processes of one
machine can share the file: writing transactions take the write lock when they begin, so none fails in the middle
because another came first. In PostgreSQL writing transactions are READ COMMITTED and lock the row that guards what they
change first; reading ones see one state (REPEATABLE READ). Both make the tables when they are first opened.

Tables are made once, and a database whose tables are of another version of the program is refused. It says which tables
it has by a fingerprint of their definitions, so nobody has to count versions. They are made in one transaction under a
lock (SQLite's write lock, an advisory lock in PostgreSQL): of several processes that start at once one makes them, the
others wait and find them there; a failure leaves the database as it was.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable

from blindlabel.errors import InputError, OutsideError
from blindlabel.storage import journal_points
from blindlabel.storage.files import private_folder
from blindlabel.storage.journal_points import Point

_LOCK = 0x626C696E646C6162
"""The advisory lock's number: `blindlab` in ASCII."""
T = TypeVar("T")
_fingerprints = sa.Table("tables", sa.MetaData(), sa.Column("fingerprint", sa.String(16), primary_key=True))


def keys(**kinds: Any) -> list[sa.Column[Any]]:
    """Columns that together name a row, given as name=type."""
    return [sa.Column(name, kind, primary_key=True, autoincrement=False) for name, kind in kinds.items()]


def filled(**kinds: Any) -> list[sa.Column[Any]]:
    """Columns that always have a value."""
    return [sa.Column(name, kind, nullable=False) for name, kind in kinds.items()]


def nullable(**kinds: Any) -> list[sa.Column[Any]]:
    """Columns that may be empty."""
    return [sa.Column(name, kind) for name, kind in kinds.items()]


def fingerprint(tables: sa.MetaData) -> str:
    """A hash that tells the tables of one version from those of another."""
    definitions = "".join(str(CreateTable(table).compile()) for table in tables.sorted_tables)
    return hashlib.sha256(definitions.encode()).hexdigest()[:16]


def _found(connection: sa.Connection, tables: sa.MetaData) -> bool:
    inspector = sa.inspect(connection)
    if inspector.has_table(_fingerprints.name):
        found = connection.execute(sa.select(_fingerprints.c.fingerprint)).scalar_one_or_none()
    elif any(inspector.has_table(name) for name in tables.tables):
        found = None
    else:
        return False
    if found != fingerprint(tables):
        raise InputError(
            "The database was made by another version of blindlabel: its tables are not those of this one. Finish its"
            " studies with the version that made it, or begin in a new folder."
        )
    return True


_CONNECTIONS = {"pool_size": 5, "max_overflow": 10, "pool_timeout": 20, "pool_pre_ping": True}
"""Connections of one process to PostgreSQL: at most 15, so that six processes fit into the 100 that a server allows by
default.
"""


_BUSY = 30.0
"""Seconds that a connection to SQLite waits for others."""


class Database:
    """One database, for any number of threads and processes."""

    def __init__(self, address: str | Path, tables: sa.MetaData) -> None:
        if isinstance(address, Path):
            private_folder(address.parent)
            address.touch(mode=0o600, exist_ok=True)
            address = f"sqlite:///{address}"
        self.engine = _engine(address)
        weakref.finalize(self, self.engine.dispose)  # nobody holds it any more: it closes its connections by itself
        self.clock: Callable[[], float] | None = None
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        if self.is_sqlite:
            sa.event.listen(self.engine, "connect", _set_up_sqlite)
            sa.event.listen(self.engine, "begin", _begin_sqlite)
            self._reading = self.engine.execution_options(reading=True)
        else:
            self._reading = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._file: tuple[int, int] | None = None
        self._make_tables(tables)
        self._file = self._file_now()

    def _make_tables(self, tables: sa.MetaData) -> None:
        """Make the tables if there are none; refuse those of another version."""
        with self.read() as connection:
            if _found(connection, tables):
                return
        with self.write() as connection:
            if not self.is_sqlite:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
            if not _found(connection, tables):  # else another process made them while this one waited
                tables.create_all(connection, checkfirst=False)
                _fingerprints.create(connection)
                connection.execute(_fingerprints.insert().values(fingerprint=fingerprint(tables)))

    def _file_now(self) -> tuple[int, int] | None:
        """Which file SQLite's is now, whatever its name, or None if there is none."""
        with suppress(OSError):
            found = Path(self.engine.url.database or "").stat()
            return (found.st_dev, found.st_ino) if self.is_sqlite else None
        return None

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that may write: all of it is kept, or none of it."""
        with self.failing_with_a_sentence(), self.engine.begin() as connection:
            yield connection
            journal_points.reached(Point.BEFORE_COMMIT)
        journal_points.reached(Point.AFTER_COMMIT)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that only reads, from one state of the database."""
        with self.failing_with_a_sentence(), self._reading.begin() as connection:
            yield connection

    def rows(self, query: sa.Select[Any]) -> Sequence[Any]:
        """What one query finds."""
        with self.read() as connection:
            return connection.execute(query).all()

    def value(self, query: sa.Select[T]) -> T | None:
        """The first value that one query finds, or None."""
        with self.read() as connection:
            return connection.execute(query).scalar()

    def run(self, statement: sa.Insert | sa.Update | sa.Delete) -> int:
        """Change something by one statement; returns how many rows that were."""
        with self.write() as connection:
            return connection.execute(statement).rowcount

    @contextmanager
    def failing_with_a_sentence(self) -> Iterator[None]:
        """Failures of the database become a sentence without any content of the statement. One whose file was removed
        would go on in what is left of it, and lose everything with the last connection.
        """
        if self._file is not None and self._file_now() != self._file:
            raise OutsideError(
                "The database was removed, or another put in its place, while the program ran. Stop the program, put"
                " database and folder back together, and start it again."
            )
        try:
            yield
        except sa.exc.IntegrityError:
            raise
        except (DBAPIError, sqlite3.Error) as error:
            found = error.orig if isinstance(error, DBAPIError) else error
            raise OutsideError(self._why(found)) from error
        except sa.exc.TimeoutError as error:
            raise OutsideError("The database is busy: no connection became free in time.") from error

    def _why(self, error: BaseException | None) -> str:
        """What failed. SQLite says of some full disks only that input or output failed."""
        code, said = getattr(error, "sqlite_errorname", ""), str(error).strip()
        if not code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            return f"The database failed: {said}."
        state = "is full" if code == "SQLITE_FULL" else f"is full or fails ({said})"
        return f"The disk with {self.engine.url.database} {state}. What was saved is kept: make room, then run again."

    def now(self) -> sa.ColumnElement[float]:
        """The time in seconds by the database's clock, the same for all processes on all machines; or by `clock`, where
        one is set.
        """
        if self.clock is not None:
            return sa.literal(self.clock(), sa.Float)
        if self.is_sqlite:
            return sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Float)
        return sa.literal_column("extract(epoch from clock_timestamp())::float8", sa.Float)

    def scrub(self) -> None:
        """Leave no deleted content in the files of the database. PostgreSQL does that by itself in time
        (autovacuum).
        """
        if self.is_sqlite:
            with self.failing_with_a_sentence(), self.engine.connect() as connection:
                raw = connection.connection.driver_connection
                assert raw is not None
                raw.execute("VACUUM")
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _engine(address: str) -> sa.Engine:
    for short in ("postgres://", "postgresql://"):  # as everybody writes it; we choose the driver
        if address.startswith(short):
            address = "postgresql+psycopg://" + address.removeprefix(short)
    try:
        url = sa.make_url(address)
        if url.get_backend_name() == "sqlite":
            return sa.create_engine(url)
        if url.get_backend_name() == "postgresql":
            return sa.create_engine(url, **_CONNECTIONS)
    except ModuleNotFoundError as error:
        raise InputError(
            "PostgreSQL needs a package that is not installed: `pip install 'blindlabel[postgres]'`."
        ) from error
    except (sa.exc.ArgumentError, ValueError) as error:
        raise InputError(
            "The address of the database cannot be read; it looks like postgresql://user:password@host/name."
        ) from error
    raise InputError(
        "The database can be SQLite or PostgreSQL (postgresql://user:password@host/name), not"
        f" {url.get_backend_name()}."
    )


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we begin transactions ourselves, see below
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY * 1000:.0f}")
    _use_wal(cursor)
    for pragma in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _use_wal(cursor: Any) -> None:
    """Switch to the write-ahead log. While another process opens or closes the file, SQLite refuses that at once,
    whatever the timeout.
    """
    until = time.monotonic() + _BUSY
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: sa.Connection) -> None:
    reading = connection.get_execution_options().get("reading")
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def next_life(name: str) -> str:
    """The name of the life that follows this one: its number, and a random part that no copy has."""
    return f"{int(name.partition('-')[0] or 0) + 1}-{secrets.token_hex(8)}"
