"""What an owner knows of a study, what the coordinator's messages add to that, and what it does next. No input, no
output, no keys.

1. The coordinator's messages are numbered; they are taken in that order. A number already taken is harmless when it is
   the same message and `Forked` when it is another; a number too far ahead is `TooEarly` (the owner fetches again,
   nothing is lost). Each names the one before it, and one that names another is `Forked` too: the coordinator was
   restored from an old backup and went on differently.
2. Every message of the coordinator carries its signature, under the key that came with the invitation. A message of
   another owner comes inside a relay and carries that owner's signature, under the key that stands in the keys message.
3. Nothing is encrypted for another owner before this owner has confirmed, out of band, the verification words of the
   two envelope keys.
4. The questions of a round are fixed when the round is handed in; after that they do not change, so all other owners'
   records are asked the same. A round that asks nothing of this owner is handed in from the start.
5. Each thing is sent once: records for each other owner, answers for each round and other owner. What has been made is
   stored before it is sent, and sent again as it is after a crash.
6. Assist calls are numbered upwards; a number is saved as used before the call is made. An owner that was restored from
   a backup skips the numbers that its earlier life used (`ASSIST_SKIPS`).
7. After a start, an owner hands over again what the coordinator may have lost by restoring a backup (`matters_still`);
   what the coordinator has from the owner's own earlier life counts instead of what was made anew (`is_superseded`).

`work` names what can be done now, `awaits` says what has to happen first and who has to do it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from blindlabel.errors import InputError
from blindlabel.protocol import messages
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
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.shape import COORDINATOR, Blob, Count, Hex32, Name, Shape


class OwnRound(Shape):
    """One round, as its owner sees it."""

    ask: tuple[messages.Asked, ...]
    tallies: dict[Name, Tally] = Field(default_factory=dict)
    """How the round before went, by other owner."""
    handed_in: bool = False
    answers: dict[Name, Blob] = Field(default_factory=dict)


class State(Shape):
    """All that an owner has to remember of the protocol."""

    study: Hex32
    name: Name
    coordinator_key: Hex32
    join: messages.Join | None = None
    received: Count = 0
    """The number of the coordinator's last message that was taken in."""
    seen: dict[str, str] = Field(default_factory=dict)
    sent: Count = 0
    keys: messages.Keys | None = None
    confirmed: tuple[Name, ...] = ()
    blocked: tuple[Name, ...] = ()
    sample: messages.Sample | None = None
    sealed: dict[Name, Blob] = Field(default_factory=dict)
    """Encrypted records that have been made, by receiver."""
    records: dict[Name, messages.Records] = Field(default_factory=dict)
    """Encrypted records of the others."""
    rounds: tuple[OwnRound, ...] = ()
    truth: messages.Truth | None = None
    assist_number: Count = 0

    @property
    def round(self) -> int:
        """The current (or last) round; 0 before the first."""
        return len(self.rounds)

    def sample_of(self, peer: str) -> int:
        """How many records another owner has in the sample."""
        return self.sample.others[peer] if self.sample else 0

    def peer(self, name: str) -> messages.Peer:
        """What is known of another owner."""
        for peer in self.keys.peers if self.keys else ():
            if peer.name == name:
                return peer
        raise InputError(f"{name} is not known as another owner of this study (yet).")


@dataclass(frozen=True)
class Work:
    """Something this owner can do now without a person: blocking, encrypt or evaluate, with regard to another owner."""

    kind: Literal["blocking", "encrypt", "evaluate"]
    peer: str
    round: int = 0


@dataclass(frozen=True)
class Step:
    """What follows from an event of this owner: the new state, and messages that leave once it is saved."""

    state: State
    messages: tuple[Message, ...] = ()


_FORKED = (
    "The coordinator's messages do not continue what it sent before. It seems to have been restored from an old backup,"
    " and this study cannot go on. Ask the coordinator to restore a newer backup, or to begin the study again."
)

