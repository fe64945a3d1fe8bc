"""Sealing and opening: content from one owner to another, through a relay that can neither read nor change it. No files
and no network.

How: a fresh stream key encrypts the content (libsodium's secretstream, XChaCha20-Poly1305). The header carries that key
in a sealed box for the recipient's long-term key, names version, agreement, sender, recipient, kind and sequence, and
is signed by the sender. Every frame is bound to the whole header. So

- only the recipient can read it, and not even the sender's own secret keys open it later (the box is made with a
  one-time key);
- only the sender can have made it, even if the recipient's secret keys are known to somebody;
- a header that somebody else cuts off and signs again fits no frame;
- changing, leaving out, repeating or reordering frames, or cutting off the end, is noticed at the frame where it
  happens.

What the relay sees: sizes, number and order of the frames, and the header. What is not promised: whoever gets the
*recipient's* secret keys can read what was recorded earlier; and an envelope can be sent again unchanged (the protocol
sees that from its sequence number).

Layout: header = mark, agreement, sender, recipient, kind, sequence, boxed key, stream header, signature; then frames,
each its length in 4 bytes and its ciphertext. A chunk given to `seal` comes out of `open_` as the same chunk; inside it
is cut into frames, the last one tagged PUSH. An empty FINAL frame ends all. Chunks come out before the end has been
seen: whoever must not act on a part waits for the end of the iterator.

What goes to several owners is locked once (`lock`: the same frames under a fresh key, bound to agreement, kind and
sequence), and the key goes to each in an envelope of its own, together with the hash of what is locked. So it is made,
stored and uploaded once; and because the hash is in the sender's envelope, another owner that has the key cannot swap
the content in transit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nacl import bindings, exceptions
from nacl.public import PrivateKey, PublicKey, SealedBox

from blindlabel.envelope.identity import (
    Context,
    EnvelopeDamaged,
    EnvelopeTruncated,
    ForeignSender,
    ForeignStudy,
    Identity,
    KeyUnusable,
    PublicIdentity,
    WrongKind,
    WrongRecipient,
    WrongSequence,
    WrongVersion,
    blake2b,
    sign_for,
    verify_for,
)

MARK = b"BLENV"
LOCKED_MARK = b"BLLCK"
VERSION = 1
FRAME = 1 << 20
"""Plaintext bytes of a frame, at most: what both sides hold in memory besides a chunk."""
LARGEST_CHUNK = 1 << 29
"""Bytes of a chunk, at most: the largest public key of an engine fits, and a peer cannot make us hold more."""

_DOMAIN = b"blindlabel envelope header 1\0"
_BOXED_KEY = 32 + bindings.crypto_box_SEALBYTES
_STREAM_HEADER = bindings.crypto_secretstream_xchacha20poly1305_HEADERBYTES
_OVERHEAD = bindings.crypto_secretstream_xchacha20poly1305_ABYTES
_MESSAGE = bindings.crypto_secretstream_xchacha20poly1305_TAG_MESSAGE
_PUSH = bindings.crypto_secretstream_xchacha20poly1305_TAG_PUSH
_FINAL = bindings.crypto_secretstream_xchacha20poly1305_TAG_FINAL


@dataclass(frozen=True)
class EnvelopeHeader:
    """What the outside of an envelope says. The relay may read it for routing; only `open_` checks that it is true."""

    agreement_hash: bytes
    sender: bytes
    recipient: bytes
    kind: str
    sequence: int

    def to_bytes(self) -> bytes:
        kind = self.kind.encode("ascii")
        start = MARK + bytes([VERSION]) + self.agreement_hash + self.sender + self.recipient
        return start + bytes([len(kind)]) + kind + struct.pack(">Q", self.sequence)


def seal(identity: Identity, peer: PublicIdentity, context: Context, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks in an envelope for the peer, piece by piece."""
    header = EnvelopeHeader(
        context.agreement_hash, identity.public.fingerprint(), peer.fingerprint(), context.kind, context.sequence
    ).to_bytes()
    key = bindings.crypto_secretstream_xchacha20poly1305_keygen()
    state = bindings.crypto_secretstream_xchacha20poly1305_state()
    try:
        header += SealedBox(PublicKey(peer.envelope_key)).encrypt(key)
    except exceptions.CryptoError as error:
        raise KeyUnusable("The envelope key of the other owner is not usable.") from error
    header += bindings.crypto_secretstream_xchacha20poly1305_init_push(state, key)
    header += sign_for(identity, _DOMAIN, header)
    yield header
    yield from _frames(state, chunks, blake2b(header, b"blindlabel-headr"))


