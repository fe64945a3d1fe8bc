"""Databases of every earlier version are brought to the tables of this one, by one process even where several start at
once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from blindlabel.errors import InputError
from blindlabel.storage import coordinator_tables, upgrading, workspace_tables
from blindlabel.storage.database import Database
from blindlabel.storage.upgrading import NEWEST, History, revisions, upgrade

TABLES = {"coordinator": coordinator_tables.metadata, "workspace": workspace_tables.metadata}
HISTORIES: list[History] = ["coordinator", "workspace"]


@pytest.fixture
def place(database: str | None, tmp_path: Path) -> str | Path:
    """Where a database is to be."""
    return database or tmp_path / "some.sqlite"


class _Bare(Database):
    """A database whose tables are left as they are."""

    def __init__(self, address: str | Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("blindlabel.storage.database.upgrade", lambda *_: None)
            super().__init__(address, "coordinator")


@pytest.fixture
def empty(place: str | Path) -> Iterator[Database]:
    """A database without tables."""
    database = _Bare(place)
    yield database
    database.close()


def _differences(database: Database, tables: sa.MetaData) -> list[object]:
    with database.read() as connection:
        return list(compare_metadata(MigrationContext.configure(connection), tables))


@pytest.mark.parametrize("history", HISTORIES)
def test_upgraded_database_has_the_tables_that_the_program_uses(empty: Database, history: History) -> None:
    assert _differences(empty, TABLES[history]), "the comparison must notice missing tables"
    upgrade(empty, history)
    assert _differences(empty, TABLES[history]) == []
    with empty.read() as connection:
        inspector = sa.inspect(connection)
        for table in TABLES[history].sorted_tables:  # what the comparison leaves out
            assert inspector.get_pk_constraint(table.name)["constrained_columns"] == [
                column.name for column in table.primary_key
            ]
            cascading = [key["options"].get("ondelete") for key in inspector.get_foreign_keys(table.name)]
            assert cascading == ["CASCADE" for _ in table.foreign_keys]


@pytest.mark.parametrize("history", HISTORIES)
def test_newest_revision_is_the_one_that_the_program_asks_for(history: History) -> None:
    assert revisions(history)[-1] == NEWEST[history]


def test_study_of_the_first_version_survives_the_upgrade(empty: Database) -> None:
    upgrade(empty, "coordinator", revisions("coordinator")[0])
    study = {"study": "ab" * 32, "name": "persons", "agreement": "text", "state": "{}", "version": 7}
    study |= {"ended": False, "created": 1.5, "worker": "", "worker_until": 0.0}
    outgoing = {"study": "ab" * 32, "receiver": "anna", "sequence": 1, "kind": "keys", "wire": b"\x00\xff", "made": 2.5}
    with empty.write() as connection:
        connection.execute(coordinator_tables.study.insert().values(**study))
        connection.execute(coordinator_tables.outgoing.insert().values(**outgoing))
    upgrade(empty, "coordinator")
    assert _differences(empty, coordinator_tables.metadata) == []
    with empty.read() as connection:
        assert connection.execute(sa.select(coordinator_tables.study)).one()._asdict() == study
        assert connection.execute(sa.select(coordinator_tables.outgoing)).one()._asdict() == outgoing


def test_processes_that_start_at_once_upgrade_once(place: str | Path) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(6)

    def open_it() -> None:
        try:
            start.wait()
            Database(place, "coordinator").close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]  # each has connections of its own, as processes have
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    database = Database(place, "coordinator")
    with database.read() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars().all() == [
            NEWEST["coordinator"]
        ]
    database.close()


def test_failed_upgrade_leaves_the_database_as_it_was(empty: Database) -> None:
    upgrade(empty, "coordinator", "0001")
    with empty.write() as connection:
        connection.execute(sa.text("CREATE TABLE setting (other INTEGER)"))  # stands in the way of revision 0002
    with pytest.raises(Exception, match="setting"):
        upgrade(empty, "coordinator")
    with empty.write() as connection:
        connection.execute(sa.text("DROP TABLE setting"))
    upgrade(empty, "coordinator")
    assert _differences(empty, coordinator_tables.metadata) == []


def test_database_of_a_newer_version_is_refused(place: str | Path) -> None:
    database = Database(place, "coordinator")
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(InputError, match="newer version"):
        Database(place, "coordinator")


def test_folder_with_odd_characters_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "50 %(x)s, a b:c"
    folder.mkdir()
    (folder / "migrations").symlink_to(Path(upgrading.__file__).with_name("migrations"))
    monkeypatch.setattr(upgrading, "__file__", str(folder / "upgrading.py"))
    Database(tmp_path / "odd.sqlite", "workspace").close()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("mysql://somebody@somewhere/it", "SQLite or PostgreSQL"),
        ("postgresql://user:secret@host:port/name", "cannot be read"),
        ("nonsense", "cannot be read"),
    ],
)
def test_address_that_is_none_is_told_without_its_password(address: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        Database(address, "coordinator")
    assert "secret" not in str(caught.value)
