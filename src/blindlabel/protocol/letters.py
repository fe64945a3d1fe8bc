"""Letters: a message as it travels between one owner and the coordinator, sealed so that only these two can read it.
The bytes are the same over HTTP, in a carried folder and through a proxy.

    blindlabel-letter/1 STUDY SENDER
    BASE64

The first line is all that others can read: the study (the agreement's hash) and the sender's public keys. After it
comes the signed message, padded to a multiple of `BLOCK` bytes so that its size says little, under libsodium's
XChaCha20-Poly1305 with the first line as associated data. The key follows from both sides' envelope keys
(`shared_secret`); the coordinator's came with the invitation, and the words that the owners compare stand for it. Each
side can open what it sealed itself, so it can see whether a file that it left in a folder is still whole.

Who wrote the message is said by its signature, not by the letter.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

import nacl.bindings
import nacl.exceptions
from nacl.secret import Aead

from blindlabel.envelope.identity import Context, Identity, KeyUnusable, PublicIdentity, shared_secret
from blindlabel.protocol.messages import LARGEST, Join, Peer
from blindlabel.protocol.owner_rules import OwnerState
from blindlabel.protocol.refusals import MalformedMessage, UnknownVersion

BLOCK = 4096
"""Messages are padded to a multiple of this many bytes."""
LARGEST_LETTER = (LARGEST + 2 * BLOCK) * 4 // 3
_MAGIC = b"blindlabel-letter/"
_VERSION = b"1"


@dataclass(frozen=True)
class Letters:
    """Seals and opens what passes between two parties of a study."""

    study: str
    own: Identity
    other: PublicIdentity

    def seal(self, wire: bytes) -> bytes:
        """The message, sealed for the other."""
        outside = _outside(self.study, self.own.public)
        padded = nacl.bindings.sodium_pad(wire, BLOCK)
        return outside + base64.b64encode(bytes(Aead(self._key()).encrypt(padded, aad=outside))) + b"\n"

    def open(self, letter: bytes) -> bytes:
        """The message that the other sealed, or this side itself."""
        first, _, rest = letter.partition(b"\n")
        if first + b"\n" not in (_outside(self.study, self.other), _outside(self.study, self.own.public)):
            sender_of(letter)
            raise MalformedMessage("The letter is of another study, or from somebody else.")
        try:
            content = base64.b64decode(rest[:-1], validate=True)
            opened = Aead(self._key()).decrypt(content, aad=first + b"\n")
            wire: bytes = nacl.bindings.sodium_unpad(opened, BLOCK)
        except (nacl.exceptions.CryptoError, ValueError) as error:
            raise MalformedMessage("The letter cannot be opened: it was damaged on its way.") from error
        return wire

    def holds(self, letter: bytes, wire: bytes) -> bool:
        """Whether this is a letter with this message."""
        try:
            return self.open(letter) == wire
        except MalformedMessage:
            return False

    def _key(self) -> bytes:
        return shared_secret(self.own, self.other, Context(bytes.fromhex(self.study), "letter"))


def public_of(keys: Join | Peer) -> PublicIdentity:
    """An owner's public keys."""
    return PublicIdentity.from_bytes(bytes.fromhex(keys.envelope_key + keys.signing_key))


def coordinator_of(state: OwnerState) -> PublicIdentity:
    """The coordinator's public keys, as the invitation had them."""
    return PublicIdentity.from_bytes(bytes.fromhex(state.coordinator_key))


def sender_of(letter: bytes) -> tuple[str, PublicIdentity]:
    """The study that a letter names, and whose keys. None of it is believed yet."""
    first = letter.partition(b"\n")[0]
    if len(letter) > LARGEST_LETTER or not first.startswith(_MAGIC):
        raise MalformedMessage("The bytes are not a blindlabel letter.")
    version, *named = first[len(_MAGIC) :].split(b" ")
    if version != _VERSION:
        raise UnknownVersion("The letter is of a version that this program does not speak.")
    try:
        study, sender = (bytes.fromhex(one.decode("ascii")) for one in named)
        public = PublicIdentity.from_bytes(sender)
    except (ValueError, KeyUnusable) as error:
        raise MalformedMessage("The first line of the letter cannot be read.") from error
    return study.hex(), public


def _outside(study: str, sender: PublicIdentity) -> bytes:
    return b"%s%s %s %s\n" % (_MAGIC, _VERSION, study.encode(), sender.to_bytes().hex().encode())
