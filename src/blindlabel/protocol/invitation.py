"""An invitation: what a coordinator gives to one owner in private, and what a join proves with it. It holds a one-time
code, so it must be kept private.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import nacl.exceptions
import nacl.signing

from blindlabel.protocol.messages import Join
from blindlabel.protocol.shape import canonical

_FORM = "blindlabel invitation 2"


@dataclass(frozen=True)
class Invitation:
    """What an owner needs to join."""

    owner: str
    code: str
    """Hexadecimal seed of a one-time signing key; the coordinator keeps only the public half."""
    coordinator_key: str
    """The coordinator's public keys, for envelopes and for signatures, as `PublicIdentity.to_bytes`."""
    address: str
    """Where the coordinator listens (`https://…`), or `folder:/path`; may be empty."""
    agreement: str
    """The whole text."""

    def to_text(self) -> str:
        """The invitation as text for a file."""
        return json.dumps({"form": _FORM, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Invitation:
        """Read an invitation; a ValueError if it is none."""
        try:
            document = json.loads(text)
            if document.pop("form") != _FORM or not all(isinstance(value, str) for value in document.values()):
                raise ValueError("another form")
            invitation = cls(**document)
            if len(bytes.fromhex(invitation.code)) != 32 or len(bytes.fromhex(invitation.coordinator_key)) != 64:
                raise ValueError("keys of another length")
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("no invitation") from error
        return invitation


def proved_join(invitation: bytes, study: str, owner: str, **said: Any) -> Join:
    """A join that says this, with its proof: the invitation's code is the seed of a signing key of which the
    coordinator keeps the public half.
    """
    claim = _join_claim(study, owner, said)
    return Join(**said, proof=nacl.signing.SigningKey(invitation).sign(claim).signature.hex())


def check_join_proof(invitation_key: bytes, study: str, owner: str, join: Join) -> bool:
    """Whether the join was made by the holder of the invitation."""
    try:
        claim = _join_claim(study, owner, join.model_dump())
        nacl.signing.VerifyKey(invitation_key).verify(claim, bytes.fromhex(join.proof))
    except (nacl.exceptions.CryptoError, ValueError):
        return False
    return True


def _join_claim(study: str, owner: str, said: Mapping[str, Any]) -> bytes:
    claimed = [said[name] for name in Join.model_fields if name != "proof"]
    return b"blindlabel join 1\0" + canonical([study, owner, *claimed])


def token_hash(token: str) -> str:
    """The form in which a token is stored. It is random, so a plain hash is enough."""
    return hashlib.blake2b(token.encode(), digest_size=32, person=b"bl-token").hexdigest()
