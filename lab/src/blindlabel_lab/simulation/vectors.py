"""Test vectors of the wire format: valid messages of every kind, and each with exactly one fault. Made from fixed keys,
so always the same.

Two documents: `to-coordinator` (messages of owners, tried at a coordinator in round 1) and `to-owner` (messages of the
coordinator, tried at an owner in round 1), each with what brings the receiver there. `scripts/make-vectors` writes
them; tests run them against the parser, the rules and both transports.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import delitem, setitem
from typing import Any, cast

import nacl.public
import nacl.signing

from blindlabel.envelope.identity import Identity
from blindlabel.envelope.stream import sealed_size
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import comparing, facts, messages
from blindlabel.protocol import coordinator_rules as coordinator
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.invitation import proved_join, token_hash
from blindlabel.protocol.labels import LOCK_BYTES
from blindlabel.protocol.messages import Body, Message
from blindlabel.protocol.shape import COORDINATOR, Blob, Locked, blob_of, canonical

BODY = b"blindlabel vectors: as long as a sealed list of nine hashes. ".ljust(sealed_size("listed", 9 * 8), b".")
SHORT = BODY[:-1]
"""A body that no list can be: its size fits no round."""
SIGNING_PREFIX = b"blindlabel message 1\0"
ROWS = 5
TALLY = Tally(both=1, first_only=2, second_only=0, neither=6)

Vector = dict[str, Any]


def key_of(name: str) -> nacl.signing.SigningKey:
    """The fixed signing key of a party, or of `invitation-<owner>`."""
    return nacl.signing.SigningKey(facts_hash(name))


def identity_of(name: str) -> Identity:
    """The fixed keys of a party, for envelopes too."""
    return Identity.from_bytes(b"BLID\1" + facts_hash(f"envelope of {name}") + facts_hash(name))


def facts_hash(name: str) -> bytes:
    """Thirty-two bytes that stand for a name."""
    return bytes.fromhex(blob_of(f"vector {name}".encode()).hash)


def token_of(name: str) -> str:
    """The fixed token with which an owner shows itself to the server."""
    return f"token-of-{name}-in-the-vectors"


def the_agreement() -> Agreement:
    """The agreement under which all vectors are made."""
    names = ["anna", "berta"]
    sampling = {"method": "rows", "records": 3, "rows": {"anna": [0, 2, 4], "berta": [1, 2, 3]}}
    encoding = {"engine": "plain", "record_length": 60}
    made = agreements.new(
        "vectors", names, ["name"], sampling=sampling, rounds=3, encoding=encoding, salt="0123456789abcdef" * 2
    )
    return agreements.from_text(to_text(made))


def signed(message: Message, by: str | None = None) -> bytes:
    """The wire bytes, signed by the sender or by somebody else."""
    key = key_of(by or message.sender)
    return messages.sign(message, lambda data: key.sign(data).signature).wire


def join_of(agreement: Agreement, name: str, **changes: Any) -> messages.Join:
    """An owner's join; changes apply before the proof is made."""
    values: dict[str, Any] = {
        "records": ROWS,
        "envelope_key": bytes(nacl.public.PrivateKey(facts_hash(f"envelope {name}")).public_key).hex(),
        "signing_key": bytes(key_of(name).verify_key).hex(),
        "token_hash": token_hash(token_of(name)),
    } | changes
    return proved_join(bytes(key_of(f"invitation-{name}")), agreement.hash, name, **values)


def signed_text(text: bytes, by: str) -> bytes:
    """Any text, properly signed, as a message on the wire: for content that the program itself would never write."""
    signature = key_of(by).sign(SIGNING_PREFIX + text).signature
    return b"blindlabel-message/1 " + base64.b64encode(signature) + b"\n" + text + b"\n"


def edited(wire: bytes, edit: Callable[[dict[str, Any]], None], by: str) -> bytes:
    """The message with its JSON changed, in canonical form, and signed again."""
    document = json.loads(wire.partition(b"\n")[2])
    edit(document)
    return signed_text(canonical(document), by)


