"""A question a little stricter or looser, also one that a person wrote. Moves the bar to the next sum of points that
can be reached; where all points are asked for already, stricter means one more condition. Looser never goes so far that
a price, a quantity, a year or a word is enough by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from blindlabel.language.points import Condition, PointsQuestion


def stricter(points: PointsQuestion, more: Sequence[Condition]) -> PointsQuestion | None:
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


def looser(points: PointsQuestion, decides: Callable[[Condition], bool]) -> PointsQuestion | None:
    """The next looser question, by a lower bar, its exclusions untouched; None where a lower bar would let one
    condition be enough that may not decide by itself.
    """
    alone = max((condition.points for condition in points.conditions if not decides(condition)), default=0)
    below = [total for total in _sums(points) if alone < total < _effective(points)]
    return replace(points, bar=below[-1]) if below else None


def _effective(points: PointsQuestion) -> int:
    """The smallest sum that reaches the bar: a bar between two sums means the higher."""
    return min((total for total in _sums(points) if total >= points.bar), default=points.total + 1)


def _sums(points: PointsQuestion) -> list[int]:
    """Every sum of points that some record can get, ascending."""
    sums = {0}
    for condition in points.conditions:
        sums |= {total + condition.points for total in sums}
    return sorted(sums)


def _key(condition: Condition) -> tuple[object, ...]:
    return tuple((atom.function, atom.arguments, atom.view.attribute) for atom in condition.any_of)
