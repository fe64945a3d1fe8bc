from __future__ import annotations

import contextlib
import json

import nacl.signing
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.protocol import messages
from blindlabel.protocol.messages import Message
from blindlabel.protocol.refusals import (
    MalformedMessage,
    ProtocolError,
    UnknownVersion,
    WrongReceiver,
    WrongSender,
    WrongStudy,
)
from blindlabel.protocol.shape import Blob, canonical

KEY = nacl.signing.SigningKey(bytes(32))
PUBLIC = bytes(KEY.verify_key).hex()
STUDY = "ab" * 32
BLOB = Blob(hash="cd" * 32, length=5)


def wire_of(body: messages.Body, sender: str = "anna", receiver: str = "coordinator") -> bytes:
    return messages.sign(Message(STUDY, sender, receiver, 1, 7, body), lambda data: KEY.sign(data).signature).wire


ANSWERS = messages.Answers(
    peer="berta", questions=3, records=4, served="0" * 64, blob=BLOB, commitment="2" * 64, asked="0" * 64
)


def changed(wire: bytes, **changes: object) -> bytes:
    """The message with other header fields, still canonical; its signature no longer holds."""
    first, text, _ = wire.split(b"\n")
    return first + b"\n" + canonical(json.loads(text) | changes) + b"\n"


def test_message_reads_back_and_its_signature_holds() -> None:
    wire = wire_of(ANSWERS)
    signed = messages.parse(wire)
    assert signed.message.body == ANSWERS
    assert signed.message.slot == "anna answers 1 berta"
    assert signed.message.blobs == [BLOB]
    signed.check(study=STUDY, receiver="coordinator", signing_key=PUBLIC)


@pytest.mark.parametrize(
    ("study", "receiver", "key", "error"),
    [
        ("00" * 32, "coordinator", PUBLIC, WrongStudy),
        (STUDY, "berta", PUBLIC, WrongReceiver),
        (STUDY, "coordinator", bytes(nacl.signing.SigningKey(b"\1" * 32).verify_key).hex(), WrongSender),
    ],
)
def test_check_tells_what_is_wrong(study: str, receiver: str, key: str, error: type[ProtocolError]) -> None:
    with pytest.raises(error):
        messages.parse(wire_of(ANSWERS)).check(study=study, receiver=receiver, signing_key=key)


def test_changed_message_is_noticed() -> None:
    signed = messages.parse(changed(wire_of(ANSWERS), round=2))
    with pytest.raises(WrongSender):
        signed.check(study=STUDY, receiver="coordinator", signing_key=PUBLIC)


@pytest.mark.parametrize(
    "damage",
    [
        lambda wire: b"",
        lambda wire: wire[:-1],
        lambda wire: wire + b"\n",
        lambda wire: wire.replace(b'","', b'", "', 1),  # the same JSON, not canonical
        lambda wire: wire.replace(b'"round":1', b'"round":1.0'),
        lambda wire: wire.replace(b'"round":1', b'"round":NaN'),
        lambda wire: wire.replace(b'"round":1', b'"round":1,"round":1'),
        lambda wire: wire.replace(b'"round":1', b'"round":-1'),
        lambda wire: wire.replace(b'"kind":"answers"', b'"kind":"confirm"'),
        lambda wire: wire.replace(b'"kind":"answers"', b'"kind":"nothing"'),
        lambda wire: wire.replace(b'"sender":"anna"', b'"sender":"../x"'),
        lambda wire: changed(wire, extra=1),
        lambda wire: changed(wire, body={**ANSWERS.model_dump(), "extra": 1}),
        lambda wire: changed(wire, body={**ANSWERS.model_dump(), "questions": True}),
        lambda wire: changed(wire, body={**ANSWERS.model_dump(), "questions": "3"}),
        lambda wire: changed(wire, body={**ANSWERS.model_dump(), "blob": {"hash": "CD" * 32, "length": 5}}),
        lambda wire: b"x" * (messages.LARGEST + 1),
        lambda wire: wire.replace(b" ", b" A", 1),
        lambda wire: b"blindlabel-message/1 " + b"[" * 100_000,
    ],
)
def test_damaged_messages_are_malformed(damage: object) -> None:
    with pytest.raises(MalformedMessage):
        messages.parse(damage(wire_of(ANSWERS)))  # type: ignore[operator]


def test_other_versions_are_told_apart() -> None:
    wire = wire_of(ANSWERS)
    with pytest.raises(UnknownVersion):
        messages.parse(wire.replace(b"message/1", b"message/2"))
    with pytest.raises(UnknownVersion):
        messages.parse(changed(wire, version=2))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_any_bytes_are_a_message_or_an_error_of_ours(noise: bytes, position: int, random: object) -> None:
    wire = bytearray(wire_of(ANSWERS))
    at = position % len(wire)
    wire[at : at + len(noise) % 7] = noise
    for attempt in (noise, bytes(wire)):
        with contextlib.suppress(ProtocolError):
            messages.parse(attempt)
