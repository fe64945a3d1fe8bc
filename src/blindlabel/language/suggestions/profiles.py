"""What the owner's table tells of itself: what each attribute holds, which values stand together, how well it is spelt,
which rows are alike, and what siblings share. Looks at values only, never at an attribute's name, and asks nothing.

It is given different rows, ordered by what they say (`own_table`), so neither the order of the table nor a row that
stands there twice changes what it finds.

Nearly all rows that are most like a record (its neighbours) are other things: they are what the record must be told
from. Siblings are other things of one family. Members of a household share surname, address and telephone, and differ
in given name and age; products of a line share their words, and differ in the model number. An owner sees that in the
few rows of its own table that are siblings, and takes it to hold for records whose siblings stand in the other table
alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from statistics import median
from typing import Literal, NamedTuple

import numpy as np

from blindlabel.language.suggestions.needles import SHORTEST_DIGITS, Found, Texts, kind_of, unit_of
from blindlabel.language.suggestions.own_table import Column
from blindlabel.language.suggestions.priors import Priors
from blindlabel.language.words import words_in_order

OF_ALL = 10
"""Rows that the share in the whole table counts for, beside rows with the same other values."""
MOSTLY = 0.8
YEARS = range(1800, 2101)
SHORTEST_SPELT = 5
USUAL = 3
"""Rows with a word from which on it is taken to be spelt right."""
MANY_NUMBERS = 4
AGAIN = 1.5
"""A unit follows this many different numbers, each of which this many rows have on average."""

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
            usual = min(1.0, self.identifiers / priors.codes_usual)
            return told * (priors.stray_code + (1 - priors.stray_code) * usual)
        return told * min(1.0, priors.repeated + self.different)


def profiles_of(rows: Sequence[Texts], attributes: Sequence[str]) -> dict[str, Profile]:
    """The profile of every attribute, from rows of texts in lower case."""
    return {attribute: _profile([row[attribute] for row in rows]) for attribute in attributes}


class Patterns:
    """Which values stand together in rows."""

    def __init__(self, rows: Sequence[Texts], profiles: Mapping[str, Profile]) -> None:
        self._profiles = profiles
        self._rows = Counter(frozenset(name for name, text in row.items() if text) for row in rows)

    def presence(self, texts: Texts, priors: Priors) -> dict[str, float]:
        """How probably a true partner has a value in each attribute of a record: by how many of the owner's rows have
        one that have and lack the same others.
        """
        having = frozenset(name for name, text in texts.items() if text)
        found = {}
        for name, profile in self._profiles.items():
            with_it, without = self._rows[having | {name}], self._rows[having - {name}]
            share = (with_it + OF_ALL * profile.filled) / (with_it + without + OF_ALL)
            found[name] = 1 - priors.filled + priors.filled * share
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


def usual_length(rows: Sequence[Texts]) -> float:
    """The median length of a table's rows."""
    return median(map(length_of, rows or [{}]))


def units_of(rows: Sequence[Texts]) -> frozenset[str]:
    """The units that a table counts in: letters that follow several different numbers, and such words come again."""
    having: Counter[str] = Counter()
    for row in rows:
        having.update({word for text in row.values() for word in words_in_order(text) if unit_of(word)})
    numbers = Counter(unit_of(word) for word in having)
    uses: Counter[str] = Counter()
    for word, count in having.items():
        uses[unit_of(word)] += count
    return frozenset(
        unit for unit, different in numbers.items() if different >= MANY_NUMBERS and uses[unit] >= AGAIN * different
    )


class Misspelt(NamedTuple):
    """How many longer words of a table look misspelt."""

    of_all: float
    """As a share of all of them."""
    of_single: float
    """As a share of those that one row has."""


def misspelt(rows: Sequence[Texts]) -> Misspelt:
    """The longer words that look misspelt: no other row has them, but several have one that differs by a letter. An
    owner cannot know how well the other table is spelt; tables about the same things are often alike.
    """
    having: Counter[str] = Counter()
    for row in rows:
        having.update({word for text in row.values() for word in words_in_order(text) if _spelt(word)})
    usual = {form for word, count in having.items() if count >= USUAL for form in _one_letter_less(word)}
    single = [word for word, count in having.items() if count == 1]
    wrong = sum(not usual.isdisjoint(_one_letter_less(word)) for word in single)
    return Misspelt(wrong / max(1, having.total()), wrong / max(1, len(single)))


def _spelt(word: str) -> bool:
    return len(word) >= SHORTEST_SPELT and word.isalpha()


