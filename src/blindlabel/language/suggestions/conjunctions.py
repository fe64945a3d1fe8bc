"""A points question where counting is not agreed on: a few conjunctions, one of which must hold.

Every conjunction reaches the bar by itself, so what one of them accepts the points question would accept too. Among
those, the ones are taken that a true partner most probably fulfils, if it has each thing with the same probability: few
conditions each, and not the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from blindlabel.language.points import Condition, PointsQuestion, call_of

LOOKED_AT = 10
"""Conditions, the weightiest first, that conjunctions are made of."""
PRESENT = 0.75
"""How probably a true partner meets a condition. Only its being neither 0 nor 1 matters much."""


def without_counting(points: PointsQuestion, most: int, *, lowered: bool) -> str:
    """The question without a count: one of at most so many conjunctions."""
    if not points.conditions:
        return "ret false\n"
    # Only a condition that asks for one thing has a conjunction to itself: others may be alternatives themselves.
    single = [one for one in points.conditions if one.any_of[0].function == "is_in"] or list(points.conditions)
    chosen = conjunctions(single, points.bar, most) or conjunctions(points.conditions, points.bar, most)
    parts = [" & ".join(call_of(one.any_of[0], plain=True) for one in needed) for needed in chosen]
    if len(parts) > 1:
        parts = [f"({part})" if " & " in part else part for part in parts]
    fold = "" if lowered else "$r = lower($r)\n"
    return f"{fold}ret {' | '.join(parts)}\n"


def conjunctions(conditions: Sequence[Condition], bar: int, most: int) -> list[tuple[Condition, ...]]:
    """At most so many conjunctions, weightiest conditions first; none where all together do not reach the bar."""
    looked_at = conditions[:LOOKED_AT]
    if sum(one.points for one in looked_at) < bar:
        return [tuple(conditions)] if sum(one.points for one in conditions) >= bar else []
    present, probability = _states(len(looked_at))
    reaching = {parts: present[:, parts].all(axis=1) for parts in _reaching(looked_at, bar)}
    chosen: list[tuple[int, ...]] = []
    fulfilled = np.zeros(len(probability), dtype=np.bool_)
    while len(chosen) < most and len(chosen) < len(reaching):
        best = max(
            reaching,
            key=lambda parts: (float(probability[reaching[parts] & ~fulfilled].sum()), [-part for part in parts]),
        )
        if chosen and not probability[reaching[best] & ~fulfilled].sum() > 0:
            break
        chosen.append(best)
        fulfilled |= reaching[best]
    return [tuple(looked_at[part] for part in parts) for parts in chosen]


def _reaching(conditions: Sequence[Condition], bar: int) -> list[tuple[int, ...]]:
    """The sets of conditions that reach the bar and would not without any one of them."""
    found: list[tuple[int, ...]] = []
    for size in range(1, len(conditions) + 1):
        for parts in combinations(range(len(conditions)), size):
            points = [conditions[part].points for part in parts]
            if sum(points) >= bar and sum(points) - min(points) < bar:
                found.append(parts)
    return found


def _states(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Every way in which conditions can hold or not, and its probability."""
    present = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1 == 1
    return present, np.where(present, PRESENT, 1 - PRESENT).prod(axis=1)
