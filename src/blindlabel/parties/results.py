"""The ground truth of a study in the form that exports take, and a study's standing in figures. Reads stores; decides
nothing.
"""

from __future__ import annotations

import datetime
from typing import Any

from blindlabel.export.truth import GroundTruth
from blindlabel.parties.coordinator import Coordinator
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import State, awaited, key_of
from blindlabel.protocol.figures import Tally
from blindlabel.storage.workspace import Workspace

_TODO = {
    "join": "has to join",
    "confirm": "has to compare the verification words",
    "blocking": "has to send its blocking hashes",
    "records": "has to encrypt and send its records",
    "answers": "has to answer round {round}",
}


def truths_of_owner(workspace: Workspace) -> dict[str, GroundTruth]:
    """After the end: the ground truth with every other owner, own ids on the own side. The owner whose name sorts first
    is side a.
    """
    state, found = workspace.state(), {}
    labels = workspace.labels()
    assert state.truth is not None and state.sample is not None
    ids = {record.position: record.id for record in workspace.records()}
    for pairing in state.truth.pairings:
        matrix, own, other = labels[pairing.peer], state.sample.positions, pairing.positions
        if workspace.name < pairing.peer:
            found[pairing.peer] = GroundTruth.of_matrix(
                (workspace.name, pairing.peer), matrix, (own, other), (ids, None)
            )
        else:
            found[pairing.peer] = GroundTruth.of_matrix(
                (pairing.peer, workspace.name), matrix.T, (other, own), (None, ids)
            )
    return found


def truths_of_coordinator(coordinator: Coordinator, study: str) -> dict[tuple[str, str], GroundTruth]:
    """The labels as they stand, by pairing; rows are named by their positions, the coordinator knows no ids."""
    state = coordinator.load(study).state
    return {
        (first, second): GroundTruth.of_matrix((first, second), labels, (state.samples[first], state.samples[second]))
        for (first, second), labels in coordinator.labels(study).items()
    }


def standing(coordinator: Coordinator, study: str) -> dict[str, Any]:
    """How a study stands: owners, rounds with figures, budget used, what has been moved, what is waited for."""
    agreement, state = coordinator.agreement(study), coordinator.load(study).state
    return {
        "name": agreement.name,
        "study": study,
        "engine": agreement.encoding.engine,
        "round": state.round,
        "rounds": agreement.rounds,
        "deadline": agreement.deadline or None,
        "overdue": is_overdue(agreement) and not state.ended,
        "ended": state.ended,
        "waiting": [f"{owner} {_TODO[what].format(round=state.round)}" for owner, what in awaited(agreement, state)],
        "owners": {owner: _owner_standing(state, owner) for owner in state.owners},
        "history": [_round_standing(state, number) for number in range(1, state.round + 1)],
        "budget": {
            "records_asked": agreement.records_asked,
            "assist_calls": agreement.budget.assist_calls,
            "rounds": agreement.rounds,
        },
        "traffic": [dict(zip(("owner", "kind", "times", "bytes"), row)) for row in coordinator.store.traffic(study)],
    }


def is_overdue(agreement: Agreement) -> bool:
    """Whether the day of the deadline has passed. People decide what follows: nothing is closed or refused by
    itself.
    """
    return bool(agreement.deadline) and datetime.date.today() > datetime.date.fromisoformat(agreement.deadline)


def _owner_standing(state: State, owner: str) -> dict[str, Any]:
    facts = state.owners[owner]
    return {
        "joined": facts.join is not None,
        "rows": facts.join.records if facts.join else None,
        "confirmed": list(facts.confirmed),
        "records_sent_to": sorted(facts.records),
        "records_asked": facts.asked,
        "assist_calls": facts.assist_calls,
    }


def _round_standing(state: State, number: int) -> dict[str, Any]:
    facts = state.rounds[number - 1]
    total = sum(facts.tallies.values(), Tally())
    asked = {owner: len(records) for owner, records in facts.asked.items()}
    following = state.rounds[number].asked if number < state.round else {}
    return {
        "round": number,
        "asked": asked,
        "answered": sorted(facts.answers),
        "settled": bool(facts.tallies),
        "figures": total.as_figures(),
        "ask_again": {owner: len(records) for owner, records in following.items()},
        "pairings": {key: tally.as_figures() for key, tally in facts.tallies.items()},
    }


def pairing_key(first: str, second: str) -> str:
    """How `standing` names a pairing."""
    return key_of(first, second)
