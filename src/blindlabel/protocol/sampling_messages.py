"""The bodies of the messages with which an enriched sample is drawn, in the order in which they are sent. What they are
for is in `blocking`; how they travel, in `messages`.
"""

from __future__ import annotations

from blindlabel.protocol.shape import Blob, Name, Position, Shape


class Offered(Shape):
    """owner to owner, relayed, for enriched sampling (`blocking`): blinded blocking keys, sealed for the receiver."""

    blob: Blob


class Blinded(Shape):
    """owner to coordinator: the keys that `peer` offered, blinded once more, in the order of the points."""

    peer: Name
    blob: Blob


class Chosen(Shape):
    """coordinator to owner, for enriched sampling: rows drawn uniformly, ascending, and for each other owner the places
    that were chosen in the list that this owner blinded for it.
    """

    uniform: tuple[Position, ...]
    places: dict[Name, tuple[Position, ...]]


class Picked(Shape):
    """owner to owner, relayed: which of the receiver's offers the coordinator chose, sealed for the receiver."""

    blob: Blob


class Sampled(Shape):
    """owner to coordinator: positions of its sampled rows, ascending: those drawn by the coordinator, and those of the
    offers that were chosen.
    """

    positions: tuple[Position, ...]
