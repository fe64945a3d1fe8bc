"""What an owner knows of a study, what the coordinator's messages add to that, and what it does next. No input, no
output, no keys.

1. The coordinator's messages are numbered; they are taken in that order. A number already taken is harmless when it is
   the same message and `Forked` when it is another; a number too far ahead is `TooEarly` (the owner fetches again,
   nothing is lost). Each names the one before it, and one that names another is `Forked` too: the coordinator was
   restored from an old backup and went on differently.
2. Every message of the coordinator carries its signature, under the key that came with the invitation. A message of
   another owner comes inside a relay and carries that owner's signature, under the key that stands in the keys message.
3. Nothing is sampled, encrypted, asked or opened before this owner has confirmed, out of band, the verification words
   of every other owner.
4. The questions of a round are fixed when the round is handed in; after that they do not change, so all other owners'
   records are asked the same. A round that asks nothing of this owner is handed in from the start.
5. Each thing is sent once a round: records for each asker, answers (with their list) for each holder of records, and
   where answers come here to be opened, a list for each. What has been made is stored before it is sent, and sent again
   as it is after a crash. What comes a second time and differs is refused.
6. After a start, an owner hands over again what the coordinator may have lost by restoring a backup (`matters_still`);
   what the coordinator has from the owner's own earlier life counts instead of what was made anew (`is_superseded`).
7. Owners count rounds themselves: no more than agreed, no more void ones than `MOST_VOID`, and lists of open records
   that only shrink. What others sent and cannot be used is refused, and the round is void for everybody.

`work` names what can be done now; `next_steps` says who has to do what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from blindlabel.errors import InputError
from blindlabel.protocol import comparing, labels, messages, owner_sampling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.errors import (
    Forked,
    MalformedMessage,
    NotFitting,
    ProtocolError,
    Replayed,
    TooEarly,
    WrongRound,
    WrongSender,
)
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.owner_state import OwnRound as OwnRound  # noqa: PLC0414 - part of this module's interface
from blindlabel.protocol.owner_state import State as State  # noqa: PLC0414 - part of this module's interface
from blindlabel.protocol.owner_state import Step as Step  # noqa: PLC0414 - part of this module's interface
from blindlabel.protocol.owner_state import ToOpen, send
from blindlabel.protocol.owner_state import Work as Work  # noqa: PLC0414 - part of this module's interface
from blindlabel.protocol.owner_state import latest as latest  # noqa: PLC0414 - part of this module's interface
from blindlabel.protocol.owner_state import require_confirmed as require_confirmed  # noqa: PLC0414 - the same
from blindlabel.protocol.shape import COORDINATOR, Blob, Shape

_FORKED = (
    "The coordinator's messages do not continue what it sent before. It seems to have been restored from an old backup,"
    " and this study cannot go on. Ask the coordinator to restore a newer backup, or to begin the study again."
)

# Messages of the coordinator


def handle(agreement: Agreement, state: State, signed: Signed) -> State:
    """Take in one message of the coordinator."""
    message = signed.message
    if message.sender != COORDINATOR:
        raise WrongSender("Only the coordinator's messages come this way.")
    signed.check(study=state.study, receiver=state.name, signing_key=state.coordinator_key)
    number = str(message.sequence)
    if message.sequence <= state.received:
        if state.seen.get(number) == signed.digest:
            return state
        raise Forked(_FORKED)
    if message.sequence > state.received + 1:
        raise TooEarly(f"The coordinator's message {state.received + 1} is missing before {number}.")
    if message.previous != latest(state):
        raise Forked(_FORKED)
    handler = _HANDLERS.get(message.kind)
    if handler is None:
        raise WrongSender(f"The coordinator cannot send a {message.kind} message here.")
    state = handler(agreement, state, message)
    return state.model_copy(update={"received": message.sequence, "seen": {**state.seen, number: signed.digest}})


def _keys(agreement: Agreement, state: State, message: Message) -> State:
    keys = message.body
    assert isinstance(keys, messages.Keys)
    if [peer.name for peer in keys.peers] != agreement.peers(state.name):
        raise NotFitting("The coordinator names other owners than the agreement does.")
    if state.join and any(peer.envelope_key == state.join.envelope_key for peer in keys.peers):
        raise NotFitting("The coordinator gives this owner's own key for another owner's.")
    return _first(state, "keys", keys)


def _sample(agreement: Agreement, state: State, message: Message) -> State:
    sample = message.body
    assert isinstance(sample, messages.Sample)
    if not _all_confirmed(agreement, state):
        raise TooEarly("Nothing is sampled before you have compared the verification words with every other owner.")
    size = state.join.records if state.join else 0
    fits = all(one < other for one, other in zip(sample.positions, sample.positions[1:])) and all(
        p < size for p in sample.positions
    )
    if (
        not fits
        or not 0 < len(sample.positions) <= agreement.sampling.records
        or sorted(sample.others) != agreement.peers(state.name)
    ):
        raise NotFitting("The coordinator's sample does not fit the table or the agreement.")
    if any(not 0 < count <= agreement.sampling.records for count in sample.others.values()):
        raise NotFitting("The coordinator's sample of another owner is larger than agreed.")
    if agreement.sampling.named(state.name) not in ((), sample.positions):
        raise NotFitting("The coordinator asks for other rows than the agreement names.")
    chosen = state.sampling.chosen
    if agreement.sampling.by_keys and (not chosen or set(chosen.uniform) - set(sample.positions)):
        raise NotFitting("The coordinator's sample leaves out rows that it drew.")
    return _first(state, "sample", sample)


def _relay(agreement: Agreement, state: State, message: Message) -> State:
    relay = message.body
    assert isinstance(relay, messages.Relay)
    inner = messages.parse(relay.message.encode())
    sender, body = inner.message.sender, inner.message.body
    if not _all_confirmed(agreement, state):
        raise TooEarly("Nothing is taken in before you have compared the verification words with every other owner.")
    if inner.message.round != state.round or message.round != state.round:
        raise NotFitting("The coordinator relays a message of another round than the current one.")
    inner.check(study=state.study, receiver=state.name, signing_key=state.peer(sender).signing_key)
    if not state.rounds:
        return owner_sampling.takes_relayed(agreement, state, sender, body)
    current = state.rounds[-1]
    if isinstance(body, messages.Records):
        if body.count != len(current.open[sender]):
            raise NotFitting(f"{sender} sends another number of records than are open.")
        if current.records.get(sender, body) != body:
            raise Replayed(f"{sender} sent other records before.")
        return _with_round(state, state.round, records={**current.records, sender: body})
    if not isinstance(body, messages.Answers):
        raise MalformedMessage("Only records and answers are relayed in a round.")
    if body.peer != state.name or (body.questions, body.records) != (len(current.open[sender]), len(current.ask)):
        raise NotFitting(f"The size of the answers of {sender} is wrong for the round.")
    came = ToOpen(answers=body, digest=inner.digest)
    if current.to_open.get(sender, came) != came:
        raise Replayed(f"{sender} sent other answers before.")
    return _with_round(state, state.round, to_open={**current.to_open, sender: came})


def _round(agreement: Agreement, state: State, message: Message) -> State:
    body = message.body
    assert isinstance(body, messages.Round)
    if state.sample is None or message.round != state.round + 1:
        raise NotFitting(f"The coordinator begins round {message.round} after round {state.round}.")
    anew = state.asked_anew + (0 if body.repeats else 1)
    if anew > agreement.rounds or message.round - anew > messages.MOST_VOID:
        raise NotFitting("The coordinator begins more rounds than the agreement allows.")
    if set(body.open) != set(agreement.owners) or set(body.loose) - set(body.open[state.name]):
        raise NotFitting("The coordinator's round is about other owners or records than those of the study.")
    sizes = {**state.sample.others, state.name: len(state.sample.positions)}
    for name, places in body.open.items():
        before = state.rounds[-1].open[name] if state.rounds else tuple(range(sizes[name]))
        if body.repeats or not state.rounds:
            if places != before or (body.repeats and not state.rounds):
                raise NotFitting("The coordinator begins a round with other records than it has to.")
        elif list(places) != sorted(set(places)) or set(places) - set(before):
            raise NotFitting("The coordinator opens records again that were through, or that are not in the sample.")
    ask = body.open[state.name]
    asked = sum(len(one.ask) for one in state.rounds if not one.repeats) + (0 if body.repeats else len(ask))
    if asked > agreement.records_asked:
        raise NotFitting("The coordinator asks for more questions than the agreement's budget allows.")
    begun = OwnRound(
        ask=ask,
        open=body.open,
        repeats=body.repeats,
        loose=body.loose,
        others_loose=body.others_loose,
        tallies=body.tallies,
        handed_in=not ask,
    )
    return state.model_copy(update={"rounds": (*state.rounds, begun)})


def _truth(agreement: Agreement, state: State, message: Message) -> State:
    truth = message.body
    assert isinstance(truth, messages.Truth)
    if state.sample is None and truth.reason == "closed" and not truth.pairings:
        return _first(state, "truth", truth)  # the study was ended before anything was sampled
    own = len(state.sample.positions) if state.sample else 0
    for pairing in truth.pairings:
        if pairing.labels.length != labels.TAG_BYTES + own * len(pairing.positions):
            raise NotFitting("The size of the coordinator's labels is wrong for the samples.")
    if [pairing.peer for pairing in truth.pairings] != agreement.peers(state.name):
        raise NotFitting("The coordinator's labels are about other owners than the agreement names.")
    return _first(state, "truth", truth)


_HANDLERS = {
    "keys": _keys,
    "chosen": owner_sampling.takes_chosen,
    "sample": _sample,
    "relay": _relay,
    "round": _round,
    "truth": _truth,
}


def _first(state: State, field: str, value: Shape) -> State:
    if getattr(state, field) is not None:
        raise Replayed(f"The coordinator sent a second {field} message.")
    return state.model_copy(update={field: value})


# What this owner does


def joins(state: State, join: messages.Join) -> Step:
    """Take part."""
    if state.join is not None:
        raise InputError("This workspace has joined its study already.")
    return send(state.model_copy(update={"join": join}), COORDINATOR, 0, join)


def confirms(state: State, peer: str) -> Step:
    """A person has compared the verification words with this owner, and they are the same."""
    known = state.peer(peer)
    if peer in state.confirmed:
        return Step(state)
    state = state.model_copy(update={"confirmed": tuple(sorted({*state.confirmed, peer}))})
    return send(state, COORDINATOR, 0, messages.Confirm(peer=peer, envelope_key=known.envelope_key))


def has_served(state: State, round: int, peer: str, blob: Blob, key: bytes) -> Step:
    """The open records are encrypted and locked for this owner, and their key is in an envelope for it."""
    require_confirmed(state)
    if round != state.round or state.truth is not None or peer in state.rounds[-1].served:
        return Step(state)
    current = state.rounds[-1]
    state = _with_round(state, round, served={**current.served, peer: blob})
    return send(state, peer, round, messages.Records(count=len(current.ask), blob=blob, key=key.hex()))


def hands_in(state: State, round: int) -> State:
    """The questions of the round are complete and fixed."""
    if round != state.round or state.truth is not None:
        raise InputError(
            f"Round {round} cannot be handed in: the study is {'over' if state.truth else f'in round {state.round}'}."
        )
    return state if state.rounds[-1].handed_in else _with_round(state, round, handed_in=True)


def carries(state: State, round: int) -> State:
    """The questions of the void round before are taken over; where they were handed in, they are so again."""
    if round != state.round or state.truth is not None or state.rounds[-1].carried:
        return state
    handed_in = state.rounds[state.carried_from() - 1].handed_in
    return _with_round(state, round, carried=True, handed_in=handed_in or state.rounds[-1].handed_in)


@dataclass(frozen=True)
class List:
    """An asker's list of keyed hashes, and the salt of the commitment to it."""

    blob: Blob
    salt: bytes


