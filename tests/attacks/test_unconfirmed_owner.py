"""A coordinator that joins as the other owner, with the invitation that it made itself. In the first version it got the
answers of an owner that had confirmed nobody, over records of its own making: 28 of 30 surnames.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.protocol import coordinator_rules as rules
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.facts import StudyState
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.direct_line import DirectLine
from support.study_parties import SURNAMES, joined, small_agreement, write_person_tables


def kinds(owner: OwnerParty) -> set[str]:
    """What an owner has put into its outbox, sent or not."""
    return {messages.parse(wire).message.kind for _, wire in [*owner.store.sent(), *owner.store.unsent()]}


@pytest.mark.parametrize("method", ["uniform", "enriched"])
def test_an_owner_that_confirmed_nobody_gives_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    sampling = {"records": 3, "method": method, "blocking": ["surname"] if method == "enriched" else []}
    agreement = small_agreement(2, sampling=sampling, rounds=1)
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    workspaces = joined(tmp_path, coordinator.create(to_text(agreement)), write_person_tables(tmp_path, 2, rows=3))
    anna, forged = (OwnerParty(one, DirectLine(coordinator, agreement.hash, one.name)) for one in workspaces)

    def enough(state: StudyState) -> bool:
        return state.keys_sent and bool(state.owners["berta"].confirmed)

    monkeypatch.setattr(rules, "all_confirmed", enough)  # the cheating coordinator is content with itself
    for _ in range(4):
        for owner in (anna, forged):
            run(owner, SURNAMES, once=True, tell=lambda _: None)
        if forged.store.state().keys:
            forged.confirm("anna")
    assert kinds(anna) == {"join"}
    assert not anna.store.records()
    if method == "enriched":
        return  # the sample needs what anna does not send
    assert coordinator.load(agreement.hash).state.rounds, "the coordinator did begin its round"
    assert "confirm" in kinds(forged)
    anna.confirm("berta")  # from here on, it would be a study like any other
    for _ in range(4):
        for owner in (anna, forged):
            run(owner, SURNAMES, once=True, tell=lambda _: None)
    assert "answers" in kinds(anna)
