"""What the suggester knows of a record before a question is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blindlabel.language.suggestions.needles import Found
from blindlabel.language.suggestions.weighing import Weighed


@dataclass(frozen=True)
class Judged:
    """A record's conditions and its neighbours."""

    texts: Mapping[str, str]
    weighed: tuple[Weighed, ...]
    near: tuple[Mapping[str, str], ...]
    """The nearest own rows that are other things, the likest first."""
    scores: tuple[int, ...]
    """The points of each of them."""
    named: tuple[tuple[Found, ...], ...]
    """What names each of them, and not the record; nothing where it may be about the same thing."""
    apart: tuple[tuple[Found, ...], ...]
    """What sets those of them apart that nothing names."""
    looked_at: int
    """How many nearest own rows the conditions were weighed against."""
    sibling: int = 0
    """Where hardly one of them is a sibling: the points of one that may stand in the other table."""
    rarest: tuple[Weighed, ...] = ()
    """Other conditions, for when both sides have disagreed over these."""
    far: tuple[Found, ...] = ()
    """Amounts so far from the record's own that they speak against another record."""
