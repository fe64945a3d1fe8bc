"""What the suggester gives: a question, the reason for each condition, and which rows of the table it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from blindlabel.language.chain import Chain
from blindlabel.language.suggestions.judgement import OwnRows
from blindlabel.language.suggestions.needles import NeedleKind
from blindlabel.language.suggestions.weighing import MOST_POINTS


@dataclass(frozen=True)
class Reason:
    """Why one condition, or one exclusion, is there."""

    condition: str
    """The condition as it is written."""
    points: int
    """What it is worth; 0 for an exclusion."""
    kind: NeedleKind | Literal["exclusion"]
    own_rows: int
    """Rows of the owner's table that have it, with the record's own where that has it."""
    apart: int
    """How many of the nearest rows of the table it tells this record from."""
    nearest: int
    """How many nearest rows of the table were looked at."""
    alone: bool = False
    """Whether it is enough by itself: an identifier that no other row of the table has."""
    half: bool = False
    """Whether it is half of an identifier or less: a partner with another one lacks both halves, so each is worth half
    of what one condition can be worth, at most."""

    @property
    def sentence(self) -> str:
        """The reason for a person."""
        if self.kind == "exclusion":
            rows = {0: "no row of your table", 1: "one row"}.get(self.own_rows, f"{self.own_rows:,} rows")
            return f"speaks for a similar row of your table instead (in {rows})"
        rarity = "in no other row of your table" if self.own_rows <= 1 else f"in {self.own_rows:,} rows of your table"
        told = f", tells it from {self.apart} of its {self.nearest} nearest" if self.nearest else ""
        piece = "a piece of an identifier, " if self.kind == "piece" else ""
        if self.half:
            most = MOST_POINTS // 2
            piece = f"half of an identifier ({most} points at most: a partner with another one lacks both halves), "
        return f"{piece}{rarity}{told}"


@dataclass(frozen=True)
class Suggestion:
    """A question to keep or change, why each condition is there, and which rows of the table it fits."""

    text: str
    chain: Chain
    reasons: tuple[Reason, ...]
    own: OwnRows
    round: int = 1
    again: bool = False
    """Whether it was asked before: nothing better is known."""
    otherwise: bool = False
    """Whether it asks for other things than in the round before: for the record's rarest words."""

    @property
    def why(self) -> str:
        """One sentence for the person who keeps or changes it."""
        if not self.chain.conditions:
            return "There is nothing in this record that could be asked, so it says no to every record."
        enough = f"{self.chain.bar} of {self.chain.total} points are enough."
        return f"{enough} {self.history}".rstrip()

    @property
    def history(self) -> str:
        """What it has to do with the rounds before, in a sentence, or empty if there is nothing to say."""
        if self.again:
            return "It was asked before, and nothing better is known."
        if self.otherwise:
            return "It asks for the record's rarest words, since what was asked before brought no agreement."
        return ""
