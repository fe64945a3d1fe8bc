"""The base of everything that travels or is stored: immutable, strictly typed, without unknown fields.

It also has the canonical JSON text, the only form in which messages and agreements are hashed and signed.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NAME = r"^[a-z0-9][a-z0-9-]{0,39}$"
"""What an owner may be called: it becomes part of file names and addresses."""

COORDINATOR = "coordinator"
"""The coordinator's name as a sender and receiver; no owner may have it."""

Amount = Annotated[int, Field(ge=0, le=2**53)]
Position = Annotated[int, Field(ge=0, le=2**40)]
Name = Annotated[str, StringConstraints(pattern=NAME)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""What a study or an attribute may be called."""
Hex16 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""Sixteen bytes: a fingerprint."""
Hex32 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""Thirty-two bytes: a hash or a public key."""
Hex64 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]
"""Sixty-four bytes: a signature."""
Letter = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2}){1,1024}$")]
"""A small envelope."""


class Shape(BaseModel):
    """Immutable data of exactly the stated shape."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Blob(Shape):
    """A large body that travels beside its message, named by its hash so that it cannot be swapped for another."""

    hash: Hex32
    """BLAKE2b with 32 bytes."""
    length: Annotated[int, Field(ge=0, le=2**42)]


def blob_of(body: bytes) -> Blob:
    """How a body is named in messages."""
    return Blob(hash=hashlib.blake2b(body, digest_size=32).hexdigest(), length=len(body))


class Locked(Shape):
    """A large body that the coordinator made, and the key without which it says nothing."""

    blob: Blob
    key: Hex32


def canonical(document: Any) -> bytes:
    """The one JSON text of a document: sorted keys, no spaces, UTF-8, no floats that are not numbers."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
