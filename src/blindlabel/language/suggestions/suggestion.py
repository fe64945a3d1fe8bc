"""What the suggester gives: a question with its reasons and its verdict."""

from __future__ import annotations

from dataclasses import dataclass

from blindlabel.language.points import PointsQuestion
from blindlabel.language.suggestions.reasons import Reason
from blindlabel.language.suggestions.verdicts import Verdict


@dataclass(frozen=True)
class Suggestion:
    """A question to keep or change, why each condition is there, and what it says about the own table."""

    text: str
    points: PointsQuestion
    reasons: tuple[Reason, ...]
    verdict: Verdict
    round: int = 1
    again: bool = False
    """Whether it was asked before: nothing better is known."""
    otherwise: bool = False
    """Whether it asks for other things than in the round before: for the record's rarest words."""

    @property
    def why(self) -> str:
        """One sentence for the person who keeps or changes it."""
        if not self.points.conditions:
            return "There is nothing in this record that could be asked, so it says no to every record."
        enough = f"{self.points.bar} of {self.points.total} points are enough."
        return f"{enough} {self.verdict.sentence} {self.history}".rstrip()

    @property
    def history(self) -> str:
        """What it has to do with the rounds before, in a sentence; empty where there is nothing to say."""
        if self.again:
            return "It was asked before, and nothing better is known."
        if self.otherwise:
            return "It asks for the record's rarest words, since what was asked before brought no agreement."
        return ""
