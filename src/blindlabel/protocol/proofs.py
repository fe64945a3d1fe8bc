"""What a join proves: possession of the owner's invitation, and of a token for the coordinator's server."""

from __future__ import annotations

import hashlib

import nacl.exceptions
import nacl.signing

from blindlabel.protocol.messages import Join
from blindlabel.protocol.shape import canonical


def join_proof(
    invitation: bytes, study: str, owner: str, records: int, envelope_key: str, signing_key: str, token_hash: str
) -> str:
    """The proof that goes into a join: the invitation's code is the seed of a signing key of which the coordinator
    keeps the public half."""
    claim = _join_claim(study, owner, records, envelope_key, signing_key, token_hash)
    return nacl.signing.SigningKey(invitation).sign(claim).signature.hex()


def check_join_proof(invitation_key: bytes, study: str, owner: str, join: Join) -> bool:
    """Whether the join was made by the holder of the invitation."""
    claim = _join_claim(study, owner, join.records, join.envelope_key, join.signing_key, join.token_hash)
    try:
        nacl.signing.VerifyKey(invitation_key).verify(claim, bytes.fromhex(join.proof))
    except (nacl.exceptions.CryptoError, ValueError):
        return False
    return True


def _join_claim(study: str, owner: str, records: int, envelope_key: str, signing_key: str, token_hash: str) -> bytes:
    return b"blindlabel join 1\0" + canonical([study, owner, records, envelope_key, signing_key, token_hash])


def token_hash(token: str) -> str:
    """How a token is stored: it is random, so a plain hash suffices."""
    return hashlib.blake2b(token.encode(), digest_size=32, person=b"bl-token").hexdigest()
