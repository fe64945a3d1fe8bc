"""What several areas share: which tests `make check` leaves out, what Hypothesis may mind, and databases of both kinds.

`BLINDLABEL_TEST_DATABASE=postgresql pytest …` runs any tests whose coordinators live in the test's own process on
PostgreSQL instead of SQLite; `make test-postgres` does that for those of storage, transport and whole studies.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest
import sqlalchemy as sa
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import HealthCheck, settings

from blindlabel.storage import coordinator_store
from blindlabel.storage.database import Database
from blindlabel.storage.ledger import PLACE
from support.patience import PATIENCE
from support.postgres import Server, running

WHOLE = {"bench", "browser", "cli", "experiments", "fuzzing", "simulation", "study"}
"""Folders of tests that start whole programs or play whole studies; `make check` leaves them out."""

# No test depends on how fast the machine is, so Hypothesis does not mind how long anything takes, and tests' own
# requests have as much time as anything else. Examples are the same in every run: a change is judged by what it
# changes. `BLINDLABEL_SEARCH=yes pytest …` looks for new ones.
settings.register_profile(
    "blindlabel",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("BLINDLABEL_SEARCH") != "yes",
    database=None,
)
settings.load_profile("blindlabel")
for step in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, step, PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name in WHOLE:
            item.add_marker("whole")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What is drawn from `secrets` in a test's own process (samples, and the keys that secret orders follow from) is
    alike in every run: a change is judged by what it changes, and no run is red by chance. What libsodium and SEAL
    draw stays by chance. Fixtures of a module are drawn alike whichever of its tests is the first.
    `BLINDLABEL_SEARCH=yes`: everything by chance.
    """
    if os.environ.get("BLINDLABEL_SEARCH") != "yes":
        secrets._sysrand = random.Random(item.path.name)  # type: ignore[attr-defined]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What a worker has measured is on the disk before it says that it is done: xdist ends workers ten seconds after
    that, and on a busy machine what half of the tests had covered was lost.
    """
    measured = coverage.Coverage.current()
    if measured is not None and hasattr(session.config, "workerinput"):
        measured.stop()
        measured.save()


@pytest.fixture(scope="session", autouse=True)
def _ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test writes into the ledger of whoever runs it."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(PLACE, str(tmp_path_factory.mktemp("ledger") / "ledger.json"))
        yield


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Server]:
    """A PostgreSQL server, one for the whole test run."""
    base = tmp_path_factory.getbasetemp()
    with running((base if worker_id == "master" else base.parent) / "postgres") as server:
        yield server


@pytest.fixture
def postgres_database(postgres: Server) -> Iterator[str]:
    """The address of an empty database in PostgreSQL."""
    with postgres.fresh_database() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """A coordinator's database: None for SQLite in its folder, or the address of an empty database in PostgreSQL."""
    if request.param == "sqlite":
        yield None
    else:
        with request.getfixturevalue("postgres").fresh_database() as address:
            yield address


@pytest.fixture(autouse=True)
def _on_postgres(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where it is asked for: every coordinator's folder has its own database in PostgreSQL."""
    if os.environ.get("BLINDLABEL_TEST_DATABASE") != "postgresql" or "database" in request.fixturenames:
        yield
        return
    server: Server = request.getfixturevalue("postgres")
    with contextlib.ExitStack() as stack:
        addresses: dict[Path, str] = {}

        def opened(address: str | Path, tables: sa.MetaData) -> Database:
            if isinstance(address, Path):
                address.parent.mkdir(parents=True, exist_ok=True)
                address.touch()  # what the commands look for in a coordinator's folder
                if address not in addresses:
                    addresses[address] = stack.enter_context(server.fresh_database())
                address = addresses[address]
            made = Database(address, tables)
            stack.callback(made.close)
            return made

        monkeypatch.setattr(coordinator_store, "Database", opened)
        yield