def _one_letter_less(word: str) -> set[str]:
    """The word, and the word without any one of its letters: words that share one differ by a letter at most."""
    return {word} | {word[:place] + word[place + 1 :] for place in range(len(word))}


# Neighbours

COMMON = 0.2
"""Words of more rows than this share tell nothing about likeness, unless there are few rows at all."""
FEW = 50
MOST_COMMON = 20_000
"""Nor do words of more rows than this: a bound on the work in large tables."""


@dataclass(frozen=True)
class Neighbour:
    """A row of the owner's table like the record."""

    row: int
    likeness: float
    """What they share, of what either has, by rarity: 0 to 1."""


class Neighbourhood:
    """Finds the rows most like a record by the rarity of the words they share."""

    def __init__(self, column: Column) -> None:
        self._column = column

    def nearest(self, record: Mapping[str, float], itself: Sequence[int], most: int) -> list[Neighbour]:
        """The rows most like a record (its words, each with how far it can be relied on), the likest first; `itself`
        are rows that say the very same.
        """
        rows = len(self._column.texts)
        shared = np.zeros(rows, dtype=np.float64)
        size = 0.0
        for word, reliance in sorted(record.items()):  # so that rounding is the same each time
            having = self._column.rows_of_word(word)
            worth = reliance * self.rarity(len(having))
            size += worth
            if 0 < len(having) <= min(max(COMMON * rows, FEW), MOST_COMMON):
                shared[having] += worth
        shared[list(itself)] = 0.0
        like = np.flatnonzero(shared)
        if len(like) > most:
            least = np.partition(shared[like], len(like) - most)[len(like) - most]
            like = like[shared[like] >= least]
        likeness = [(float(shared[row] / size), int(row)) for row in like]
        return [Neighbour(row, value) for value, row in sorted(likeness, key=lambda one: (-one[0], one[1]))[:most]]

    def rarity(self, having: int) -> float:
        """Bits of information in a word that this many rows have."""
        return log2((len(self._column.texts) + 1) / (having + 0.5))


# Siblings

LOOKED_AT_FOR_SIBLINGS = 400
"""Rows whose siblings are looked for, evenly spread."""
LIKE = 0.4
"""A row of the table that shares so much with another, by rarity, is of its family."""
EXPECTED, UNKNOWN = 0.2, 4
"""What a sibling shares where nothing is known, and the words that it counts for: few siblings tell little."""
TELLS_SIBLINGS_APART = 0.33
"""An attribute tells siblings apart where fewer of its words are shared."""


@dataclass(frozen=True)
class Siblings:
    """How often a sibling has a word of an attribute too. Nothing, while empty."""

    shares: Mapping[str, float] = field(default_factory=dict)
    expected: bool = False
    """Whether any record may have one in the other table, whatever the owner's rows are like."""

    @classmethod
    def of(cls, rows: Sequence[Texts], sibling_of: Callable[[Texts], Texts | None]) -> Siblings:
        """As they are in these rows."""
        every: Counter[str] = Counter()
        shared: Counter[str] = Counter()
        for row in rows[:: max(1, len(rows) // LOOKED_AT_FOR_SIBLINGS)]:
            sibling = sibling_of(row)
            for name, text in row.items() if sibling is not None else ():
                words, others = set(words_in_order(text)), set(words_in_order(sibling[name] if sibling else ""))
                if words and others:
                    every[name] += len(words)
                    shared[name] += len(words & others)
        return cls({name: (shared[name] + UNKNOWN * EXPECTED) / (every[name] + UNKNOWN) for name in every})

    @classmethod
    def of_persons(cls, attributes: Iterable[str], personal: Collection[str]) -> Siblings:
        """Members of a household, where it is known which attributes are one person's own: they share all others."""
        return cls({name: float(name not in personal) for name in attributes}, expected=True)

    @property
    def telling(self) -> frozenset[str]:
        """The attributes that tell siblings apart. Where none does, they may be the same things twice, misspelt."""
        return frozenset(name for name, share in self.shares.items() if share < TELLS_SIBLINGS_APART)

    def lonely(self, nearest: Sequence[Neighbour]) -> float:
        """The share of a record's nearest rows of the table that are no siblings of it, or 0 if nothing is known of
        siblings.
        """
        if self.expected:
            return 1.0
        return sum(one.likeness < LIKE for one in nearest) / max(1, len(nearest)) if self.telling else 0.0

    def share(self, found: Found) -> float:
        """How probably a sibling has a needle of the record too."""
        return max(self.shares.get(name, EXPECTED) for name in found.attributes)
