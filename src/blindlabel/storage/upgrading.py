"""Bringing a database's tables to what this version of the program needs, from nothing or from any earlier version. No
tables here.

Coordinators and owners' workspaces live for weeks, so both survive an upgrade of the program in the middle of a study.
The whole upgrade is one transaction under a lock (SQLite's write lock, an advisory lock in PostgreSQL): of several
processes that start at once one upgrades, the others wait and find it done; a failure leaves the database as it was.
There is no way back but a backup.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import sqlalchemy as sa

from blindlabel.errors import InputError

if TYPE_CHECKING:
    from alembic.config import Config

History = Literal["coordinator", "workspace"]
NEWEST: dict[History, str] = {"coordinator": "0003", "workspace": "0002"}
"""The last revision of each history, so that opening a database that is up to date costs one query and no import of
Alembic.
"""
_VERSION_TABLE = "alembic_version"
_LOCK = 0x626C696E646C6162
"""The advisory lock's number: `blindlab` in ASCII."""

_ONE_AT_A_TIME = threading.Lock()
"""Alembic keeps the upgrade that runs in variables of its modules, so the threads of a process take turns, whatever the
database.
"""


class Upgradable(Protocol):
    """What an upgrade needs of a database."""

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


def upgrade(database: Upgradable, history: History, to: str = "") -> None:
    """Bring the tables to the newest revision (or the one that is named, for tests)."""
    wanted = to or NEWEST[history]
    with database.read() as connection:
        if _revision(connection) == wanted:
            return
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
        found = _revision(connection)
        if found != wanted:  # else another process did it while this one waited
            _run(connection, history, found, wanted)


def revisions(history: History) -> list[str]:
    """All revisions of a history, oldest first."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 (see NEWEST)

    return [script.revision for script in ScriptDirectory.from_config(_config(history)).walk_revisions()][::-1]


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(_VERSION_TABLE):
        return None
    return connection.execute(
        sa.select(sa.column("version_num")).select_from(sa.table(_VERSION_TABLE))
    ).scalar_one_or_none()


def _run(connection: sa.Connection, history: History, found: str | None, wanted: str) -> None:
    from alembic import command  # noqa: PLC0415 (see NEWEST)

    known = revisions(history)
    if found is not None and found not in known:
        raise InputError(
            f"The database has been upgraded by a newer version of blindlabel (its tables are at revision {found}, this"
            f" version knows {known[-1]}). Use that version, or restore a backup from before."
        )
    config = _config(history)
    config.attributes["connection"] = connection
    with _ONE_AT_A_TIME:
        command.upgrade(config, wanted)


def _config(history: History) -> Config:
    from alembic.config import Config  # noqa: PLC0415 (see NEWEST)

    folder = Path(__file__).with_name("migrations")
    config = Config()
    for name, value in (("script_location", folder), ("version_locations", folder / history)):
        config.set_main_option(name, str(value).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")  # a path may hold spaces and colons
    return config
