"""Identities survive storage, sign, agree on secrets and give words that both owners can compare."""

from __future__ import annotations

import jellyfish
import pytest

from blindlabel.envelope.identity import (
    Context,
    Identity,
    KeyUnusable,
    PublicIdentity,
    SignatureWrong,
    new_identity,
    shared_secret,
    sign,
    verify,
)
from blindlabel.envelope.spoken_words import COUNT, WORDS, verification_words
from blindlabel.envelope.stream import seal
from blindlabel.language.words import phonetic_code, within_distance

NORTH = new_identity()
SOUTH = new_identity()
MIDDLE = new_identity()
AGREEMENT = bytes(range(32))
CONTEXT = Context(AGREEMENT, "blocking")


def test_identities_survive_storage_and_are_never_the_same() -> None:
    assert Identity.from_bytes(NORTH.to_bytes()) == NORTH
    assert PublicIdentity.from_bytes(NORTH.public.to_bytes()) == NORTH.public
    assert len({NORTH.public.fingerprint(), SOUTH.public.fingerprint(), MIDDLE.public.fingerprint()}) == 3


def test_secrets_do_not_show_when_printed() -> None:
    shown = repr(NORTH)
    assert repr(NORTH.envelope_secret) not in shown
    assert repr(NORTH.signing_seed) not in shown
    assert "secret" not in shown


@pytest.mark.parametrize(
    "content", [b"", b"BLID\x01", bytes(69), NORTH.to_bytes() + b"x", b"BLID\x02" + bytes(64)], ids=range(5)
)
def test_damaged_secret_identities_are_refused(content: bytes) -> None:
    with pytest.raises(KeyUnusable):
        Identity.from_bytes(content)


ONE_POINT = b"\x01" + bytes(31)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(64),
        NORTH.public.to_bytes()[:63],
        bytes(32) + NORTH.public.signing_key,
        ONE_POINT + NORTH.public.signing_key,
        NORTH.public.envelope_key + ONE_POINT,
        NORTH.public.envelope_key + b"\xff" * 32,
    ],
    ids=range(7),  # keys are random: processes that share the tests must name them alike
)
def test_public_keys_that_give_no_secrecy_are_refused(content: bytes) -> None:
    with pytest.raises(KeyUnusable):
        PublicIdentity.from_bytes(content)


def test_weak_keys_that_were_not_checked_still_fail_when_used() -> None:
    weak = PublicIdentity(bytes(32), NORTH.public.signing_key)
    with pytest.raises(KeyUnusable):
        shared_secret(SOUTH, weak, CONTEXT)
    with pytest.raises(KeyUnusable):
        list(seal(SOUTH, weak, CONTEXT, [b"x"]))


def test_signatures_hold_for_one_signer_and_message() -> None:
    signature = sign(NORTH, b"message")
    verify(NORTH.public, b"message", signature)
    for public, message, wrong in (
        (SOUTH.public, b"message", signature),
        (NORTH.public, b"massage", signature),
        (NORTH.public, b"message", signature[:-1]),
        (NORTH.public, b"message", bytes(64)),
        (NORTH.public, b"message", bytes([signature[0] ^ 1]) + signature[1:]),
    ):
        with pytest.raises(SignatureWrong):
            verify(public, message, wrong)


def test_both_owners_derive_the_same_secret_and_nobody_else_does() -> None:
    secret = shared_secret(NORTH, SOUTH.public, CONTEXT)
    assert len(secret) == 32
    assert shared_secret(SOUTH, NORTH.public, CONTEXT) == secret
    others = {
        shared_secret(MIDDLE, SOUTH.public, CONTEXT),
        shared_secret(MIDDLE, NORTH.public, CONTEXT),
        shared_secret(NORTH, MIDDLE.public, CONTEXT),
        shared_secret(NORTH, SOUTH.public, Context(AGREEMENT, "sampling")),
        shared_secret(NORTH, SOUTH.public, Context(AGREEMENT, "blocking", 1)),
        shared_secret(NORTH, SOUTH.public, Context(bytes(32), "blocking")),
    }
    assert secret not in others


def test_words_change_with_every_key_and_the_agreement_and_each_side_reads_its_own() -> None:
    words = verification_words(NORTH.public, SOUTH.public, AGREEMENT)
    assert len(words) == COUNT == 12
    assert sum(one != two for one, two in zip(words, verification_words(SOUTH.public, NORTH.public, AGREEMENT))) >= 6
    swapped_signing = PublicIdentity(SOUTH.public.envelope_key, MIDDLE.public.signing_key)
    swapped_envelope = PublicIdentity(MIDDLE.public.envelope_key, SOUTH.public.signing_key)
    for other in (
        verification_words(NORTH.public, MIDDLE.public, AGREEMENT),
        verification_words(NORTH.public, swapped_signing, AGREEMENT),
        verification_words(NORTH.public, swapped_envelope, AGREEMENT),
        verification_words(NORTH.public, SOUTH.public, bytes(32)),
    ):
        assert sum(one != two for one, two in zip(words, other)) >= 6  # equal words by chance: one in 256 each


def test_words_do_not_change_between_releases() -> None:
    one, other = PublicIdentity(bytes([1] * 32), bytes([2] * 32)), PublicIdentity(bytes([3] * 32), bytes([4] * 32))
    assert (
        " ".join(verification_words(one, other, AGREEMENT))
        == "lawn soccer bubble garden beacon smoke olive cement sugar drawer beacon weasel"
    )


def test_no_two_words_can_be_confused() -> None:
    assert len(WORDS) == 256 == len({word[:3] for word in WORDS})
    assert all(word.isascii() and word.islower() and 4 <= len(word) <= 7 for word in WORDS)
    assert len({phonetic_code(word) for word in WORDS}) == 256
    assert len({jellyfish.metaphone(word) for word in WORDS}) == 256
    assert not [(a, b) for a in WORDS for b in WORDS if a < b and within_distance(a, b, 2)]
