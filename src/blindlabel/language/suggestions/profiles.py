"""What the owner's table tells of itself: what each attribute holds, which values stand together, how well it is spelt,
which rows are alike, and what siblings share. Looks at values only, never at an attribute's name, and asks nothing.

Nearly all rows that are most like a record (its neighbours) are other things: they are what the record must be told
from. Siblings are other things of one family, as members of a household or products of a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

import numpy as np

from blindlabel.language.suggestions.needles import SHORTEST_DIGITS, Texts, kind_of, unit_of
from blindlabel.language.suggestions.own_table import Column
from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.words import words_in_order

OF_ALL = 10
"""Rows that the share in the whole table counts for, beside rows with the same other values."""
MOSTLY = 0.8
YEARS = range(1800, 2101)
SEVERAL = 3
"""Rows with a word from which on it is taken to be spelt right, and to name a kind of thing."""
MANY_NUMBERS = 4
"""A unit follows this many different numbers."""

AttributeKind = Literal["text", "year", "amount", "count"]
"""Text (also what is named by long numbers, as telephones are), a year, an amount with decimals, a whole number."""


@dataclass(frozen=True)
class Profile:
    """One attribute of a table."""

    kind: AttributeKind
    filled: float
    """Share of rows that have a value."""
    different: float
    """Different values among those, as a share."""
    words: float
    """Words of a value, on average."""
    identifiers: float
    """Share of rows whose value has an identifier."""
    numbers: float = 0.0
    """Share of values with a number that is no identifier."""
    initials: float = 0.0
    """Share of words that are single letters."""

    def reliance(self, priors: Priors, *, identifier: bool = False) -> float:
        """How far a word of this attribute can be relied on to stand in a true partner that has a value there."""
        told: float = min(1.0, priors.usual_words / self.words) ** priors.text_power if self.words else 1.0
        if identifier:
            usual = min(1.0, self.identifiers / priors.usual_codes)
            return told * (priors.stray_code + (1 - priors.stray_code) * usual)
        return told * min(1.0, priors.half + self.different)


def profiles_of(rows: Sequence[Texts], attributes: Sequence[str]) -> dict[str, Profile]:
    """The profile of every attribute, from rows of texts in lower case."""
    return {attribute: _profile([row[attribute] for row in rows]) for attribute in attributes}


class Patterns:
    """Which values stand together in rows."""

    def __init__(self, rows: Sequence[Texts]) -> None:
        self._rows = Counter(frozenset(name for name, text in row.items() if text) for row in rows)

    def presence(self, texts: Texts, profiles: Mapping[str, Profile], priors: Priors) -> dict[str, float]:
        """How probably a true partner has a value in each attribute of a record: by how many of the owner's rows have
        one that have and lack the same others.
        """
        having = frozenset(name for name, text in texts.items() if text)
        found = {}
        for name, profile in profiles.items():
            with_it, without = self._rows[having | {name}], self._rows[having - {name}]
            share = (with_it + OF_ALL * profile.filled) / (with_it + without + OF_ALL)
            found[name] = 1 - priors.half * (1 - share)
        return found


def _profile(values: Sequence[str]) -> Profile:
    present = [value for value in values if value]
    if not present:
        return Profile("text", 0.0, 0.0, 0.0, 0.0)
    in_words = [words_in_order(value) for value in present]
    numeric = sum(bool(parts) and all(part.isdigit() for part in parts) for parts in in_words) / len(present)
    kind: AttributeKind = "text"
    if numeric >= MOSTLY:
        kind = _kind_of_number([parts for parts in in_words if parts])
    identifiers = sum(any(kind_of(part) == "identifier" for part in parts) for parts in in_words)
    return Profile(
        kind,
        len(present) / len(values),
        len(set(present)) / len(present),
        sum(map(len, in_words)) / len(present),
        identifiers / len(values),
        sum(any(kind_of(part) == "number" for part in parts) for parts in in_words) / len(present),
        sum(kind_of(part) == "initial" for parts in in_words for part in parts) / max(1, sum(map(len, in_words))),
    )


def _kind_of_number(values: Sequence[Sequence[str]]) -> AttributeKind:
    """What an attribute of numbers holds, by the usual form of its values (their runs of digits)."""

    def mostly(form: Callable[[Sequence[str]], bool]) -> bool:
        return sum(map(form, values)) >= MOSTLY * len(values)

    if mostly(lambda parts: max(map(len, parts)) >= SHORTEST_DIGITS):
        return "text"
    if mostly(lambda parts: parts[0].isdecimal() and int(parts[0]) in YEARS):
        return "year"
    return "count" if mostly(lambda parts: len(parts) == 1) else "amount"


def length_of(row: Texts) -> int:
    """The words of a row, all attributes together."""
    return sum(len(words_in_order(text)) for text in row.values())


def units_of(rows: Sequence[Texts]) -> frozenset[str]:
    """The units that a table counts in: letters that follow several different numbers."""
    having = {word for row in rows for text in row.values() for word in words_in_order(text)}
    numbers = Counter(unit for unit in map(unit_of, having) if unit)
    return frozenset(unit for unit, different in numbers.items() if different >= MANY_NUMBERS)


def misspelt(rows: Sequence[Texts]) -> tuple[float, float]:
    """The longer words that look misspelt, as a share of all of them and of those that one row has: no other row has
    them, but several have one that differs by a letter. An owner cannot know how well the other table is spelt; tables
    about the same things are often alike.
    """
    having: Counter[str] = Counter()
    for row in rows:
        words = {word for text in row.values() for word in words_in_order(text)}
        having.update(word for word in words if len(word) >= SHORTEST_DIGITS and word.isalpha())
    usual = {form for word, count in having.items() if count >= SEVERAL for form in _one_letter_less(word)}
    single = [word for word, count in having.items() if count == 1]
    wrong = sum(not usual.isdisjoint(_one_letter_less(word)) for word in single)
    return wrong / max(1, having.total()), wrong / max(1, len(single))


def _one_letter_less(word: str) -> set[str]:
    """The word, and the word without any one of its letters: words that share one differ by a letter at most."""
    return {word} | {word[:place] + word[place + 1 :] for place in range(len(word))}


# Neighbours

COMMON = 0.25
"""Words of more rows than this share tell nothing about likeness, unless there are few rows at all."""
FEW = 50
MOST_ROWS = 20_000
"""Nor do words of more rows than this; and this many rows, evenly spread, tell what a table is like. It bounds the
work.
"""


@dataclass(frozen=True)
class Neighbour:
    """A row of the owner's table like the record."""

    row: int
    likeness: float
    """What they share, of what either has, by rarity: 0 to 1."""


