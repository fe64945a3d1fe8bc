"""How many points are enough, by round.

In round 1 a pair on which both sides say no is settled for good, and so is one on which both say yes; a pair on which
they differ comes back. So the bar of round 1 is what a true partner should get, less what bad luck takes; one side at
least is then convinced of a true pair. In later rounds less is enough, on both sides alike, but never so little that a
neighbour would get it: where even that is not found, the pair had better be discarded than labelled wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.suggestions.weighing import Weighed, expected


def bar(weighed: Sequence[Weighed], round: int, priors: Priors) -> int:
    """The points from which the answer is yes."""
    total = sum(one.points for one in weighed)
    if not weighed:
        return 1
    partner = expected(weighed)
    below = priors.below[min(max(round, 1), len(priors.below)) - 1]
    wanted = ceil(partner.mean - below * partner.deviation - 1e-9)
    alone = max((one.points for one in weighed if not one.evidence.unique), default=0)
    return min(total, max(1, wanted, alone + 1))
