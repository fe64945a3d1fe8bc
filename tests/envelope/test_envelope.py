"""Envelopes arrive whole and unchanged at the right owner, or not at all; each attack has its typed error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.envelope import stream
from blindlabel.envelope.identity import (
    Context,
    EnvelopeDamaged,
    EnvelopeError,
    EnvelopeTruncated,
    ForeignSender,
    ForeignStudy,
    Identity,
    SignatureWrong,
    WrongKind,
    WrongRecipient,
    WrongSequence,
    WrongVersion,
    new_identity,
    sign,
    sign_for,
)
from blindlabel.envelope.stream import _read_header, _Reader, lock, new_key, open_, seal, unlock
from blindlabel.errors import OutsideError

NORTH = new_identity()
SOUTH = new_identity()
COORDINATOR = new_identity()
CONTEXT = Context(bytes(range(32)), "records", 2)
CHUNKS = [b"first parcel", b"", b"second parcel", b"third"]


def sealed(
    chunks: Iterable[bytes] = CHUNKS, sender: Identity = NORTH, recipient: Identity = SOUTH, context: Context = CONTEXT
) -> list[bytes]:
    return list(seal(sender, recipient.public, context, chunks))


def opened(
    pieces: Iterable[bytes], recipient: Identity = SOUTH, sender: Identity = NORTH, context: Context = CONTEXT
) -> list[bytes]:
    return list(open_(recipient, sender.public, context, pieces))


def test_chunks_come_out_as_they_went_in() -> None:
    assert opened(sealed()) == CHUNKS
    assert opened(sealed([])) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=6), st.lists(st.integers(1, 90), min_size=1, max_size=8))
def test_pieces_may_be_cut_anywhere(chunks: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(sealed(chunks))
    pieces, at, turn = [], 0, 0
    while at < len(whole):
        step = cuts[turn % len(cuts)]
        pieces += [whole[at : at + step], b""]
        at, turn = at + step, turn + 1
    assert opened(pieces) == chunks


@pytest.mark.parametrize("size", [stream.FRAME - 1, stream.FRAME, stream.FRAME + 1, 5 * stream.FRAME // 2])
def test_large_chunks_are_cut_into_frames_and_put_together(size: int) -> None:
    chunk = bytes(range(256)) * (size // 256) + bytes(size % 256)
    envelope = sealed([chunk, b"after"])
    assert max(map(len, envelope)) <= stream.FRAME + 64
    assert opened(envelope) == [chunk, b"after"]


def test_a_chunk_beyond_the_limit_is_refused_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    envelope = sealed([bytes(3000)])
    monkeypatch.setattr(stream, "LARGEST_CHUNK", 2999)
    with pytest.raises(ValueError, match="3000 bytes is larger"):
        sealed([bytes(3000)])
    with pytest.raises(EnvelopeDamaged, match="breaks the rules"):
        opened(envelope)


def test_content_streams_through_without_being_held() -> None:
    produced = 0

    def chunks() -> Iterator[bytes]:
        nonlocal produced
        for _ in range(100):
            produced += 1
            yield bytes(10)

    arriving = open_(SOUTH, NORTH.public, CONTEXT, seal(NORTH, SOUTH.public, CONTEXT, chunks()))
    next(arriving)
    assert produced <= 2
    assert len(list(arriving)) == 99


def test_any_flipped_bit_is_noticed() -> None:
    whole = b"".join(sealed([b"a secret", b"b"]))
    for place in range(len(whole)):
        for bit in (0, 3, 7):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            with pytest.raises(EnvelopeError):
                opened([bytes(changed)])


def test_a_cut_anywhere_is_noticed() -> None:
    whole = b"".join(sealed([b"a secret", b"b"]))
    for end in range(len(whole)):
        with pytest.raises(EnvelopeTruncated):
            opened([whole[:end]])


def test_a_cut_at_a_frame_gives_the_chunks_before_it_and_then_the_error() -> None:
    envelope = sealed()
    for frames in range(len(CHUNKS) + 1):
        seen: list[bytes] = []
        with pytest.raises(EnvelopeTruncated):
            seen.extend(open_(SOUTH, NORTH.public, CONTEXT, envelope[: 1 + frames]))
        arriving = open_(SOUTH, NORTH.public, CONTEXT, envelope[: 1 + frames])
        for expected in CHUNKS[:frames]:
            assert next(arriving) == expected
        with pytest.raises(EnvelopeTruncated):
            next(arriving)


def test_reordered_doubled_dropped_and_added_frames_are_noticed() -> None:
    header, *frames = sealed()
    for one in range(len(frames)):
        attacks = [
            [*frames[:one], *frames[one + 1 :]],
            [*frames[: one + 1], *frames[one:]],
            [*frames, frames[one]],
            *(
                [*frames[:one], frames[other], *frames[one + 1 : other], frames[one], *frames[other + 1 :]]
                for other in range(one + 1, len(frames))
            ),
        ]
        for attack in attacks:
            with pytest.raises((EnvelopeDamaged, EnvelopeTruncated)):
                opened([header, *attack])


def test_bytes_after_the_end_are_noticed() -> None:
    with pytest.raises(EnvelopeDamaged, match="follows the end"):
        opened([*sealed(), b"x"])


def test_frames_of_another_envelope_do_not_fit() -> None:
    header, *frames = sealed()
    other_header, *other_frames = sealed()
    with pytest.raises(EnvelopeDamaged):
        opened([header, *other_frames])
    with pytest.raises(EnvelopeDamaged):
        opened([header, frames[0], *other_frames[1:]])
    assert opened([other_header, *other_frames]) == CHUNKS


@pytest.mark.parametrize(
    ("context", "error"),
    [
        (Context(bytes(32), "records", 2), ForeignStudy),
        (Context(CONTEXT.agreement_hash, "answers", 2), WrongKind),
        (Context(CONTEXT.agreement_hash, "records", 1), WrongSequence),
        (Context(CONTEXT.agreement_hash, "records", 3), WrongSequence),
    ],
)
def test_another_study_kind_or_number_has_its_own_error(context: Context, error: type[EnvelopeError]) -> None:
    with pytest.raises(error) as caught:
        opened(sealed(), context=context)
    assert isinstance(caught.value, OutsideError)
    assert str(caught.value).endswith(".")


def test_another_sender_or_recipient_has_its_own_error() -> None:
    with pytest.raises(ForeignSender):
        opened(sealed(), sender=COORDINATOR)
    with pytest.raises(WrongRecipient):
        opened(sealed(), recipient=COORDINATOR)
    with pytest.raises(ForeignSender):  # one's own envelope sent back
        opened(sealed(), recipient=NORTH, sender=SOUTH)


def test_another_version_has_its_own_error() -> None:
    whole = bytearray(b"".join(sealed()))
    whole[len(stream.MARK)] = 9
    with pytest.raises(WrongVersion, match="version 9"):
        opened([bytes(whole)])


def test_the_outside_tells_the_relay_where_to_but_nothing_of_the_content() -> None:
    envelope = sealed([b"distinctive canary"])
    header, _ = _read_header(_Reader(envelope))
    assert (header.sender, header.recipient) == (NORTH.public.fingerprint(), SOUTH.public.fingerprint())
    assert (header.kind, header.sequence, header.agreement_hash) == ("records", 2, CONTEXT.agreement_hash)
    assert b"canary" not in b"".join(envelope)


def with_other_names(envelope: list[bytes], sender: bytes, recipient: bytes) -> list[bytes]:
    """The envelope with other fingerprints in its header."""
    header, *frames = envelope
    start = len(stream.MARK) + 1 + 32
    return [header[:start] + sender + recipient + header[start + 64 :], *frames]


def test_the_coordinator_cannot_open_what_it_relays() -> None:
    """It has every public key, the agreement, the envelope, and keys of its own; it may write any name on the
    outside.
    """
    envelope = sealed()
    mine = COORDINATOR.public.fingerprint()
    for pretended_sender in (NORTH, SOUTH, COORDINATOR):
        names = with_other_names(envelope, pretended_sender.public.fingerprint(), mine)
        resigned = names[0][:-64] + sign_for(COORDINATOR, stream._DOMAIN, names[0][:-64])
        for header in (names[0], resigned):
            with pytest.raises(EnvelopeError):
                opened([header, *names[1:]], recipient=COORDINATOR, sender=pretended_sender)


def test_the_coordinator_cannot_write_in_an_owners_name() -> None:
    forged = with_other_names(sealed(sender=COORDINATOR), NORTH.public.fingerprint(), SOUTH.public.fingerprint())
    with pytest.raises(SignatureWrong):
        opened(forged)


def test_another_owner_cannot_pass_off_an_envelope_as_its_own() -> None:
    """A third owner cuts the signature off and signs anew in its own name: the frames are bound to the first header."""
    envelope = with_other_names(sealed(), COORDINATOR.public.fingerprint(), SOUTH.public.fingerprint())
    header = envelope[0][:-64] + sign_for(COORDINATOR, stream._DOMAIN, envelope[0][:-64])
    with pytest.raises(EnvelopeDamaged, match="not what the sender wrote"):
        opened([header, *envelope[1:]], sender=COORDINATOR)


def test_knowing_the_recipients_secret_is_not_enough_to_write_as_the_sender() -> None:
    pretender = Identity(NORTH.public, SOUTH.envelope_secret, SOUTH.signing_seed)
    with pytest.raises(SignatureWrong):
        opened(sealed(sender=pretender))


def test_the_senders_own_keys_do_not_open_what_it_sent() -> None:
    """So keys taken from a sender later give nothing that was recorded on the way."""
    envelope = with_other_names(sealed(), NORTH.public.fingerprint(), NORTH.public.fingerprint())
    header = envelope[0][:-64] + sign_for(NORTH, stream._DOMAIN, envelope[0][:-64])
    with pytest.raises(EnvelopeDamaged, match="cannot be opened"):
        opened([header, *envelope[1:]], recipient=NORTH, sender=NORTH)


def test_a_signed_message_cannot_become_an_envelopes_signature() -> None:
    header, *frames = sealed()
    with pytest.raises(SignatureWrong):
        opened([header[:-64] + sign(NORTH, header[:-64]), *frames])


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=500), st.booleans())
def test_any_bytes_are_refused_with_a_typed_error(content: bytes, after_mark: bool) -> None:
    start = stream.MARK + bytes([stream.VERSION]) if after_mark else b""
    with pytest.raises(EnvelopeError):
        opened([start + content])


# -- content that is locked once for several owners


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=6), st.integers(1, 90))
def test_what_is_locked_comes_out_as_it_went_in(chunks: list[bytes], step: int) -> None:
    key = new_key()
    whole = b"".join(lock(key, CONTEXT, chunks))
    assert list(unlock(key, CONTEXT, [whole[start : start + step] for start in range(0, len(whole), step)])) == chunks


def test_any_change_of_what_is_locked_is_noticed() -> None:
    key = new_key()
    whole = b"".join(lock(key, CONTEXT, [b"a secret", b"b"]))
    assert b"secret" not in whole
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1
        with pytest.raises(EnvelopeError):
            list(unlock(key, CONTEXT, [bytes(changed)]))
        with pytest.raises(EnvelopeTruncated):
            list(unlock(key, CONTEXT, [whole[:place]]))
    with pytest.raises(EnvelopeDamaged, match="follows the end"):
        list(unlock(key, CONTEXT, [whole, b"x"]))


@pytest.mark.parametrize(
    "context",
    [
        Context(bytes(32), "records", 2),
        Context(CONTEXT.agreement_hash, "answers", 2),
        Context(CONTEXT.agreement_hash, "records", 1),
    ],
)
def test_what_is_locked_opens_in_its_context_and_with_its_key_only(context: Context) -> None:
    key = new_key()
    whole = b"".join(lock(key, CONTEXT, CHUNKS))
    for wrong_key, wrong_context in ((key, context), (new_key(), CONTEXT)):
        with pytest.raises(EnvelopeDamaged):
            list(unlock(wrong_key, wrong_context, [whole]))
    for wrong in (b"".join(sealed()), stream.LOCKED_MARK + b"\x09" + whole[6:]):
        with pytest.raises(EnvelopeError):
            list(unlock(key, CONTEXT, [wrong]))


def test_impossible_contexts_are_refused() -> None:
    for agreement, kind, sequence in (
        (b"short", "records", 0),
        (bytes(32), "Records!", 0),
        (bytes(32), "", 0),
        (bytes(32), "records", -1),
    ):
        with pytest.raises(ValueError):
            Context(agreement, kind, sequence)
