"""What an owner knows about a study, what the coordinator's messages add to that, and what it does next. No input or
output, no keys.

1. The coordinator's messages are numbered and accepted in that order. A number already taken is harmless when it is
   the same message and `Forked` when it is another; a number too far ahead is `TooEarly` (the owner fetches again,
   nothing is lost). Each names the one before it; one that names another is `Forked` too: the coordinator was
   restored from an old backup and continued differently.
2. Every message of the coordinator carries its signature, under the key that came with the invitation. A message of
   another owner comes inside a relay and carries that owner's signature, under the key that stands in the keys message.
3. Nothing is sampled, encrypted, asked or opened before this owner has confirmed, out of band, the verification words
   of every other owner; in a round, of all that take part in it.
4. The questions of a round are fixed when the round is handed in, so all other owners are asked the same. A round that
   asks nothing of this owner is handed in from the start.
5. Each thing is sent once a round: records for each asker, answers (with their list) for each holder of records, and
   where answers come here to be opened, a list for each. What has been made is stored before it is sent, and sent again
   as it is after a crash. What comes a second time and differs is refused.
6. With every poll an owner learns which of its messages the coordinator has (`standing`), and sends the missing ones
   again. A message from the owner's earlier life counts instead of one that was made again (`is_superseded`).
7. Owners count rounds themselves: no more than agreed, no more void ones than `MOST_VOID`, and lists of open records
   that only shrink. If what another owner sent cannot be used, it is refused, and the round is void for everybody.

For an enriched sample an owner sends, once for each other owner: its own keys, offered; the other's offers, blinded;
and when the coordinator has chosen, the choice, passed on to the owner whose offers they are. When all others have done
the same, the owner samples. The coordinator's `sample` then repeats these rows and begins the study.

`work` names what can be done now; `next_steps` says who has to do what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from blindlabel.errors import InputError
from blindlabel.protocol import comparing, labels, messages
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.blocking import Extent
from blindlabel.protocol.facts import without
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.owner_facts import OwnRound, OwnSampling, ToOpen
from blindlabel.protocol.refusals import (
    Forked,
    MalformedMessage,
    NotFitting,
    ProtocolError,
    Replayed,
    TooEarly,
    WrongRound,
    WrongSender,
)
from blindlabel.protocol.shape import COORDINATOR, Amount, Blob, Hex32, Hex64, Name, Position, Shape


class OwnerState(Shape):
    """Everything that an owner has to remember about the protocol."""

    study: Hex32
    name: Name
    coordinator_key: Hex64
    """Its public keys, as the invitation has them."""
    join: messages.Join | None = None
    received: Amount = 0
    """The number of the coordinator's last message that was accepted."""
    seen: dict[str, str] = Field(default_factory=dict)
    sent: Amount = 0
    keys: messages.Keys | None = None
    rows: dict[Name, Position] = Field(default_factory=dict)
    """Rows of the others' tables: an owner that comes back must have as many."""
    confirmed: tuple[Name, ...] = ()
    sampling: OwnSampling = OwnSampling()
    sample: messages.Sample | None = None
    rounds: tuple[OwnRound, ...] = ()
    reopened: bool = False
    """Whether another owner has come, or come back, since the last round began: see `leaving`."""
    truth: messages.Truth | None = None

    @property
    def round(self) -> int:
        """The current (or last) round; 0 before the first."""
        return len(self.rounds)

    @property
    def asked_anew(self) -> int:
        """Rounds so far that did not repeat a void one."""
        return sum(1 for one in self.rounds if not one.repeats)

    @property
    def is_to_carry(self) -> bool:
        """Whether questions of an earlier round still have to be carried over into the current one."""
        return any((one.repeats or one.kept) and not one.carried for one in self.rounds[-1:])

    @property
    def begun(self) -> int:
        """The round whose questions the current one is about: itself, or the first of those that it repeats."""
        return max(number for number, one in enumerate(self.rounds, start=1) if not one.repeats)

    @property
    def known(self) -> list[str]:
        """All others that take part and have joined."""
        return [peer.name for peer in self.keys.peers] if self.keys else []

    @property
    def peers(self) -> list[str]:
        """The others of the current round; before the first, all that take part."""
        return list(self.rounds[-1].open) if self.rounds else self.known

    def peer(self, name: str) -> messages.Peer:
        """What is known about another owner."""
        for peer in self.keys.peers if self.keys else ():
            if peer.name == name:
                return peer
        raise InputError(f"{name} is not known as another owner of this study (yet).")


