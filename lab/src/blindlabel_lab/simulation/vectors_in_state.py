"""Vectors that need a receiver in a certain state: a coordinator in round 1, and an owner in round 1. See `vectors`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blindlabel.protocol import coordinator, facts, messages, owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.messages import Body, Message
from blindlabel.protocol.shape import COORDINATOR
from blindlabel_lab.simulation.vectors import (
    Vector,
    blob,
    body_faults,
    check_faults,
    form_faults,
    founded,
    join_of,
    key_of,
    signed,
    tally,
    the_agreement,
    vector,
)


def to_coordinator() -> dict[str, Any]:
    """Messages of anna at a coordinator; `before` brings it into round 1 with nothing of anna's records and answers
    there yet.
    """
    agreement, state = founded()
    before: list[bytes] = []

    def take(message: Message) -> None:
        nonlocal state
        before.append(signed(message))
        state = coordinator.handle(agreement, state, messages.parse(before[-1])).state

    joins = {
        name: Message(agreement.hash, name, COORDINATOR, 0, 1, join_of(agreement, name)) for name in agreement.owners
    }
    state = coordinator.keys_made(agreement, state, blob()).state
    for name in agreement.owners:
        take(joins[name])
    for name, peer in (("anna", "berta"), ("berta", "anna")):
        key = join_of(agreement, peer).envelope_key
        take(
            Message(
                agreement.hash,
                name,
                COORDINATOR,
                0,
                2,
                messages.Confirm(peer=peer, envelope_key=key),
                state.owners[name].history[-1],
            )
        )
    return {"before": [wire.decode() for wire in before], "vectors": list(_at_coordinator(agreement, state, joins))}


def _at_coordinator(agreement: Agreement, state: facts.State, joins: dict[str, Message]) -> Iterator[Vector]:
    latest = state.owners["anna"].history[-1]

    def from_anna(round: int, sequence: int, body: Body, receiver: str = COORDINATOR) -> Message:
        return Message(agreement.hash, "anna", receiver, round, sequence, body, latest)

    records = from_anna(0, 3, messages.Records(count=3, blob=blob(), key="ab" * 64), "berta")
    answers = from_anna(1, 4, messages.Answers(peer="berta", questions=3, records=3, blob=blob()))
    key = join_of(agreement, "berta").envelope_key
    confirm = from_anna(0, 2, messages.Confirm(peer="berta", envelope_key=key))
    valid = {"join": joins["anna"], "records": records, "answers": answers}
    for kind, message in valid.items():
        again = "the same again" if kind == "join" else "as it should be"
        yield vector(kind, again, "rules", signed(message), None)
        yield from form_faults(kind, signed(message), "anna")
        yield from body_faults(kind, signed(message), "anna")
        yield from check_faults(kind, message, by="anna", other="berta")
    yield from _contents(agreement, from_anna)
    changed = joins["anna"]
    other = join_of(agreement, "anna", records=4)
    yield vector("join", "a second one with another size", "rules", signed(_with(changed, body=other)), "replayed")
    keys = join_of(agreement, "anna", signing_key=bytes(key_of("thief").verify_key).hex())
    yield vector(
        "join", "a second one with other keys", "check", signed(_with(changed, body=keys), "thief"), "replayed"
    )
    stolen = joins["berta"].body
    yield vector("join", "with the invitation of another owner", "check", signed(_with(changed, body=stolen)), "sender")
    yield vector("join", "in a round", "rules", signed(_with(changed, round=2)), "round")
    yield vector("confirm", "a second one", "rules", signed(_with(confirm, sequence=9)), "replayed")


def _contents(agreement: Agreement, from_anna: Any) -> Iterator[Vector]:
    """Well-formed, properly signed, and wrong in one point of content."""

    def answers(round: int = 1, **changes: Any) -> bytes:
        values: dict[str, Any] = {"peer": "berta", "questions": 3, "records": 3, "blob": blob()} | changes
        return signed(from_anna(round, 4, messages.Answers(**values)))

    def records(receiver: str = "berta", count: int = 3, round: int = 0) -> bytes:
        return signed(from_anna(round, 3, messages.Records(count=count, blob=blob(), key="ab" * 64), receiver))

    yield vector("answers", "for a round that has not begun", "rules", answers(2), "early")
    yield vector("answers", "for no round", "rules", answers(0), "round")
    yield vector("answers", "one question too few", "rules", answers(questions=2), "content")
    yield vector("answers", "one record too many", "rules", answers(records=4), "content")
    yield vector("answers", "about an owner that does not exist", "rules", answers(peer="zoe"), "content")
    yield vector("answers", "about itself", "rules", answers(peer="anna"), "content")
    body = messages.Answers(peer="berta", questions=3, records=3, blob=blob())
    unknown = Message(agreement.hash, "anna", COORDINATOR, 1, 4, body, "ab" * 32)
    yield vector("answers", "after a message that was never sent", "rules", signed(unknown), "early")
    first = Message(agreement.hash, "anna", COORDINATOR, 1, 4, body, "")
    yield vector("answers", "after no message", "rules", signed(first), "early")
    yield vector("records", "one too few", "rules", records(count=2), "content")
    yield vector("records", "for itself", "check", records("anna"), "receiver")
    yield vector("records", "for the coordinator", "check", records(COORDINATOR), "receiver")
    yield vector("records", "in a round", "rules", records(round=1), "round")
    yield vector(
        "blocking",
        "not asked for",
        "rules",
        signed(from_anna(0, 5, messages.Blocking(peer="berta", blob=blob()))),
        "content",
    )
    yield vector(
        "truth",
        "from an owner",
        "rules",
        signed(from_anna(1, 5, messages.Truth(reason="agreed", pairings=()))),
        "sender",
    )
    yield vector(
        "keys", "from an owner", "rules", signed(from_anna(0, 5, messages.Keys(peers=(), public_key=blob()))), "sender"
    )


def _with(message: Message, **changes: Any) -> Message:
    values: dict[str, Any] = {
        "study": message.study,
        "sender": message.sender,
        "receiver": message.receiver,
        "round": message.round,
        "sequence": message.sequence,
        "body": message.body,
        "previous": message.previous,
    }
    return Message(**(values | changes))


# Messages of the coordinator


def to_owner() -> dict[str, Any]:
    """Messages of the coordinator at anna; `before` brings anna into round 1."""
    agreement = the_agreement()
    state = owner.State(study=agreement.hash, name="anna", coordinator_key=bytes(key_of(COORDINATOR).verify_key).hex())
    state = owner.joins(state, join_of(agreement, "anna")).state
    peer = join_of(agreement, "berta")
    known = messages.Peer(name="berta", records=5, envelope_key=peer.envelope_key, signing_key=peer.signing_key)
    ask = tuple(messages.Asked(record=place, disagreed=0) for place in range(3))
    bodies: list[tuple[int, Body]] = [
        (0, messages.Keys(peers=(known,), public_key=blob())),
        (0, messages.Sample(positions=(0, 2, 4), others={"berta": 3})),
        (1, messages.Round(ask=ask, tallies={})),
    ]
    before: list[bytes] = []
    for number, (of_round, body) in enumerate(bodies, start=1):
        message = Message(agreement.hash, COORDINATOR, "anna", of_round, number, body, owner.latest(state))
        before.append(signed(message))
        state = owner.handle(agreement, state, messages.parse(before[-1]))
    return {"before": [wire.decode() for wire in before], "vectors": list(_at_owner(agreement, state, before))}


def _at_owner(agreement: Agreement, state: owner.State, before: list[bytes]) -> Iterator[Vector]:
    previous = owner.latest(state)

    def sent(round: int, body: Body, sequence: int = 4) -> Message:
        return Message(agreement.hash, COORDINATOR, "anna", round, sequence, body, previous)

    inner = Message(agreement.hash, "berta", "anna", 0, 3, messages.Records(count=3, blob=blob(), key="ab" * 64), "")
    relay = sent(0, messages.Relay(message=signed(inner).decode()))
    ask = (messages.Asked(record=1, disagreed=2),)
    round_two = sent(2, messages.Round(ask=ask, tallies={"berta": tally()}))
    labels = blob().model_copy(update={"length": 9})
    pairing = messages.Pairing(peer="berta", positions=(1, 2, 3), labels=labels, tallies=(tally(),))
    truth = sent(1, messages.Truth(reason="rounds", pairings=(pairing,)))
    keys = messages.parse(before[0]).message
    for kind, message in {"relay": relay, "round": round_two, "truth": truth}.items():
        yield vector(kind, "as it should be", "rules", signed(message), None)
        yield from form_faults(kind, signed(message), COORDINATOR)
        yield from body_faults(kind, signed(message), COORDINATOR)
        yield from check_faults(kind, message, by=COORDINATOR, other="berta")
        yield vector(kind, "a number too far ahead", "rules", signed(_with(message, sequence=6)), "early")
        yield vector(kind, "a number that was another message", "rules", signed(_with(message, sequence=2)), "history")
        yield vector(
            kind, "after another message than came", "rules", signed(_with(message, previous="cd" * 32)), "history"
        )
    yield vector("keys", "the same again", "rules", before[0], None)
    yield from form_faults("keys", before[0], COORDINATOR)
    yield vector("keys", "a second one", "rules", signed(_with(keys, sequence=4, previous=previous)), "replayed")
    yield from _contents_at_owner(agreement, sent, inner, pairing)


def _contents_at_owner(agreement: Agreement, sent: Any, inner: Message, pairing: messages.Pairing) -> Iterator[Vector]:
    def relayed(message: Message, by: str = "berta") -> bytes:
        return signed(sent(0, messages.Relay(message=signed(message, by).decode())))

    few = messages.Records(count=2, blob=blob(), key="ab" * 64)
    yield vector("relay", "records signed by the coordinator", "rules", relayed(inner, COORDINATOR), "sender")
    yield vector("relay", "records of another study", "rules", relayed(_with(inner, study="ab" * 32)), "study")
    yield vector("relay", "records for somebody else", "rules", relayed(_with(inner, receiver="clara")), "receiver")
    yield vector("relay", "too few records", "rules", relayed(_with(inner, body=few)), "content")
    yield vector(
        "relay",
        "something else than records",
        "rules",
        relayed(_with(inner, body=join_of(agreement, "berta"))),
        "malformed",
    )
    yield vector("relay", "no message", "rules", signed(sent(0, messages.Relay(message="hello"))), "malformed")

    def asks(*places: int) -> messages.Round:
        return messages.Round(ask=tuple(messages.Asked(record=place, disagreed=1) for place in places), tallies={})

    yield vector("round", "the same round again", "rules", signed(sent(1, asks(0))), "content")
    yield vector("round", "a round left out", "rules", signed(sent(3, asks(0))), "content")
    yield vector("round", "beyond the agreed rounds", "rules", signed(sent(4, asks(0))), "content")
    yield vector("round", "a record that is not in the sample", "rules", signed(sent(2, asks(3))), "content")
    yield vector("round", "a record twice", "rules", signed(sent(2, asks(1, 1))), "content")
    short = pairing.model_copy(update={"labels": blob().model_copy(update={"length": 8})})
    yield vector(
        "truth",
        "labels of another size",
        "rules",
        signed(sent(1, messages.Truth(reason="rounds", pairings=(short,)))),
        "content",
    )
    stranger = pairing.model_copy(update={"peer": "zoe"})
    yield vector(
        "truth",
        "about another owner",
        "rules",
        signed(sent(1, messages.Truth(reason="rounds", pairings=(stranger,)))),
        "content",
    )
    yield vector(
        "truth", "about nobody", "rules", signed(sent(1, messages.Truth(reason="rounds", pairings=()))), "content"
    )
    yield vector(
        "sample",
        "a second one",
        "rules",
        signed(sent(0, messages.Sample(positions=(0, 2, 4), others={"berta": 3}))),
        "replayed",
    )
    yield vector(
        "sample",
        "other rows than agreed",
        "rules",
        signed(sent(0, messages.Sample(positions=(0, 2, 3), others={"berta": 3}))),
        "content",
    )
    answers = messages.Answers(peer="berta", questions=1, records=1, blob=blob())
    yield vector("answers", "from the coordinator", "rules", signed(sent(1, answers)), "sender")
