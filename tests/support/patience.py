"""How long tests wait for other processes, threads and browsers: long enough for any machine. A bound is there to end
what hangs, never to say how fast something must be.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

PATIENCE = float(os.environ.get("BLINDLABEL_PATIENCE", "1200"))
"""Seconds. Whoever mends a test may want to hear of a failure sooner."""


class Patience:
    """A wait that has begun: `check` in a loop of one's own, or `wait_until` something holds."""

    def __init__(self) -> None:
        self._until = time.monotonic() + PATIENCE

    def check(self, said: Callable[[], object] = str) -> None:
        """Fail where it has taken too long, with what is to be said about it."""
        assert time.monotonic() < self._until, said()

    def wait_until(self, holds: Callable[[], object], said: Callable[[], object] = str, every: float = 0.02) -> None:
        """Look again and again until it holds."""
        while not holds():
            self.check(said)
            time.sleep(every)