@dataclass(frozen=True)
class OwnerWork:
    """Something that this owner's machine can do now, with regard to another owner: offer, blind, pick and sample (for
    an enriched sample), carry (over the questions of a void round, or those that stand), serve, evaluate or open.
    """

    kind: Literal["offer", "blind", "pick", "sample", "carry", "serve", "evaluate", "open"]
    peer: str = ""
    round: int = 0


@dataclass(frozen=True)
class OwnerStep:
    """What follows from an event of this owner: the new state, and messages that leave once it is saved."""

    state: OwnerState
    messages: tuple[Message, ...] = ()


def latest(state: OwnerState) -> str:
    """Digest of the coordinator's last message that was accepted."""
    return state.seen.get(str(state.received), "")


def send(state: OwnerState, receiver: str, round: int, body: messages.Body) -> OwnerStep:
    """One more message of this owner."""
    number = state.sent + 1
    message = Message(state.study, state.name, receiver, round, number, body, latest(state))
    return OwnerStep(state.model_copy(update={"sent": number}), (message,))


def require_confirmed(state: OwnerState) -> None:
    """Refuse to go on until every other owner is confirmed: an unconfirmed one might be the coordinator itself."""
    missing = [peer for peer in state.peers if peer not in state.confirmed]
    if missing or not state.peers:
        raise InputError(
            f"Nothing is sampled, encrypted, asked or opened before you have compared the verification words with"
            f" {' and '.join(missing) or 'the others'}: run `blindlabel owner verify` and confirm."
        )


# An enriched sample: what is exchanged, and why, is in `blocking`


def _chosen(agreement: Agreement, state: OwnerState, _: Message, chosen: messages.Chosen) -> OwnerState:
    """The coordinator has drawn rows uniformly, and chosen offers."""
    assert state.join is not None
    if not agreement.sampling.by_keys or state.sampling.chosen is not None:
        raise NotFitting("The coordinator chooses rows that the agreement does not ask for, or for a second time.")
    extent, size = Extent.of(agreement), state.join.records
    if len(chosen.uniform) != extent.uniform(size) or not _ascend(chosen.uniform, size):
        raise NotFitting("The rows that the coordinator drew do not fit the table or the agreement.")
    if set(chosen.places) != set(state.peers):
        raise NotFitting("The coordinator chooses offers of other owners than those of the study.")
    for peer, places in chosen.places.items():
        other = state.peer(peer).records
        if len(places) > extent.chosen(size, other) or not _ascend(places, extent.offers(size, other)):
            raise NotFitting(
                "The coordinator chooses more offers than the agreement allows, or ones that are not there."
            )
    return _with_sampling(state, chosen=chosen)


def _ascend(places: Sequence[int], below: int) -> bool:
    return list(places) == sorted(set(places)) and all(place < below for place in places)


def takes_relayed(agreement: Agreement, state: OwnerState, sender: str, body: messages.Body) -> OwnerState:
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
    return _with_sampling(state, **{name: {**known, sender: body.blob}})


def has_offered(state: OwnerState, peer: str, blob: Blob) -> OwnerStep:
    """This owner's keys are blinded and sealed for the other."""
    return _once(state, "offered", peer, peer, messages.Offered(blob=blob))


def has_blinded(state: OwnerState, peer: str, blob: Blob) -> OwnerStep:
    """The other owner's offers are blinded once more."""
    return _once(state, "blinded", peer, COORDINATOR, messages.Blinded(peer=peer, blob=blob))


def has_picked(state: OwnerState, peer: str, blob: Blob) -> OwnerStep:
    """The list of the other's offers that were chosen is sealed for it."""
    return _once(state, "passed_on", peer, peer, messages.Picked(blob=blob))


def _once(state: OwnerState, done: str, peer: str, receiver: str, body: messages.Body) -> OwnerStep:
    """What is done once for each other owner."""
    require_confirmed(state)
    before = getattr(state.sampling, done)
    if peer in before:
        return OwnerStep(state)
    return send(_with_sampling(state, **{done: (*before, peer)}), receiver, 0, body)