def nearest(column: Column, record: Mapping[str, float], most: int) -> list[Neighbour]:
    """The rows most like a record (its words, each with how far it can be relied on), the most similar first. The
    record is one of them if it is in the table.
    """
    rows, size = len(column.texts), 0.0
    shared = np.zeros(rows, dtype=np.float64)
    for word, reliance in sorted(record.items()):  # so that rounding is the same each time
        having = column.rows_of_word(word)
        worth = reliance * log2((rows + 1) / (len(having) + 0.5))
        size += worth
        if 0 < len(having) <= min(max(COMMON * rows, FEW), MOST_ROWS):
            shared[having] += worth
    like = np.flatnonzero(shared)
    if len(like) > most:
        like = like[shared[like] >= np.partition(shared[like], len(like) - most)[len(like) - most]]
    found = [Neighbour(int(row), float(shared[row] / size)) for row in like]
    return sorted(found, key=lambda one: (-one.likeness, one.row))[:most]


# Siblings

LOOKED_AT_FOR_SIBLINGS = 400
"""Rows whose siblings are looked for, evenly spread."""
LIKE = 0.4
"""A row of the table that shares so much with another, by rarity, is of its family."""
TELLS_SIBLINGS_APART = 0.33
"""An attribute tells siblings apart where fewer of its words are shared."""


def telling_apart(rows: Sequence[Texts], sibling_of: Callable[[Texts], Texts | None]) -> frozenset[str]:
    """The attributes that tell siblings apart in these rows. Where none does, they may be the same things twice,
    misspelt.
    """
    every: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    for row in rows[:: max(1, len(rows) // LOOKED_AT_FOR_SIBLINGS)]:
        sibling = sibling_of(row) or {}
        for name in sibling:
            words, others = set(words_in_order(row[name])), set(words_in_order(sibling[name]))
            if words and others:
                every[name] += len(words)
                shared[name] += len(words & others)
    return frozenset(name for name, count in every.items() if shared[name] < TELLS_SIBLINGS_APART * count)
