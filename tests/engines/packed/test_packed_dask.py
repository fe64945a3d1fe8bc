"""The packed engine on a real Dask scheduler with real worker processes: the same answers, also when a worker is killed
in the middle.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from blindlabel.engines.packed.running.dask import ClusterEngine, connecting
from blindlabel.parties.computing import Computing

from blindlabel.engines.interface import EngineUnavailable, Keys, Outcome, Terms, Working, outcomes
from blindlabel.engines.packed import PackedEngine
from blindlabel.errors import InputError, OutsideError
from blindlabel.language import Question
from blindlabel.language.formula import Formula
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.parties.coordinator import Coordinator
from blindlabel.parties.owner import Owner, run
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.packed_rounds import ENGINE, in_clear
from support.patience import Patience
from support.study_parties import (
    clear_labels,
    confirm_all,
    joined,
    over_http,
    served,
    small_agreement,
    told,
    write_person_tables,
)

distributed = pytest.importorskip("distributed")

TERMS = Terms(
    ("name",),
    questions="any",
    encode_attributes=False,
    record_length=20,
    case="lower",
    functions=("is_in",),
    limits=Limits(needle_length=4, total_weight=3),
    records=1024,  # a large batch, so that eight questions are a tile
    probes=2,
    inner_gates=0,
)
COORDINATED = replace(TERMS, questions="points", profile=(1, 1), exclusions=0)
POINTS = replace(TERMS, questions="points", keys="owners", profile=(1, 1), exclusions=1, records=4)
RECORDS = [Record.of({"name": text}) for text in ("anna berg", "bert ahorn", "carla birke", "")]


def questions(terms: Terms, count: int) -> list[Formula]:
    needles = ["an", "b", "ber", "rk", "ho", "la", "x", "a", "rn", "car"]
    joint = "|" if terms is COORDINATED else "& !"
    made = []
    for number in range(count):
        first, second = needles[number % len(needles)], needles[(number * 3 + 1) % len(needles)]
        formula = Question(f'ret is_in("{first}", $r) {joint} is_in("{second}", $r)').formula
        assert formula is not None
        made.append(formula)
    return made


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A scheduler and two worker processes of two threads, with nannies that replace a killed one."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=2,
        processes=True,
        dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
        silence_logs=50,
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def keys() -> Keys:
    return ENGINE.make_keys(TERMS)


def worker_processes(address: str) -> list[int]:
    with distributed.Client(address, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


class Assist:
    """The coordinator's end; can kill a process or fail on a call."""

    def __init__(self, terms: Terms, keys: Keys, *, kills: int | None = None, fails: bool = False) -> None:
        self.terms, self.keys, self.kills, self.fails = terms, keys, kills, fails
        self.calls = 0

    def __call__(self, request: bytes) -> bytes:
        self.calls += 1
        if self.fails:
            raise OutsideError("The coordinator cannot be reached.")
        if self.kills is not None and self.calls == 2:
            os.kill(self.kills, signal.SIGKILL)
        return ENGINE.assist(self.terms, self.keys.secret, request)


@pytest.mark.slow
def test_a_killed_worker_costs_its_tiles_and_changes_no_answer(address: str, keys: Keys, tmp_path: Path) -> None:
    asked = questions(TERMS, 28)  # four tiles
    assist = Assist(TERMS, keys, kills=worker_processes(address)[0])
    told: list[str] = []
    parcels = list(ENGINE.encrypt(TERMS, keys.public, RECORDS))
    engine = ClusterEngine(address, journal=tmp_path / "journal")
    made = engine.evaluate(
        TERMS, keys.public, parcels, asked, assist, Working(progress=lambda phase, _: told.append(phase))
    )
    answers = [one.parcel for one in made]
    assert (ENGINE.decrypt(TERMS, keys.secret, answers, len(asked), len(RECORDS)) == in_clear(RECORDS, asked)).all()
    assert told[-1] == "evaluate: 4 of 4 tiles"
    assert any("left" in phase for phase in told)
    needed = ENGINE.assist_schedule(TERMS, len(asked), len(RECORDS)).calls
    assert needed <= assist.calls < 2 * needed  # the tile that was begun again takes the replies that were kept
    # What the journal has is not made again: no cluster is needed for it, nor the assist.
    alone = PackedEngine(journal=tmp_path / "journal")
    elsewhere = alone.evaluate(TERMS, keys.public, parcels, asked, Assist(TERMS, keys, fails=True))
    assert sorted(one.parcel for one in elsewhere) == sorted(answers)


