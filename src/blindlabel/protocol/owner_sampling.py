"""An owner's rules for drawing an enriched sample. No input, no output, no keys. What is exchanged, and why, is in
`blocking`.

For each other owner, each once: offer own keys; blind what the other offered; when the coordinator has chosen, pass the
choice on to the one whose offers they are; and when all others have passed theirs on, sample. The coordinator's
`sample` then says the same rows again and begins the study.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blindlabel.protocol import messages
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.blocking import Extent
from blindlabel.protocol.errors import NotFitting, Replayed
from blindlabel.protocol.messages import Message
from blindlabel.protocol.owner_state import State, Step, Work, require_confirmed, send
from blindlabel.protocol.shape import COORDINATOR, Blob


def takes_chosen(agreement: Agreement, state: State, message: Message) -> State:
    """The coordinator has drawn rows uniformly, and chosen offers."""
    chosen = message.body
    assert isinstance(chosen, messages.Chosen) and state.join is not None
    if not agreement.sampling.by_keys or state.sampling.chosen is not None:
        raise NotFitting("The coordinator chooses rows that the agreement does not ask for, or for a second time.")
    extent, size = Extent.of(agreement), state.join.records
    if len(chosen.uniform) != extent.uniform(size) or not _ascend(chosen.uniform, size):
        raise NotFitting("The rows that the coordinator drew do not fit the table or the agreement.")
    if set(chosen.places) != set(agreement.peers(state.name)):
        raise NotFitting("The coordinator chooses offers of other owners than those of the study.")
    for peer, places in chosen.places.items():
        other = state.peer(peer).records
        if len(places) > extent.chosen(size, other) or not _ascend(places, extent.offers(size, other)):
            raise NotFitting(
                "The coordinator chooses more offers than the agreement allows, or ones that are not there."
            )
    return _with(state, chosen=chosen)


def _ascend(places: Sequence[int], below: int) -> bool:
    return list(places) == sorted(set(places)) and all(place < below for place in places)


def takes_relayed(agreement: Agreement, state: State, sender: str, body: messages.Body) -> State:
    """Another owner offers its keys, or passes on which offers were chosen."""
    if not agreement.sampling.by_keys:
        raise NotFitting("The agreement draws its sample without blocking keys.")
    if isinstance(body, messages.Offered):
        name, known = "offers", state.sampling.offers
    elif isinstance(body, messages.Picked):
        name, known = "picked", state.sampling.picked
    else:
        raise NotFitting("Before the first round only offers and choices of offers are relayed.")
    if known.get(sender, body.blob) != body.blob:
        raise Replayed(f"{sender} sent something else in this place before.")
    return _with(state, **{name: {**known, sender: body.blob}})


def has_offered(state: State, peer: str, blob: Blob) -> Step:
    """Own keys are blinded and sealed for this owner."""
    require_confirmed(state)
    done = state.sampling.offered
    if peer in done:
        return Step(state)
    return send(_with(state, offered=(*done, peer)), peer, 0, messages.Offered(blob=blob))


def has_blinded(state: State, peer: str, blob: Blob) -> Step:
    """The offers of this owner are blinded once more."""
    require_confirmed(state)
    done = state.sampling.blinded
    if peer in done:
        return Step(state)
    return send(_with(state, blinded=(*done, peer)), COORDINATOR, 0, messages.Blinded(peer=peer, blob=blob))


def has_picked(state: State, peer: str, blob: Blob) -> Step:
    """It is sealed for this owner which of its offers were chosen."""
    require_confirmed(state)
    done = state.sampling.passed_on
    if peer in done:
        return Step(state)
    return send(_with(state, passed_on=(*done, peer)), peer, 0, messages.Picked(blob=blob))


def has_sampled(state: State, positions: Sequence[int]) -> Step:
    """The rows of the sample are known."""
    require_confirmed(state)
    if state.sampling.is_sampled:
        return Step(state)
    return send(_with(state, is_sampled=True), COORDINATOR, 0, messages.Sampled(positions=tuple(positions)))


def work(agreement: Agreement, state: State) -> list[Work]:
    """What can be done now for the sample."""
    if not agreement.sampling.by_keys:
        return []
    peers, now = agreement.peers(state.name), state.sampling
    todo = [Work("offer", peer) for peer in peers if peer not in now.offered]
    todo += [Work("blind", peer) for peer in peers if peer in now.offers and peer not in now.blinded]
    if now.chosen is not None:
        todo += [Work("pick", peer) for peer in peers if peer not in now.passed_on]
        todo += [Work("sample")] if set(peers) <= set(now.picked) and not now.is_sampled else []
    return todo


def _with(state: State, **changes: Any) -> State:
    return state.model_copy(update={"sampling": state.sampling.model_copy(update=changes)})
