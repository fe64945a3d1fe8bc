"""How many points are enough, by round.

In round 1 a pair on which both sides say no is settled for good, and so is one on which both say yes; a pair on which
they differ comes back. So the bar of round 1 is what a true partner should get, less what bad luck takes; one side at
least is then convinced of a true pair. Where round 2 asks for other conditions, its bar is a share of all their points
(`plain_bar`). Where the first are asked for again, less is enough, on both sides alike, but never so little that a
neighbour would get it: where even that is not found, the pair had better be discarded than labelled wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.suggestions.weighing import Weighed


def bar(weighed: Sequence[Weighed], wanted: int, neighbours: Sequence[int], up_to: float) -> int:
    """The points from which the answer is yes: as many as `wanted`, and above those of `neighbours`, the nearest own
    rows that are other things, as far as a true partner should follow (`up_to`).
    """
    total = sum(one.points for one in weighed)
    if not weighed:
        return 1
    wanted = max(wanted, min(max(neighbours, default=0) + 1, floor(up_to + 1e-9)))
    alone = max((one.points for one in weighed if not one.evidence.unique), default=0)
    return min(total, max(1, wanted, alone + 1))


def plain_bar(weighed: Sequence[Weighed], share: float) -> int:
    """The bar where words are weighed by their rarity alone: this share of all points, and more than any one has that
    may not decide by itself.
    """
    total = sum(one.points for one in weighed)
    alone = max((one.points for one in weighed if not one.evidence.unique), default=0)
    return min(total, max(ceil(share * total - 1e-9), alone + 1)) if weighed else 1


def share_of(partner: float, round: int, priors: Priors) -> int:
    """The share of a true partner's points that is enough in a round."""
    return ceil(priors.enough[min(round, len(priors.enough)) - 1] * partner - 1e-9)


def up_to(partner: float, round: int, priors: Priors, *, spelt: bool) -> float:
    """How far the bar is raised above neighbours in a round."""
    if round > 1:
        return priors.above_later * partner
    return (priors.above_neighbours if spelt else priors.above_misspelt) * partner


def raised(enough: int, left: Sequence[int], up_to: float, most: int) -> int:
    """The bar above the points of others that would still pass, as far as a true partner should follow (`up_to`), and
    never above the points that there are (`most`).
    """
    return min(most, max(enough, min(max(left) + 1, ceil(up_to - 1e-9)))) if left else enough
