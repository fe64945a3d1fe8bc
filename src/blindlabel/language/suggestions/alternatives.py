"""A weighted count where counting is not agreed on: a few conjunctions, one of which must hold. Chooses them; writes
nothing.

Every conjunction reaches the threshold by itself, so what one of them accepts the count would accept too. Among those,
the ones are taken that a true partner most probably fulfils, if it has each needle with the same probability: few
needles each, and not the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from blindlabel.language.suggestions.weighing import Asked

LOOKED_AT = 10
"""Needles, the weightiest first, that conjunctions are made of."""
PRESENT = 0.75
"""How probably a true partner has a needle. Only its being neither 0 nor 1 matters much."""


def conjunctions(asked: Sequence[Asked], threshold: int, most: int) -> list[tuple[Asked, ...]]:
    """At most so many conjunctions, weightiest needles first; none where all needles together do not reach the
    threshold.
    """
    needles = asked[:LOOKED_AT]
    if sum(one.weight for one in needles) < threshold:
        return [tuple(asked)] if sum(one.weight for one in asked) >= threshold else []
    present, probability = _states(len(needles))
    reaching = {parts: present[:, parts].all(axis=1) for parts in _reaching(needles, threshold)}
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
    return [tuple(needles[part] for part in parts) for parts in chosen]


def _reaching(needles: Sequence[Asked], threshold: int) -> list[tuple[int, ...]]:
    """The sets of needles that reach the threshold and would not without any one of them."""
    found: list[tuple[int, ...]] = []
    for size in range(1, len(needles) + 1):
        for parts in combinations(range(len(needles)), size):
            weights = [needles[part].weight for part in parts]
            if sum(weights) >= threshold and sum(weights) - min(weights) < threshold:
                found.append(parts)
    return found


def _states(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Every way in which needles can be there or not, and its probability."""
    present = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1 == 1
    return present, np.where(present, PRESENT, 1 - PRESENT).prod(axis=1)
