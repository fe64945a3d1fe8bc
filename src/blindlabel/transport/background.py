"""The coordinator's own work beside its server: for every study, soon after a message came, and now and then anyway.

Nothing that goes wrong in one study stops the work of another, or the looking: it is logged and tried again, after
growing pauses. `trouble` reports it to /health, and also if nobody has looked for too long. Studies are worked on at
the same time, so that a large one does not hold up the others; `turn` takes them one after the other, for `folder` and
for callers with a clock of their own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.refusals import WrongStudy
from blindlabel.transport.events import failure, log_event

log = logging.getLogger("blindlabel.server")

PAUSE = 2.0
"""Seconds between two looks if nothing comes, and after a first failure."""
_LONGEST_PAUSE = 60.0  # seconds after which whatever fails is tried again
_STANDS_STILL = 60.0
"""Seconds without a look after which something is wrong; a database may make one wait for half of that."""
_AT_ONCE = 4  # studies that are worked on at the same time
_LOOKING = ""  # in place of a study: the look itself


class Background:
    """The work of all studies of one coordinator."""

    def __init__(
        self, coordinator: CoordinatorParty, *, clock: Callable[[], float] = time.monotonic, pause: float = PAUSE
    ) -> None:
        self._coordinator, self._clock, self._pause = coordinator, clock, pause
        # How often in a row something failed, and when it is tried again; by study.
        self._failing: dict[str, tuple[int, float]] = {}
        self._looked = clock()
        self._stopping = False

    def studies(self) -> list[str]:
        """The studies that may have work."""
        return [row.study for row in self._coordinator.store.studies() if not row.ended]

    def work(self, study: str) -> bool:
        """Do what can be done for a study now; True if something was done."""
        return self._coordinator.work(study)

    def _due(self, studies: list[str]) -> list[str]:
        """The open studies whose work may be done now."""
        self._looked = self._clock()
        self._failing = {study: known for study, known in self._failing.items() if study in studies}
        return [study for study in studies if not self._waits(study)]

    def turn(self) -> bool:
        """Look, and do every study's work, one after the other; True if something was done."""
        done = False
        if not self._waits(_LOOKING):
            with self._supervised(_LOOKING):
                for study in self._due(self.studies()):
                    with self._supervised(study):
                        done |= self.work(study)
        return done

    async def run(self, news: Callable[[], asyncio.Event], wake: Callable[[], None]) -> None:
        """Work until stopped. `news` gives the event that the next message sets; `wake` tells those who wait for
        messages that there may be some.
        """
        underway: set[str] = set()
        again: set[str] = set()  # studies for which something may have come since they were looked at
        turns = asyncio.Semaphore(_AT_ONCE)

        async def work(study: str) -> None:
            while study in again and not self._waits(study) and not self._stopping:
                again.discard(study)
                with self._supervised(study):
                    async with turns:
                        if await asyncio.to_thread(self.work, study):
                            wake()
            underway.discard(study)

        async with asyncio.TaskGroup() as group:
            while not self._stopping:
                coming = news()
                if not self._waits(_LOOKING):
                    with self._supervised(_LOOKING):
                        for study in self._due(await asyncio.to_thread(self.studies)):
                            again.add(study)
                            if study not in underway:
                                underway.add(study)
                                group.create_task(work(study))
                with suppress(TimeoutError):
                    await asyncio.wait_for(coming.wait(), self._pause)

    def stop(self) -> None:
        """Begin nothing new: `run` ends once it is woken and what is under way is done."""
        self._stopping = True

    @property
    def fails(self) -> bool:
        """Whether anything failed when it was last tried."""
        return bool(self._failing)

    @property
    def last_look(self) -> float:
        """Seconds since all studies were looked at."""
        return self._clock() - self._looked

    def trouble(self) -> str | None:
        """What is wrong, in a sentence, or None if all is well."""
        failing = len(self._failing.keys() - {_LOOKING})
        if self.last_look > _STANDS_STILL:
            ago = f"it last looked at its studies {self.last_look:.0f} seconds ago"
            return f"The coordinator's own work stands still: {ago}. Its operator has to read the log, and restart it."
        return f"The work for {failing} of the studies fails and is tried again; the log says why." if failing else None

    def _waits(self, study: str) -> bool:
        """Whether something failed that is not to be tried again yet."""
        return study in self._failing and self._clock() < self._failing[study][1]

    @contextmanager
    def _supervised(self, study: str) -> Iterator[None]:
        try:
            yield
        except WrongStudy:  # deleted in the meantime
            self._failing.pop(study, None)
        except Exception as error:  # whatever it is
            times = self._failing.get(study, (0, 0.0))[0] + 1
            pause = min(self._pause * 2 ** min(times - 1, 16), _LONGEST_PAUSE)
            self._failing[study] = times, self._clock() + pause
            log_event(log, logging.ERROR, "work failed", study=study[:12], times=times, **failure(error))
        else:
            self._failing.pop(study, None)
