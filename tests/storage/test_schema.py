"""Tables are made once, even where several processes start at once; those of another version are refused."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from blindlabel.errors import InputError, OutsideError
from blindlabel.storage import coordinator_tables, workspace_tables
from blindlabel.storage.database import Database, _set_up_sqlite, fingerprint

TABLES = coordinator_tables.metadata


@pytest.fixture
def place(database: str | None, tmp_path: Path) -> str | Path:
    """Where a database is to be."""
    return database or tmp_path / "some.sqlite"


def _changed() -> sa.MetaData:
    """The tables of some other version: a column more."""
    changed = sa.MetaData()
    for table in TABLES.sorted_tables:
        table.to_metadata(changed)
    changed.tables["study"].append_column(sa.Column("colour", sa.Text))
    return changed


def test_processes_that_start_at_once_make_the_tables_once(place: str | Path) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(6)

    def open_it() -> None:
        try:
            start.wait()
            Database(place, TABLES).close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]  # each has connections of its own, as processes have
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    database = Database(place, TABLES)
    with database.read() as connection:
        assert set(sa.inspect(connection).get_table_names()) == {*TABLES.tables, "tables"}
    database.close()


def test_failure_in_the_middle_leaves_the_database_as_it_was(place: str | Path) -> None:
    broken = sa.MetaData()
    for table in TABLES.sorted_tables:
        table.to_metadata(broken)
    sa.event.listen(broken.tables["study"], "after_create", _fail)
    with pytest.raises(RuntimeError, match="no more"):
        Database(place, broken)
    database = Database(place, TABLES)
    database.close()


def _fail(*_arguments: object, **_named: object) -> None:
    raise RuntimeError("no more")


@pytest.mark.parametrize("other", [_changed(), workspace_tables.metadata], ids=["a column more", "a workspace"])
def test_tables_of_another_version_are_refused_and_stay(place: str | Path, other: sa.MetaData) -> None:
    Database(place, other).close()
    with pytest.raises(InputError, match="another version"):
        Database(place, TABLES)
    Database(place, other).close()
    assert fingerprint(other) != fingerprint(TABLES)


def test_database_from_before_fingerprints_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "old.sqlite"
    old = Database(place, TABLES)
    with old.write() as connection:
        connection.execute(sa.text("DROP TABLE tables"))
    old.close()
    with pytest.raises(InputError, match="another version"):
        Database(place, TABLES)


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
        Database(address, TABLES)
    assert "secret" not in str(caught.value)


def test_full_disk_is_said_with_what_to_do(tmp_path: Path) -> None:
    """It was "disk I/O error": SQLite says so where its files beside the database cannot grow."""
    database = Database(tmp_path / "some.sqlite", TABLES)
    setting = coordinator_tables.setting
    full = pytest.raises(OutsideError, match=r"The disk with .*some.sqlite is full.* make room")
    with full, database.write() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        connection.execute(setting.insert(), [{"name": f"{one}", "value": "x" * 4000} for one in range(99)])
    error = sqlite3.OperationalError("disk I/O error")
    for code, sentence in {
        "SQLITE_IOERR_WRITE": "is full or fails .disk I/O error.*make room",
        "": "database failed",
    }.items():
        error.sqlite_errorname = code
        with pytest.raises(OutsideError, match=sentence), database.failing_with_a_sentence():
            raise error


def test_deleted_rows_are_overwritten_at_once(tmp_path: Path) -> None:
    """Before anybody tidies up (`scrub`): nothing of a deleted row is left in the pages of SQLite's file."""
    file, said = tmp_path / "some.sqlite", "0123456789abcdef" * 20
    database = Database(file, TABLES)
    setting = coordinator_tables.setting
    with database.write() as connection:
        connection.execute(setting.insert(), [{"name": f"{number}", "value": said} for number in range(9)])
    database.close()  # the last connection moves everything from the log into the file
    assert file.read_bytes().count(said.encode()) == 9
    with database.write() as connection:
        connection.execute(setting.delete())
    database.close()
    assert said.encode() not in file.read_bytes()


def test_deleted_rows_are_overwritten_where_sqlite_does_not_by_itself(tmp_path: Path) -> None:
    """Some systems build SQLite so that it does, and there the test above would notice nothing."""
    with contextlib.closing(sqlite3.connect(tmp_path / "some.sqlite")) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        _set_up_sqlite(connection, None)
        assert connection.execute("PRAGMA secure_delete").fetchall() == [(1,)]
