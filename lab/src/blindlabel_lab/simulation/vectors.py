"""Test vectors of the wire format: valid messages of every kind, and each with exactly one fault. Made from fixed keys,
so always the same.

Two documents: `to-coordinator` (messages of owners, tried at a coordinator in round 1) and `to-owner` (messages of the
coordinator, tried at an owner in round 1). `scripts/make-vectors` writes them; tests run them against the parser, the
rules and both transports.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import nacl.public
import nacl.signing

from blindlabel.envelope.identity import Identity
from blindlabel.envelope.stream import sealed_size
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import facts, messages
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.invitation import join_proof, token_hash
from blindlabel.protocol.messages import Message
from blindlabel.protocol.shape import COORDINATOR, Blob, canonical

BODY = b"blindlabel vectors: as long as a sealed list of nine hashes. ".ljust(sealed_size("listed", 9 * 8), b".")
SHORT = BODY[:-1]
"""A body that no list can be: its size fits no round."""
SIGNING_PREFIX = b"blindlabel message 1\0"
ROWS = 5

Vector = dict[str, Any]


def key_of(name: str) -> nacl.signing.SigningKey:
    """The fixed signing key of a party, or of `invitation-<owner>`."""
    return nacl.signing.SigningKey(facts_hash(name))


def identity_of(name: str) -> Identity:
    """The fixed keys of a party, for envelopes too."""
    return Identity.from_bytes(b"BLID\1" + facts_hash(f"envelope of {name}") + facts_hash(name))


def facts_hash(name: str) -> bytes:
    """Thirty-two bytes that stand for a name."""
    return bytes.fromhex(facts.blob_of(f"vector {name}".encode()).hash)


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
    proof = join_proof(bytes(key_of(f"invitation-{name}")), agreement.hash, name, *values.values())
    return messages.Join(**values, proof=proof)


def signed_text(text: bytes, by: str) -> bytes:
    """Any text, properly signed, as a message on the wire: for content that the program itself would never write."""
    signature = key_of(by).sign(SIGNING_PREFIX + text).signature
    return b"blindlabel-message/1 " + base64.b64encode(signature) + b"\n" + text + b"\n"


def edited(wire: bytes, edit: Callable[[dict[str, Any]], None], by: str) -> bytes:
    """The message with its JSON changed, in canonical form, and signed again."""
    document = json.loads(wire.partition(b"\n")[2])
    edit(document)
    return signed_text(canonical(document), by)


def _set(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def edit(document: dict[str, Any]) -> None:
        for part in path[:-1]:
            document = document[part]
        document[path[-1]] = value

    return edit


def _drop(*path: str) -> Callable[[dict[str, Any]], None]:
    def edit(document: dict[str, Any]) -> None:
        for part in path[:-1]:
            document = document[part]
        del document[path[-1]]

    return edit


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
        ("larger than allowed", wire[:-1] + b" " * messages.LARGEST + b"\n", "malformed"),
    ]
    for what, changed, code in plain if kind in ("join", "keys") else plain[5:6] + plain[9:10]:
        if (
            what != "larger than allowed"
        ):  # a file of two megabytes is no small file; the tests make this one themselves
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
        yield vector(kind, f"no {name}", "parse", edited(wire, _drop("body", name), by), "malformed")
        wrong = "x" if isinstance(value, int) else 5
        yield vector(
            kind, f"{name} of another type", "parse", edited(wire, _set("body", name, value=wrong), by), "malformed"
        )
        if isinstance(value, int):
            yield vector(
                kind, f"{name} below zero", "parse", edited(wire, _set("body", name, value=-1), by), "malformed"
            )
        if name == "blob":
            yield vector(
                kind,
                f"{name} with a short hash",
                "parse",
                edited(wire, _set("body", name, "hash", value="ab"), by),
                "malformed",
            )
            yield vector(
                kind,
                f"{name} of length 2^43",
                "parse",
                edited(wire, _set("body", name, "length", value=2**43), by),
                "malformed",
            )


def check_faults(kind: str, message: Message, *, by: str, other: str) -> Iterator[Vector]:
    """Wrong study, sender, receiver and signature."""
    wire = signed(message)
    first, _, rest = wire.partition(b"\n")
    flipped = bytearray(base64.b64decode(first.split(b" ")[1]))
    flipped[7] ^= 4
    yield vector(kind, "another study", "check", edited(wire, _set("study", value="ab" * 32), by), "study")
    yield vector(kind, "a sender who takes no part", "check", edited(wire, _set("sender", value="zoe"), by), "sender")
    yield vector(kind, "signed by somebody else", "check", signed(message, other), "sender")
    yield vector(
        kind,
        "a bit of the signature changed",
        "check",
        b"blindlabel-message/1 " + base64.b64encode(flipped) + b"\n" + rest,
        "sender",
    )
    yield vector(kind, "meant for somebody else", "check", edited(wire, _set("receiver", value="zoe"), by), "receiver")


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


# Messages of owners


def founded() -> tuple[Agreement, facts.StudyState]:
    """A study in which nobody has joined."""
    agreement = the_agreement()
    invitations = {name: bytes(key_of(f"invitation-{name}").verify_key).hex() for name in agreement.owners}
    return agreement, facts.new_state(agreement, invitations, "5a" * 32)


def blob() -> Blob:
    """The body that all vectors name."""
    return facts.blob_of(BODY)


def tally() -> Tally:
    """A small tally."""
    return Tally(both=1, first_only=2, second_only=0, neither=6)


__all__ = ["COORDINATOR", "founded", "signed", "the_agreement", "vector", "wire_of"]
