"""How much of a count is enough, by round.

In round 1 a pair on which both sides say no is settled for good, so one side at least must say yes to every true pair;
and a pair that both sides accept is settled as well. So the record's own table sets the bar: a little more than all but
a few of its other rows reach (they are other things; the few may be duplicates), but never below 30 % nor above 70 % of
what the record itself has.

A record that is back has a pair on which the sides differ: one of the two was convinced at the high bar. So less is
enough for the other, and the bounds fall with each round, on both sides alike. They do not fall to nothing: where even
little is not found, the pair had better be discarded than labelled wrong.
"""

from __future__ import annotations

from math import ceil

from blindlabel.language.suggestions.weighing import Count

PASSED_OVER = 2
"""Own rows that may reach the bar: duplicates within the table."""
MARGIN = 0.02
_LOWEST = (0.30, 0.25, 0.20)
_HIGHEST = (0.70, 0.50, 0.30)


def threshold(count: Count, round: int) -> int:
    """The score from which the answer is yes, in a round counted from 1."""
    step = min(max(round, 1), len(_LOWEST)) - 1
    total = count.total
    reached = count.neighbours[PASSED_OVER] if len(count.neighbours) > PASSED_OVER else 0
    share = min(_HIGHEST[step], max(_LOWEST[step], reached / total + MARGIN)) if total else 1.0
    return min(total, max(1, ceil(share * total - 1e-9)))
