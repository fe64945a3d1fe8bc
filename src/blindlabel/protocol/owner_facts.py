"""What an owner knows about a round and about drawing its sample: parts of the state in `owner_rules`."""

from __future__ import annotations

from pydantic import Field

from blindlabel.protocol import messages
from blindlabel.protocol.shape import Blob, Hex32, Name, Position, Shape


class ToOpen(Shape):
    """Another owner's answers about this owner's records, as they came."""

    answers: messages.Answers
    digest: Hex32


class OwnRound(messages.Round):
    """One round, as its owner sees it: how the coordinator began it, and what has been done since."""

    ask: tuple[Position, ...]
    """This owner's records that are open in any pairing: a question is written about each."""
    carried: bool = False
    """Whether the questions of the void round, or those that are kept, have been taken over."""
    handed_in: bool = False
    served: dict[Name, Blob] = Field(default_factory=dict)
    """This owner's encrypted records, by receiver."""
    records: dict[Name, messages.Records] = Field(default_factory=dict)
    """Encrypted records of the others."""
    answers: dict[Name, Blob] = Field(default_factory=dict)
    """This owner's answers, by the owner of the records they are about."""
    to_open: dict[Name, ToOpen] = Field(default_factory=dict)
    """Answers about this owner's records, by asker."""
    opened: dict[Name, Blob] = Field(default_factory=dict)
    """What was opened, as a list of keyed hashes, by asker."""
    refused: bool = False
    """Whether this owner has called the round void."""


class OwnSampling(Shape):
    """How far an owner is in drawing its enriched sample. See `blocking`."""

    offered: tuple[Name, ...] = ()
    """The owners to whom this owner has offered its keys."""
    offers: dict[Name, Blob] = Field(default_factory=dict)
    """What the others offered."""
    blinded: tuple[Name, ...] = ()
    """Whose offers have been blinded and handed to the coordinator."""
    chosen: messages.Chosen | None = None
    passed_on: tuple[Name, ...] = ()
    """The owners who have been told which of their offers were chosen."""
    picked: dict[Name, Blob] = Field(default_factory=dict)
    """Which of this owner's offers were chosen, by the owner that passed it on."""
    is_sampled: bool = False
