"""Rate limits: every caller has a bucket that fills with time and gives one request for each drop."""

from __future__ import annotations

import threading
import time

from blindlabel.errors import OutsideError


class TooManyRequests(OutsideError):
    """The caller asks too often. Wait a second and go on."""


class RateLimit:
    """Buckets by caller. Full buckets are forgotten, so the memory is bounded by the callers of the last seconds."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def check(self, caller: str) -> None:
        """Count one request; `TooManyRequests` where the bucket is empty."""
        now = time.monotonic()
        with self._lock:
            level, then = self._buckets.get(caller, (self._burst, now))
            level = min(self._burst, level + (now - then) * self._per_second)
            if len(self._buckets) > 10_000:
                self._forget(now)
            self._buckets[caller] = (max(level - 1, 0.0), now)
        if level < 1:
            raise TooManyRequests("Too many requests. Wait a second and go on.")

    def _forget(self, now: float) -> None:
        fill = self._burst / self._per_second
        self._buckets = {caller: known for caller, known in self._buckets.items() if now - known[1] < fill}
