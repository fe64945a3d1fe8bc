"""A cheating owner that wants more counts than the agreement's scores: it does not count itself, asks at many processes
of one coordinator at once, and varies what says nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from blindlabel.parties.coordinator import Coordinator
from blindlabel.parties.owner import Owner
from blindlabel.protocol import messages
from blindlabel.protocol.agreement_text import to_text
from blindlabel.protocol.errors import ProtocolError
from blindlabel.protocol.facts import blob_of
from blindlabel.protocol.messages import Message
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.direct_line import DirectLine
from support.study_parties import joined, play, small_agreement, write_person_tables

ALLOWED = 2


def test_scores_asked_for_at_once_at_several_processes_are_counted_together(tmp_path: Path) -> None:
    agreement = small_agreement(2, records=3, keys="owners", release="matches", rounds=1, budget={"scores": ALLOWED})
    home = tmp_path / "coordinator"
    coordinator = Coordinator(CoordinatorStore(home))
    tables = write_person_tables(tmp_path, rows=3)
    workspaces = joined(tmp_path, coordinator.create(to_text(agreement)), tables)
    play(workspaces, lambda one: DirectLine(coordinator, agreement.hash, one.name))
    cheat = Owner(workspaces[0], DirectLine(coordinator, agreement.hash, "anna"))
    processes = [Coordinator(CoordinatorStore(home)) for _ in range(3)]

    def told(number: int) -> tuple[int, int, int] | None:
        body = bytes([1 << number % 8, (number // 8) << 7 | number % 3])  # nine pairs, and bits that are no pair
        score = messages.Score(peer="berta", blob=blob_of(body))
        wire = cheat.sign(Message(agreement.hash, "anna", "coordinator", number % 2, number, score)).wire
        try:
            reply, _ = processes[number % 3].assist(wire, body)
        except ProtocolError:
            return None
        found = messages.parse(reply).message.body
        assert isinstance(found, messages.Scored)
        return found.right, found.labelled, found.matches

    with ThreadPoolExecutor(4) as pool:
        counts = [one for one in pool.map(told, range(16)) if one is not None]
    state = coordinator.load(agreement.hash).state
    print(f"16 scores asked for, {len(counts)} told, {state.scores_of('anna', 'berta')} counted of {ALLOWED} allowed")
    assert len(counts) <= state.scores_of("anna", "berta") == ALLOWED
