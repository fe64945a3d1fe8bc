"""The coordinator's rules for drawing an enriched sample. See `blocking` for what is exchanged, and `coordinator`.

Until an owner has confirmed every other, nothing is accepted from it; until all have, nothing is relayed. A list that
an owner blinded is kept until all lists are there. Then rows are drawn uniformly and places chosen in the lists, once;
owners pass the choice on to each other through here and say which rows they sampled. The coordinator knows the sampled
rows, as in every study, and which of them it drew itself; it does not know which key brought which row.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from blindlabel.envelope.identity import POINT_BYTES
from blindlabel.envelope.stream import sealed_size
from blindlabel.protocol import blocking, messages, sampling
from blindlabel.protocol import labels as labelling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import (
    StudyState,
    StudyStep,
    all_confirmed,
    key_of,
    peer_facts,
    peers_in,
    present,
    send,
    sizes,
    with_owner,
)
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.refusals import NotFitting, TooEarly, WrongRound

_SEALING = 4096
"""Bytes that sealing may add to a list."""


def take_in(agreement: Agreement, state: StudyState, signed: Signed) -> StudyStep:
    """Accept a message that belongs to drawing a sample."""
    message, body = signed.message, signed.message.body
    if not agreement.sampling.by_keys:
        raise NotFitting("The agreement draws its sample without blocking keys.")
    other = getattr(body, "peer", "") or message.receiver
    if other in state.owners and state.owners[other].away:
        raise WrongRound(f"{other} no longer takes part with the keys that {message.sender} confirmed.")
    if len(state.owners[message.sender].confirmed) < len(peers_in(state, message.sender)):
        raise TooEarly(f"{message.sender} has not confirmed every other owner.")
    if isinstance(body, messages.Blinded):
        return StudyStep(_blinded(agreement, state, message.sender, body))
    if isinstance(body, messages.Sampled):
        return StudyStep(_sampled(agreement, state, message.sender, body))
    facts, extent, tables = state.owners[message.sender], blocking.Extent.of(agreement), sizes(state)
    offers = extent.offers(tables[message.sender], tables[message.receiver])
    if isinstance(body, messages.Offered):
        name, known = "offered", facts.offered
    else:
        assert isinstance(body, messages.Picked)
        if not state.uniform:
            raise TooEarly("No offers have been chosen yet.")
        name, known = "picked", facts.picked
    if body.blob.length > offers * POINT_BYTES + _SEALING:
        raise NotFitting("The size of the list is wrong for the agreement.")
    state = with_owner(state, message.sender, **{name: {**known, message.receiver: body.blob}})
    return StudyStep(state.model_copy(update={"held": (*state.held, signed.wire.decode())}))


def relay_held(step: StudyStep) -> StudyStep:
    """Pass on what was held until every owner has confirmed every other."""
    held, step = step.state.held, StudyStep(step.state.model_copy(update={"held": ()}), step.messages, step.bodies)
    for wire in held:
        step = send(step, messages.parse(wire.encode()).message.receiver, 0, messages.Relay(message=wire))
    return step


def _blinded(agreement: Agreement, state: StudyState, sender: str, blinded: messages.Blinded) -> StudyState:
    if sender not in peer_facts(state, sender, blinded.peer).offered:
        raise TooEarly("There are no offers yet that could have been blinded.")
    tables = sizes(state)
    offers = blocking.Extent.of(agreement).offers(tables[sender], tables[blinded.peer])
    if blinded.blob.length != sealed_size("blinded", offers * POINT_BYTES):
        raise NotFitting("The size of a list of blinded keys is not the one that the agreement asks for.")
    return with_owner(state, sender, blinded={**state.owners[sender].blinded, blinded.peer: blinded.blob})


def _sampled(agreement: Agreement, state: StudyState, sender: str, sampled: messages.Sampled) -> StudyState:
    if not state.uniform:
        raise TooEarly("No offers have been chosen yet.")
    size, positions = sizes(state)[sender], sampled.positions
    fits = list(positions) == sorted(set(positions)) and positions[-1:] < (size,)
    wanted = min(agreement.sampling.records, size)
    if not fits or len(positions) != wanted or set(state.uniform[sender]) - set(positions):
        raise NotFitting("The sampled rows do not fit the table, the agreement, or the rows that were drawn.")
    return with_owner(state, sender, sampled=positions)


def is_to_choose(agreement: Agreement, state: StudyState) -> bool:
    """Whether all lists are there, and nothing has been chosen from them."""
    if not agreement.sampling.by_keys or state.uniform or not all_confirmed(state):
        return False
    return all(set(state.owners[owner].blinded) == set(peers_in(state, owner)) for owner in present(state))


def choose(
    agreement: Agreement,
    state: StudyState,
    lists: Mapping[tuple[str, str], bytes],
    draw: sampling.Draw = secrets.randbelow,
) -> StudyStep:
    """Draw rows and choose offers. `lists[(owner, peer)]` is what `owner` made of the offers of `peer`."""
    if not is_to_choose(agreement, state):
        return StudyStep(state)
    extent, tables = blocking.Extent.of(agreement), {one: sizes(state)[one] for one in present(state)}
    uniform = {owner: sampling.uniform(size, extent.uniform(size), draw) for owner, size in tables.items()}
    places: dict[str, dict[str, tuple[int, ...]]] = {owner: {} for owner in tables}
    partners = {}
    for first, second in labelling.pairings(tables):
        both = (tables[first], tables[second])
        of_first, of_second = (
            blocking.points_of(lists[pair], extent.offers(*both)) for pair in ((second, first), (first, second))
        )
        found = blocking.partners(of_first, of_second, extent.chosen(*both), draw)
        places[second][first], places[first][second] = found.first, found.second
        partners[key_of(first, second)] = found.partners
    step = StudyStep(state.model_copy(update={"uniform": uniform, "partners": partners}))
    for owner in sorted(tables):
        step = send(step, owner, 0, messages.Chosen(uniform=uniform[owner], places=places[owner]))
    return step


def drawn(state: StudyState) -> dict[str, tuple[int, ...]] | None:
    """The samples, once every owner has named its own."""
    found = {owner: state.owners[owner].sampled for owner in present(state)}
    return found if all(found.values()) else None
