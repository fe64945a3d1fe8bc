"""From needles to a weighted count: which are worth asking, and how much each counts. Knows the own table, not the
round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import log2

import numpy as np

from blindlabel.language.suggestions.background import Background
from blindlabel.language.suggestions.needles import Needle

MOST_NEEDLES = 12
"""Needles of one question: what a person can still read."""
TOTAL_WEIGHT = 30
"""Sum of the weights, where the agreement allows as much: small numbers are readable, and cheap to count under
encryption.
"""
MOST_BITS = 11.0
"""A needle is worth at most this many bits: beyond, a table of some thousand rows says nothing about rarity."""
SHARPNESS = 2
"""Worth is bits to this power, as in the cosine of TF-IDF vectors: common words that come together (black ink
cartridge) must not outweigh one rare model number."""
SIBLINGS = 10
"""Nearest rows of the own table that a record must be told from."""
SAME_THING = 0.8
"""A row with this share of the worth is a duplicate rather than a sibling: not to be told from."""
EMPHASIS = 2.0
"""A needle that no sibling has counts up to 1 + this times as much."""
NEIGHBOURS = 16
"""Best scores of other own rows that are kept for setting thresholds."""
ALIKE = 0.3
"""A row with this share of the weights, and less than `SAME_THING`, is so alike that its model number tells it apart.
"""
MOST_EXCLUDED = 4
EXCLUSION = 0.3
"""What finding the model number of such a row costs, as a share of the total."""


@dataclass(frozen=True)
class Asked:
    """One part of the count."""

    needle: Needle
    weight: int
    rows: int
    """Other rows of the background that have the needle."""


@dataclass(frozen=True)
class Count:
    """A weighted count and what rows of the own table score in it."""

    asked: tuple[Asked, ...]
    neighbours: tuple[int, ...]
    """The best scores of other own rows, highest first."""
    excluded: tuple[Needle, ...] = ()
    """Model numbers of own rows that are much alike, none of which the other record should have."""

    @property
    def total(self) -> int:
        """The score of the record itself."""
        return sum(one.weight for one in self.asked)

    @property
    def penalty(self) -> int:
        """What an excluded needle costs."""
        return round(EXCLUSION * self.total) if self.excluded else 0


def weigh(
    needles: Mapping[Needle, tuple[str, ...]], whole: str, background: Background, most_weight: int, most_needles: int
) -> Count:
    """The count for a record whose text in lower case is `whole`."""
    others = background.others(whole)
    rows = {needle: int(np.count_nonzero(background.presence(needle) & others)) for needle in needles}
    worth: dict[Needle, float] = {}
    for needle, attributes in needles.items():
        bits = min(MOST_BITS, log2((len(background) + 1) / (rows[needle] + 1.5)))
        reliance = max(background.reliance.get(attribute, 1.0) for attribute in attributes)
        worth[needle] = reliance * max(bits, 0.0) ** SHARPNESS
    chosen = sorted(needles, key=lambda needle: (-worth[needle], needle.text, needle.function, needle.attribute or ""))
    chosen = chosen[: min(MOST_NEEDLES, most_needles)]
    emphasised = _emphasised({needle: worth[needle] for needle in chosen}, background, others)
    weights = _whole_numbers(emphasised, min(TOTAL_WEIGHT, most_weight))
    asked = tuple(Asked(needle, weight, rows[needle]) for needle, weight in weights.items())
    asked = tuple(sorted(asked, key=lambda one: -one.weight))
    scores = np.zeros(len(background), dtype=np.int64)
    for one in asked:
        scores += one.weight * background.presence(one.needle)
    best = np.sort(scores * others)[::-1][:NEIGHBOURS]
    return Count(asked, tuple(int(score) for score in best))


def _emphasised(worth: Mapping[Needle, float], background: Background, others: np.ndarray) -> dict[Needle, float]:
    """Worth raised for the needles that the nearest own rows lack."""
    total = sum(worth.values())
    scores = np.zeros(len(background))
    for needle, value in worth.items():
        scores += value * background.presence(needle)
    scores *= others
    nearest = [row for row in np.argsort(-scores, kind="stable")[:SIBLINGS] if scores[row] < SAME_THING * total]
    if not nearest:
        return dict(worth)
    return {
        needle: value * (1 + EMPHASIS * float(np.mean([not background.presence(needle)[row] for row in nearest])))
        for needle, value in worth.items()
    }


def _whole_numbers(worth: Mapping[Needle, float], most: int) -> dict[Needle, int]:
    """Whole weights in proportion, of at most this sum; what comes to nothing is left out, but never everything."""
    total = sum(worth.values())
    if not worth or total <= 0:
        return dict.fromkeys(list(worth)[:most], 1)
    weights = {needle: round(value * most / total) for needle, value in worth.items()}
    while sum(weights.values()) > most:
        largest = max(weights, key=lambda needle: weights[needle])
        weights[largest] -= 1
    kept = {needle: weight for needle, weight in weights.items() if weight > 0}
    return kept or {next(iter(worth)): 1}


def with_exclusions(
    count: Count,
    whole: str,
    background: Background,
    needles_of_row: Callable[[Mapping[str, str]], Iterable[Needle]],
    most: int,
) -> Count:
    """The count with the model numbers (letters and digits together) of the own rows that are most alike, at most so
    many.
    """
    scores = np.zeros(len(background), dtype=np.int64)
    for one in count.asked:
        scores += one.weight * background.presence(one.needle)
    scores *= background.others(whole)
    excluded: list[Needle] = []
    for row in np.argsort(-scores, kind="stable")[:NEIGHBOURS]:
        if len(excluded) >= min(most, MOST_EXCLUDED) or scores[row] < ALIKE * count.total:
            break
        if scores[row] >= SAME_THING * count.total:
            continue
        codes = [
            needle for needle in needles_of_row(background.rows[row]) if _is_code(needle) and needle.text not in whole
        ]
        if codes:
            rarest = min(codes, key=lambda needle: (int(np.count_nonzero(background.presence(needle))), needle.text))
            if rarest not in excluded:
                excluded.append(rarest)
    return replace(count, excluded=tuple(excluded))


def _is_code(needle: Needle) -> bool:
    has_digit = any(character.isdigit() for character in needle.text)
    return needle.function == "is_in" and has_digit and any(character.isalpha() for character in needle.text)