_AHEAD = (
    "The coordinator does not know messages any more that it has sent: it was restored from an old backup. It may catch"
    " up when the other owners run. If it does not, it has to restore a newer backup, or begin the study again."
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
    if agreement.sampling.method == "rows" and sample.positions != tuple(sorted(agreement.sampling.rows[state.name])):
        raise NotFitting("The coordinator asks for other rows than the agreement names.")
    return _first(state, "sample", sample)


def _relay(_agreement: Agreement, state: State, message: Message) -> State:
    relay = message.body
    assert isinstance(relay, messages.Relay)
    inner = messages.parse(relay.message.encode())
    sender, records = inner.message.sender, inner.message.body
    if not isinstance(records, messages.Records) or state.sample is None:
        raise MalformedMessage("Only records are relayed, and only after the samples are drawn.")
    inner.check(study=state.study, receiver=state.name, signing_key=state.peer(sender).signing_key)
    if records.count != state.sample.others[sender]:
        raise NotFitting(f"{sender} sends another number of records than its sample has.")
    if state.records.get(sender, records) != records:
        raise Replayed(f"{sender} sent other records before.")
    return state.model_copy(update={"records": {**state.records, sender: records}})


def _round(agreement: Agreement, state: State, message: Message) -> State:
    body = message.body
    assert isinstance(body, messages.Round)
    if state.sample is None or message.round != state.round + 1 or message.round > agreement.rounds:
        raise NotFitting(f"The coordinator begins round {message.round} after round {state.round}.")
    places = [asked.record for asked in body.ask]
    if places != sorted(set(places)) or any(place >= len(state.sample.positions) for place in places):
        raise NotFitting("The coordinator asks for records that are not in the sample.")
    asked = sum(len(one.ask) for one in state.rounds) + len(places)
    if asked > agreement.records_asked:
        raise NotFitting("The coordinator asks for more questions than the agreement's budget allows.")
    return state.model_copy(
        update={"rounds": (*state.rounds, OwnRound(ask=body.ask, tallies=body.tallies, handed_in=not body.ask))}
    )


def _again(_agreement: Agreement, state: State, message: Message) -> State:
    again = message.body
    assert isinstance(again, messages.Again)
    if message.round != state.round or not state.rounds:
        return state
    current = state.rounds[-1]
    left = {peer: blob for peer, blob in current.answers.items() if peer != again.peer}
    return _with_round(state, message.round, answers=left)


def _truth(agreement: Agreement, state: State, message: Message) -> State:
    truth = message.body
    assert isinstance(truth, messages.Truth)
    if state.sample is None and truth.reason == "closed" and not truth.pairings:
        return _first(state, "truth", truth)  # the study was ended before anything was sampled
    own = len(state.sample.positions) if state.sample else 0
    for pairing in truth.pairings:
        if pairing.labels.length != own * len(pairing.positions):
            raise NotFitting("The size of the coordinator's labels is wrong for the samples.")
    if [pairing.peer for pairing in truth.pairings] != agreement.peers(state.name):
        raise NotFitting("The coordinator's labels are about other owners than the agreement names.")
    return _first(state, "truth", truth)


_HANDLERS = {"keys": _keys, "sample": _sample, "relay": _relay, "round": _round, "again": _again, "truth": _truth}


def _first(state: State, field: str, value: Shape) -> State:
    if getattr(state, field) is not None:
        raise Replayed(f"The coordinator sent a second {field} message.")
    return state.model_copy(update={field: value})


# What this owner does


def joins(state: State, join: messages.Join) -> Step:
    """Take part."""
    if state.join is not None:
        raise InputError("This workspace has joined its study already.")
    return _send(state.model_copy(update={"join": join}), COORDINATOR, 0, join)


def confirms(state: State, peer: str) -> Step:
    """A person has compared the verification words with this owner, and they are the same."""
    known = state.peer(peer)
    if peer in state.confirmed:
        return Step(state)
    state = state.model_copy(update={"confirmed": tuple(sorted({*state.confirmed, peer}))})
    return _send(state, COORDINATOR, 0, messages.Confirm(peer=peer, envelope_key=known.envelope_key))


def has_blocked(state: State, peer: str, blob: Blob) -> Step:
    """The blocking hashes for the pairing with this owner are made."""
    _require_confirmed(state, peer)
    if peer in state.blocked:
        return Step(state)
    state = state.model_copy(update={"blocked": tuple(sorted({*state.blocked, peer}))})
    return _send(state, COORDINATOR, 0, messages.Blocking(peer=peer, blob=blob))


def has_sealed(state: State, peer: str, blob: Blob, key: bytes) -> Step:
    """The sampled records are encrypted and locked, and their key is in an envelope for this owner."""
    _require_confirmed(state, peer)
    if peer in state.sealed or state.sample is None:
        return Step(state)
    records = messages.Records(count=len(state.sample.positions), blob=blob, key=key.hex())
    return _send(state.model_copy(update={"sealed": {**state.sealed, peer: blob}}), peer, 0, records)


def hands_in(state: State, round: int) -> State:
    """The questions of the round are complete and fixed."""
    if round != state.round or state.truth is not None:
        raise InputError(
            f"Round {round} cannot be handed in: the study is {'over' if state.truth else f'in round {state.round}'}."
        )
    return state if state.rounds[-1].handed_in else _with_round(state, round, handed_in=True)


def has_answered(state: State, round: int, peer: str, blob: Blob) -> Step:
    """The questions of the round are evaluated over this owner's records."""
    if round != state.round or state.sample is None or peer in state.rounds[-1].answers:
        return Step(state)
    current = state.rounds[-1]
    if not current.handed_in:
        raise InputError(f"Round {round} has not been handed in.")
    state = _with_round(state, round, answers={**current.answers, peer: blob})
    body = messages.Answers(peer=peer, questions=len(current.ask), records=state.sample_of(peer), blob=blob)
    return _send(state, COORDINATOR, round, body)


ASSIST_SKIPS = (1, *(2**power for power in range(24)))
"""By how much the number of an assist call grows from attempt to attempt, where the coordinator says that it knows the
number.
"""


def asks_assist(state: State, blob: Blob, skip: int = 1) -> Step:
    """One more assist call. Its number is used up, whether or not the call succeeds."""
    state = state.model_copy(update={"assist_number": state.assist_number + skip})
    body = messages.Assist(number=state.assist_number, blob=blob)
    message = Message(state.study, state.name, COORDINATOR, state.round, state.assist_number, body, latest(state))
    return Step(state, (message,))


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


def check_assisted(state: State, signed: Signed, number: int) -> Blob:
    """The coordinator's reply to this assist call: what it names is the reply's body."""
    signed.check(study=state.study, receiver=state.name, signing_key=state.coordinator_key)
    reply = signed.message.body
    if signed.message.sender != COORDINATOR or not isinstance(reply, messages.Assisted) or reply.number != number:
        raise NotFitting("The coordinator replied to another assist call.")
    return reply.blob


def _require_confirmed(state: State, peer: str) -> None:
    if peer not in state.confirmed:
        raise InputError(
            f"Nothing is encrypted for {peer} before you have compared the verification words with {peer}: "
            "run `blindlabel owner verify` and confirm."
        )


# What is next


def work(agreement: Agreement, state: State) -> list[Work]:
    """What can be done now, in order. Evaluation waits until the round is handed in and the records are there."""
    if state.truth is not None or state.keys is None:
        return []
    peers = agreement.peers(state.name)
    if state.sample is None:
        if agreement.sampling.method != "enriched":
            return []
        return [Work("blocking", peer) for peer in peers if peer in state.confirmed and peer not in state.blocked]
    todo = [Work("encrypt", peer) for peer in peers if peer in state.confirmed and peer not in state.sealed]
    if state.rounds and state.rounds[-1].handed_in:
        current = state.rounds[-1]
        todo += [
            Work("evaluate", peer, state.round)
            for peer in peers
            if peer in state.records and peer not in current.answers
        ]
    return todo


def awaits(agreement: Agreement, state: State, *, ahead: bool = False) -> list[str]:
    """What has to happen before there is work again, a sentence each; empty when the study is over. `ahead`: the
    coordinator has forgotten messages that came here. Others' messages may bring it forward again; where they were made
    after what is forgotten, every owner waits for the others.
    """
    if state.truth is not None:
        return []
    if ahead:
        return [_AHEAD]
    if state.join is None:
        return ["This workspace has not joined yet: run `blindlabel owner join`."]
    if state.keys is None:
        return ["The coordinator has to make its keys, and the other owners have to join."]
    peers = agreement.peers(state.name)
    unconfirmed = [peer for peer in peers if peer not in state.confirmed]
    if unconfirmed:
        return [
            f"You have to compare the verification words with {peer} (`blindlabel owner verify`)."
            for peer in unconfirmed
        ]
    if state.sample is None:
        return ["The other owners have to compare the verification words; then the coordinator draws the sample."]
    current = state.rounds[-1] if state.rounds else None
    if current is not None and not current.handed_in:
        return [f"You have to write the questions of round {state.round} and hand them in: {len(current.ask)} records."]
    missing = [peer for peer in peers if peer not in state.records]
    if missing:
        return [f"{peer} has to send its encrypted records." for peer in missing]
    return ["The other owners have to answer this round; then the coordinator settles it."]


def _send(state: State, receiver: str, round: int, body: messages.Body) -> Step:
    number = state.sent + 1
    message = Message(state.study, state.name, receiver, round, number, body, latest(state))
    return Step(state.model_copy(update={"sent": number}), (message,))


def latest(state: State) -> str:
    """Digest of the coordinator's last message that was taken in."""
    return state.seen.get(str(state.received), "")


def _with_round(state: State, round: int, **changes: Any) -> State:
    changed = state.rounds[round - 1].model_copy(update=changes)
    return state.model_copy(update={"rounds": (*state.rounds[: round - 1], changed, *state.rounds[round:])})
