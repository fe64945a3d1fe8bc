"""How a study stands, in figures. Reads the coordinator's store; decides nothing."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from blindlabel.parties.accounting import account_of, use_of
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.account import Account, Use
from blindlabel.protocol.agreement import Agreement, is_overdue
from blindlabel.protocol.facts import StudyState, key_of, of_owner, sides_of
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.interfaces import Traffic
from blindlabel.protocol.labels import is_discarded, is_match
from blindlabel.protocol.messages import EndReason
from blindlabel.protocol.next_steps import NextStep


@dataclass(frozen=True)
class OwnerStanding:
    """What the coordinator knows about one owner."""

    joined: bool
    rows: int | None
    confirmed: tuple[str, ...]
    records_sent_to: tuple[str, ...]
    records_asked: int
    away: str
    """`lost`: invited again, and not back yet; `removed`: no longer takes part."""


@dataclass(frozen=True)
class RoundStanding:
    """One round: who asks how many questions, who has answered, and what came of it."""

    round: int
    asked: Mapping[str, int]
    answered: tuple[str, ...]
    settled: bool
    total: Tally
    pairings: Mapping[str, Tally]
    ask_again: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """As commands print it."""
        said = {name: getattr(self, name) for name in ("round", "asked", "answered", "settled", "ask_again")}
        pairings = {key: tally.as_figures() for key, tally in self.pairings.items()}
        return said | {"figures": self.total.as_figures(), "pairings": pairings}


@dataclass(frozen=True)
class PartStanding:
    """Some of the pairs of a pairing."""

    pairs: int
    matches: int
    discarded: int


@dataclass(frozen=True)
class SampleStanding:
    """The two parts of an enriched sample: pairs of rows that were both drawn uniformly, and all other pairs. Only the
    first part resembles the tables; the other over-represents rows with rare keys.
    """

    keys_in_common: int
    uniform: PartStanding
    by_keys: PartStanding


@dataclass(frozen=True)
class StudyStanding:
    """How a study stands: owners, rounds with figures, budget used, what has been moved, what is waited for."""

    agreement: Agreement
    study: str
    round: int
    overdue: bool
    ended: EndReason | None
    waiting: tuple[NextStep, ...]
    owners: Mapping[str, OwnerStanding]
    history: tuple[RoundStanding, ...]
    parts: Mapping[str, SampleStanding]
    account: Account
    used: Mapping[str, Use]
    traffic: tuple[Traffic, ...]

    @property
    def name(self) -> str:
        """The study's name."""
        return self.agreement.name

    @property
    def settled(self) -> list[Tally]:
        """The totals of the rounds that are settled."""
        return [one.total for one in self.history if one.settled]

    def to_json(self) -> dict[str, Any]:
        """As commands print it."""
        agreement = self.agreement
        return {name: getattr(self, name) for name in ("name", "study", "round", "overdue", "ended")} | {
            "engine": agreement.encoding.engine,
            "rounds": agreement.rounds,
            "deadline": agreement.deadline or None,
            "waiting": [step.sentence for step in self.waiting],
            "owners": {owner: asdict(one) for owner, one in self.owners.items()},
            "history": [one.to_json() for one in self.history],
            "parts": {key: asdict(one) for key, one in self.parts.items()},
            "budget": {"records_asked": agreement.records_asked, "rounds": agreement.rounds},
            "account": self.account.to_json(),
            "used": {key: asdict(use) for key, use in self.used.items()},
            "traffic": [one._asdict() for one in self.traffic],
        }


def standing(coordinator: CoordinatorParty, study: str) -> StudyStanding:
    """How a study stands now."""
    agreement, state = coordinator.agreement(study), coordinator.load(study).state
    return StudyStanding(
        agreement=agreement,
        study=study,
        round=state.round,
        overdue=is_overdue(agreement, datetime.date.today()) and not state.ended,
        ended=state.ended,
        waiting=tuple(coordinator.next_steps(study, state)),
        owners={owner: _owner_standing(state, owner) for owner in state.owners},
        history=tuple(_round_standing(state, number) for number in range(1, state.round + 1)),
        parts=_parts(coordinator, study) if state.uniform and state.samples else {},
        account=account_of(agreement),
        used=use_of(agreement, state),
        traffic=tuple(coordinator.store.traffic(study)),
    )


def _owner_standing(state: StudyState, owner: str) -> OwnerStanding:
    facts = state.owners[owner]
    directions = [sides_of(one) for one in state.rounds[-1].records] if state.rounds else []
    return OwnerStanding(
        joined=facts.join is not None,
        rows=facts.join.records if facts.join else None,
        confirmed=tuple(facts.confirmed),
        records_sent_to=tuple(sorted(asker for asker, holder in directions if holder == owner)),
        records_asked=facts.asked,
        away=facts.away,
    )


def _round_standing(state: StudyState, number: int) -> RoundStanding:
    facts = state.rounds[number - 1]
    following = state.rounds[number].asked if number < state.round else {}
    owners = state.owners if following else ()
    return RoundStanding(
        round=number,
        asked={owner: len(of_owner(facts.asked, owner)) for owner in state.owners},
        answered=tuple(sorted(facts.answers)),
        settled=bool(facts.tallies),
        total=sum(facts.tallies.values(), Tally()),
        pairings=dict(facts.tallies),
        ask_again={owner: len(of_owner(following, owner)) for owner in owners},
    )


def _parts(coordinator: CoordinatorParty, study: str) -> dict[str, SampleStanding]:
    state, found = coordinator.load(study).state, {}
    for (first, second), labels in coordinator.labels(study).items():
        drawn = (np.isin(state.samples[owner], state.uniform[owner]) for owner in (first, second))
        uniform = np.logical_and.outer(*drawn)
        common = state.partners[key_of(first, second)]
        found[key_of(first, second)] = SampleStanding(common, _part(labels, uniform), _part(labels, ~uniform))
    return found


def _part(labels: np.ndarray, part: np.ndarray) -> PartStanding:
    return PartStanding(
        pairs=int(part.sum()),
        matches=int(is_match(labels)[part].sum()),
        discarded=int(is_discarded(labels)[part].sum()),
    )