def has_sampled(state: OwnerState, positions: Sequence[int]) -> OwnerStep:
    """The rows of the sample are known."""
    require_confirmed(state)
    if state.sampling.is_sampled:
        return OwnerStep(state)
    return send(_with_sampling(state, is_sampled=True), COORDINATOR, 0, messages.Sampled(positions=tuple(positions)))


def _work_of_sampling(agreement: Agreement, state: OwnerState) -> list[OwnerWork]:
    """What can be done now for the sample."""
    if not agreement.sampling.by_keys:
        return []
    peers, now = state.peers, state.sampling
    todo = [OwnerWork("offer", peer) for peer in peers if peer not in now.offered]
    todo += [OwnerWork("blind", peer) for peer in peers if peer in now.offers and peer not in now.blinded]
    if now.chosen is not None:
        todo += [OwnerWork("pick", peer) for peer in peers if peer not in now.passed_on]
        todo += [OwnerWork("sample")] if set(peers) <= set(now.picked) and not now.is_sampled else []
    return todo


def _with_sampling(state: OwnerState, **changes: Any) -> OwnerState:
    return state.model_copy(update={"sampling": state.sampling.model_copy(update=changes)})


_FORKED = (
    "The coordinator's messages do not continue what it sent before. It seems to have been restored from an old backup,"
    " and this study cannot go on. Ask the coordinator to restore a newer backup, or to begin the study again."
)

# Messages of the coordinator


def handle(agreement: Agreement, state: OwnerState, signed: Signed) -> OwnerState:
    """Accept one message of the coordinator."""
    message = signed.message
    if message.sender != COORDINATOR:
        raise WrongSender("Only the coordinator's messages come this way.")
    signed.check(study=state.study, receiver=state.name, signing_key=state.coordinator_key[64:])
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
    state = handler(agreement, state, message, message.body)
    return state.model_copy(update={"received": message.sequence, "seen": {**state.seen, number: signed.digest}})


def _keys(agreement: Agreement, state: OwnerState, _: Message, keys: messages.Keys) -> OwnerState:
    known, named = {peer.name for peer in keys.peers}, [peer.name for peer in keys.peers]
    if named != sorted(known) or not known | set(keys.awaited) <= {*agreement.peers(state.name)}:
        raise NotFitting("The coordinator names other owners than the agreement does.")
    if state.join and any(peer.envelope_key == state.join.envelope_key for peer in keys.peers):
        raise NotFitting("The coordinator gives this owner's own key for another owner's.")
    before = state.keys.peers if state.keys else ()
    rows = {**{peer.name: peer.records for peer in keys.peers}, **state.rows}
    if any(rows[peer.name] != peer.records for peer in keys.peers):
        raise NotFitting("The coordinator gives an owner that came back another table than it had.")
    gone = {peer.name for peer in before if peer not in keys.peers}
    update: dict[str, Any] = {
        "keys": keys,
        "rows": rows,
        "confirmed": tuple(name for name in state.confirmed if name not in gone),
        "sampling": without(state.sampling, gone),
        "rounds": (*state.rounds[:-1], *(without(one, gone) for one in state.rounds[-1:])),
        "reopened": state.reopened or any(state.rounds and peer not in before for peer in keys.peers),
    }
    return state.model_copy(update=update)


def _sample(agreement: Agreement, state: OwnerState, _: Message, sample: messages.Sample) -> OwnerState:
    if not state.known or set(state.known) - set(state.confirmed):
        raise TooEarly("Nothing is sampled before you have compared the verification words with every other owner.")
    size = state.join.records if state.join else 0
    positions = sorted(sample.positions) if agreement.sampling.by_row else sample.positions
    if (
        not _ascend(positions, size)
        or not 0 < len(sample.positions) <= agreement.sampling.records
        or sorted(sample.others) != state.known
    ):
        raise NotFitting("The coordinator's sample does not fit the table or the agreement.")
    if any(not 0 < count <= agreement.sampling.records for count in sample.others.values()):
        raise NotFitting("The coordinator's sample of another owner is larger than agreed.")
    if agreement.sampling.named(state.name) not in ((), sample.positions):
        raise NotFitting("The coordinator asks for other rows than the agreement names.")
    chosen = state.sampling.chosen
    if agreement.sampling.by_keys and (not chosen or set(chosen.uniform) - set(sample.positions)):
        raise NotFitting("The coordinator's sample leaves out rows that it drew.")
    if state.reopened and state.sample and state.sample.positions == sample.positions:
        others = {**state.sample.others, **sample.others}  # the size of the sample of the owner that came back
        return state.model_copy(update={"sample": sample.model_copy(update={"others": others})})
    return _first(state, "sample", sample)


