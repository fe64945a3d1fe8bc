"""The packed engine on a real Dask scheduler with real worker processes: the same answers, also when a worker is killed in the middle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindlabel.engines.cluster import ClusterEngine
from blindlabel.engines.interface import Keys, Terms
from blindlabel.engines.packed import PackedEngine
from blindlabel.language import read_question
from blindlabel.language.formula import Formula, evaluate
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record

distributed = pytest.importorskip("distributed")

TERMS = Terms(
    ("name",),
    encode_attributes=False,
    record_length=20,
    case="lower",
    functions=("is_in",),
    limits=Limits(needle_length=4, total_weight=3),
    records=1024,  # a large batch, so that eight questions are a tile
    probes=2,
    inner_gates=0,
)
ALONE = replace(TERMS, counting=False, negation=False)
RECORDS = [Record.of({"name": text}) for text in ("anna berg", "bert ahorn", "carla birke", "")]
ENGINE = PackedEngine()


def questions(terms: Terms, count: int) -> list[Formula]:
    needles = ["an", "b", "ber", "rk", "ho", "la", "x", "a", "rn", "car"]
    joint = "|" if terms is ALONE else "& !"
    made = []
    for number in range(count):
        first, second = needles[number % len(needles)], needles[(number * 3 + 1) % len(needles)]
        formula = read_question(f'ret is_in("{first}", $r) {joint} is_in("{second}", $r)').formula
        assert formula is not None
        made.append(formula)
    return made


def wanted(asked: list[Formula]) -> np.ndarray:
    return np.array([[evaluate(question, record) for record in RECORDS] for question in asked])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A scheduler and two worker processes of two threads, with nannies that replace a killed one."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def keys() -> Keys:
    return ENGINE.make_keys(TERMS)


def worker_processes(address: str) -> list[int]:
    with distributed.Client(address, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


def test_a_killed_worker_costs_its_tiles_and_changes_no_answer(address: str, keys: Keys, tmp_path: Path) -> None:
    terms = TERMS
    asked = questions(terms, 36)  # five tiles
    victims = worker_processes(address)
    calls = 0

    def assist(request: bytes) -> bytes:
        nonlocal calls
        calls += 1
        if calls == 2:
            os.kill(victims[0], signal.SIGKILL)
        return ENGINE.assist(terms, keys.secret, request)

    told: list[str] = []
    parcels = list(ENGINE.encrypt(terms, keys.public, RECORDS))
    engine = ClusterEngine(address, journal=tmp_path / "journal")
    answers = list(engine.evaluate(terms, keys.public, parcels, asked, assist, progress=lambda phase, _: told.append(phase)))
    assert (ENGINE.decrypt(terms, keys.secret, answers, len(asked), len(RECORDS)) == wanted(asked)).all()
    assert told[-1] == "evaluate: 5 of 5 tiles"
    assert any("left" in phase for phase in told)
