"""The end-to-end envelope between two owners: keys, sealing, signatures and the words to compare. libsodium does the
cryptography.

The coordinator relays envelopes and holds the secret key of the encrypted records inside; so it must never be able to
open one.
"""

from blindlabel.envelope.identity import (
    Context,
    EnvelopeDamaged,
    EnvelopeError,
    EnvelopeTruncated,
    ForeignSender,
    ForeignStudy,
    Identity,
    KeyUnusable,
    PublicIdentity,
    SignatureWrong,
    WrongKind,
    WrongRecipient,
    WrongSequence,
    WrongVersion,
    new_identity,
    own_secret,
    shared_secret,
    sign,
    verify,
)
from blindlabel.envelope.spoken_words import study_hash, verification_words
from blindlabel.envelope.stream import EnvelopeHeader, lock, new_key, open_, read_header, seal, unlock

__all__ = [
    "Context",
    "EnvelopeDamaged",
    "EnvelopeError",
    "EnvelopeHeader",
    "EnvelopeTruncated",
    "ForeignSender",
    "ForeignStudy",
    "Identity",
    "KeyUnusable",
    "PublicIdentity",
    "SignatureWrong",
    "WrongKind",
    "WrongRecipient",
    "WrongSequence",
    "WrongVersion",
    "lock",
    "new_identity",
    "new_key",
    "open_",
    "own_secret",
    "read_header",
    "seal",
    "shared_secret",
    "sign",
    "study_hash",
    "unlock",
    "verification_words",
    "verify",
]