def _relay(agreement: Agreement, state: OwnerState, message: Message, relay: messages.Relay) -> OwnerState:
    inner = messages.parse(relay.message.encode())
    sender, body = inner.message.sender, inner.message.body
    if not _all_confirmed(state):
        raise TooEarly("Nothing is taken in before you have compared the verification words with every other owner.")
    if inner.message.round != state.round or message.round != state.round:
        raise NotFitting("The coordinator relays a message of another round than the current one.")
    inner.check(study=state.study, receiver=state.name, signing_key=state.peer(sender).signing_key)
    if not state.rounds:
        return takes_relayed(agreement, state, sender, body)
    current = state.rounds[-1]
    if sender not in current.open:
        raise NotFitting(f"The coordinator relays a message of {sender}, who takes no part in the round.")
    if isinstance(body, messages.Records):
        if body.count != len(current.open[sender].others):
            raise NotFitting(f"{sender} sends another number of records than are open.")
        if current.records.get(sender, body) != body:
            raise Replayed(f"{sender} sent other records before.")
        return _with_round(state, state.round, records={**current.records, sender: body})
    if not isinstance(body, messages.Answers):
        raise MalformedMessage("Only records and answers are relayed in a round.")
    sizes = (len(current.open[sender].others), len(current.open[sender].own))
    if body.peer != state.name or (body.questions, body.records) != sizes:
        raise NotFitting(f"The size of the answers of {sender} is wrong for the round.")
    came = ToOpen(answers=body, digest=inner.digest)
    if current.to_open.get(sender, came) != came:
        raise Replayed(f"{sender} sent other answers before.")
    return _with_round(state, state.round, to_open={**current.to_open, sender: came})


def _round(agreement: Agreement, state: OwnerState, message: Message, body: messages.Round) -> OwnerState:
    sample = state.sample
    if sample is None or (state.rounds and message.round != state.round + 1):
        raise NotFitting(f"The coordinator begins round {message.round} after round {state.round}.")
    if not state.rounds:  # those of a workspace that is lost count as if it had asked everything
        whole, earlier = tuple(range(len(sample.positions))), range(1, message.round)
        missed = tuple(OwnRound(ask=whole, repeats=one in body.voided) for one in earlier)
        state = state.model_copy(update={"rounds": missed})
    anew, last = state.asked_anew + (0 if body.repeats else 1), state.rounds[-1].open if state.rounds else {}
    if anew > agreement.rounds or message.round - anew > messages.MOST_VOID:
        raise NotFitting("The coordinator begins more rounds than the agreement allows.")
    ask = tuple(sorted({place for open_ in body.open.values() for place in open_.own}))
    others, told = set(body.open), {*body.loose, *body.kept}
    if not others or not others <= set(sample.others) or told - set(ask) or {*body.loose} & {*body.kept}:
        raise NotFitting("The coordinator's round is about other owners or records than those of the study.")
    if not state.reopened and (others - set(last) if last else body.repeats):
        raise NotFitting("The coordinator begins anew with an owner, or repeats a round, where nobody came back.")
    for name, now in body.open.items():
        before = last.get(name)
        if body.repeats or before is None:  # whoever came, or came back, begins with everything
            if now != (before or messages.all_open(sample, name)):
                raise NotFitting("The coordinator begins a round with other records than it has to.")
        elif not (_shrank(now.own, before.own) and _shrank(now.others, before.others)):
            raise NotFitting("The coordinator opens records again that were through, or that are not in the sample.")
    asked = sum(len(one.ask) for one in state.rounds if not one.repeats) + (0 if body.repeats else len(ask))
    if asked > agreement.records_asked:
        raise NotFitting("The coordinator asks for more questions than the agreement's budget allows.")
    begun = OwnRound(ask=ask, handed_in=not ask, **dict(body))
    reopened = state.reopened and others < set(state.known)
    return state.model_copy(update={"rounds": (*state.rounds, begun), "reopened": reopened})


