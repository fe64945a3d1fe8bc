"""The coordinator's own work beside its server: every study's, soon after a message came, and now and then anyway."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from fastapi.concurrency import run_in_threadpool

from blindlabel.errors import OutsideError
from blindlabel.protocol.errors import WrongStudy
from blindlabel.protocol.studies import Service
from blindlabel.transport.events import failure, log_event

log = logging.getLogger("blindlabel.server")

_PAUSE = 2.0
"""Seconds between two looks when nothing came, and after a failure."""


async def work_for_ever(coordinator: Service, news: Callable[[], asyncio.Event], wake: Callable[[], None]) -> None:
    """Do every study's work. `news` gives the event that the next message sets; `wake` tells those who wait for
    messages that there may be some.
    """
    while True:
        coming = news()
        try:
            done, failed = await run_in_threadpool(_work_once, coordinator)
        except OutsideError as error:  # the database does not answer
            _log_failed_work(error)
            done, failed = False, True
        if done:
            wake()
        if failed:
            await asyncio.sleep(_PAUSE)
        if done or failed:
            continue
        try:
            await asyncio.wait_for(coming.wait(), _PAUSE)
        except TimeoutError:
            continue


def _work_once(coordinator: Service) -> tuple[bool, bool]:
    """Every study's work once; whether anything was done, and whether anything failed. A study that fails does not hold
    up the others.
    """
    done = failed = False
    for row in coordinator.store.studies():
        if not row.ended:
            try:
                done |= coordinator.work(row.study)
            except WrongStudy:  # deleted meanwhile
                continue
            except Exception as error:  # whatever it is, the others' work goes on, and this one is tried again
                _log_failed_work(error, row.study)
                failed = True
    return done, failed


def _log_failed_work(error: Exception, study: str = "") -> None:
    log_event(log, logging.ERROR, "work failed", study=study[:12], **failure(error))
