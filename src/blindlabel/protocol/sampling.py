"""Choosing the rows that are labelled. Positions come out ascending, so that their order says nothing.

- uniform: every set of rows is equally likely;
- rows: the agreement names them;
- enriched: a part of the rows by blocking keys that both owners have, without showing the keys (`blocking`); the rest
  uniformly.

Chance comes from `Draw`; outside of simulations that is `secrets.randbelow`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TypeVar

from blindlabel.language.record import Record

_Thing = TypeVar("_Thing")
Draw = Callable[[int], int]
"""A whole number from 0 to below the argument, each equally likely."""

KEYS_PER_ROW = 8
"""Blocking keys of a row, at most."""


def choose(rows: Sequence[_Thing], wanted: int, draw: Draw) -> list[_Thing]:
    """So many of these (or all), every set equally likely: the first steps of a Fisher-Yates shuffle, without
    copying big tables.
    """
    moved: dict[int, int] = {}
    chosen = []
    for index in range(min(wanted, len(rows))):
        other = index + draw(len(rows) - index)
        chosen.append(rows[moved.get(other, other)])
        moved[other] = moved.get(index, index)
    return chosen


def uniform(size: int, wanted: int, draw: Draw = secrets.randbelow) -> tuple[int, ...]:
    """Rows of a table of this size."""
    return tuple(sorted(choose(range(size), wanted, draw)))


def blocking_keys(record: Record, attributes: Sequence[str]) -> list[str]:
    """A row's blocking keys in clear, the most telling first: each attribute's first word; the beginnings of two
    attributes' first words (which outlast an error further on); further words. What is common is left
    out later (`blocking.rare_keys`).
    """
    words = {
        number: record.attributes.get(attribute, "").lower().split() for number, attribute in enumerate(attributes)
    }
    firsts = [(number, found[0]) for number, found in words.items() if found]
    keys = [f"{number}:{word}" for number, word in firsts]
    keys += [f"{a}:{one[:4]}&{b}:{two[:4]}" for index, (a, one) in enumerate(firsts) for b, two in firsts[index + 1 :]]
    keys += [f"{number}:{word}" for number, found in words.items() for word in found[1:]]
    return list(dict.fromkeys(keys))[:KEYS_PER_ROW]