def _shrank(now: Sequence[int], before: Sequence[int]) -> bool:
    return list(now) == sorted(set(now)) and set(now) <= set(before)


def _truth(_agreement: Agreement, state: OwnerState, _: Message, truth: messages.Truth) -> OwnerState:
    others = state.sample.others if state.sample else {}
    if [pairing.peer for pairing in truth.pairings] != sorted(others):
        raise NotFitting("The coordinator's labels are about other owners than the agreement names.")
    for pairing in truth.pairings:
        pairs = len(state.sample.positions) * others[pairing.peer] if state.sample else 0
        if pairing.labels.blob.length != labels.LOCK_BYTES + pairs:
            raise NotFitting("The size of the coordinator's labels is wrong for the samples.")
    return _first(state, "truth", truth)


_HANDLERS: dict[str, Callable[[Agreement, OwnerState, Message, Any], OwnerState]] = {
    "keys": _keys, "chosen": _chosen, "sample": _sample, "relay": _relay, "round": _round, "truth": _truth,
}  # fmt: skip


def _first(state: OwnerState, field: str, value: Shape) -> OwnerState:
    if getattr(state, field) is not None:
        raise Replayed(f"The coordinator sent a second {field} message.")
    return state.model_copy(update={field: value})


# What this owner does


def joins(state: OwnerState, join: messages.Join) -> OwnerStep:
    """Take part."""
    if state.join is not None:
        raise InputError("This workspace has joined its study already.")
    return send(state.model_copy(update={"join": join}), COORDINATOR, 0, join)


def confirms(state: OwnerState, peer: str) -> OwnerStep:
    """A person has compared the verification words with this owner, and they are the same."""
    known = state.peer(peer)
    if peer in state.confirmed:
        return OwnerStep(state)
    state = state.model_copy(update={"confirmed": tuple(sorted({*state.confirmed, peer}))})
    return send(state, COORDINATOR, 0, messages.Confirm(peer=peer, envelope_key=known.envelope_key))


def has_served(state: OwnerState, round: int, peer: str, blob: Blob, key: bytes) -> OwnerStep:
    """The open records are encrypted and locked for the other owner, and their key is in an envelope for it."""
    require_confirmed(state)
    if round != state.round or state.truth is not None or peer in state.rounds[-1].served:
        return OwnerStep(state)
    current = state.rounds[-1]
    state = _with_round(state, round, served={**current.served, peer: blob})
    return send(state, peer, round, messages.Records(count=len(current.open[peer].own), blob=blob, key=key.hex()))


def hands_in(state: OwnerState, round: int) -> OwnerState:
    """The questions of the round are complete and fixed."""
    if round != state.round or state.truth is not None:
        raise InputError(
            f"Round {round} cannot be handed in: the study is {'over' if state.truth else f'in round {state.round}'}."
        )
    return state if state.rounds[-1].handed_in else _with_round(state, round, handed_in=True)


def carries(state: OwnerState, round: int) -> OwnerState:
    """The questions of the void round, or those that stand, are carried over. If the void round was handed in, this one
    is too; if all questions stand, nobody has to look.
    """
    if round != state.round or state.truth is not None or state.rounds[-1].carried:
        return state
    all_stand = state.rounds[-1].kept == state.rounds[-1].ask
    handed_in = all_stand or any(one.handed_in for one in state.rounds[state.begun - 1 : -1])
    return _with_round(state, round, carried=True, handed_in=handed_in or state.rounds[-1].handed_in)


@dataclass(frozen=True)
class List:
    """An asker's list of keyed hashes, and the salt of the commitment to it."""

    blob: Blob
    salt: bytes


