"""How a study stands, in figures. Reads the coordinator's store; decides nothing."""

from __future__ import annotations

import datetime
from dataclasses import asdict
from typing import Any

import numpy as np

from blindlabel.parties.accounting import use_of
from blindlabel.parties.coordinator import Coordinator
from blindlabel.protocol.account import account
from blindlabel.protocol.deadline import is_overdue
from blindlabel.protocol.facts import State, key_of
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.next_steps import of_coordinator


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
        "overdue": is_overdue(agreement, datetime.date.today()) and not state.ended,
        "ended": state.ended,
        "waiting": [step.sentence for step in of_coordinator(agreement, state)],
        "owners": {owner: _owner_standing(state, owner) for owner in state.owners},
        "history": [_round_standing(state, number) for number in range(1, state.round + 1)],
        "parts": _parts(coordinator, study) if state.uniform and state.samples else {},
        "budget": {
            "records_asked": agreement.records_asked,
            "assist_calls": agreement.budget.assist_calls,
            "rounds": agreement.rounds,
        },
        "account": account(agreement.exposure).to_json(),
        "used": {key: asdict(use) for key, use in use_of(agreement, state).items()},
        "traffic": [dict(zip(("owner", "kind", "times", "bytes"), row)) for row in coordinator.store.traffic(study)],
    }


def _owner_standing(state: State, owner: str) -> dict[str, Any]:
    facts = state.owners[owner]
    return {
        "joined": facts.join is not None,
        "rows": facts.join.records if facts.join else None,
        "confirmed": list(facts.confirmed),
        "records_sent_to": sorted(
            direction.partition(">")[0]
            for direction in (state.rounds[-1].records if state.rounds else ())
            if direction.endswith(f">{owner}")
        ),
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


def _parts(coordinator: Coordinator, study: str) -> dict[str, Any]:
    """Of an enriched sample, by pairing: pairs of rows that were both drawn uniformly, and the others. Only the first
    are like the tables; the others over-represent rows with rare keys.
    """
    state, found = coordinator.load(study).state, {}
    for (first, second), labels in coordinator.labels(study).items():
        uniform = np.logical_and.outer(
            *(np.isin(state.samples[owner], state.uniform[owner]) for owner in (first, second))
        )
        found[key_of(first, second)] = {
            "keys_in_common": state.partners[key_of(first, second)],
            **{
                name: {
                    "pairs": int(part.sum()),
                    "matches": int(((labels & 1) == 1)[part].sum()),
                    "discarded": int((labels == 0)[part].sum()),
                }
                for name, part in (("uniform", uniform), ("by_keys", ~uniform))
            },
        }
    return found


def pairing_key(first: str, second: str) -> str:
    """How `standing` names a pairing."""
    return key_of(first, second)
