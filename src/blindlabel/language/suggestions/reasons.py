"""Why a condition is in a question, as data and as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from blindlabel.language.suggestions.needles import Kind

AGAINST: Mapping[str, str] = MappingProxyType(
    {
        "far": "an amount that far from the record's own speaks against it",
        "exclusion": "speaks for a similar own row instead",
    }
)


@dataclass(frozen=True)
class Reason:
    """Why one condition, or one exclusion, is there."""

    condition: str
    """The condition as it is written."""
    points: int
    """What it is worth; 0 for an exclusion."""
    kind: Kind | Literal["exclusion", "far"]
    own_rows: int
    """Rows of the own table that have it, this one included."""
    apart: int
    """How many of the nearest own rows it tells this record from."""
    nearest: int
    """How many nearest own rows were looked at."""
    alone: bool = False
    """Whether it is enough by itself: an identifier that no other own row has."""
    half: bool = False
    """Whether it is half of an identifier: a partner has both halves or neither, so each is worth at most half of what
    one condition can be worth."""

    @property
    def sentence(self) -> str:
        """The reason for a person."""
        if self.kind in AGAINST:
            rows = {0: "no own row", 1: "one own row"}.get(self.own_rows, f"{self.own_rows:,} own rows")
            return f"{AGAINST[self.kind]} (in {rows})"
        rarity = "in no other own row" if self.own_rows <= 1 else f"in {self.own_rows:,} own rows"
        told = f", tells it from {self.apart} of its {self.nearest} nearest" if self.nearest else ""
        piece = "a piece of an identifier, " if self.kind == "piece" else ""
        if self.half:
            piece = "half of an identifier (2 points at most: both halves are there or missing together), "
        return f"{piece}{rarity}{told}"