def test_points_on_the_cluster_are_the_interpreters_and_call_nobody(address: str) -> None:
    asked, keys = questions(POINTS, 2), ENGINE.make_keys(POINTS)
    parcels = list(ENGINE.encrypt(POINTS, keys.secret, RECORDS, questions=len(asked)))
    made = list(ClusterEngine(address).evaluate(POINTS, keys.public, parcels, asked, Assist(POINTS, keys, fails=True)))
    shape = (len(asked), len(RECORDS))
    opened = ENGINE.open(POINTS, keys.secret, [one.parcel for one in made], *shape)
    labels = outcomes(opened == ENGINE.pad_values(POINTS, [one.pads for one in made], *shape)) == Outcome.YES
    assert (labels == in_clear(RECORDS, asked)).all()


def test_a_failing_assist_ends_the_evaluation_with_its_own_error(address: str, keys: Keys) -> None:
    parcels = list(ENGINE.encrypt(TERMS, keys.public, RECORDS))
    evaluation = ClusterEngine(address).evaluate(
        TERMS, keys.public, parcels, questions(TERMS, 2), Assist(TERMS, keys, fails=True)
    )
    with pytest.raises(OutsideError, match="cannot be reached"):
        list(evaluation)


@pytest.mark.slow
def test_records_may_be_encrypted_on_the_cluster_where_the_owner_says_so(address: str) -> None:
    keys = ENGINE.make_keys(COORDINATED)
    engine, asked = ClusterEngine(address, may_see_records=True), questions(COORDINATED, 20)
    parcels = list(engine.encrypt(COORDINATED, keys.public, RECORDS))
    made = engine.evaluate(COORDINATED, keys.public, parcels, asked, Assist(COORDINATED, keys, fails=True))
    answers = [one.parcel for one in made]
    assert (
        engine.decrypt(COORDINATED, keys.secret, answers, len(asked), len(RECORDS)) == in_clear(RECORDS, asked)
    ).all()


def test_records_in_clear_do_not_leave_this_process_otherwise(keys: Keys) -> None:
    nowhere = ClusterEngine("tcp://127.0.0.1:1")
    assert list(nowhere.encrypt(TERMS, keys.public, RECORDS))


def test_wrong_addresses_and_absent_clusters_are_sentences(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("remote", "local:0", "http://127.0.0.1:1"):
        with pytest.raises(InputError, match="cluster"):
            ClusterEngine(wrong)
    monkeypatch.setattr(connecting, "_PATIENCE", 0.2)
    parcels = list(ENGINE.encrypt(TERMS, keys.public, RECORDS))
    with pytest.raises(OutsideError, match="No Dask scheduler answers"):
        list(
            ClusterEngine("tcp://127.0.0.1:1").evaluate(
                TERMS, keys.public, parcels, questions(TERMS, 1), Assist(TERMS, keys)
            )
        )
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineUnavailable, match="pip install"):
        ClusterEngine("local:2")


@pytest.mark.slow
def test_an_owner_computes_on_the_cluster_in_a_study(address: str, tmp_path: Path) -> None:
    room = {"engine": "packed", "record_length": 160, "attributes": False, "functions": ["is_in", "is_empty"]}
    agreement = small_agreement(records=3, encoding=room, rounds=1)
    coordinator = Coordinator(CoordinatorStore(tmp_path / "coordinator"))
    with served(coordinator) as at:
        workspaces = joined(tmp_path, coordinator.create(to_text(agreement), at), write_person_tables(tmp_path, rows=3))
        places = [Computing(cluster=address), Computing()]
        owners = [
            Owner(workspace, over_http(at)(workspace), computing=place) for workspace, place in zip(workspaces, places)
        ]
        patience = Patience()
        over = [False]
        while not all(over):
            over = [run(owner, SuggestedQuestions(), once=True, tell=lambda _: None) for owner in owners]
            confirm_all(owners)
            patience.check()
        for owner in owners:
            owner.line.close()
    assert np.array_equal(workspaces[0].labels()["berta"], told(clear_labels(*workspaces)))
    assert list((tmp_path / "anna" / "journal").glob("*.answers"))
