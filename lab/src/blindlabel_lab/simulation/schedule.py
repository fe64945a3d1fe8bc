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

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from blindlabel_lab.simulation.faults import Weather
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
    storm: bool = True,
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
        if storm:
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
