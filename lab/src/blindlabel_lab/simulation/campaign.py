"""Many schedules in a row: core schedules, schedules with real parties, and a crash at every journal point of a study,
with a tally.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blindlabel_lab.simulation.real_schedule import run_real
from blindlabel_lab.simulation.schedule import Verdict, run

Told = Callable[[int, int], None]
"""Called with schedules done and violations found."""


@dataclass
class Tally:
    """What a campaign came to."""

    schedules: Counter[str] = field(default_factory=Counter)
    """By level: core, real, crash at every point."""
    faults: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    owners: Counter[int] = field(default_factory=Counter)
    rounds: Counter[int] = field(default_factory=Counter)
    points: int = 0
    failed: list[dict[str, Any]] = field(default_factory=list)

    def add(self, level: str, verdict: Verdict, **more: int) -> None:
        """Count one schedule."""
        self.schedules[level] += 1
        self.faults += verdict.faults
        self.ends[verdict.end] += 1
        self.owners[verdict.owners] += 1
        self.rounds[verdict.rounds] += 1
        self.points += verdict.points
        if verdict.violations:
            self.failed.append({"level": level, "seed": verdict.seed, **more, "violations": list(verdict.violations)})

    def as_figures(self) -> dict[str, Any]:
        """For reports."""
        return {
            "schedules": dict(self.schedules),
            "faults": dict(sorted(self.faults.items())),
            "ends": dict(sorted(self.ends.items())),
            "owners": dict(sorted(self.owners.items())),
            "rounds": dict(sorted(self.rounds.items())),
            "journal_points": self.points,
            "failed": self.failed,
        }


def core(seeds: Iterable[int], tally: Tally, told: Told = lambda _done, _failed: None) -> None:
    """Schedules over the rules alone."""
    for seed in seeds:
        tally.add("core", run(seed))
        told(sum(tally.schedules.values()), len(tally.failed))


def real(seeds: Iterable[int], tally: Tally, told: Told = lambda _done, _failed: None) -> None:
    """Schedules with the parties that users run."""
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="blindlabel-", dir=_fast_folder()) as folder:
            tally.add("real", run_real(seed, Path(folder)))
        told(sum(tally.schedules.values()), len(tally.failed))


def crash_everywhere(
    seed: int, tally: Tally, *, owners: int = 2, step: int = 1, told: Told = lambda _done, _failed: None
) -> None:
    """One study over the rules, again and again, with a crash at each of its journal points (or every so many)."""
    points = run(seed, rates={}, owners=owners).points
    for at in range(1, points + 1, step):
        tally.add("crash at every point", run(seed, rates={}, crash_at=at, owners=owners), crash_at=at)
        told(sum(tally.schedules.values()), len(tally.failed))


def crash_everywhere_for_real(
    seed: int, tally: Tally, *, step: int = 1, told: Told = lambda _done, _failed: None
) -> None:
    """The same with real parties, databases and files."""
    at, points = 1, 1
    while at <= points:
        with tempfile.TemporaryDirectory(prefix="blindlabel-", dir=_fast_folder()) as folder:
            verdict = run_real(seed, Path(folder), rates={}, crash_at=at, owners=2)
        points = max(points, verdict.points)
        tally.add("crash at every point, real", verdict, crash_at=at)
        told(sum(tally.schedules.values()), len(tally.failed))
        at += step


def _fast_folder() -> str | None:
    """Memory as a file system, where there is one: durability is simulated, not tested here."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
