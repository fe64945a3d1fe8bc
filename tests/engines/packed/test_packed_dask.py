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

from blindlabel.engines.interface import EngineUnavailable, KeyPair, Terms, Working, is_yes
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.engines.packed.running import workers
from blindlabel.engines.packed.running.workers import check_address
from blindlabel.errors import InputError, OutsideError
from blindlabel.language.formula import Formula
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.packed_rounds import ENGINE, Round, agree, asked, compared, in_clear, keys_of
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
    ("name",), encode_attributes=False, record_length=12, case="lower", functions=("is_in",),
    limits=Limits(needle_length=3), records=4, profile=(1,), exclusions=1, unless=1,
)  # fmt: skip
MANY = replace(TERMS, records=4096, exclusions=0, unless=0)
"""Room for this many records makes groups of few questions."""
RECORDS = [Record.of({"name": text}) for text in ("anna berg", "bert ahorn", "carla birke", "")]
NEEDLES = ["an", "b", "ber", "rk", "ho", "la", "x", "a", "rn", "car"]


def questions(count: int) -> list[Formula]:
    return asked(*(f'ret is_in("{NEEDLES[number % 10]}", $r)' for number in range(count)))


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
def keys() -> KeyPair:
    return keys_of(TERMS)


def worker_processes(address: str) -> list[int]:
    with distributed.Client(address, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


@pytest.mark.slow
def test_a_killed_worker_costs_its_tiles_and_changes_no_answer(address: str, tmp_path: Path) -> None:
    wanted, keys, victim = questions(40), keys_of(MANY), worker_processes(address)[0]
    tiles = room_of(MANY).group_count(len(wanted))
    assert tiles >= 8
    done: list[float] = []

    def deadly(_: str, share: float) -> None:
        done.append(share)
        if len(done) == 2:
            os.kill(victim, signal.SIGKILL)

    sent = list(ENGINE.encrypt(MANY, keys.secret, RECORDS, len(wanted)))
    working = Working(progress=deadly, journal=tmp_path / "journal", cluster=address)
    made = list(ENGINE.evaluate(MANY, keys.public, sent, wanted, working))
    assert agree(is_yes(compared(MANY, made, len(wanted), len(RECORDS))), in_clear(RECORDS, wanted))
    assert len(done) == tiles and done == sorted(done) and done[-1] == 1.0  # every tile is told once
    assert victim not in worker_processes(address)
    # What the journal has is not made again: no cluster is needed for it.
    again = ENGINE.evaluate(MANY, keys.public, sent, wanted, Working(journal=tmp_path / "journal"))
    assert sorted(one.parcel for one in again) == sorted(one.parcel for one in made)


def test_chains_on_the_cluster_are_the_interpreters(address: str) -> None:
    wanted = asked(
        'ret is_in("an", $r)', 'ret is_in("b", $r) & !is_in("rk", $r)',
        'ret is_in("a", $r) & (!is_in("b", $r) | is_in("ho", $r))', 'ret !is_in("an", $r)',
    )  # fmt: skip
    one = Round(TERMS, Working(cluster=address))
    assert (one.run(RECORDS, wanted) == in_clear(RECORDS, wanted)).all()


def test_a_cluster_of_processes_here_is_started_and_stopped() -> None:
    one = Round(TERMS, Working(cluster="local:1"))
    assert (one.run(RECORDS, questions(2)) == in_clear(RECORDS, questions(2))).all()


def test_records_in_clear_do_not_leave_this_process(keys: KeyPair) -> None:
    """Whoever names a cluster still encrypts here: nobody is called where nobody is."""
    assert list(ENGINE.encrypt(TERMS, keys.secret, RECORDS, 1, Working(cluster="tcp://127.0.0.1:1")))


def test_wrong_addresses_and_absent_clusters_are_sentences(keys: KeyPair, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("remote", "local:0", "http://127.0.0.1:1"):
        with pytest.raises(InputError, match="cluster"):
            check_address(wrong)
    monkeypatch.setattr(workers, "_PATIENCE", 0.2)
    sent = list(ENGINE.encrypt(TERMS, keys.secret, RECORDS, 1))

    def evaluated(cluster: str) -> object:
        return list(ENGINE.evaluate(TERMS, keys.public, sent, questions(1), Working(cluster=cluster)))

    with pytest.raises(InputError, match="not an address of a cluster"):
        evaluated("remote")
    with pytest.raises(OutsideError, match="No Dask scheduler answers"):
        evaluated("tcp://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineUnavailable, match="pip install"):
        evaluated("local:2")


@pytest.mark.slow
def test_an_owner_computes_on_the_cluster_in_a_study(address: str, tmp_path: Path) -> None:
    room = {
        "engine": "packed", "record_length": 160, "attributes": False, "functions": ["is_in", "is_empty"],
        "profile": [2, 2, 1, 1, 1], "exclusions": 1, "unless": 0,
    }  # fmt: skip
    agreement = small_agreement(records=3, encoding=room, rounds=1)
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    with served(coordinator) as at:
        workspaces = joined(tmp_path, coordinator.create(to_text(agreement), at), write_person_tables(tmp_path, rows=3))
        places = [Working(cluster=address), Working()]
        owners = [
            OwnerParty(workspace, over_http(at)(workspace), working=place)
            for workspace, place in zip(workspaces, places)
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