def sealed_size(kind: str, length: int) -> int:
    """Bytes of an envelope around one chunk of this many bytes."""
    header = len(MARK) + 1 + 96 + 1 + len(kind) + 8 + _BOXED_KEY + _STREAM_HEADER + bindings.crypto_sign_BYTES
    frames = max(1, -(-length // FRAME)) + 1
    return header + length + frames * (4 + _OVERHEAD)


def open_(identity: Identity, peer: PublicIdentity, context: Context, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks that the peer sealed for this context; the pieces may be cut anywhere. Raises an EnvelopeError
    otherwise.
    """
    reader = _Reader(pieces)
    header, start = _read_header(reader)
    _check_header(header, identity, peer, context)
    rest = reader.take(_BOXED_KEY + _STREAM_HEADER)
    signature = reader.take(bindings.crypto_sign_BYTES)
    verify_for(peer, _DOMAIN, start + rest, signature)
    state = bindings.crypto_secretstream_xchacha20poly1305_state()
    try:
        key = SealedBox(PrivateKey(identity.envelope_secret)).decrypt(rest[:_BOXED_KEY])
        bindings.crypto_secretstream_xchacha20poly1305_init_pull(state, rest[_BOXED_KEY:], key)
    except (exceptions.CryptoError, ValueError) as error:
        raise EnvelopeDamaged("The envelope's key cannot be opened with this owner's keys.") from error
    bound = blake2b(start + rest + signature, b"blindlabel-headr")
    yield from _chunks(reader, state, bound)


def lock(key: bytes, context: Context, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks under a key that several owners get, each in an envelope of its own: large content is sealed and sent
    only once.
    """
    state = bindings.crypto_secretstream_xchacha20poly1305_state()
    start = LOCKED_MARK + bytes([VERSION]) + bindings.crypto_secretstream_xchacha20poly1305_init_push(state, key)
    yield start
    yield from _frames(state, chunks, _bound_to(start, context))


def unlock(key: bytes, context: Context, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks that were locked with this key in this context. The envelope with the key says who locked them; this
    does not.
    """
    reader = _Reader(pieces)
    start = reader.take(len(LOCKED_MARK) + 1)
    if start[: len(LOCKED_MARK)] != LOCKED_MARK:
        raise EnvelopeDamaged("This is no locked content.")
    _check_version(start[-1])
    start += reader.take(_STREAM_HEADER)
    state = bindings.crypto_secretstream_xchacha20poly1305_state()
    bindings.crypto_secretstream_xchacha20poly1305_init_pull(state, start[-_STREAM_HEADER:], key)
    yield from _chunks(reader, state, _bound_to(start, context))


def new_key() -> bytes:
    """A fresh key for `lock`."""
    return bindings.crypto_secretstream_xchacha20poly1305_keygen()


def _bound_to(start: bytes, context: Context) -> bytes:
    kind = context.kind.encode("ascii")
    named = context.agreement_hash + bytes([len(kind)]) + kind + struct.pack(">Q", context.sequence)
    return blake2b(start + named, b"blindlabel-lockd")


def _frames(
    state: bindings.crypto_secretstream_xchacha20poly1305_state, chunks: Iterable[bytes], bound: bytes
) -> Iterator[bytes]:
    for chunk in chunks:
        if len(chunk) > LARGEST_CHUNK:
            raise ValueError(f"a chunk of {len(chunk)} bytes is larger than {LARGEST_CHUNK}")
        for start in range(0, max(len(chunk), 1), FRAME):
            part = bytes(chunk[start : start + FRAME])
            yield _frame(state, part, bound, _PUSH if start + FRAME >= len(chunk) else _MESSAGE)
    yield _frame(state, b"", bound, _FINAL)


def _frame(state: bindings.crypto_secretstream_xchacha20poly1305_state, part: bytes, bound: bytes, tag: int) -> bytes:
    sealed = bindings.crypto_secretstream_xchacha20poly1305_push(state, part, bound, tag)
    return struct.pack(">I", len(sealed)) + sealed


def _chunks(
    reader: _Reader, state: bindings.crypto_secretstream_xchacha20poly1305_state, bound: bytes
) -> Iterator[bytes]:
    parts: list[bytes] = []
    held = 0
    while True:
        (length,) = struct.unpack(">I", reader.take(4))
        if not _OVERHEAD <= length <= FRAME + _OVERHEAD:
            raise EnvelopeDamaged("The envelope was changed on its way: a frame has an impossible length.")
        sealed = reader.take(length)
        try:
            part, tag = bindings.crypto_secretstream_xchacha20poly1305_pull(state, sealed, bound)
        except exceptions.CryptoError as error:
            raise EnvelopeDamaged(
                "The envelope was changed on its way: a frame is not what the sender wrote."
            ) from error
        held += len(part)
        if tag == _FINAL and not parts and not part:
            if not reader.at_end():
                raise EnvelopeDamaged("Something follows the end of the envelope.")
            return
        if tag not in (_MESSAGE, _PUSH) or held > LARGEST_CHUNK:
            raise EnvelopeDamaged("The sender made an envelope that breaks the rules of its format.")
        parts.append(part)
        if tag == _PUSH:
            yield b"".join(parts)
            parts, held = [], 0


def _read_header(reader: _Reader) -> tuple[EnvelopeHeader, bytes]:
    start = reader.take(len(MARK) + 1)
    if start[: len(MARK)] != MARK:
        raise EnvelopeDamaged("This is not an envelope.")
    _check_version(start[-1])
    names = reader.take(96)
    length = reader.take(1)
    kind = reader.take(length[0])
    sequence = reader.take(8)
    if not kind.isascii():
        raise EnvelopeDamaged("The envelope's header is not readable.")
    header = EnvelopeHeader(names[:32], names[32:64], names[64:], kind.decode("ascii"), int.from_bytes(sequence, "big"))
    return header, start + names + length + kind + sequence


def _check_version(found: int) -> None:
    if found != VERSION:
        raise WrongVersion(
            f"The envelope has version {found} of the format; this blindlabel reads {VERSION}. Use the same on both"
            " sides."
        )


def _check_header(header: EnvelopeHeader, identity: Identity, peer: PublicIdentity, context: Context) -> None:
    if header.agreement_hash != context.agreement_hash:
        raise ForeignStudy("The envelope belongs to another study, or to another version of the agreement.")
    if header.sender != peer.fingerprint():
        raise ForeignSender("The envelope is not from the owner that it should be from.")
    if header.recipient != identity.public.fingerprint():
        raise WrongRecipient("The envelope is for another owner.")
    if header.kind != context.kind:
        raise WrongKind(f"The envelope holds {header.kind!r} where {context.kind!r} was expected.")
    if header.sequence != context.sequence:
        raise WrongSequence(
            f"The envelope is number {header.sequence} of its kind where number {context.sequence} was expected."
        )


class _Reader:
    """Reads exact numbers of bytes from pieces of any size."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._held = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next bytes, this many."""
        parts: list[bytes] = []
        while count:
            if self._at == len(self._held) and not self._refill():
                raise EnvelopeTruncated("The envelope is incomplete: its end is missing. Fetch it again.")
            part = self._held[self._at : self._at + count]
            self._at += len(part)
            count -= len(part)
            parts.append(part)
        return b"".join(parts)

    def at_end(self) -> bool:
        return self._at == len(self._held) and not self._refill()

    def _refill(self) -> bool:
        for piece in self._pieces:
            if piece:
                self._held, self._at = bytes(piece), 0
                return True
        return False
