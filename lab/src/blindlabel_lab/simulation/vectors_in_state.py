"""Vectors that need a receiver in a certain state: a coordinator in round 1, and an owner in round 1. See `vectors`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from blindlabel.protocol import comparing, facts, messages
from blindlabel.protocol import coordinator_rules as coordinator
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.protocol.labels import LOCK_BYTES
from blindlabel.protocol.messages import Body, Message
from blindlabel.protocol.shape import COORDINATOR, Locked
from blindlabel_lab.simulation.vectors import (
    BODY,
    SHORT,
    Vector,
    blob,
    body_faults,
    check_faults,
    form_faults,
    founded,
    identity_of,
    join_of,
    key_of,
    signed,
    tally,
    the_agreement,
    vector,
)


def documents() -> dict[str, dict[str, Any]]:
    """All files."""
    head = {"agreement": to_text(the_agreement()), "body": BODY.decode()}
    return {"to-coordinator": head | to_coordinator(), "to-owner": head | to_owner()}


def to_coordinator() -> dict[str, Any]:
    """Messages of anna at a coordinator; `before` brings it into round 1, where records are served and berta has handed
    in.
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
    for name, peer in (("anna", "berta"), ("berta", "anna")):
        latest = state.owners[name].history[-1]
        served = messages.Records(count=3, blob=blob(), key="ab" * 64)
        take(Message(agreement.hash, name, peer, 1, 3, served, latest))
    latest = state.owners["berta"].history[-1]
    take(Message(agreement.hash, "berta", "anna", 1, 4, answers_of("anna"), latest))
    return {"before": [wire.decode() for wire in before], "vectors": list(_at_coordinator(agreement, state, joins))}


def answers_of(peer: str, /, **changes: Any) -> messages.Answers:
    """Answers about another owner's records that fit round 1."""
    values: dict[str, Any] = {"peer": peer, "questions": 3, "records": 3, "served": blob().hash, "blob": blob()}
    values["commitment"] = comparing.commitment(bytes(32), blob())
    values["asked"] = "5" * 64
    return messages.Answers(**(values | changes))


def _at_coordinator(agreement: Agreement, state: facts.StudyState, joins: dict[str, Message]) -> Iterator[Vector]:
    latest = state.owners["anna"].history[-1]

    def from_anna(round: int, sequence: int, body: Body, receiver: str = COORDINATOR) -> Message:
        return Message(agreement.hash, "anna", receiver, round, sequence, body, latest)

    answers = from_anna(1, 4, answers_of("berta"), "berta")
    listed = from_anna(1, 5, messages.Listed(peer="berta", salt="00" * 32, blob=blob()))
    digest = state.rounds[-1].answered["berta>anna"]
    opened = from_anna(1, 6, messages.Opened(peer="berta", answers=digest, blob=blob()))
    key = join_of(agreement, "berta").envelope_key
    confirm = from_anna(0, 2, messages.Confirm(peer="berta", envelope_key=key))
    valid = {"join": joins["anna"], "answers": answers, "listed": listed, "opened": opened}
    for kind, message in valid.items():
        again = "the same again" if kind == "join" else "as it should be"
        yield vector(kind, again, "rules", signed(message), None)
        yield from form_faults(kind, signed(message), "anna")
        yield from body_faults(kind, signed(message), "anna")
        yield from check_faults(kind, message, by="anna", other="berta")
    yield from _contents(agreement, from_anna, digest)
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


