"""How well two owners agree: percent, Cohen's kappa and Gwet's AC1 from a table of four counts.

Matches are rare, so plain percent is nearly 1 whatever the owners do; kappa corrects for chance by each owner's own
rate of "match", AC1 by the mean rate, which stays meaningful when one answer is very rare.

Edge cases: without any pair, every figure is None. Kappa is None if chance alone explains everything (both owners gave
the same answer for all pairs), because it would be 0/0. AC1 is defined whenever there is a pair.
"""

from __future__ import annotations

from math import log2
from typing import Annotated

from blindlabel.protocol.shape import Amount, Shape
from blindlabel.protocol.telling import Tells

_TOTAL = Tells(lambda sizes: log2(sizes.own * sizes.others + 1), "one of the round's totals")


class Tally(Shape):
    """The pairs of one pairing in one round, by both owners' answers; `first` is the owner whose name sorts first."""

    both: Annotated[Amount, _TOTAL] = 0
    """Both say match."""
    first_only: Annotated[Amount, _TOTAL] = 0
    second_only: Annotated[Amount, _TOTAL] = 0
    neither: Annotated[Amount, _TOTAL] = 0
    """Both say no match."""
    loose: Annotated[Amount, _TOTAL] = 0
    """Not compared: a question said yes to more records than agreed, or more questions than agreed to a record."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{name: getattr(self, name) + getattr(other, name) for name in Tally.model_fields})

    @property
    def pairs(self) -> int:
        """The number of pairs that were compared."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def agreed(self) -> int:
        """Pairs with equal answers."""
        return self.both + self.neither

    @property
    def disagreed(self) -> int:
        """Pairs with different answers."""
        return self.first_only + self.second_only

    @property
    def asked(self) -> int:
        """The number of pairs that were asked about, compared or not."""
        return self.pairs + self.loose

    @property
    def unsettled(self) -> int:
        """Pairs that are not agreed on, compared or not."""
        return self.disagreed + self.loose

    @property
    def percent(self) -> float | None:
        """Share of pairs with equal answers, in percent."""
        return 100.0 * self.agreed / self.pairs if self.pairs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa."""
        if not self.pairs:
            return None
        first = (self.both + self.first_only) / self.pairs
        second = (self.both + self.second_only) / self.pairs
        chance = first * second + (1 - first) * (1 - second)
        if first == second and first in (0.0, 1.0):
            return None
        return (self.agreed / self.pairs - chance) / (1 - chance)

    @property
    def ac1(self) -> float | None:
        """Gwet's AC1."""
        if not self.pairs:
            return None
        rate = (2 * self.both + self.first_only + self.second_only) / (2 * self.pairs)
        chance = 2 * rate * (1 - rate)
        return (self.agreed / self.pairs - chance) / (1 - chance)

    def as_figures(self) -> dict[str, float | int | None]:
        """All figures, for reports and pages."""
        return {
            "pairs": self.pairs,
            "agreed": self.agreed,
            "disagreed": self.disagreed,
            "matches": self.both,
            "too_loose": self.loose,
            "percent": self.percent,
            "kappa": self.kappa,
            "ac1": self.ac1,
        }