def has_answered(state: OwnerState, round: int, peer: str, blob: Blob, asked: str, listed: List) -> OwnerStep:
    """The questions of the round are evaluated over the other owner's records: the answers go to it, the list to the
    coordinator. Both messages are made together, and only once. `asked` is the commitment to the questions.
    """
    require_confirmed(state)
    if round != state.round or state.truth is not None or peer in state.rounds[-1].answers:
        return OwnerStep(state)
    current = state.rounds[-1]
    if not current.handed_in:
        raise InputError(f"Round {round} has not been handed in.")
    state = _with_round(state, round, answers={**current.answers, peer: blob})
    body = messages.Answers(
        peer=peer,
        questions=len(current.open[peer].own),
        records=len(current.open[peer].others),
        served=current.records[peer].blob.hash,
        blob=blob,
        commitment=comparing.commitment(listed.salt, listed.blob),
        asked=asked,
    )
    step = send(state, peer, round, body)
    more = messages.Listed(peer=peer, salt=listed.salt.hex(), blob=listed.blob)
    second = send(step.state, COORDINATOR, round, more)
    return OwnerStep(second.state, step.messages + second.messages)


def has_opened(state: OwnerState, round: int, peer: str, blob: Blob) -> OwnerStep:
    """The other owner's answers about this owner's records have been opened; `blob` is the list of results."""
    require_confirmed(state)
    if round != state.round or state.truth is not None or peer in state.rounds[-1].opened:
        return OwnerStep(state)
    current = state.rounds[-1]
    state = _with_round(state, round, opened={**current.opened, peer: blob})
    body = messages.Opened(peer=peer, answers=current.to_open[peer].digest, blob=blob)
    return send(state, COORDINATOR, round, body)


def refuses(state: OwnerState, round: int, peer: str, kind: Literal["records", "answers"]) -> OwnerStep:
    """What the other owner sent in the round cannot be used: the round is void."""
    if round != state.round or state.truth is not None or state.rounds[-1].refused:
        return OwnerStep(state)
    state = _with_round(state, round, refused=True)
    return send(state, COORDINATOR, round, messages.Refused(peer=peer, kind=kind))


def direction(state: OwnerState, round: int, asker: str, holder: str, answers: Blob) -> comparing.Direction:
    """What the lists of a round are bound to, as this owner has made it or has been told."""
    current, is_asker = state.rounds[round - 1], asker == state.name
    open_ = current.open[holder if is_asker else asker]
    return comparing.Direction(
        agreement=state.study,
        round=round,
        asker=asker,
        holder=holder,
        asked=open_.own if is_asker else open_.others,
        served=open_.others if is_asker else open_.own,
        records=current.records[holder].blob if is_asker else current.served[asker],
        answers=answers,
    )


def is_superseded(message: Message, refusal: ProtocolError) -> bool:
    """Whether a refused message may be dropped. Either the coordinator has another in its place: this owner was
    restored from a backup, and what its earlier life sent counts (a different join is somebody else's). Or its round is
    over: the study ended in the meantime.
    """
    return message.kind != "join" and isinstance(refusal, (Replayed, WrongRound))


def _all_confirmed(state: OwnerState) -> bool:
    return state.keys is not None and set(state.peers) <= set(state.confirmed)


# What is next


def work(agreement: Agreement, state: OwnerState) -> list[OwnerWork]:
    """What can be done now, in order: nothing until everybody is confirmed; serving records first, because others wait
    for them; evaluation when the round is handed in and the records are there.
    """
    if state.truth is not None or not _all_confirmed(state):
        return []
    peers = state.peers
    if state.sample is None:
        return _work_of_sampling(agreement, state)
    if not state.rounds or state.rounds[-1].refused:
        return []
    current, number = state.rounds[-1], state.round
    todo = [OwnerWork("carry", "", number)] if state.is_to_carry else []
    todo += [OwnerWork("serve", peer, number) for peer in peers if peer not in current.served]
    todo += [OwnerWork("open", peer, number) for peer in current.to_open if peer not in current.opened]
    if current.handed_in:
        ready = [peer for peer in peers if peer in current.records and peer not in current.answers]
        todo += [OwnerWork("evaluate", peer, number) for peer in ready]
    return todo


def _with_round(state: OwnerState, round: int, **changes: Any) -> OwnerState:
    changed = state.rounds[round - 1].model_copy(update=changes)
    return state.model_copy(update={"rounds": (*state.rounds[: round - 1], changed, *state.rounds[round:])})
