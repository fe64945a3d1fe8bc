"""Points that two owners blind together, so that a third can compare them and nobody can look them up.

A key (some text that both owners may have) becomes a point H(key) of the prime-order group of Ed25519; an owner
multiplies it by its secret number a, the other one by b. a·b·H(key) is the same whoever began, so the coordinator
sees which keys both have; but to look a key up in a dictionary one needs both numbers, so neither owner can
together with the coordinator. libsodium maps to the group, refuses whatever is no point of it, and multiplies.
"""

from __future__ import annotations

import hashlib

import nacl.bindings as sodium
import nacl.exceptions

from blindlabel.envelope.errors import EnvelopeError

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
    """The point times the number. What is no point of the group is refused, so nothing is learnt of the number."""
    try:
        product: bytes = sodium.crypto_scalarmult_ed25519_noclamp(scalar, point)
    except (nacl.exceptions.CryptoError, TypeError, ValueError) as error:
        raise EnvelopeError("A blinded key that came from the other owner is no point of the curve.") from error
    return product
