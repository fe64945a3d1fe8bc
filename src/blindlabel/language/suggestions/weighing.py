"""From evidence to points and a bar: the few conditions that say most, each worth 1 to 4, within the places that the
agreement has; how many points are enough, by round; and the next question that is a little stricter or looser.

In round 1 a pair on which both sides say no is settled for good, and so is one on which both say yes; a pair on which
they differ comes back. So the bar of round 1 is what a true partner should get, less what bad luck takes. Around
matches later rounds ask for less, but never for so little that a neighbour would get it: the pair had better be
discarded than labelled wrong. In whole tables, where look-alikes are many, no round asks for less than the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, inf

from blindlabel.language.chain import Chain, Condition, call_of
from blindlabel.language.suggestions.evidence import Evidence
from blindlabel.language.suggestions.needles import SHORTEST_PART
from blindlabel.language.suggestions.priors import Priors

MOST_POINTS = 4
FEWEST = 3
"""Conditions, where the record has this many: those that tell it from none of its like still tell it from others."""


@dataclass(frozen=True)
class Weighed:
    """A condition with its points, and the evidence for it."""

    evidence: Evidence
    points: int


def weigh(evidence: Sequence[Evidence], most: int, priors: Priors, places: Sequence[int]) -> tuple[Weighed, ...]:
    """At most this many conditions, weightiest first; none if only one is left and may not decide by itself."""
    telling = [one for one in evidence if one.partner > priors.above * one.mistaken]
    chosen = _telling_most(telling, min(most, len(places)))
    idle = sorted((one for one in evidence if one not in telling), key=lambda one: (one.rows, one.found.needle.text))
    chosen += idle[: max(0, min(FEWEST, len(places)) - len(chosen))]
    weighed = sorted((Weighed(one, _points(one, priors)) for one in chosen), key=lambda one: -one.points)
    return _placed(weighed[: sum(one.points > 1 for one in weighed) + priors.small], places)


def by_rarity(evidence: Sequence[Evidence], most: int, priors: Priors, places: Sequence[int]) -> tuple[Weighed, ...]:
    """Another opinion: the rarest things of the record, worth more the fewer rows have them. What a partner hardly
    has, what many rows have, and single characters only if there is too little else.
    """
    likely = [one for one in evidence if one.partner >= priors.usual]
    telling = [one for one in likely if one.anybody <= priors.commonest]
    ordered = sorted(
        next((these for these in (telling, likely) if len(these) >= FEWEST), evidence),
        key=lambda one: (len(one.found.word) == 1, one.rows, one.found.needle.text),
    )
    few, some = priors.rare_rows
    return _placed([Weighed(one, 1 + (one.rows <= some) + (one.rows <= few)) for one in ordered[:most]], places)


def _placed(weighed: list[Weighed], places: Sequence[int]) -> tuple[Weighed, ...]:
    """As many of them as find places; none if only one is left and may not decide by itself."""
    while not fits_places([one.points for one in weighed], places):
        weighed.pop()
    return () if len(weighed) == 1 and not weighed[0].evidence.unique else tuple(weighed)


def _telling_most(evidence: Sequence[Evidence], most: int) -> list[Evidence]:
    """At most this many needles, those that tell most first; none that is part of another, or has one as its part: what
    has the longer has both.
    """
    chosen: list[Evidence] = []
    for one in sorted(evidence, key=lambda one: (-round(one.tells, 9), one.found.needle.text)):
        if len(chosen) < most and not any(_same_string(one, other) for other in chosen):
            chosen.append(one)
    return chosen


def _same_string(one: Evidence, other: Evidence) -> bool:
    shorter, longer = sorted((one.found.needle.text, other.found.needle.text), key=len)
    return shorter == longer or (len(shorter) >= SHORTEST_PART and shorter in longer)


def fits_places(points: Sequence[int], places: Sequence[int]) -> bool:
    """Whether conditions worth the same find classes of places for all of them, the most numerous first."""
    free = sorted(Counter(places).values())
    for wanted in sorted(Counter(points).values(), reverse=True):
        while wanted > 0:
            if not free:
                return False
            taken = next((size for size in free if size >= wanted), free[-1])
            free.remove(taken)
            wanted -= taken  # noqa: PLW2901
    return True


def _points(evidence: Evidence, priors: Priors) -> int:
    """What a condition is worth: less where a partner often lacks it (a stock number, a price). A partner with another
    telephone lacks both halves of this one, so both together are worth no more than one condition can be.
    """
    had = min(1.0, evidence.partner / priors.half)
    points = max(1, round(had * evidence.bits(priors.most_bits) / priors.bits_a_point))
    return min(points, MOST_POINTS // 2 if evidence.found.half else MOST_POINTS)


# Bars


def bar(weighed: Sequence[Weighed], wanted: float, others: Sequence[int], up_to: float, needed: float) -> int:
    """The points from which the answer is yes: as many as `wanted`; above those of `others`, as far as a true partner
    should follow (`up_to`); above every condition that may not decide by itself; and this many that whatever reaches
    them says `needed` bits against any other record.
    """
    if not weighed:
        return 1
    most = sum(one.points for one in weighed)
    alone = max((one.points for one in weighed if not one.evidence.unique), default=0)
    enough = max(ceil(wanted - 1e-9), min(max(others, default=0) + 1, floor(up_to + 1e-9)), alone + 1, 1)
    said = least_said(weighed)
    while enough < most and min(bits for points, bits in said.items() if points >= enough) < needed:
        enough += 1
    return min(most, enough)


def least_said(weighed: Sequence[Weighed]) -> dict[int, float]:
    """For each sum of points, the fewest bits that conditions with this sum say against any other record."""
    said = {0: 0.0}
    for one in weighed:
        for points, bits in sorted(said.items(), reverse=True):
            reached = points + one.points
            said[reached] = min(said.get(reached, inf), bits + one.evidence.rarity)
    return said


# Stricter and looser


def stricter(points: Chain, more: Sequence[Condition]) -> Chain | None:
    """The next stricter question; `more` are conditions that could be added, the best first."""
    reached = [total for total in _sums(points) if total >= points.bar]
    if not points.conditions:
        return None
    if len(reached) > 1:
        return replace(points, bar=reached[1])
    asked = set(map(_asked, points.conditions))
    for condition in more:
        if _asked(condition) not in asked:
            conditions = (*points.conditions, condition)
            return replace(points, conditions=conditions, bar=points.total + condition.points)
    return None


def looser(points: Chain, decides: Callable[[Condition], bool]) -> Chain | None:
    """The next looser question, by a lower bar, its exclusions untouched; None if a lower bar would let one condition
    be enough that may not decide by itself.
    """
    alone = max((condition.points for condition in points.conditions if not decides(condition)), default=0)
    reached = min((total for total in _sums(points) if total >= points.bar), default=inf)
    below = [total for total in _sums(points) if alone < total < reached]
    return replace(points, bar=below[-1]) if below else None


def _sums(points: Chain) -> list[int]:
    """Every sum of points that some record can get, ascending."""
    sums = {0}
    for condition in points.conditions:
        sums |= {total + condition.points for total in sums}
    return sorted(sums)


def _asked(condition: Condition) -> tuple[str, ...]:
    return tuple(map(call_of, condition.atoms))
