"""Fixtures that several areas share: databases, real ones of both kinds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.postgres import Server, running


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
