"""An owner's long-term keys: X25519 to receive envelopes, Ed25519 to sign. Makes, stores as bytes, signs, derives;
sends nothing. It also has what can be wrong with an envelope, a signature or a peer's key: each error is a sentence for
the person whose study stops there.

A peer's public keys arrive through the coordinator, which could replace them; they are trusted only after the owners
have compared the verification words (`spoken_words`). Where the secret bytes are kept, and with which permissions, is
up to the storage.

Two owners also blind points together, so that a third can compare them and nobody can look them up. A key (some text
that both owners may have) becomes a point H(key) of the prime-order group of Ed25519; an owner multiplies it by its
secret number a, the other one by b. a·b·H(key) is the same whoever began, so the coordinator sees which keys both have.
To look a key up in a dictionary takes both numbers, so neither owner can do it together with the coordinator. libsodium
maps to the group, refuses anything that is no point of it, and multiplies.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

import nacl.bindings as sodium
import nacl.exceptions
from nacl import bindings, exceptions
from nacl.public import PrivateKey
from nacl.signing import SigningKey, VerifyKey

from blindlabel.errors import OutsideError


class EnvelopeError(OutsideError):
    """An envelope cannot be opened. Nothing of it may be used."""


class EnvelopeDamaged(EnvelopeError):
    """The bytes are not what the sender wrote: changed, reordered, repeated, or not an envelope at all."""


class EnvelopeTruncated(EnvelopeError):
    """The envelope ends before its end mark."""


class WrongVersion(EnvelopeError):
    """The envelope was made by another version of the format."""


class ForeignStudy(EnvelopeError):
    """The envelope belongs to another agreement."""


class ForeignSender(EnvelopeError):
    """The envelope is not from the owner it should be from."""


class WrongRecipient(EnvelopeError):
    """The envelope is for somebody else."""


class WrongKind(EnvelopeError):
    """The envelope holds something other than expected."""


class WrongSequence(EnvelopeError):
    """The envelope is an earlier or later one of its kind: a replay, or one is missing."""


class SignatureWrong(EnvelopeError):
    """A signature does not fit its message and signer."""


class KeyUnusable(EnvelopeError):
    """Bytes that should be a key are not one, or one that would give no secrecy."""


_SECRET_MARK = b"BLID\x01"
_MESSAGE_DOMAIN = b"blindlabel signed message 1\0"
_KIND = re.compile(r"[a-z][a-z0-9_.-]{0,31}")


@dataclass(frozen=True)
class PublicIdentity:
    """What others know about an owner."""

    envelope_key: bytes
    signing_key: bytes

    def to_bytes(self) -> bytes:
        """64 bytes: envelope key, signing key."""
        return self.envelope_key + self.signing_key

    @classmethod
    def from_bytes(cls, content: bytes) -> PublicIdentity:
        """Read what `to_bytes` wrote; refuses keys that would give no secrecy."""
        if len(content) != 64:
            raise KeyUnusable(f"A public identity has 64 bytes, not {len(content)}.")
        envelope_key, signing_key = bytes(content[:32]), bytes(content[32:])
        try:
            # This fails if every shared secret would be zero.
            bindings.crypto_scalarmult(bindings.randombytes(32), envelope_key)
            usable = bindings.crypto_core_ed25519_is_valid_point(signing_key)
        except exceptions.CryptoError as error:
            raise KeyUnusable("The envelope key of the other owner is not usable.") from error
        if not usable:
            raise KeyUnusable("The signing key of the other owner is not usable.")
        return cls(envelope_key, signing_key)

    def fingerprint(self) -> bytes:
        """32 bytes that stand for both keys."""
        return blake2b(self.to_bytes(), b"blindlabel-ident")


@dataclass(frozen=True)
class Identity:
    """An owner's secret keys, and what others know about it."""

    public: PublicIdentity
    envelope_secret: bytes = field(repr=False)
    signing_seed: bytes = field(repr=False)

    def to_bytes(self) -> bytes:
        """The secret identity, to be kept where only the owner can read it."""
        return _SECRET_MARK + self.envelope_secret + self.signing_seed

    @classmethod
    def from_bytes(cls, content: bytes) -> Identity:
        """Read what `to_bytes` wrote."""
        if len(content) != len(_SECRET_MARK) + 64 or not content.startswith(_SECRET_MARK):
            raise KeyUnusable("The file with this owner's secret keys is damaged, or is another file.")
        return _identity(bytes(content[5:37]), bytes(content[37:]))