def _contents(agreement: Agreement, from_anna: Any, digest: str) -> Iterator[Vector]:
    """Well-formed, properly signed, and wrong in one point of content."""

    def answers(round: int = 1, **changes: Any) -> bytes:
        body = answers_of("berta", **changes)
        return signed(from_anna(round, 4, body, "berta"))

    def records(receiver: str = "berta", count: int = 3, round: int = 1) -> bytes:
        return signed(from_anna(round, 3, messages.Records(count=count, blob=blob(), key="ab" * 64), receiver))

    def listed(**changes: Any) -> bytes:
        values: dict[str, Any] = {"peer": "berta", "salt": "00" * 32, "blob": blob()} | changes
        return signed(from_anna(1, 5, messages.Listed(**values)))

    def opened(**changes: Any) -> bytes:
        values: dict[str, Any] = {"peer": "berta", "answers": digest, "blob": blob()} | changes
        return signed(from_anna(1, 6, messages.Opened(**values)))

    short = facts.blob_of(SHORT)

    yield vector("answers", "for a round that has not begun", "rules", answers(2), "early")
    yield vector("answers", "for no round", "rules", answers(0), "round")
    yield vector("answers", "one question too few", "rules", answers(questions=2), "content")
    yield vector("answers", "one record too many", "rules", answers(records=4), "content")
    yield vector("answers", "about an owner that does not exist", "rules", answers(peer="zoe"), "content")
    yield vector("answers", "about itself", "rules", answers(peer="anna"), "content")
    body = answers_of("berta")
    unknown = Message(agreement.hash, "anna", "berta", 1, 4, body, "ab" * 32)
    yield vector("answers", "after a message that was never sent", "rules", signed(unknown), "early")
    first = Message(agreement.hash, "anna", "berta", 1, 4, body, "")
    yield vector("answers", "after no message", "rules", signed(first), "early")
    yield vector("answers", "for the coordinator", "check", signed(from_anna(1, 4, body)), "receiver")
    yield vector("answers", "about other records than were served", "rules", answers(served="ab" * 32), "content")
    yield vector("listed", "of another size", "rules", listed(blob=short), "content")
    yield vector("listed", "about itself", "rules", listed(peer="anna"), "content")
    yield vector("opened", "of another size", "rules", opened(blob=short), "content")
    yield vector("opened", "other answers than were handed in", "rules", opened(answers="ab" * 32), "content")
    yield vector("opened", "answers of nobody", "rules", opened(peer="zoe"), "content")
    refused = messages.Refused(peer="zoe", kind="answers")
    yield vector("refused", "what nobody sent", "rules", signed(from_anna(1, 7, refused)), "content")
    yield vector("records", "a second time, other ones", "rules", records(count=2), "replayed")
    yield vector("records", "for itself", "check", records("anna"), "receiver")
    yield vector("records", "for the coordinator", "check", records(COORDINATOR), "receiver")
    yield vector("records", "for no round", "rules", records(round=0), "round")
    yield vector("records", "for a round that has not begun", "rules", records(round=2), "early")
    unasked = {"offered": messages.Offered(blob=blob()), "picked": messages.Picked(blob=blob())}
    for kind, body_ in unasked.items():
        yield vector(kind, "not asked for", "rules", signed(from_anna(0, 5, body_, "berta")), "content")
        yield vector(kind, "for the coordinator", "check", signed(from_anna(0, 5, body_)), "receiver")
    for kind, own in (
        ("blinded", messages.Blinded(peer="berta", blob=blob())),
        ("sampled", messages.Sampled(positions=(0,))),
    ):
        yield vector(kind, "not asked for", "rules", signed(from_anna(0, 5, own)), "content")
    yield vector(
        "truth",
        "from an owner",
        "rules",
        signed(from_anna(1, 5, messages.Truth(reason="agreed", pairings=()))),
        "sender",
    )
    yield vector("keys", "from an owner", "rules", signed(from_anna(0, 5, messages.Keys(peers=()))), "sender")


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
    state = owner.OwnerState(
        study=agreement.hash, name="anna", coordinator_key=identity_of(COORDINATOR).public.to_bytes().hex()
    )
    state = owner.joins(state, join_of(agreement, "anna")).state
    peer = join_of(agreement, "berta")
    known = messages.Peer(name="berta", records=5, envelope_key=peer.envelope_key, signing_key=peer.signing_key)
    bodies: list[tuple[int, Body]] = [
        (0, messages.Keys(peers=(known,))),
        (0, messages.Sample(positions=(0, 2, 4), others={"berta": 3})),
        (1, asks({"anna": (0, 1, 2), "berta": (0, 1, 2)})),
    ]
    before: list[bytes] = []
    for number, (of_round, body) in enumerate(bodies, start=1):
        message = Message(agreement.hash, COORDINATOR, "anna", of_round, number, body, owner.latest(state))
        before.append(signed(message))
        state = owner.handle(agreement, state, messages.parse(before[-1]))
        if state.keys is not None:
            state = owner.confirms(state, "berta").state
    return {"before": [wire.decode() for wire in before], "vectors": list(_at_owner(agreement, state, before))}


def asks(still_open: dict[str, tuple[int, ...]], *, repeats: bool = False, **changes: Any) -> messages.Round:
    """The beginning of a round."""
    values: dict[str, Any] = {"loose": (), "aside": {}, "kept": (), "others_loose": {}, "tallies": {}} | changes
    others = {name: places for name, places in still_open.items() if name != "anna"}
    open_ = {name: messages.Open(own=still_open.get("anna", ()), others=places) for name, places in others.items()}
    return messages.Round(open=open_, repeats=repeats, **values)


