"""A cheating owner that wants more counts than the agreement's scores: it does not count itself, asks at many processes
of one coordinator at once, varies what says nothing, and waits for a coordinator that is restored from a backup.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from blindlabel.errors import InputError
from blindlabel.parties.coordinator import Coordinator
from blindlabel.parties.owner import Owner
from blindlabel.parties.scoring import ask
from blindlabel.protocol import messages
from blindlabel.protocol.agreement_text import to_text
from blindlabel.protocol.errors import ProtocolError
from blindlabel.protocol.facts import blob_of
from blindlabel.protocol.messages import Message
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from support.direct_line import DirectLine
from support.study_parties import joined, play, small_agreement, write_person_tables

ALLOWED = 2


def over(folder: Path) -> tuple[Coordinator, list[Workspace]]:
    """A study of two that is over."""
    agreement = small_agreement(2, records=3, keys="owners", release="matches", rounds=1, budget={"scores": ALLOWED})
    coordinator = Coordinator(CoordinatorStore(folder / "coordinator"))
    workspaces = joined(folder, coordinator.create(to_text(agreement)), write_person_tables(folder, rows=3))
    play(workspaces, lambda one: DirectLine(coordinator, agreement.hash, one.name))
    return coordinator, workspaces


def told(cheat: Owner, coordinator: Coordinator, number: int) -> messages.Scored | None:
    """What an owner that does not count hears of pairs that it has not asked about."""
    body = bytes([1 << number % 8, (number // 8) << 7 | number % 3])  # nine pairs, and bits that are no pair
    (peer,) = cheat.agreement.peers(cheat.store.name)
    score = messages.Score(peer=peer, blob=blob_of(body), before=())
    message = Message(cheat.agreement.hash, cheat.store.name, "coordinator", number % 2, number, score)
    try:
        reply, _ = coordinator.assist(cheat.sign(message).wire, body)
    except ProtocolError:
        return None
    found = messages.parse(reply).message.body
    assert isinstance(found, messages.Scored)
    return found


def test_scores_asked_for_at_once_at_several_processes_are_counted_together(tmp_path: Path) -> None:
    coordinator, workspaces = over(tmp_path)
    cheat = Owner(workspaces[0], DirectLine(coordinator, workspaces[0].agreement.hash, "anna"))
    processes = [Coordinator(CoordinatorStore(tmp_path / "coordinator")) for _ in range(3)]
    with ThreadPoolExecutor(4) as pool:
        heard = list(pool.map(lambda number: told(cheat, processes[number % 3], number), range(16)))
    counts = [one for one in heard if one is not None]
    state = coordinator.load(workspaces[0].agreement.hash).state
    print(f"16 scores asked for, {len(counts)} told, {state.scores_of('anna', 'berta')} counted of {ALLOWED} allowed")
    assert len(counts) <= state.scores_of("anna", "berta") == ALLOWED


def test_a_restored_coordinator_counts_what_an_honest_owner_had_and_a_cheating_one_gains_no_more_than_agreed(
    tmp_path: Path,
) -> None:
    home = tmp_path / "coordinator"
    coordinator, workspaces = over(tmp_path)
    study = workspaces[0].agreement.hash
    coordinator.store.close()
    shutil.copytree(home, tmp_path / "backup")
    lives = [Coordinator(CoordinatorStore(folder)) for folder in (home, home, tmp_path / "backup")]

    def honest(life: Coordinator, pair: int) -> int:
        predicted = np.zeros((3, 3), dtype=np.bool_)
        predicted[divmod(pair, 3)] = True
        ask(Owner(workspaces[0], DirectLine(life, study, "anna")), "berta", predicted)
        return life.load(study).state.scores_of("anna", "berta")

    assert honest(lives[0], 0) == 1
    assert lives[1].load(study).state.scores_of("anna", "berta") == 1, "a coordinator that is started again knows it"
    assert lives[2].load(study).state.scores_of("anna", "berta") == 0, "one that is restored has forgotten it"
    assert honest(lives[2], 1) == ALLOWED, "until the owner asks again"
    with pytest.raises(InputError, match="All 2"):
        honest(lives[2], 2)
    cheat = Owner(workspaces[1], DirectLine(coordinator, study, "berta"))
    gained = [sum(bool(told(cheat, life, number)) for number in range(3, 16, 3)) for life in (lives[0], lives[2])]
    print(
        f"a cheating owner has {gained[0]} scores of {ALLOWED}, and {gained[1]} more of a coordinator that was restored"
    )
    assert gained == [ALLOWED, ALLOWED], "what docs/security.md says that a backup costs, and no more"
