"""A few of the schedules that `scripts/simulate` plays by the thousand: studies of the real loops, with faults. The
judges are tested too: they find what is broken.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindlabel.protocol import coordinator_rules as coordinator
from blindlabel.protocol import labels as labelling
from blindlabel.protocol import owner_rules as owner
from blindlabel_lab.simulation import reference, schedule
from blindlabel_lab.simulation.crash_points import Bench, CrashPoint, has_strace
from blindlabel_lab.simulation.faults import KINDS
from blindlabel_lab.simulation.plan import ANYWHERE, OF_WAY, Way
from blindlabel_lab.simulation.schedule import run


@pytest.mark.parametrize("first", range(0, 24, 12))
def test_schedules_keep_all_promises(first: int) -> None:
    tally = schedule.Tally()
    for seed in range(first, first + 12):
        tally.add("memory", run(seed))
    assert tally.failed == []
    assert sum(tally.faults.values()) > 100


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"clock jump"}))
def test_each_kind_of_fault_alone_keeps_all_promises(kind: str) -> None:
    tally = schedule.Tally()
    for seed in range(700, 730):
        tally.add("memory", run(seed, rates={kind: 0.15 if kind != "crash" else 0.02}))
        if seed > 700 and tally.faults[kind]:
            break
    assert tally.failed == []
    assert tally.faults[kind], f"{kind} never happened"


def test_crash_at_any_journal_point_keeps_all_promises() -> None:
    tally = schedule.Tally()
    schedule.crash_everywhere(3, tally, owners=2, step=5)
    assert tally.failed == []
    assert tally.faults["crash"] == tally.schedules["crash at every point"] > 10


@pytest.mark.parametrize("seed", range(3))
def test_schedules_with_databases_and_files_keep_all_promises(tmp_path: Path, seed: int) -> None:
    assert run(seed, tmp_path, owners=2).violations == ()


@pytest.mark.parametrize("way", ["http", "folder"])
def test_schedules_over_the_products_own_transport_keep_all_promises(tmp_path: Path, way: Way) -> None:
    """Bytes that are cut off, come late or again or damaged, between the real client and server; files that are left
    behind, half copied or damaged."""
    verdict = run(2, tmp_path, rates=dict.fromkeys(OF_WAY[way] - ANYWHERE, 0.1), owners=2, way=way)
    assert verdict.violations == () and sum(verdict.faults.values()) > 3


def test_power_cuts_lose_nothing_that_was_committed(tmp_path: Path) -> None:
    verdict = run(5, tmp_path, rates={"crash": 0.1}, owners=2, power=True)
    assert verdict.violations == () and verdict.faults["crash"]


@pytest.mark.slow
@pytest.mark.skipif(not has_strace(), reason="strace is not on this machine: apt-get install strace")
@pytest.mark.parametrize("way", ["folder", "http"])
def test_process_killed_at_a_system_call_goes_on(tmp_path: Path, way: Way) -> None:
    """One of the points that `scripts/crash-points` plays by the hundred: a rename of an owner's second turn."""
    played = Bench(tmp_path / "bench", way).play(CrashPoint({"http": 4, "folder": 7}[way], "anna", "rename", 2))
    assert played.killed and played.violations == []


def test_clock_that_jumps_while_parties_crash_stops_nothing(tmp_path: Path) -> None:
    verdict = run(11, tmp_path, rates={"clock jump": 0.4, "crash": 0.02}, owners=2)
    assert verdict.violations == () and verdict.faults["clock jump"]


def test_same_seed_gives_the_same_schedule() -> None:
    assert run(42) == run(42)


def violations(seeds: range) -> set[str]:
    return {violation for seed in seeds for violation in run(seed, rates={}).violations}


def test_judge_finds_labels_that_change_after_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = labelling.settle

    def fickle(labels: labelling.Labels, *rest: Any) -> Any:
        settled = honest(labels, *rest)
        return dataclasses.replace(settled, labels=np.where(labels != 0, labels ^ 1, settled.labels).astype(np.uint8))

    monkeypatch.setattr(labelling, "settle", fickle)
    assert any("labels" in violation for violation in violations(range(3)))


def test_judge_finds_a_study_that_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    honest: Callable[..., list[owner.OwnerWork]] = owner.work
    monkeypatch.setattr(
        owner, "work", lambda agreement, state: [todo for todo in honest(agreement, state) if todo.kind != "evaluate"]
    )
    assert any("stuck" in violation for violation in violations(range(2)))


def test_judge_finds_accepted_forgeries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "check", lambda _state, _signed: None)
    found = {violation for seed in range(6) for violation in run(seed, rates={"wrong key": 0.5}).violations}
    assert any("was accepted" in violation for violation in found)


def test_clear_protocol_by_hand() -> None:
    """Two rows each, two rounds: one pair agrees at once, one later, the rest by the last round or never."""
    a, b, x, y = ("anna", 0), ("anna", 1), ("berta", 0), ("berta", 1)
    yes = {(a, x, 1), (x, a, 1), (b, x, 1), (b, y, 2), (y, b, 2), (y, b, 1), (b, x, 2)}
    played = reference.play(
        {"anna": [0, 1], "berta": [0, 1]}, lambda one, other, number: (one, other, number) in yes, 2, 99
    )
    assert played.labels == {(a, x): (True, 1), (a, y): (False, 1), (b, y): (True, 2)}
    assert played.asked == [{a, b, x, y}, {b, x, y}]
    assert played.reason == "rounds"
