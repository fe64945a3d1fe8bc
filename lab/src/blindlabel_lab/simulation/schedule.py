"""One schedule: a study with its parties and its weather, all from one seed, played to the end and judged.

First everything goes wrong that the weather brings; then it calms down, and what is left must be solved by the parties
as they run: nobody is started again. The verdict is a list of violations, empty where all promises held:

- the labels at the coordinator and at every owner are those of the clear protocol (`reference`), at the right rows;
- no pair is counted twice, and none is labelled without two equal answers;
- nothing is stuck that a retry can solve;
- forged, stale and damaged messages change nothing;
- a coordinator that was restored from a backup either goes on exactly as before, or every owner that would notice stops
  with a sentence.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blindlabel_lab.simulation.faults import Crash, Weather
from blindlabel_lab.simulation.judging import judged
from blindlabel_lab.simulation.parties import mortal
from blindlabel_lab.simulation.places import InFolders, InMemory, Place
from blindlabel_lab.simulation.plan import Plan, Way
from blindlabel_lab.simulation.power import Disk
from blindlabel_lab.simulation.study import Study


@dataclass(frozen=True)
class Verdict:
    """What came of a schedule."""

    seed: int
    violations: tuple[str, ...]
    faults: Counter[str]
    points: int
    """Journal points passed."""
    end: str
    """Why the study ended: agreed, rounds, budget, closed, or `history` where owners stopped it."""
    owners: int
    rounds: int


def run(
    seed: int,
    folder: Path | None = None,
    *,
    rates: dict[str, float] | None = None,
    crash_at: int = 0,
    owners: int | None = None,
    way: Way = "calls",
    power: bool = False,
) -> Verdict:
    """Play and judge one schedule: in memory, or with databases and files in a folder. `way`: over calls of functions,
    or with the product's own transport. `power`: whoever crashes loses what was not synced.
    """
    plan = Plan(seed, rates, crash_at, owners, files=folder is not None, way=way)
    weather = Weather(plan.random, plan.rates or {})
    with mortal(weather) as mortality, ExitStack() as stack:
        disk = Disk(folder, lambda: not mortality.dead) if folder is not None and power else None
        if disk:
            stack.enter_context(disk.recording())
        place: Place = InMemory() if folder is None else InFolders(folder, disk)
        study = Study(plan, place, weather, mortality, folder)
        if way == "http":
            stack.enter_context(study.wire.open())
        study.storm()
        finished = study.calm()
        try:
            violations = (*study.network.violations, *study.unexpected, *judged(study, finished))
            state = study.coordinator.known()
        finally:
            study.end()
            place.shut()
    return Verdict(seed, violations, weather.counts, weather.points, _end(study), len(study.owners), state.round)


def _end(study: Study) -> str:
    """Why the study ended. `history`: owners stopped it, or say that the coordinator has to be restored. Without an
    end: the coordinator was restored after every owner had the truth, so nobody speaks to it any more.
    """
    if study.forked or study.behind():
        return "history"
    return study.coordinator.known().ended or "restored after the end"


# Many schedules


Told = Callable[[int, int], None]
"""Called with schedules done and violations found."""


COUNTED = ("schedules", "faults", "ends", "owners", "rounds")


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
        for name in COUNTED:
            getattr(self, name).update(getattr(other, name))
        self.points += other.points
        self.failed += other.failed

    def as_figures(self) -> dict[str, Any]:
        """For reports."""
        counted = {name: dict(sorted(getattr(self, name).items())) for name in COUNTED}
        return counted | {"journal_points": self.points, "failed": self.failed}


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
