"""The messages with which an owner has a linkage scored after the end of a study. The rules are in `scoring`."""

from __future__ import annotations

from pydantic import Field

from blindlabel.protocol.shape import Blob, Count, Hex32, Name, Shape

MOST_SCORES = 1000
"""That an agreement may allow an owner with each other."""


class Score(Shape):
    """owner to coordinator: how good are these predicted pairs of its own sampled rows and those of `peer`?"""

    peer: Name
    blob: Blob
    before: tuple[Hex32, ...] = Field(max_length=MOST_SCORES - 1)
    """Hashes of the pairs that it asked about before these. A coordinator that was restored has forgotten some."""


class Scored(Shape):
    """coordinator to owner: the three counts of a score."""

    peer: Name
    pairs: Hex32
    """Hash of the predicted pairs."""
    right: Count
    """Predicted pairs that are matches."""
    labelled: Count
    """Predicted pairs that have a label."""
    matches: Count
    """All matches."""
