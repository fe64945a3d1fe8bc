"""Several coordinator processes over one database: no message is lost or doubled, and killing one changes nothing."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from blindlabel.engines.interface import Evaluated
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.storage import coordinator_tables as tables
from blindlabel.storage import workspace_tables
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from support.coordinator_processes import CoordinatorProcesses, spread_over
from support.patience import PATIENCE, Patience
from support.slow_command import SlowEngine
from support.study_parties import (
    clear_labels,
    confirm_all,
    joined,
    over_http,
    small_agreement,
    told,
    write_person_tables,
)

PAUSE = 0.05


@pytest.fixture
def coordinator(tmp_path: Path, database: str | None) -> Iterator[CoordinatorParty]:
    """A look into the database that the processes share."""
    made = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator", address=database))
    yield made
    made.store.close()


def test_study_over_two_processes_loses_and_doubles_nothing(
    tmp_path: Path, database: str | None, coordinator: CoordinatorParty
) -> None:
    agreement = small_agreement(3, records=6)
    processes = CoordinatorProcesses(tmp_path / "coordinator", database, 2, PAUSE)
    try:
        with spread_over(processes.ports) as address:
            workspaces = joined(
                tmp_path,
                coordinator.create(to_text(agreement), address),
                write_person_tables(tmp_path, 3, rows=6, seed=3),
            )
            _send_joins_many_times(processes.addresses, workspaces)
            _play_and_kill(coordinator, processes, workspaces, address, agreement)
            _send_everything_again(processes.addresses[1], workspaces)
    finally:
        processes.stop()
    _check_labels(coordinator, agreement, workspaces)
    _check_messages(coordinator, agreement, workspaces)


def _post(address: str, workspace: Workspace, wire: bytes) -> bool:
    response = httpx.post(
        f"{address}/v1/messages",
        content=letters_of(workspace).seal(wire),
        headers={"Authorization": f"Bearer {workspace.secret('token').decode()}"},
        trust_env=False,
        timeout=PATIENCE,
    )
    assert response.status_code == 200, response.text
    return bool(response.json()["new"])


def _send_joins_many_times(addresses: list[str], workspaces: list[Workspace]) -> None:
    """Every join several times to every process, all at once: each is new exactly once."""
    jobs = [(address, workspace) for workspace in workspaces for address in addresses * 2]
    with ThreadPoolExecutor(len(jobs)) as pool:
        new = list(pool.map(lambda job: (job[1].name, _post(job[0], job[1], job[1].unsent()[0][1])), jobs))
    assert Counter(name for name, is_new in new if is_new) == {workspace.name: 1 for workspace in workspaces}


class Waiting(SlowEngine):
    """Answers nothing before something has happened, so that the study cannot end before it."""

    def __init__(self, happened: threading.Event) -> None:
        self.happened = happened

    def evaluate(self, *given: Any, **more: Any) -> Iterator[Evaluated]:
        assert self.happened.wait(PATIENCE)
        yield from super().evaluate(*given, **more)


def _play_and_kill(
    coordinator: CoordinatorParty,
    processes: CoordinatorProcesses,
    workspaces: list[Workspace],
    address: str,
    agreement: Agreement,
) -> None:
    """Every owner at work in a thread of its own; one process is killed when the first answers have come in."""
    killed = threading.Event()
    owners = [
        OwnerParty(workspace, over_http(address)(workspace), engine=SlowEngine()) for workspace in workspaces[:-1]
    ]
    owners.append(OwnerParty(workspaces[-1], over_http(address)(workspaces[-1]), engine=Waiting(killed)))
    failures: list[BaseException] = []
    patience = Patience()

    def work(owner: OwnerParty) -> None:
        try:
            while not run(owner, SuggestedQuestions(), once=True, tell=lambda _: None):
                patience.check(owner.next_steps)
                time.sleep(0.05)
        except BaseException as error:
            failures.append(error)

    def answered() -> bool:
        state = coordinator.load(agreement.hash).state
        return bool(state.rounds and state.rounds[0].answers)

    threads = [threading.Thread(target=work, args=(owner,)) for owner in owners]
    for thread in threads:
        thread.start()
    while not answered() and not failures:
        confirm_all(owners)
        time.sleep(0.05)
    assert coordinator.load(agreement.hash).state.ended is None, "the study must not be over before the kill"
    processes.kill(0)
    killed.set()
    for thread in threads:
        thread.join(PATIENCE)
    for owner in owners:
        owner.line.close()
    assert failures == []


def _send_everything_again(address: str, workspaces: list[Workspace]) -> None:
    """Every message of the whole study once more: the coordinator has them all."""
    for workspace in workspaces:
        with workspace.database.read() as connection:
            wires = list(connection.execute(sa.select(workspace_tables.outbox.c.wire)).scalars())
        assert len(wires) > 5
        assert not any(_post(address, workspace, bytes(wire)) for wire in wires)


def _check_labels(coordinator: CoordinatorParty, agreement: Agreement, workspaces: list[Workspace]) -> None:
    by_name = {workspace.name: workspace for workspace in workspaces}
    for (first, second), labels in coordinator.labels(agreement.hash).items():
        expected = clear_labels(by_name[first], by_name[second])
        assert np.array_equal(labels, expected)
        assert np.array_equal(by_name[second].labels()[first], told(expected.T))


def _check_messages(coordinator: CoordinatorParty, agreement: Agreement, workspaces: list[Workspace]) -> None:
    """Every message that an owner made came in once, and every owner got each kind as often as the rules say."""
    store = coordinator.store
    assert isinstance(store, CoordinatorStore)
    with store.database.read() as connection:
        incoming = Counter(connection.execute(sa.select(tables.incoming.c.digest)).scalars())
    made: Counter[str] = Counter()
    for workspace in workspaces:
        with workspace.database.read() as connection:
            made.update(
                messages.parse(bytes(wire)).digest
                for wire in connection.execute(sa.select(workspace_tables.outbox.c.wire)).scalars()
            )
    assert incoming == made
    state = coordinator.load(agreement.hash).state
    for workspace in workspaces:
        got = [
            messages.parse(wire).message
            for wire in coordinator.store.outgoing(agreement.hash, workspace.name, 0, most=1000)
        ]
        assert [message.sequence for message in got] == list(range(1, len(got) + 1))
        assert Counter(message.kind for message in got) == {
            "keys": 1,
            "sample": 1,
            "relay": 4 * state.round,
            "round": state.round,
            "truth": 1,
        }
    counted = {(owner, kind): times for owner, kind, times, _ in coordinator.store.traffic(agreement.hash)}
    assert all(
        counted[(workspace.name, "relay")] == 4 * state.round and counted[(workspace.name, "join")] == 1
        for workspace in workspaces
    )
