"""Many schedules in a row, each as its seed says, and one with a crash at every journal point; with a tally."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blindlabel_lab.simulation.faults import Crash
from blindlabel_lab.simulation.plan import Way
from blindlabel_lab.simulation.schedule import Verdict, run

Told = Callable[[int, int], None]
"""Called with schedules done and violations found."""


@dataclass
class Tally:
    """What a campaign came to."""

    schedules: Counter[str] = field(default_factory=Counter)
    """By level: memory, files, http, folder, power cuts, crash at every point."""
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


LEVELS = {0: "files", 1: "http", 2: "folder", 3: "power cuts"}
"""What is not played in memory, by a seed's rest after division by 20: with databases and files, over the product's own
HTTP or folder, or so that whoever crashes loses what was not synced.
"""


def level_of(seed: int) -> str:
    """How a seed is played: the seed alone says everything."""
    return LEVELS.get(seed % 20, "memory")


def play(seed: int, tally: Tally) -> None:
    """One schedule."""
    level = level_of(seed)
    if level == "memory":
        tally.add(level, run(seed))
        return
    way: Way = "http" if level == "http" else "folder" if level == "folder" else "calls"
    rates, power = ({"crash": 0.01}, True) if level == "power cuts" else (None, False)
    with tempfile.TemporaryDirectory(prefix="blindlabel-", dir=_fast_folder()) as folder:
        tally.add(level, run(seed, Path(folder), rates=rates, way=way, power=power))


def in_processes(
    seeds: range, tally: Tally, workers: int, until: float, told: Told = lambda _done, _failed: None
) -> None:
    """Schedules divided among processes, until a time of the monotonic clock."""
    parts = [(range(first, min(first + 20, seeds.stop)), until) for first in range(seeds.start, seeds.stop, 20)]
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(_part, parts):
            tally.merge(found)
            told(sum(tally.schedules.values()), len(tally.failed))


def _part(part: tuple[range, float]) -> Tally:
    tally = Tally()
    for seed in part[0]:
        if time.monotonic() < part[1]:
            try:
                play(seed, tally)
            except (Exception, Crash) as error:  # whatever it is, the others are played
                wrong = f"{type(error).__name__}: {error}"
                tally.failed.append({"level": level_of(seed), "seed": seed, "violations": [wrong]})
    return tally


def crash_everywhere(
    seed: int, tally: Tally, *, owners: int = 2, step: int = 1, told: Told = lambda _done, _failed: None
) -> None:
    """One study in memory, again and again, with a crash at each of its journal points (or every this many)."""
    points = run(seed, rates={}, owners=owners).points
    for at in range(1, points + 1, step):
        tally.add("crash at every point", run(seed, rates={}, crash_at=at, owners=owners), crash_at=at)
        told(sum(tally.schedules.values()), len(tally.failed))


def _fast_folder() -> str | None:
    """Memory as a file system, where there is one: durability is simulated, not tested here."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