def _reached(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for part in path[:-1]:
        document = document[part]
    return document


def _set(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: setitem(_reached(document, path), path[-1], value)


def _drop(*path: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: delitem(_reached(document, path), path[-1])


def form_faults(kind: str, wire: bytes, by: str) -> Iterator[Vector]:
    """Faults that the bytes alone show, for one valid message."""
    first, _, rest = wire.partition(b"\n")
    text = rest[:-1]
    plain = [
        ("no bytes", b"", "malformed"),
        ("one byte cut off the end", wire[:-1], "malformed"),
        ("cut in half", wire[: len(wire) // 2], "malformed"),
        ("a line more", wire + b"\n", "malformed"),
        ("another mark", wire.replace(b"blindlabel-message", b"blindlabel-massage", 1), "malformed"),
        ("version 2 on its first line", wire.replace(b"message/1", b"message/2", 1), "version"),
        ("no signature", b"blindlabel-message/1 \n" + rest, "malformed"),
        ("a signature that is no base64", first[:-4] + b"!!!!\n" + rest, "malformed"),
        ("a signature of 63 bytes", b"blindlabel-message/1 " + base64.b64encode(bytes(63)) + b"\n" + rest, "malformed"),
        ("a space before the JSON", signed_text(b" " + text, by), "malformed"),
        ("a key twice", signed_text(text[:-1] + b',"round":0}', by), "malformed"),
        (
            "keys in another order",
            signed_text(json.dumps(dict(reversed(json.loads(text).items())), separators=(",", ":")).encode(), by),
            "malformed",
        ),
        ("bytes that are no UTF-8", signed_text(text.replace(b'"sender":"', b'"sender":"\xff', 1), by), "malformed"),
        ("no JSON", signed_text(b"hello", by), "malformed"),
        ("a list", signed_text(b"[]", by), "malformed"),
        ("a number with a point", signed_text(text.replace(b'"sequence":', b'"sequence":1.0e', 1), by), "malformed"),
        ("not a number", signed_text(text.replace(b'"sequence":', b'"sequence":NaN,"x":', 1), by), "malformed"),
        ("deeply nested", signed_text(b"[" * 5000 + b"]" * 5000, by), "malformed"),
    ]
    for what, changed, code in plain if kind in ("join", "keys") else plain[5:6] + plain[9:10]:
        yield vector(kind, what, "parse", changed, code)
    edits = [
        ("version 2 in its header", _set("version", value=2), "version"),
        ("a field more in its header", _set("note", value=""), "malformed"),
        ("a field more in its body", _set("body", "note", value=""), "malformed"),
        ("no sequence", _drop("sequence"), "malformed"),
        ("sequence 0", _set("sequence", value=0), "malformed"),
        ("round 201", _set("round", value=201), "malformed"),
        ("a round that is text", _set("round", value="1"), "malformed"),
        ("a study of 31 bytes", _set("study", value="ab" * 31), "malformed"),
        ("a study in capitals", _set("study", value="AB" * 32), "malformed"),
        ("a sender with a slash", _set("sender", value="../anna"), "malformed"),
        ("no receiver", _set("receiver", value=""), "malformed"),
        ("a kind that does not exist", _set("kind", value="gossip"), "malformed"),
        ("a body that is text", _set("body", value="x"), "malformed"),
        ("a previous message of 8 bytes", _set("previous", value="ab" * 8), "malformed"),
    ]
    for what, edit, code in edits:
        yield vector(kind, what, "parse", edited(wire, edit, by), code)


def body_faults(kind: str, wire: bytes, by: str) -> Iterator[Vector]:
    """Each field of the body left out, and numbers below zero."""
    body = json.loads(wire.partition(b"\n")[2])["body"]
    for name, value in body.items():
        yield malformed(kind, f"no {name}", edited(wire, _drop("body", name), by))
        wrong = "x" if isinstance(value, int) else 5
        yield malformed(kind, f"{name} of another type", edited(wire, _set("body", name, value=wrong), by))
        if isinstance(value, int):
            yield malformed(kind, f"{name} below zero", edited(wire, _set("body", name, value=-1), by))
        if name == "blob":
            yield malformed(kind, f"{name} with a short hash", edited(wire, _set("body", name, "hash", value="ab"), by))
            yield malformed(kind, f"{name} of length 2^43", edited(wire, _set("body", name, "length", value=2**43), by))


def check_faults(kind: str, message: Message, *, by: str, other: str) -> Iterator[Vector]:
    """Wrong study, sender, receiver and signature."""
    wire = signed(message)
    first, _, rest = wire.partition(b"\n")
    flipped = bytearray(base64.b64decode(first.split(b" ")[1]))
    flipped[7] ^= 4
    changed = b"blindlabel-message/1 " + base64.b64encode(flipped) + b"\n" + rest
    yield checked(kind, "another study", edited(wire, _set("study", value="ab" * 32), by), "study")
    yield checked(kind, "a sender who takes no part", edited(wire, _set("sender", value="zoe"), by), "sender")
    yield checked(kind, "signed by somebody else", signed(message, other), "sender")
    yield checked(kind, "a bit of the signature changed", changed, "sender")
    yield checked(kind, "meant for somebody else", edited(wire, _set("receiver", value="zoe"), by), "receiver")


def vector(kind: str, what: str, stage: str, wire: bytes, code: str | None) -> Vector:
    """One entry of a document."""
    try:
        shown = {"text": wire.decode("utf-8")}
    except UnicodeDecodeError:
        shown = {"hex": wire.hex()}
    return {"name": f"{kind}: {what}", "stage": stage, "error": code, **shown}


def wire_of(entry: Vector) -> bytes:
    """The bytes of an entry."""
    return bytes.fromhex(entry["hex"]) if "hex" in entry else str(entry["text"]).encode("utf-8")


def founded() -> tuple[Agreement, facts.StudyState]:
    """A study in which nobody has joined."""
    agreement = the_agreement()
    invitations = {name: bytes(key_of(f"invitation-{name}").verify_key).hex() for name in agreement.owners}
    return agreement, facts.new_state(agreement, invitations, "5a" * 32)


def ruled(kind: str, what: str, made: Message | bytes, code: str | None) -> Vector:
    """An entry that only the state tells: a message as its sender signs it, or bytes."""
    return vector(kind, what, "rules", made if isinstance(made, bytes) else signed(made), code)


def checked(kind: str, what: str, wire: bytes, code: str) -> Vector:
    """An entry that the study's keys and names tell."""
    return vector(kind, what, "check", wire, code)


def malformed(kind: str, what: str, wire: bytes) -> Vector:
    """An entry that the bytes alone tell."""
    return vector(kind, what, "parse", wire, "malformed")


def blob() -> Blob:
    """The body that all vectors name."""
    return blob_of(BODY)


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
        confirm = messages.Confirm(peer=peer, envelope_key=key)
        take(Message(agreement.hash, name, COORDINATOR, 0, 2, confirm, state.owners[name].history[-1]))
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
        yield ruled(kind, again, message, None)
        yield from form_faults(kind, signed(message), "anna")
        yield from body_faults(kind, signed(message), "anna")
        yield from check_faults(kind, message, by="anna", other="berta")
    yield from _contents(agreement, from_anna, digest)
    changed = joins["anna"]
    other = join_of(agreement, "anna", records=4)
    yield ruled("join", "a second one with another size", replace(changed, body=other), "replayed")
    keys = join_of(agreement, "anna", signing_key=bytes(key_of("thief").verify_key).hex())
    yield checked("join", "a second one with other keys", signed(replace(changed, body=keys), "thief"), "replayed")
    stolen = replace(changed, body=joins["berta"].body)
    yield checked("join", "with the invitation of another owner", signed(stolen), "sender")
    yield ruled("join", "in a round", replace(changed, round=2), "round")
    yield ruled("confirm", "a second one", replace(confirm, sequence=9), "replayed")


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

    short = blob_of(SHORT)

    yield ruled("answers", "for a round that has not begun", answers(2), "early")
    yield ruled("answers", "for no round", answers(0), "round")
    yield ruled("answers", "one question too few", answers(questions=2), "content")
    yield ruled("answers", "one record too many", answers(records=4), "content")
    yield ruled("answers", "about an owner that does not exist", answers(peer="zoe"), "content")
    yield ruled("answers", "about itself", answers(peer="anna"), "content")
    body = answers_of("berta")
    unknown = Message(agreement.hash, "anna", "berta", 1, 4, body, "ab" * 32)
    yield ruled("answers", "after a message that was never sent", unknown, "early")
    first = Message(agreement.hash, "anna", "berta", 1, 4, body, "")
    yield ruled("answers", "after no message", first, "early")
    yield checked("answers", "for the coordinator", signed(from_anna(1, 4, body)), "receiver")
    yield ruled("answers", "about other records than were served", answers(served="ab" * 32), "content")
    yield ruled("listed", "of another size", listed(blob=short), "content")
    yield ruled("listed", "about itself", listed(peer="anna"), "content")
    yield ruled("opened", "of another size", opened(blob=short), "content")
    yield ruled("opened", "other answers than were handed in", opened(answers="ab" * 32), "content")
    yield ruled("opened", "answers of nobody", opened(peer="zoe"), "content")
    refused = messages.Refused(peer="zoe", kind="answers")
    yield ruled("refused", "what nobody sent", from_anna(1, 7, refused), "content")
    yield ruled("records", "a second time, other ones", records(count=2), "replayed")
    yield checked("records", "for itself", records("anna"), "receiver")
    yield checked("records", "for the coordinator", records(COORDINATOR), "receiver")
    yield ruled("records", "for no round", records(round=0), "round")
    yield ruled("records", "for a round that has not begun", records(round=2), "early")
    unasked = {"offered": messages.Offered(blob=blob()), "picked": messages.Picked(blob=blob())}
    for kind, body_ in unasked.items():
        yield ruled(kind, "not asked for", signed(from_anna(0, 5, body_, "berta")), "content")
        yield checked(kind, "for the coordinator", signed(from_anna(0, 5, body_)), "receiver")
    blinded = messages.Blinded(peer="berta", blob=blob())
    yield ruled("blinded", "not asked for", from_anna(0, 5, blinded), "content")
    yield ruled("sampled", "not asked for", from_anna(0, 5, messages.Sampled(positions=(0,))), "content")
    yield ruled("truth", "from an owner", from_anna(1, 5, messages.Truth(reason="agreed", pairings=())), "sender")
    yield ruled("keys", "from an owner", from_anna(0, 5, messages.Keys(peers=())), "sender")


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

    def sent(round: int, body: Body) -> Message:
        return Message(agreement.hash, COORDINATOR, "anna", round, 4, body, previous)

    inner = Message(agreement.hash, "berta", "anna", 1, 3, messages.Records(count=3, blob=blob(), key="ab" * 64), "")
    relay = sent(1, messages.Relay(message=signed(inner).decode()))
    tallied: dict[str, Any] = {"loose": (1,), "others_loose": {"berta": 1}, "tallies": {"berta": TALLY}}
    round_two = sent(2, asks({"anna": (1,), "berta": (0, 2)}, **tallied))
    labels = Locked(blob=blob().model_copy(update={"length": LOCK_BYTES + 9}), key="cd" * 32)
    pairing = messages.Pairing(peer="berta", enriched=(), labels=labels, aside=(), tallies=(TALLY,))
    truth = sent(1, messages.Truth(reason="rounds", pairings=(pairing,)))
    keys = messages.parse(before[0]).message
    for kind, message in {"relay": relay, "round": round_two, "truth": truth}.items():
        yield ruled(kind, "as it should be", message, None)
        yield from form_faults(kind, signed(message), COORDINATOR)
        yield from body_faults(kind, signed(message), COORDINATOR)
        yield from check_faults(kind, message, by=COORDINATOR, other="berta")
        yield ruled(kind, "a number too far ahead", replace(message, sequence=6), "early")
        yield ruled(kind, "a number that was another message", replace(message, sequence=2), "history")
        yield ruled(kind, "after another message than came", replace(message, previous="cd" * 32), "history")
    yield ruled("keys", "the same again", before[0], None)
    yield from form_faults("keys", before[0], COORDINATOR)
    again = replace(keys, sequence=4, previous=previous)
    yield ruled("keys", "the same with a new number", again, None)
    grown = tuple(peer.model_copy(update={"records": 6}) for peer in cast(messages.Keys, keys.body).peers)
    yield ruled("keys", "another table", replace(again, body=messages.Keys(peers=grown)), "content")
    strange = tuple(peer.model_copy(update={"name": "dora"}) for peer in grown)
    yield ruled("keys", "an owner that is not agreed", replace(again, body=messages.Keys(peers=strange)), "content")
    yield from _contents_at_owner(agreement, sent, inner, pairing)


def _contents_at_owner(agreement: Agreement, sent: Any, inner: Message, pairing: messages.Pairing) -> Iterator[Vector]:
    def relayed(message: Message, by: str = "berta") -> bytes:
        return signed(sent(1, messages.Relay(message=signed(message, by).decode())))

    few = messages.Records(count=2, blob=blob(), key="ab" * 64)
    yield ruled("relay", "records signed by the coordinator", relayed(inner, COORDINATOR), "sender")
    yield ruled("relay", "records of another study", relayed(replace(inner, study="ab" * 32)), "study")
    yield ruled("relay", "records for somebody else", relayed(replace(inner, receiver="clara")), "receiver")
    yield ruled("relay", "too few records", relayed(replace(inner, body=few)), "content")
    joined = replace(inner, body=join_of(agreement, "berta"))
    yield ruled("relay", "something other than records", relayed(joined), "malformed")
    yield ruled("relay", "no message", sent(1, messages.Relay(message="hello")), "malformed")
    yield ruled("relay", "records of another round", relayed(replace(inner, round=2)), "content")
    handed_in = replace(inner, body=answers_of("anna"))
    yield ruled("relay", "answers to open", relayed(handed_in), None)
    elsewhere = replace(inner, body=answers_of("berta"))
    yield ruled("relay", "answers about somebody else's records", relayed(elsewhere), "content")
    many = replace(inner, body=answers_of("anna", questions=4))
    yield ruled("relay", "answers to another number of questions", relayed(many), "content")
    yield from _rounds_at_owner(sent)
    shorter = blob().model_copy(update={"length": LOCK_BYTES + 8})
    short = pairing.model_copy(update={"labels": pairing.labels.model_copy(update={"blob": shorter})})
    stranger = pairing.model_copy(update={"peer": "zoe"})
    for what, found in {
        "labels of another size": (short,),
        "about another owner": (stranger,),
        "about nobody": (),
    }.items():
        yield ruled("truth", what, sent(1, messages.Truth(reason="rounds", pairings=found)), "content")
    agreed, others = ((0, 2, 4), (0, 2, 3))
    for what, rows, code in (("a second one", agreed, "replayed"), ("other rows than agreed", others, "content")):
        yield ruled("sample", what, sent(0, messages.Sample(positions=rows, others={"berta": 3})), code)
    chosen = messages.Chosen(uniform=(0,), places={"berta": ()})
    yield ruled("chosen", "not asked for", sent(0, chosen), "content")
    yield ruled("answers", "from the coordinator", sent(1, answers_of("berta")), "sender")


def _rounds_at_owner(sent: Any) -> Iterator[Vector]:
    def begun(number: int, anna: tuple[int, ...], berta: tuple[int, ...] = (0,), **more: Any) -> bytes:
        return signed(sent(number, asks({"anna": anna, "berta": berta}, **more)))

    everything = (0, 1, 2)
    yield ruled("round", "the same questions again", begun(2, everything, everything, repeats=True), None)
    yield ruled("round", "the same round again", begun(1, (0,)), "content")
    yield ruled("round", "a round left out", begun(3, (0,)), "content")
    yield ruled("round", "a record that is not in the sample", begun(2, (3,)), "content")
    yield ruled("round", "another owner's record that is not in the sample", begun(2, (0,), (3,)), "content")
    yield ruled("round", "a record twice", begun(2, (1, 1)), "content")
    yield ruled("round", "records in another order", begun(2, (2, 1)), "content")
    yield ruled("round", "a repetition with other records", begun(2, (0,), repeats=True), "content")
    yield ruled("round", "a loose record that is not open", begun(2, (0,), loose=(1,)), "content")
    yield ruled("round", "nothing about an owner", sent(2, asks({"anna": (0,)})), "content")
