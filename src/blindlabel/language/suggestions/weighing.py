"""From evidence to points: the few conditions that say most, each worth 1 to 4, within the places that the agreement
has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from blindlabel.language.suggestions.evidence import Evidence, holds
from blindlabel.language.suggestions.priors import Priors

MOST_POINTS = 4
FEWEST = 3
"""Conditions, where the record has so many: those that tell it from none of its like still tell it from others."""
PLACES = (4, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1)
"""The places of the default agreement. Places of equal weight are a class, and conditions worth the same take places of
the same classes, whatever the class is worth.
"""


@dataclass(frozen=True)
class Weighed:
    """A condition with its points, and the evidence for it."""

    evidence: Evidence
    points: int


def weigh(
    evidence: Sequence[Evidence], most: int, most_small: int, priors: Priors, places: Sequence[int] = PLACES
) -> list[Weighed]:
    """At most so many conditions, so many of them worth one point, weightiest first; none where one alone is left that
    may not decide by itself.
    """
    chosen = _telling_most(evidence, min(most, len(places)))
    idle = sorted(
        (one for one in evidence if one.idle and one.kind != "phrase"),
        key=lambda one: (one.rows, one.found.needle.text),
    )
    chosen += idle[: max(0, min(FEWEST, len(places)) - len(chosen))]
    points = {one.found.needle: _points(one, priors) for one in chosen}
    weighed = sorted((Weighed(one, points[one.found.needle]) for one in chosen), key=lambda one: -one.points)
    small = [one for one in weighed if one.points == 1]
    for one in small[most_small:]:
        weighed.remove(one)
    while not fits_places([one.points for one in weighed], places):
        weighed.pop()
    if len(weighed) == 1 and not weighed[0].evidence.unique:
        return []
    return sorted(weighed, key=lambda one: -one.points)


def plainly(evidence: Sequence[Evidence], most: int, priors: Priors, places: Sequence[int] = PLACES) -> list[Weighed]:
    """Another opinion: the rarest things of the record, whatever they tell it from, worth more the fewer own rows have
    them. What a partner hardly has, what many own rows have, and single characters only where there is too little
    else. None where one alone is left that may not decide.
    """
    asked = [one for one in evidence if one.kind != "phrase"]
    likely = [one for one in asked if one.partner >= priors.least_likely]
    telling = [one for one in likely if one.anybody <= priors.commonest]
    ordered = sorted(
        next((these for these in (telling, likely) if len(these) >= FEWEST), asked),
        key=lambda one: (len(one.found.word) == 1, one.rows, one.found.needle.text, one.found.needle.attribute or ""),
    )
    few, some = priors.rare_rows
    weighed = [Weighed(one, 1 + (one.rows <= some) + (one.rows <= few)) for one in ordered[:most]]
    while not fits_places([one.points for one in weighed], places):
        weighed.pop()
    return [] if len(weighed) == 1 and not weighed[0].evidence.unique else weighed


def _telling_most(evidence: Sequence[Evidence], most: int) -> list[Evidence]:
    """At most so many needles, those that tell most first; none asks for a word that another asks for already."""
    ordered = sorted(
        (one for one in evidence if not one.idle),
        key=lambda one: (-one.tells, one.found.needle.text, one.found.needle.attribute or ""),
    )
    chosen: list[Evidence] = []
    asked: set[tuple[str, str | None]] = set()
    for one in ordered:
        words = {(word, one.found.needle.attribute) for word in one.found.needle.text.split(" ")}
        if len(chosen) < most and not words & asked:
            chosen.append(one)
            asked |= words
    return chosen


def scores_of(conditions: Sequence[Weighed], rows: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
    """The points that each of these rows gets."""
    return tuple(sum(one.points for one in conditions if holds(one.evidence.found.needle, row)) for row in rows)


def evened(weighed: Sequence[Weighed], enough: int) -> tuple[Weighed, ...]:
    """The same conditions where none that may not decide by itself is worth more than half of the others together,
    unless `enough` points are more than it has anyway. The bar stands above every such condition; above one that is
    worth most of the points, a partner that lacks it could never reach it. Fewer different points need no other places.
    """
    heaviest = max((one.points for one in weighed if not one.evidence.unique), default=0)
    others = sum(one.points for one in weighed) - heaviest
    most = max(1, enough - 1, others // 2)
    return tuple(one if one.evidence.unique else replace(one, points=min(one.points, most)) for one in weighed)


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
    """What a condition is worth. A partner with another telephone lacks both halves of this one, so both together are
    worth no more than one condition can be.
    """
    points = max(1, round(evidence.bits(priors.most_bits) / priors.bits_a_point))
    return min(points, MOST_POINTS // 2 if evidence.half else MOST_POINTS)
