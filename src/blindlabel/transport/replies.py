"""The replies of the coordinator's server, for both ends; messages and bodies themselves are not among them."""

from __future__ import annotations

from pydantic import BaseModel, NonNegativeInt

from blindlabel.protocol.standing import Standing


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
