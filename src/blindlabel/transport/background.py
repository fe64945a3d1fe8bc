"""The coordinator's own work beside its server: every study's, soon after a message came, and now and then anyway.
Studies are worked on at the same time, so that a large one does not hold up the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from fastapi.concurrency import run_in_threadpool

from blindlabel.errors import OutsideError
from blindlabel.protocol.errors import WrongStudy
from blindlabel.protocol.interfaces import Service
from blindlabel.transport.events import failure, log_event

log = logging.getLogger("blindlabel.server")

_PAUSE = 2.0
"""Seconds between two looks when nothing came, and after a failure."""
_AT_ONCE = 4
"""Studies that are worked on at the same time."""


async def work_for_ever(coordinator: Service, news: Callable[[], asyncio.Event], wake: Callable[[], None]) -> None:
    """Do every study's work. `news` gives the event that the next message sets; `wake` tells those who wait for
    messages that there may be some.
    """
    underway: set[str] = set()
    again: set[str] = set()
    """Those of them for which something may have come since they were looked at."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def work(study: str) -> None:
        """One study's work; one that fails waits, and is tried again."""
        failed = True
        while failed or study in again:
            again.discard(study)
            async with turns:
                done, failed = await run_in_threadpool(_work_once, coordinator, study)
            if done:
                wake()
            if failed:
                await asyncio.sleep(_PAUSE)
        underway.discard(study)

    async with asyncio.TaskGroup() as group:
        while True:
            coming = news()
            for study in await run_in_threadpool(_open_studies, coordinator):
                if study in underway:
                    again.add(study)
                else:
                    underway.add(study)
                    group.create_task(work(study))
            try:
                await asyncio.wait_for(coming.wait(), _PAUSE)
            except TimeoutError:
                continue


def _open_studies(coordinator: Service) -> list[str]:
    try:
        return [row.study for row in coordinator.store.studies() if not row.ended]
    except OutsideError as error:  # the database does not answer
        _log_failed_work(error)
        return []


def _work_once(coordinator: Service, study: str) -> tuple[bool, bool]:
    """One study's work; whether anything was done, and whether it failed."""
    try:
        return coordinator.work(study), False
    except WrongStudy:  # deleted meanwhile
        return False, False
    except Exception as error:  # whatever it is, the others' work goes on, and this one is tried again
        _log_failed_work(error, study)
        return False, True


def _log_failed_work(error: Exception, study: str = "") -> None:
    log_event(log, logging.ERROR, "work failed", study=study[:12], **failure(error))
