"""Many schedules in a row: in memory, with databases and files, and with a crash at every journal point of a study,
with a tally.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blindlabel_lab.simulation.plan import Way
from blindlabel_lab.simulation.schedule import Verdict, run

Told = Callable[[int, int], None]
"""Called with schedules done and violations found."""


@dataclass
class Tally:
    """What a campaign came to."""

    schedules: Counter[str] = field(default_factory=Counter)
    """By level: memory, files, crash at every point."""
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

    def merge(self, other: Tally) -> None:
        """Count what another process counted."""
        for name in ("schedules", "faults", "ends", "owners", "rounds"):
            getattr(self, name).update(getattr(other, name))
        self.points += other.points
        self.failed += other.failed

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


def in_processes(seeds: range, tally: Tally, workers: int, told: Told = lambda _done, _failed: None) -> None:
    """Schedules in memory, divided among processes."""
    parts = [range(first, min(first + 50, seeds.stop)) for first in range(seeds.start, seeds.stop, 50)]
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(_part, parts):
            tally.merge(found)
            told(sum(tally.schedules.values()), len(tally.failed))


def _part(seeds: range) -> Tally:
    tally = Tally()
    in_memory(seeds, tally)
    return tally


def in_memory(seeds: Iterable[int], tally: Tally, told: Told = lambda _done, _failed: None) -> None:
    """Schedules in memory."""
    for seed in seeds:
        tally.add("memory", run(seed))
        told(sum(tally.schedules.values()), len(tally.failed))


def in_files(seeds: Iterable[int], tally: Tally, told: Told = lambda _done, _failed: None) -> None:
    """Schedules with databases and files."""
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="blindlabel-", dir=_fast_folder()) as folder:
            tally.add("files", run(seed, Path(folder)))
        told(sum(tally.schedules.values()), len(tally.failed))


def over_transport(way: Way, seeds: Iterable[int], tally: Tally, told: Told = lambda _done, _failed: None) -> None:
    """Schedules with databases and files over the product's own transport."""
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="blindlabel-", dir=_fast_folder()) as folder:
            tally.add(f"over {way}", run(seed, Path(folder), way=way))
        told(sum(tally.schedules.values()), len(tally.failed))


def with_power_cuts(seeds: Iterable[int], tally: Tally, told: Told = lambda _done, _failed: None) -> None:
    """Schedules in which whoever crashes loses what was not synced."""
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="blindlabel-", dir=_fast_folder()) as folder:
            tally.add("power cuts", run(seed, Path(folder), rates={"crash": 0.01}, owners=2, power=True))
        told(sum(tally.schedules.values()), len(tally.failed))


def crash_everywhere(
    seed: int, tally: Tally, *, owners: int = 2, step: int = 1, told: Told = lambda _done, _failed: None
) -> None:
    """One study in memory, again and again, with a crash at each of its journal points (or every so many)."""
    points = run(seed, rates={}, owners=owners).points
    for at in range(1, points + 1, step):
        tally.add("crash at every point", run(seed, rates={}, crash_at=at, owners=owners), crash_at=at)
        told(sum(tally.schedules.values()), len(tally.failed))


def crash_everywhere_in_files(
    seed: int, tally: Tally, *, step: int = 1, told: Told = lambda _done, _failed: None
) -> None:
    """The same with databases and files."""
    at, points = 1, 1
    while at <= points:
        with tempfile.TemporaryDirectory(prefix="blindlabel-", dir=_fast_folder()) as folder:
            verdict = run(seed, Path(folder), rates={}, crash_at=at, owners=2)
        points = max(points, verdict.points)
        tally.add("crash at every point, files", verdict, crash_at=at)
        told(sum(tally.schedules.values()), len(tally.failed))
        at += step


def _fast_folder() -> str | None:
    """Memory as a file system, where there is one: durability is simulated, not tested here."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
