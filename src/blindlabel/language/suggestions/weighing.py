"""From evidence to points and a bar: the few conditions that say most, each worth 1 to 4, within the places that the
agreement has; how many points are enough, by round; and the next question that is a little stricter or looser.

In round 1 a pair on which both sides say no is settled for good, and so is one on which both say yes; a pair on which
they differ comes back. So the bar of round 1 is what a true partner should get, less what bad luck takes; one side at
least is then convinced of a true pair. Where round 2 asks for other conditions, its bar is a share of all their points.
Where the first are asked for again, less is enough in a sample around matches, but never so little that a neighbour
would get it: where even that is not found, the pair had better be discarded than labelled wrong. In whole tables, where
look-alikes are as many as they can be, no round asks for less than the first.

A question that is stricter or looser, also one that a person wrote, has its bar at the next sum of points that can be
reached; where all points are asked for already, stricter means one more condition. Looser never goes so far that a
price, a quantity, a year or a word is enough by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, inf

from blindlabel.language.chain import Chain, Condition
from blindlabel.language.suggestions.evidence import Evidence, holds
from blindlabel.language.suggestions.needles import SHORTEST_PART, Texts
from blindlabel.language.suggestions.priors import Priors

MOST_POINTS = 4
FEWEST = 3
"""Conditions, where the record has this many: those that tell it from none of its like still tell it from others."""


@dataclass(frozen=True)
class Weighed:
    """A condition with its points, and the evidence for it."""

    evidence: Evidence
    points: int


def weigh(
    evidence: Sequence[Evidence], most: int, most_small: int, priors: Priors, places: Sequence[int]
) -> list[Weighed]:
    """At most this many conditions, this many of them worth one point, weightiest first; none where one alone is left
    that may not decide by itself.
    """
    chosen = _telling_most(evidence, min(most, len(places)))
    idle = sorted((one for one in evidence if one.idle), key=lambda one: (one.rows, one.found.needle.text))
    chosen += idle[: max(0, min(FEWEST, len(places)) - len(chosen))]
    weighed = sorted((Weighed(one, _points(one, priors)) for one in chosen), key=lambda one: -one.points)
    small = [one for one in weighed if one.points == 1]
    for one in small[most_small:]:
        weighed.remove(one)
    while not fits_places([one.points for one in weighed], places):
        weighed.pop()
    if len(weighed) == 1 and not weighed[0].evidence.unique:
        return []
    return sorted(weighed, key=lambda one: -one.points)


def plainly(evidence: Sequence[Evidence], most: int, priors: Priors, places: Sequence[int]) -> list[Weighed]:
    """Another opinion: the rarest things of the record, whatever they tell it from, worth more the fewer own rows have
    them. What a partner hardly has, what many own rows have, and single characters only where there is too little
    else. None if one alone is left that may not decide.
    """
    likely = [one for one in evidence if one.partner >= priors.least_likely]
    telling = [one for one in likely if one.anybody <= priors.commonest]
    ordered = sorted(
        next((these for these in (telling, likely) if len(these) >= FEWEST), evidence),
        key=lambda one: (len(one.found.word) == 1, one.rows, one.found.needle.text),
    )
    few, some = priors.rare_rows
    weighed = [Weighed(one, 1 + (one.rows <= some) + (one.rows <= few)) for one in ordered[:most]]
    while not fits_places([one.points for one in weighed], places):
        weighed.pop()
    return [] if len(weighed) == 1 and not weighed[0].evidence.unique else weighed


def _telling_most(evidence: Sequence[Evidence], most: int) -> list[Evidence]:
    """At most this many needles, those that tell most first; none that is part of another, or has one as its part: what
    has the longer has both.
    """
    ordered = sorted(
        (one for one in evidence if not one.idle), key=lambda one: (-round(one.tells, 9), one.found.needle.text)
    )
    chosen: list[Evidence] = []
    for one in ordered:
        if len(chosen) < most and not any(_same_string(one, other) for other in chosen):
            chosen.append(one)
    return chosen


def _same_string(one: Evidence, other: Evidence) -> bool:
    shorter, longer = sorted((one.found.needle.text, other.found.needle.text), key=len)
    return shorter == longer or (len(shorter) >= SHORTEST_PART and shorter in longer)


def scores_of(conditions: Sequence[Weighed], rows: Sequence[Texts]) -> tuple[int, ...]:
    """The points that each of these rows gets."""
    return tuple(sum(one.points for one in conditions if holds(one.evidence.found.needle, row)) for row in rows)


def expected(weighed: Sequence[Weighed]) -> float:
    """The points that a true partner should get, if it has each thing with its own probability."""
    return sum(one.points * one.evidence.partner for one in weighed)


def fits_places(points: Sequence[int], places: Sequence[int]) -> bool:
    """Whether conditions worth the same find classes of places for all of them, the most numerous first."""
    free = sorted(Counter(places).values())
    for wanted in sorted(Counter(points).values(), reverse=True):
        left = wanted
        while left > 0:
            if not free:
                return False
            fitting = [size for size in free if size >= left]
            taken = fitting[0] if fitting else free[-1]
            free.remove(taken)
            left -= taken
    return True


def _points(evidence: Evidence, priors: Priors) -> int:
    """What a condition is worth: less where a partner often lacks it (a stock number, a price). A partner with another
    telephone lacks both halves of this one, so both together are worth no more than one condition can be.
    """
    had = min(1.0, evidence.partner / priors.usually_had)
    points = max(1, round(had * evidence.bits(priors.most_bits) / priors.bits_a_point))
    return min(points, MOST_POINTS // 2 if evidence.half else MOST_POINTS)


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


def raised(enough: int, left: Sequence[int], up_to: float, most: int) -> int:
    """The bar above the points of others that would still pass, as far as a true partner should follow (`up_to`), and
    never above the points that there are (`most`).
    """
    return min(most, max(enough, min(max(left) + 1, ceil(up_to - 1e-9)))) if left else enough


# Stricter and looser


def stricter(points: Chain, more: Sequence[Condition]) -> Chain | None:
    """The next stricter question; `more` are conditions that could be added, the best first."""
    if not points.conditions:
        return None
    above = [total for total in _sums(points) if total > _effective(points)]
    if above:
        return replace(points, bar=above[0])
    asked = {_key(condition) for condition in points.conditions}
    for condition in more:
        if _key(condition) not in asked:
            conditions = (*points.conditions, condition)
            return replace(points, conditions=conditions, bar=points.total + condition.points)
    return None


def looser(points: Chain, decides: Callable[[Condition], bool]) -> Chain | None:
    """The next looser question, by a lower bar, its exclusions untouched, or None if a lower bar would let one
    condition be enough that may not decide by itself.
    """
    alone = max((condition.points for condition in points.conditions if not decides(condition)), default=0)
    below = [total for total in _sums(points) if alone < total < _effective(points)]
    return replace(points, bar=below[-1]) if below else None


def _effective(points: Chain) -> int:
    """The smallest sum that reaches the bar: a bar between two sums means the higher."""
    return min((total for total in _sums(points) if total >= points.bar), default=points.total + 1)


def _sums(points: Chain) -> list[int]:
    """Every sum of points that some record can get, ascending."""
    sums = {0}
    for condition in points.conditions:
        sums |= {total + condition.points for total in sums}
    return sorted(sums)


def _key(condition: Condition) -> tuple[object, ...]:
    return tuple((atom.function, atom.arguments, atom.view.attribute) for atom in condition.atoms)
