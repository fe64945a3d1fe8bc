"""The replies of the coordinator's server, for both ends; messages and bodies themselves are not among them. And how
either end notices that a request or a reply was changed on its way: where no TLS does that, by checksums. They protect
from accidents, and from nobody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from pydantic import BaseModel, NonNegativeInt

from blindlabel.protocol.standing import Standing

LIFE = "Blindlabel-Life"
"""A request's header: the life of a workspace, and those that it follows."""
CHECK = "Blindlabel-Check"
"""A request's header: the checksums of what it asks for, and of what it brings."""


def checksum(*parts: bytes) -> str:
    """Tells content that was changed on its way."""
    return hashlib.blake2b(b"\n".join(parts), digest_size=8).hexdigest()


def asked(method: str, path: str, query: bytes, headers: Mapping[str, str]) -> str:
    """The checksum of what a request asks for, and of who asks."""
    named = (method, path, headers.get("Authorization", ""), headers.get(LIFE, ""))
    return checksum(query, *(one.encode() for one in named))


class Refusal(BaseModel):
    """Why a request was refused."""

    error: str
    sentence: str


class Accepted(BaseModel):
    """A message was accepted; `new` is false for one that was there already."""

    new: bool


class Arrived(BaseModel):
    """How much of a body has arrived."""

    received: NonNegativeInt
    complete: bool


class Waiting(BaseModel):
    """Messages, each as a sealed letter, and how the coordinator stands with the caller."""

    messages: list[str]
    standing: Standing
    check: str = ""
    """The checksum of both."""

    def checked(self) -> str:
        """The checksum of what came."""
        return checksum(self.standing.model_dump_json().encode(), *(one.encode() for one in self.messages))


class Health(BaseModel):
    """The server is up, its database answers, its studies' keys can be read, there is room on its disk, and its own
    work goes on and fails in no study.
    """

    status: str
    version: str
    studies: NonNegativeInt
    """Studies that are not over."""
    last_look: float
    """Seconds since it last looked whether a study has work."""
