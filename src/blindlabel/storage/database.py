"""Opening a database: SQLite as a file by default, PostgreSQL (or anything SQLAlchemy speaks) by its address. No tables here.

SQLite is set up so that a commit outlasts a power cut, deleted content is overwritten, and two processes can share the file: writing
transactions take the write lock when they begin, so none fails in the middle because another came first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from blindlabel.errors import InputError, OutsideError
from blindlabel.storage import journal


class Database:
    """One database, for as many threads and processes as like."""

    def __init__(self, address: str | Path, tables: sa.MetaData) -> None:
        if isinstance(address, Path):
            address.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            address.touch(mode=0o600, exist_ok=True)
            address = f"sqlite:///{address}"
        try:
            self.engine = sa.create_engine(address, pool_pre_ping=not address.startswith("sqlite"))
        except (sa.exc.ArgumentError, ModuleNotFoundError) as error:
            raise InputError(f"This is no address of a database that can be used: {error}.") from error
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        if self.is_sqlite:
            sa.event.listen(self.engine, "connect", _set_up_sqlite)
            sa.event.listen(self.engine, "begin", _begin_sqlite)
        self._reading = self.engine.execution_options(reading=True)
        with self.failing_with_a_sentence():
            tables.create_all(self.engine)

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that may write: all of it is kept, or nothing."""
        with self.failing_with_a_sentence(), self.engine.begin() as connection:
            yield connection
            journal.reached("before commit")
        journal.reached("after commit")

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that only reads, from one state of the database."""
        with self.failing_with_a_sentence(), self._reading.begin() as connection:
            yield connection

    @contextmanager
    def failing_with_a_sentence(self) -> Iterator[None]:
        """Failures of the database become a sentence without any content of the statement."""
        try:
            yield
        except sa.exc.IntegrityError:
            raise
        except DBAPIError as error:
            raise OutsideError(f"The database failed: {error.orig}.") from error

    def scrub(self) -> None:
        """Leave no deleted content in the files of the database."""
        if self.is_sqlite:
            with self.engine.connect() as connection:
                raw = connection.connection.driver_connection
                assert raw is not None
                raw.execute("VACUUM")
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we begin transactions ourselves, see below
    cursor = connection.cursor()
    for pragma in ("busy_timeout = 30000", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    reading = connection.get_execution_options().get("reading")
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
