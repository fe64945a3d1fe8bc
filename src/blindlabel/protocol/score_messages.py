"""The messages with which an owner has a linkage scored after the end of a study. The rules are in `scoring`."""

from __future__ import annotations

from blindlabel.protocol.shape import Blob, Count, Hex32, Name, Shape


class Score(Shape):
    """owner to coordinator: how good are these predicted pairs of its own sampled rows and those of `peer`?"""

    peer: Name
    blob: Blob


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