def has_answered(state: State, round: int, peer: str, blob: Blob, asked: str, listed: List) -> Step:
    """The questions of the round are evaluated over this owner's records: the answers go to it, the list to the
    coordinator. Both messages are made together, and once. `asked` is the commitment to the questions.
    """
    require_confirmed(state)
    if round != state.round or state.truth is not None or peer in state.rounds[-1].answers:
        return Step(state)
    current = state.rounds[-1]
    if not current.handed_in:
        raise InputError(f"Round {round} has not been handed in.")
    state = _with_round(state, round, answers={**current.answers, peer: blob})
    body = messages.Answers(
        peer=peer,
        questions=len(current.ask),
        records=len(current.open[peer]),
        served=current.records[peer].blob.hash,
        blob=blob,
        commitment=comparing.commitment(listed.salt, listed.blob),
        asked=asked,
    )
    step = send(state, peer, round, body)
    more = messages.Listed(peer=peer, salt=listed.salt.hex(), blob=listed.blob)
    second = send(step.state, COORDINATOR, round, more)
    return Step(second.state, step.messages + second.messages)


def has_opened(state: State, round: int, peer: str, blob: Blob) -> Step:
    """The answers of this owner about own records are open; `blob` is the list of what came out."""
    require_confirmed(state)
    if round != state.round or state.truth is not None or peer in state.rounds[-1].opened:
        return Step(state)
    current = state.rounds[-1]
    state = _with_round(state, round, opened={**current.opened, peer: blob})
    body = messages.Opened(peer=peer, answers=current.to_open[peer].digest, blob=blob)
    return send(state, COORDINATOR, round, body)


