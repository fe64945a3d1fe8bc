"""What can be wrong with an envelope, a signature or a peer's key. Each is a sentence for the person whose study stops
there.
"""

from __future__ import annotations

from blindlabel.errors import OutsideError


class EnvelopeError(OutsideError):
    """An envelope cannot be opened. Nothing of it may be used."""


class EnvelopeDamaged(EnvelopeError):
    """The bytes are not what the sender wrote: changed, reordered, doubled or not an envelope at all."""


class EnvelopeTruncated(EnvelopeError):
    """The envelope ends before its end mark."""


class WrongVersion(EnvelopeError):
    """The envelope was made by another version of the format."""


class WrongStudy(EnvelopeError):
    """The envelope belongs to another agreement."""


class WrongSender(EnvelopeError):
    """The envelope is not from the owner it should be from."""


class WrongRecipient(EnvelopeError):
    """The envelope is for somebody else."""


class WrongKind(EnvelopeError):
    """The envelope holds something else than expected."""


class WrongSequence(EnvelopeError):
    """The envelope is an earlier or later one of its kind: a replay, or one is missing."""


class SignatureWrong(EnvelopeError):
    """A signature does not fit its message and signer."""


class KeyUnusable(EnvelopeError):
    """Bytes that should be a key are not one, or one that would give no secrecy."""
