"""What can go wrong in a simulated study, how often, and how often it did.

`Weather` is asked at every place where something can go wrong. It decides by the schedule's seed, counts what it did,
and can be told to calm down: after that nothing goes wrong any more, and whatever a retry can solve has to be solved.
"""

from __future__ import annotations

import errno
import os
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from blindlabel.errors import OutsideError

KINDS = (
    "drop before handling", "drop after handling", "duplicate", "reorder", "delay", "replay", "stale round",
    "wrong study", "wrong sender",
    "wrong key", "bit flip", "crash", "disk full", "clock jump", "backup of owner", "backup of coordinator",
    "owner leaves",
    "unreadable answers", "long latency", "stopped", "no descriptors", "no threads", "two lives",
)  # fmt: skip


class Crash(BaseException):
    """The power goes out. Not an `Exception`, so that no handler in the code under test keeps a dead process alive."""


class WriteFails(OutsideError):
    """A write fails because the disk is full, or since no further file can be opened."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{os.strerror(number)}.")
        self.number = number


@dataclass
class Weather:
    """Decides where faults happen."""

    random: random.Random
    rates: dict[str, float]
    """Probability of each kind at each place where it can happen; kinds that are not named never happen."""
    crash_at: int = 0
    """Crash at this journal point of the schedule, whatever the rates; 0 for never."""
    counts: Counter[str] = field(default_factory=Counter)
    points: int = 0
    """Journal points passed so far."""
    calm: bool = False

    def begin(self, crash_at: int = 0) -> None:
        """The study is founded; from here on things go wrong."""
        self.calm, self.points, self.crash_at = False, 0, crash_at

    def strikes(self, kind: str) -> bool:
        """Whether this kind of fault happens here and now."""
        rate = self.rates.get(kind, 0.0)
        if self.calm or not rate or self.random.random() >= rate:
            return False
        self.counts[kind] += 1
        return True

    def journal_point(self) -> None:
        """Called before and after everything that is made durable: here a process can die, or the disk be full."""
        self.points += 1
        if self.points == self.crash_at:
            self.counts["crash"] += 1
            raise Crash
        if self.strikes("crash"):
            raise Crash
        for kind, number in (("disk full", errno.ENOSPC), ("no descriptors", errno.EMFILE)):
            if self.strikes(kind):
                raise WriteFails(number)

    def flipped(self, content: bytes) -> bytes:
        """The content with one bit changed."""
        changed = bytearray(content)
        at = self.random.randrange(8 * len(changed))
        changed[at // 8] ^= 1 << (at % 8)
        return bytes(changed)


def chosen_rates(chance: random.Random, kinds: Iterable[str] = KINDS) -> dict[str, float]:
    """A schedule's mix of faults: sometimes one kind, sometimes a few, sometimes all, rare or frequent."""
    known = sorted(kinds)
    number = chance.choice((1, 2, 3, 5, len(known)))
    picked = chance.sample(known, min(number, len(known)))
    heavy = chance.choice((0.02, 0.08, 0.2))
    scale = {"crash": 0.1, "disk full": 0.2, "no descriptors": 0.2, "long latency": 0.2, "owner leaves": 0.05}
    return {kind: heavy * scale.get(kind, 1.0) for kind in picked}
