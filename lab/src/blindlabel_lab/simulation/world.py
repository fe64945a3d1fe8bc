"""Simulated time, and the processes that live in it: the product's own loops run as they are, and whoever sleeps lets
the others go on.

A process is a greenlet, so only one runs at a time and a schedule is the same every time. `World.instead()` puts
simulated time in the place of `time` in the product's modules that sleep or look at a clock. A process can be killed,
or stopped for a while (as SIGSTOP does it) where it sleeps.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from greenlet import getcurrent, greenlet

from blindlabel_lab.simulation.faults import Crash

CLOCKED = ("parties.owner", "transport.folder", "transport.client", "transport.server")
"""The product's modules that sleep, or look at a clock that is not a database's."""
MOST_TURNS = 20_000
"""Turns that all processes together may take without time passing; whoever takes more never sleeps."""


@dataclass(eq=False)
class Process:
    """Something that runs, sleeps, and may be killed or stopped where it sleeps."""

    name: str
    inside: greenlet = field(repr=False)
    wakes: float = 0.0
    stopped_until: float = 0.0
    doomed: bool = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return bool(self.inside.dead)


class World:
    """The time, and who runs next."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now
        self._queue: list[tuple[float, int, Process]] = []
        self._order = itertools.count()
        self._hub = getcurrent()
        self._running: dict[greenlet, Process] = {}

    @property
    def current(self) -> Process | None:
        """The process that runs now."""
        return self._running.get(getcurrent())

    def clock(self) -> float:
        """The time."""
        return self.now

    def start(self, name: str, work: Callable[[], object], after: float = 0.0) -> Process:
        """A new process."""
        process = Process(name, greenlet(work, parent=self._hub))
        self._running[process.inside] = process
        self.wake(process, after)
        return process

    def wake(self, process: Process, after: float = 0.0) -> None:
        """Let a process go on, now or later."""
        process.wakes = self.now + after
        heapq.heappush(self._queue, (process.wakes, next(self._order), process))

    def kill(self, process: Process) -> None:
        """It dies where it sleeps."""
        process.doomed, process.stopped_until = True, 0.0
        self.wake(process)

    def stop(self, process: Process, seconds: float) -> None:
        """It does nothing for a while, whatever it waits for."""
        process.stopped_until = self.now + seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass for whoever runs now, and others go on."""
        process = self.current
        if process is None:
            self.now += seconds
            return
        self.wake(process, max(0.0, seconds))
        self._hub.switch()
        if process.doomed:
            raise Crash

    def play(self, until: Callable[[], bool], seconds: float) -> bool:
        """Let the processes run until something is so (True), or for so long."""
        end, turns, since, asked = self.now + seconds, 0, self.now, -1.0
        while self.now == asked or not until():  # asking costs more than most turns
            asked = self.now
            if not self._queue or self._queue[0][0] > end:
                self.now = end
                return until()
            at, _, process = heapq.heappop(self._queue)
            if process.is_over or at != process.wakes:
                continue
            if process.stopped_until > at:
                self.wake(process, process.stopped_until - self.now)
                continue
            turns = turns + 1 if at <= since else 0
            if turns > MOST_TURNS:
                raise RuntimeError(f"{process.name} goes on and on without a pause")
            self.now = since = max(self.now, at)
            process.inside.switch()
            if process.inside.dead:
                self._running.pop(process.inside, None)
        return True

    def end(self) -> None:
        """Nothing runs any more."""
        for process in list(self._running.values()):
            if process.inside:  # it has begun, and has not ended
                process.inside.throw()
        self._running.clear()
        self._queue.clear()

    @contextmanager
    def instead(self) -> Iterator[None]:
        """Simulated time in place of the machine's."""
        with ExitStack() as stack:
            for module in CLOCKED:
                stack.enter_context(patch(f"blindlabel.{module}.time", _Time(self)))
            yield


class _Time:
    """What the product's modules see as `time`."""

    def __init__(self, world: World) -> None:
        self.sleep, self.monotonic, self.time, self.perf_counter = world.sleep, world.clock, world.clock, world.clock

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)
