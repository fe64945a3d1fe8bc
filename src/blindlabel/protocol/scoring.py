"""Scores over the protocol: after the end, an owner has a linkage judged by labels that it was not given.

1. Only where the agreement says so: `budget.scores` times for each owner and pairing, after the study is over. Each is
   counted in the account of bits.
2. The owner sends its predicted pairs among the sampled rows, one bit a pair in the order of the labels, so their size
   says nothing. Pairs outside the sample stay at home. The coordinator sees which pairs were predicted.
3. The reply is three counts: predicted pairs that are matches, that have a label, and all matches. What the owners
   never agreed on is left out. Precision, recall and F follow.
4. The same pairs again get the same reply and are not counted twice, so a lost reply costs nothing.
5. Both sides count: the owner saves what it asks for before it asks, and says which scores it asked for before. So a
   coordinator that was restored from a backup, and an owner that was, count together what either of them still knows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from blindlabel.errors import InputError
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.errors import NotFitting, OverBudget, TooEarly, WrongSender
from blindlabel.protocol.facts import State, key_of, peer_facts, with_owner
from blindlabel.protocol.labels import Labels, is_agreed, is_match
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.owner_state import State as OwnState
from blindlabel.protocol.owner_state import Step, latest
from blindlabel.protocol.shape import COORDINATOR, Blob

Predicted = npt.NDArray[np.bool_]
"""Which pairs are predicted, in the shape of the labels."""


def to_bytes(predicted: Predicted) -> bytes:
    """Predicted pairs as they travel."""
    return np.packbits(predicted.reshape(-1)).tobytes()


def from_bytes(body: bytes, rows: int, columns: int) -> Predicted:
    """Predicted pairs that have travelled; `NotFitting` where there is another number of them."""
    bits = np.unpackbits(np.frombuffer(body, dtype=np.uint8))
    if len(body) != _size(rows, columns) or bits[rows * columns :].any():
        raise NotFitting("The size of the predicted pairs is wrong for the samples.")
    return bits[: rows * columns].reshape(rows, columns).astype(np.bool_)


def _size(rows: int, columns: int) -> int:
    return -(-rows * columns // 8)


# The coordinator's side


def count(agreement: Agreement, state: State, signed: Signed) -> State:
    """One more score of an owner, within the budget. The message's signature has been checked."""
    score, sender = signed.message.body, signed.message.sender
    if not isinstance(score, messages.Score):
        raise WrongSender("Only a score message can be scored.")
    peer_facts(state, sender, score.peer)
    if not state.ended or not state.samples:
        raise TooEarly("Linkages are scored when the study is over and has labels.")
    if score.blob.length != _size(len(state.samples[sender]), len(state.samples[score.peer])):
        raise NotFitting("The size of the predicted pairs is wrong for the samples.")
    known = state.owners[sender].scored
    before = known.get(score.peer, ())
    counted = tuple(dict.fromkeys((*before, *score.before, score.blob.hash)))
    if counted == before:
        return state
    if len(counted) > agreement.budget.scores:
        raise OverBudget(_spent(agreement))
    return with_owner(state, sender, scored={**known, score.peer: counted})


def result(labels: Labels, predicted: Predicted, score: messages.Score) -> messages.Scored:
    """The reply."""
    match = is_match(labels)
    return messages.Scored(
        peer=score.peer,
        pairs=score.blob.hash,
        right=int(np.count_nonzero(match & predicted)),
        labelled=int(np.count_nonzero(is_agreed(labels) & predicted)),
        matches=int(np.count_nonzero(match)),
    )


def labels_of(state: State, sender: str, peer: str) -> tuple[str, int, int]:
    """The pairing of a score, and the shape of its labels."""
    first, second = sorted((sender, peer))
    return key_of(first, second), len(state.samples[first]), len(state.samples[second])


# The owner's side


def asks(agreement: Agreement, state: OwnState, peer: str, blob: Blob) -> Step:
    """Ask for a score of these pairs; saved as used before the message leaves."""
    state.peer(peer)
    if state.truth is None or state.sample is None:
        raise InputError("Linkages are scored when the study is over and has labels.")
    asked = state.scores_asked.get(peer, ())
    if blob.hash not in asked:
        if len(asked) >= agreement.budget.scores:
            raise InputError(_spent(agreement))
        state = state.model_copy(update={"scores_asked": {**state.scores_asked, peer: (*asked, blob.hash)}})
    before = state.scores_asked[peer][: state.scores_asked[peer].index(blob.hash)]
    body, number = messages.Score(peer=peer, blob=blob, before=before), 1 + len(before)
    return Step(state, (Message(state.study, state.name, COORDINATOR, state.round, number, body, latest(state)),))


def takes(state: OwnState, signed: Signed, peer: str, blob: Blob) -> messages.Scored:
    """The coordinator's reply; `NotFitting` where it is about something else, or no counts of these pairs."""
    signed.check(study=state.study, receiver=state.name, signing_key=state.coordinator_key)
    reply = signed.message.body
    if signed.message.sender != COORDINATOR or not isinstance(reply, messages.Scored):
        raise NotFitting("The coordinator's reply is no score.")
    if (reply.peer, reply.pairs) != (peer, blob.hash):
        raise NotFitting("The coordinator's score is of other pairs.")
    if not reply.right <= min(reply.labelled, reply.matches):
        raise NotFitting("The coordinator's score contradicts itself.")
    return reply


def _spent(agreement: Agreement) -> str:
    allowed = agreement.budget.scores
    if not allowed:
        return (
            "The agreement allows owners no score (budget.scores = 0). The coordinator can score a linkage"
            " (`blindlabel coordinator score`)."
        )
    return f"All {allowed} scores that the agreement allows with this owner are used."
