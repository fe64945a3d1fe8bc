"""Scores over the protocol, both sides: an owner asks, the coordinator counts and replies. `protocol.scoring` has the
rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from blindlabel.protocol import coordinator as rules
from blindlabel.protocol import messages, scoring
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import State, blob_of
from blindlabel.protocol.labels import Labels
from blindlabel.protocol.messages import Signed

if TYPE_CHECKING:
    from blindlabel.parties.owner import Owner


def ask(owner: Owner, peer: str, predicted: scoring.Predicted) -> messages.Scored:
    """Have predicted pairs scored by the coordinator; rows are the records of whoever's name sorts first."""
    body = scoring.to_bytes(predicted)
    blob = blob_of(body)
    step = owner.change_unsent(lambda now: scoring.asks(owner.agreement, now, peer, blob))
    wire, _ = owner.line.assist(owner.sign(step.messages[0]).wire, body)
    return scoring.takes(step.state, messages.parse(wire), peer, blob)


def counted(agreement: Agreement, state: State, signed: Signed) -> State:
    """The coordinator's state after a score."""
    rules.check(state, signed)
    return scoring.count(agreement, state, signed)


def result(state: State, signed: Signed, body: bytes, labels: Mapping[str, Labels]) -> messages.Scored:
    """The coordinator's reply to a score that has been counted."""
    score = signed.message.body
    assert isinstance(score, messages.Score)
    key, rows, columns = scoring.labels_of(state, signed.message.sender, score.peer)
    return scoring.result(labels[key], scoring.from_bytes(body, rows, columns), score)
