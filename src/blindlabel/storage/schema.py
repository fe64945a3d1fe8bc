"""Making the tables of a database once, and refusing a database whose tables are of another version of the program.

A database says which tables it has by a fingerprint of their definitions, so nobody has to count versions. Tables are
made in one transaction under a lock (SQLite's write lock, an advisory lock in PostgreSQL): of several processes that
start at once one makes them, the others wait and find them there; a failure leaves the database as it was.
"""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.schema import CreateTable

from blindlabel.errors import InputError

_LOCK = 0x626C696E646C6162
"""The advisory lock's number: `blindlab` in ASCII."""
_fingerprints = sa.Table("tables", sa.MetaData(), sa.Column("fingerprint", sa.String(16), primary_key=True))


class Transactional(Protocol):
    """What making tables needs of a database."""

    @property
    def is_sqlite(self) -> bool:
        """Whether its transactions that write take the one write lock when they begin."""
        ...

    def read(self) -> AbstractContextManager[sa.Connection]:
        """A transaction that reads."""
        ...

    def write(self) -> AbstractContextManager[sa.Connection]:
        """A transaction that writes."""
        ...


def make_tables(database: Transactional, tables: sa.MetaData) -> None:
    """Make the tables where there are none; refuse those of another version."""
    with database.read() as connection:
        if _found(connection, tables):
            return
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
        if not _found(connection, tables):  # else another process made them while this one waited
            tables.create_all(connection, checkfirst=False)
            _fingerprints.create(connection)
            connection.execute(_fingerprints.insert().values(fingerprint=fingerprint(tables)))


def fingerprint(tables: sa.MetaData) -> str:
    """What tells the tables of one version from those of another."""
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