def _at_owner(agreement: Agreement, state: owner.OwnerState, before: list[bytes]) -> Iterator[Vector]:
    previous = owner.latest(state)

    def sent(round: int, body: Body, sequence: int = 4) -> Message:
        return Message(agreement.hash, COORDINATOR, "anna", round, sequence, body, previous)

    inner = Message(agreement.hash, "berta", "anna", 1, 3, messages.Records(count=3, blob=blob(), key="ab" * 64), "")
    relay = sent(1, messages.Relay(message=signed(inner).decode()))
    tallied: dict[str, Any] = {"loose": (1,), "others_loose": {"berta": 1}, "tallies": {"berta": tally()}}
    round_two = sent(2, asks({"anna": (1,), "berta": (0, 2)}, **tallied))
    labels = Locked(blob=blob().model_copy(update={"length": LOCK_BYTES + 9}), key="cd" * 32)
    pairing = messages.Pairing(peer="berta", enriched=(), labels=labels, aside=(), tallies=(tally(),))
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
    again = _with(keys, sequence=4, previous=previous)
    yield vector("keys", "the same with a new number", "rules", signed(again), None)
    grown = tuple(peer.model_copy(update={"records": 6}) for peer in cast(messages.Keys, keys.body).peers)
    yield vector("keys", "another table", "rules", signed(_with(again, body=messages.Keys(peers=grown))), "content")
    strange = tuple(peer.model_copy(update={"name": "dora"}) for peer in grown)
    yield vector(
        "keys",
        "an owner that is not agreed",
        "rules",
        signed(_with(again, body=messages.Keys(peers=strange))),
        "content",
    )
    yield from _contents_at_owner(agreement, sent, inner, pairing)


def _contents_at_owner(agreement: Agreement, sent: Any, inner: Message, pairing: messages.Pairing) -> Iterator[Vector]:
    def relayed(message: Message, by: str = "berta") -> bytes:
        return signed(sent(1, messages.Relay(message=signed(message, by).decode())))

    few = messages.Records(count=2, blob=blob(), key="ab" * 64)
    yield vector("relay", "records signed by the coordinator", "rules", relayed(inner, COORDINATOR), "sender")
    yield vector("relay", "records of another study", "rules", relayed(_with(inner, study="ab" * 32)), "study")
    yield vector("relay", "records for somebody else", "rules", relayed(_with(inner, receiver="clara")), "receiver")
    yield vector("relay", "too few records", "rules", relayed(_with(inner, body=few)), "content")
    yield vector(
        "relay",
        "something other than records",
        "rules",
        relayed(_with(inner, body=join_of(agreement, "berta"))),
        "malformed",
    )
    yield vector("relay", "no message", "rules", signed(sent(1, messages.Relay(message="hello"))), "malformed")
    yield vector("relay", "records of another round", "rules", relayed(_with(inner, round=2)), "content")
    handed_in = _with(inner, body=answers_of("anna"))
    yield vector("relay", "answers to open", "rules", relayed(handed_in), None)
    elsewhere = _with(inner, body=answers_of("berta"))
    yield vector("relay", "answers about somebody else's records", "rules", relayed(elsewhere), "content")
    many = _with(inner, body=answers_of("anna", questions=4))
    yield vector("relay", "answers to another number of questions", "rules", relayed(many), "content")
    yield from _rounds_at_owner(sent)
    shorter = blob().model_copy(update={"length": LOCK_BYTES + 8})
    short = pairing.model_copy(update={"labels": pairing.labels.model_copy(update={"blob": shorter})})
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
    chosen = messages.Chosen(uniform=(0,), places={"berta": ()})
    yield vector("chosen", "not asked for", "rules", signed(sent(0, chosen)), "content")
    yield vector("answers", "from the coordinator", "rules", signed(sent(1, answers_of("berta"))), "sender")


def _rounds_at_owner(sent: Any) -> Iterator[Vector]:
    def begun(number: int, anna: tuple[int, ...], berta: tuple[int, ...] = (0,), **more: Any) -> bytes:
        return signed(sent(number, asks({"anna": anna, "berta": berta}, **more)))

    everything = (0, 1, 2)
    yield vector("round", "the same questions again", "rules", begun(2, everything, everything, repeats=True), None)
    yield vector("round", "the same round again", "rules", begun(1, (0,)), "content")
    yield vector("round", "a round left out", "rules", begun(3, (0,)), "content")
    yield vector("round", "a record that is not in the sample", "rules", begun(2, (3,)), "content")
    yield vector("round", "another owner's record that is not in the sample", "rules", begun(2, (0,), (3,)), "content")
    yield vector("round", "a record twice", "rules", begun(2, (1, 1)), "content")
    yield vector("round", "records in another order", "rules", begun(2, (2, 1)), "content")
    yield vector("round", "a repetition with other records", "rules", begun(2, (0,), repeats=True), "content")
    yield vector("round", "a loose record that is not open", "rules", begun(2, (0,), loose=(1,)), "content")
    yield vector("round", "nothing about an owner", "rules", signed(sent(2, asks({"anna": (0,)}))), "content")
