"""Kill -9 of any process at random moments, close together, and restart: nothing is lost or doubled, the labels are
those of clear evaluation. `test_kill_during_the_demo.py` does so at more than twenty moments of the demo itself."""

from __future__ import annotations

import multiprocessing
import multiprocessing.process
import random
import time
from pathlib import Path

import numpy as np
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from support import slow_command
from support.patience import Patience
from support.study_parties import (
    clear_labels,
    confirm_all,
    free_port,
    joined,
    over_http,
    small_agreement,
    told,
    write_person_tables,
)

KILLS = 7
KILLS_EACH = 7
PAUSE = 0.1


class Processes:
    """Coordinator and owners as processes that can be killed and started again, quickly: forked from one that has
    imported everything.
    """

    def __init__(self, commands: dict[str, list[str]], logs: Path) -> None:
        self.commands, self.logs = commands, logs
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(
            ["support.slow_command", "blindlabel.cli.serving", "blindlabel.transport.server", "uvicorn"]
        )
        self.running: dict[str, multiprocessing.process.BaseProcess] = {}
        for name in commands:
            self.start(name)

    def start(self, name: str) -> None:
        arguments = (PAUSE, self.commands[name], self.logs / f"{name}.log")
        self.running[name] = self.context.Process(target=slow_command.run_slowly, args=arguments)
        self.running[name].start()

    def kill(self, name: str) -> None:
        self.running[name].kill()
        self.running[name].join()

    def stop(self) -> None:
        for name in self.running:
            self.kill(name)


@pytest.mark.slow
def test_killed_processes_resume_and_give_the_same_labels(tmp_path: Path) -> None:
    chance, kills, studies = random.Random(20), 0, 0
    while kills < KILLS:
        studies += 1
        kills += one_study(tmp_path / str(studies), chance)
        assert studies <= 12, "the studies end before anything can be killed"


def one_study(folder: Path, chance: random.Random) -> int:
    """Play a study while killing its processes; how many were killed before its end."""
    folder.mkdir()
    agreement = small_agreement(records=6)
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    port = free_port()
    invitations = coordinator.create(to_text(agreement), f"http://127.0.0.1:{port}")
    workspaces = joined(folder, invitations, write_person_tables(folder, rows=6, seed=3))
    commands = {"coordinator": ["coordinator", "serve", "--at", str(folder / "coordinator"), "--port", str(port)]}
    commands |= {w.name: ["owner", "run", "--auto", "--at", str(w.folder)] for w in workspaces}
    owners = [OwnerParty(workspace, over_http(f"http://127.0.0.1:{port}")(workspace)) for workspace in workspaces]
    processes, kills, patience = Processes(commands, folder), 0, Patience()
    try:
        while not all(workspace.state().truth for workspace in workspaces):
            patience.check(lambda: [owner.next_steps() for owner in owners])
            time.sleep(chance.uniform(0.05, 0.8))
            confirm_all(owners)
            if kills == KILLS_EACH:
                continue
            victim = chance.choice(list(commands))
            if processes.running[victim].is_alive():
                kills += 1
            processes.kill(victim)
            processes.start(victim)
        for workspace in workspaces:
            while processes.running[workspace.name].is_alive():  # the labels' bodies may still be on their way
                patience.check()
                time.sleep(0.1)
    finally:
        processes.stop()
        for owner in owners:
            owner.line.close()
    expected = clear_labels(*workspaces)
    assert np.array_equal(workspaces[0].labels()["berta"], told(expected))
    assert np.array_equal(workspaces[1].labels()["anna"], told(expected.T))
    assert np.array_equal(coordinator.labels(agreement.hash)[("anna", "berta")], expected)
    state = coordinator.load(agreement.hash).state
    assert sum(facts.tallies["anna berta"].agreed for facts in state.rounds) == np.count_nonzero(expected)
    assert all(not workspace.unsent() for workspace in workspaces)
    return kills