@dataclass(frozen=True)
class Context:
    """What an envelope or a shared secret is for. Both sides state it; a difference is an error, never a silent
    surprise.
    """

    agreement_hash: bytes
    kind: str
    """What it holds, for instance `records`: small letters, digits, `_`, `.` and `-`."""
    sequence: int = 0
    """Which one of its kind it is, for instance the round."""

    def __post_init__(self) -> None:
        if len(self.agreement_hash) != 32:
            raise ValueError("an agreement hash has 32 bytes")
        if not _KIND.fullmatch(self.kind):
            raise ValueError(f"not a kind: {self.kind!r}")
        if not 0 <= self.sequence < 2**64:
            raise ValueError("a sequence number has 64 bits")


def new_identity() -> Identity:
    """New keys, from the system's randomness."""
    return _identity(bytes(PrivateKey.generate()), bytes(SigningKey.generate()))


def _identity(envelope_secret: bytes, signing_seed: bytes) -> Identity:
    public = PublicIdentity(bytes(PrivateKey(envelope_secret).public_key), bytes(SigningKey(signing_seed).verify_key))
    return Identity(public, envelope_secret, signing_seed)


def blake2b(content: bytes, person: bytes, key: bytes = b"") -> bytes:
    """BLAKE2b with 32 bytes of result, separated by purpose (`person`, at most 16 bytes), and keyed if a key is
    given.
    """
    return bindings.crypto_generichash_blake2b_salt_personal(content, digest_size=32, key=key, person=person)


def sign(identity: Identity, message: bytes) -> bytes:
    """A signature of 64 bytes. It cannot be taken for the signature in an envelope."""
    return sign_for(identity, _MESSAGE_DOMAIN, message)


def verify(public: PublicIdentity, message: bytes, signature: bytes) -> None:
    """Raises SignatureWrong unless this owner signed this message."""
    verify_for(public, _MESSAGE_DOMAIN, message, signature)


def sign_for(identity: Identity, domain: bytes, message: bytes) -> bytes:
    """A signature that holds in one domain only."""
    return SigningKey(identity.signing_seed).sign(domain + message).signature


def verify_for(public: PublicIdentity, domain: bytes, message: bytes, signature: bytes) -> None:
    """Raises SignatureWrong unless this owner signed this message in this domain."""
    try:
        VerifyKey(public.signing_key).verify(domain + message, signature)
    except (exceptions.CryptoError, ValueError) as error:
        raise SignatureWrong(
            "A signature does not fit: the message is not from the owner that it names, or was changed."
        ) from error


def shared_secret(identity: Identity, peer: PublicIdentity, context: Context) -> bytes:
    """32 secret bytes that only these two owners can derive: the same on both sides, different for every context.

    For keyed hashing, as of blocking keys. It lasts as long as the keys do: whoever gets one owner's secret keys can
    derive it later.
    """
    try:
        agreed = bindings.crypto_box_beforenm(peer.envelope_key, identity.envelope_secret)
    except exceptions.CryptoError as error:
        raise KeyUnusable("The envelope key of the other owner is not usable.") from error
    both = b"".join(sorted((identity.public.to_bytes(), peer.to_bytes())))
    purpose = context.agreement_hash + context.sequence.to_bytes(8, "big") + context.kind.encode()
    return blake2b(both + purpose, b"blindlabel-share", key=agreed)


def own_secret(identity: Identity, context: Context, peer: PublicIdentity) -> bytes:
    """32 secret bytes that only this owner can derive, different for every context and every other owner."""
    purpose = context.agreement_hash + context.sequence.to_bytes(8, "big") + peer.to_bytes() + context.kind.encode()
    return blake2b(purpose, b"blindlabel-own", key=identity.signing_seed)


# Points that two owners blind together

POINT_BYTES = sodium.crypto_core_ed25519_BYTES


def scalar_of(secret: bytes) -> bytes:
    """A secret number, uniform, that follows from 32 secret bytes: to be used for one study and one pairing."""
    wide = hashlib.blake2b(key=secret, digest_size=64, person=b"bl-scalar").digest()
    scalar: bytes = sodium.crypto_core_ed25519_scalar_reduce(wide)
    return scalar


def point_of(key: bytes, context: bytes) -> bytes:
    """The point of a key; another context gives another point."""
    digest = hashlib.blake2b(key, key=context[:64], digest_size=32, person=b"bl-blinding").digest()
    point: bytes = sodium.crypto_core_ed25519_from_uniform(digest)
    return point


def blinded(point: bytes, scalar: bytes) -> bytes:
    """The point times the number. Anything that is no point of the group is refused, so nothing is learnt about the
    number.
    """
    try:
        product: bytes = sodium.crypto_scalarmult_ed25519_noclamp(scalar, point)
    except (nacl.exceptions.CryptoError, TypeError, ValueError) as error:
        raise EnvelopeError("A blinded key that came from the other owner is no point of the curve.") from error
    return product
