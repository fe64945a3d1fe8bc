"""What once left parties waiting for each other, or ended them, played with the loops that people run: nobody is
started again, and the study ends with the right labels.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from blindlabel.protocol.shape import COORDINATOR
from blindlabel_lab.simulation.faults import Weather
from blindlabel_lab.simulation.judging import judged
from blindlabel_lab.simulation.parties import mortal
from blindlabel_lab.simulation.places import InFolders, InMemory
from blindlabel_lab.simulation.plan import Plan
from blindlabel_lab.simulation.study import Study
from blindlabel_lab.simulation.world import World


@contextmanager
def living(seed: int, folder: Path | None = None, **rates: float) -> Iterator[Study]:
    """A study of two whose processes run; at the end nobody has ended in a way that no sentence explains."""
    plan = Plan(seed, dict(rates), owners=2, files=folder is not None)
    plan.second = folder is not None
    weather = Weather(plan.random, dict(rates))
    with mortal(weather) as mortality:
        place = InMemory() if folder is None else InFolders(folder)
        study = Study(plan, place, weather, mortality, folder)
        try:
            yield study
        finally:
            study.end()
            place.shut()


def messages_at(study: Study) -> int:
    return len(study.coordinator.known().seen)


def lives_until(study: Study, messages: int) -> None:
    while messages_at(study) < messages and study.present():
        study.storm(1.0)


def ends_well(study: Study) -> None:
    assert study.calm(), study.said
    assert study.unexpected == [] and judged(study, finished=True) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("restored", [(COORDINATOR,), ("anna",), ("anna", COORDINATOR)], ids=" and ".join)
def test_backup_restored_beside_those_who_live(seed: int, restored: tuple[str, ...]) -> None:
    """`silent`, `rollback-coord`, `rollback-anna` and `rollback-both` of the review."""
    with living(seed) as study:
        lives_until(study, 5 + 2 * seed)
        for party in restored:
            study.place.back_up(party)
        lives_until(study, messages_at(study) + 1 + seed)
        for party in restored:
            study.moved(party, partial(study.place.restore, party))
        study.weather.counts["backup of coordinator"] += COORDINATOR in restored
        if set(restored) == {"anna", COORDINATOR} and (not study.calm() or study.forked):
            assert study.behind() or study.forked, "whoever cannot be brought forward says so"
            assert study.unexpected == []
            waiting = study.owners["anna"].owner.next_steps()
            assert [step.what for step in waiting] == ["restored"] and "berta" in waiting[0].sentence
        else:
            ends_well(study)


def test_processes_that_are_killed_again_and_again_go_on(tmp_path: Path) -> None:
    """`kills` of the review: any process, wherever it sleeps; others are stopped for a while."""
    with living(1) as study:
        for number in range(25):
            study.storm(study.plan.random.uniform(0.5, 4.0))
            party = study.plan.random.choice([*study.owners, COORDINATOR])
            if number % 5:
                study.kill(party)
            else:
                key = party if party == COORDINATOR else f"run {party}"
                study.world.stop(study.running[key], 90.0)
        ends_well(study)


def test_database_restored_without_the_bodies_beside_it(tmp_path: Path) -> None:
    """`db-only` of the review: the bodies are newer than the database that names them."""
    with living(2, tmp_path) as study:
        lives_until(study, 7)
        study.place.back_up(COORDINATOR)
        lives_until(study, 10)

        def database_only() -> bool:
            study.place.shut()
            for file in (tmp_path / COORDINATOR).glob("coordinator.sqlite*"):
                file.unlink()
            for file in (tmp_path / f"{COORDINATOR}.backup").glob("coordinator.sqlite*"):
                shutil.copy(file, tmp_path / COORDINATOR)
            return True

        study.moved(COORDINATOR, database_only)
        study.weather.counts["backup of coordinator"] += 1
        ends_well(study)


def test_two_processes_of_one_workspace_and_two_of_the_coordinator(tmp_path: Path) -> None:
    """`twice-anna` of the review."""
    with living(3, tmp_path) as study:
        study.storm(1.0)
        study.running["run anna twice"] = study.world.start("run anna twice", lambda: study.runs("anna"))
        ends_well(study)
        assert not any(one.void for one in study.coordinator.known().rounds)


def test_a_loop_that_never_pauses_is_named_instead_of_played_for_ever() -> None:
    world = World()

    def hot() -> None:
        while True:
            world.sleep(0.0)

    world.start("anna", hot)
    with pytest.raises(RuntimeError, match="anna goes on and on without a pause"):
        world.play(lambda: False, 1.0)
