"""The coordinator's own work is supervised: an error ends nothing, is tried again, and shows in /health; stopping waits
for what is under way.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from blindlabel.cli.main import run
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import StudyRow
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.transport.background import Background
from blindlabel.transport.server import create_app
from support.asynchronous import finished
from support.patience import PATIENCE, Patience
from support.study_parties import served, small_agreement


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def with_studies(folder: Path, *names: str) -> tuple[CoordinatorParty, list[str]]:
    coordinator = CoordinatorParty(CoordinatorStore(folder))
    for name in names:
        coordinator.create(to_text(small_agreement(name=name)))
    return coordinator, [row.study for row in coordinator.store.studies()]


def working(monkeypatch: pytest.MonkeyPatch, coordinator: CoordinatorParty, work: Callable[[str], bool]) -> None:
    """Another work in place of the coordinator's."""
    monkeypatch.setattr(coordinator, "work", work)


def test_a_study_that_fails_is_tried_again_with_growing_pauses_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator, (bad, good) = with_studies(tmp_path, "bad", "good")
    clock, tried = Clock(), {bad: list[float](), good: list[float]()}

    def work(study: str) -> bool:
        tried[study].append(clock.now)
        if study == bad and clock.now < 1400:
            raise KeyError("content of somebody")
        return True

    working(monkeypatch, coordinator, work)
    background = Background(coordinator, clock=clock)
    for _ in range(500):
        assert background.turn()
        assert bool(background.trouble()) == (clock.now < 1422)
        clock.now += 1
    assert len(tried[good]) == 500
    until_mended = [at for at in tried[bad] if at <= 1422]
    assert [later - sooner for sooner, later in itertools.pairwise(until_mended)][:7] == [2, 4, 8, 16, 32, 60, 60]
    assert len(tried[bad]) > 70, "every second again, once it is mended"
    said = [json.loads(record.getMessage()) for record in caplog.records]
    assert {(line["event"], line["kind"], line["study"]) for line in said} == {("work failed", "KeyError", bad[:12])}
    assert "content of somebody" not in caplog.text


def test_a_look_that_fails_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when no thread can be started, or the database does not answer."""
    coordinator, _ = with_studies(tmp_path, "one")
    looks, worked, listed = list[int](), threading.Event(), coordinator.store.studies

    def studies() -> list[StudyRow]:
        looks.append(len(looks))
        if looks[-1] in (1, 2):
            raise RuntimeError("can't start new thread")
        return listed()

    monkeypatch.setattr(coordinator.store, "studies", studies)

    async def until_worked_again() -> None:
        background, news, woken = Background(coordinator, pause=0.01), asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(background.run(lambda: news, woken.set))
        while len(looks) < 4:
            await asyncio.sleep(0.01)
            assert not task.done()
        working(monkeypatch, coordinator, lambda _: not worked.set())  # type: ignore[func-returns-value]
        assert await asyncio.to_thread(worked.wait, PATIENCE)
        await asyncio.wait_for(woken.wait(), PATIENCE)  # those who wait for messages are told
        background.stop()
        news.set()
        await task

    finished(until_worked_again())


def test_health_says_that_work_fails_and_that_nobody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    coordinator, _ = with_studies(tmp_path, "one", "two")
    clock = Clock()

    def fails(study: str) -> bool:
        raise RuntimeError("can't start new thread")

    background = Background(coordinator, clock=clock, pause=0.01)
    with served(coordinator, background=background) as address:

        def health() -> httpx.Response:
            return httpx.get(f"{address}/health", trust_env=False)

        assert (health().status_code, health().json()["last_look"]) == (200, 0.0)
        assert run(["coordinator", "health", "--address", address]) == 0
        working(monkeypatch, coordinator, fails)
        Patience().wait_until(lambda: "for 2 of the studies" in (background.trouble() or ""))
        assert health().status_code == 503
        capsys.readouterr()
        assert run(["coordinator", "health", "--address", address]) == 3
        assert "The work for 2 of the studies fails and is tried again; the log says why." in capsys.readouterr().err
        monkeypatch.setattr(coordinator.store, "studies", lambda: [])
        Patience().wait_until(lambda: background.trouble() is None)
        assert health().status_code == 200
    with served(coordinator, background=background) as address:  # it was stopped, and does not look any more
        clock.now += 61
        assert health().status_code == 503
        assert "last looked at its studies 61 seconds ago" in health().json()["sentence"]


def test_stopping_waits_for_work_that_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator, _ = with_studies(tmp_path, "one")
    begun, go_on, order = threading.Event(), threading.Event(), list[str]()

    def slow(study: str) -> bool:
        begun.set()
        assert go_on.wait(PATIENCE)
        order.append("work")
        raise RuntimeError("writes a line in the log")

    working(monkeypatch, coordinator, slow)
    app = create_app(coordinator)

    async def release() -> None:
        for _ in range(100):  # the server has long begun to stop
            await asyncio.sleep(0)
        go_on.set()

    async def lives() -> None:
        async with app.router.lifespan_context(app):
            assert await asyncio.to_thread(begun.wait, PATIENCE)
            releasing = asyncio.create_task(release())
        order.append("server")
        await releasing

    caplog.set_level(logging.ERROR)
    finished(lives())
    assert order == ["work", "server"]
    assert [json.loads(record.getMessage())["event"] for record in caplog.records] == ["work failed"]