def refuses(state: State, round: int, peer: str, kind: Literal["records", "answers"]) -> Step:
    """What this owner sent in the round cannot be used: the round is void."""
    if round != state.round or state.truth is not None or state.rounds[-1].refused:
        return Step(state)
    state = _with_round(state, round, refused=True)
    return send(state, COORDINATOR, round, messages.Refused(peer=peer, kind=kind))


def direction(state: State, round: int, asker: str, holder: str, answers: Blob) -> comparing.Direction:
    """What the lists of a round are bound to, as this owner has made it or has been told."""
    current = state.rounds[round - 1]
    return comparing.Direction(
        agreement=state.study,
        round=round,
        asker=asker,
        holder=holder,
        asked=current.open[asker],
        served=current.open[holder],
        records=current.records[holder].blob if asker == state.name else current.served[asker],
        answers=answers,
    )


def matters_still(state: State, message: Message, *, forgotten: bool) -> bool:
    """Whether a message that was handed over is handed over again after a start, since the coordinator may have been
    restored meanwhile: everything where it has forgotten own messages (`forgotten`), otherwise what belongs to the
    current round."""
    return forgotten or (state.truth is None and message.round in (0, state.round))


def is_superseded(message: Message, refusal: ProtocolError) -> bool:
    """Whether a refused message may be dropped. The coordinator has another in its place: this owner was restored from
    a backup, and what its earlier life sent counts (a different join is another's). Or its round is over: the study was
    ended meanwhile."""
    return message.kind != "join" and isinstance(refusal, (Replayed, WrongRound))


def _all_confirmed(agreement: Agreement, state: State) -> bool:
    return set(agreement.peers(state.name)) <= set(state.confirmed)


# What is next


def work(agreement: Agreement, state: State) -> list[Work]:
    """What can be done now, in order: nothing before everybody is confirmed; own records first, since others wait for
    them; evaluation when the round is handed in and the records are there.
    """
    if state.truth is not None or state.keys is None or not _all_confirmed(agreement, state):
        return []
    peers = agreement.peers(state.name)
    if state.sample is None:
        return owner_sampling.work(agreement, state)
    if not state.rounds or state.rounds[-1].refused:
        return []
    current, number = state.rounds[-1], state.round
    todo = [Work("carry", "", number)] if current.repeats and not current.carried else []
    todo += [Work("serve", peer, number) for peer in peers if peer not in current.served]
    todo += [Work("open", peer, number) for peer in current.to_open if peer not in current.opened]
    if current.handed_in:
        ready = [peer for peer in peers if peer in current.records and peer not in current.answers]
        todo += [Work("evaluate", peer, number) for peer in ready]
    return todo


def _with_round(state: State, round: int, **changes: Any) -> State:
    changed = state.rounds[round - 1].model_copy(update=changes)
    return state.model_copy(update={"rounds": (*state.rounds[: round - 1], changed, *state.rounds[round:])})
