"""How far a table has duplicates, and which rows look like the same thing. From the own table alone.

Two rows look like the same thing where nearly all words that tell rows apart are the same, and no number or identifier
of one stands against one of the other. Words that no other row has do not count: in a duplicate they are misspellings
and leftovers. Two siblings, other things of one family, differ in words that other rows have too.

In a table without duplicates such rows are siblings all the same, told apart by what is not written; so the share of
rows that have one decides whether they are taken for duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from blindlabel.language.suggestions.needles import kind_of, words_in_order
from blindlabel.language.suggestions.neighbours import Neighbour
from blindlabel.language.suggestions.profiles import Profile

LOOKED_AT = 200
"""Rows that the share is estimated from, evenly spread: it is known to a few hundredths then."""
NEAREST = 4
"""Neighbours of each that are looked at."""
NEARLY_ALL = 0.8
TELLS_APART = 0.5
"""Different values, as a share of all, from which on an attribute tells rows apart."""


class Duplicates:
    """Which rows of a table look like the same thing. `rarity` gives the bits of a word, and 0 where no two rows have
    it.
    """

    def __init__(self, profiles: Mapping[str, Profile], rarity: Callable[[str], float]) -> None:
        text = [name for name, profile in profiles.items() if profile.kind == "text"]
        self._telling = [name for name in text if profiles[name].different >= TELLS_APART] or text
        self._naming = [name for name, profile in profiles.items() if profile.kind != "amount"]
        self._rarity = rarity

    def alike(self, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
        """Whether two rows look like the same thing."""
        words, others = self._words(one), self._words(other)
        shared = self._size(words & others)
        if not shared or shared < NEARLY_ALL * self._size(words | others):
            return False
        numbers, other_numbers = self._numbers(one), self._numbers(other)
        return numbers <= other_numbers or other_numbers <= numbers

    def share(
        self, rows: Sequence[Mapping[str, str]], nearest: Callable[[Mapping[str, str]], Sequence[Neighbour]]
    ) -> float:
        """The share of rows that have another which looks like the same thing."""
        looked_at = rows[:: max(1, len(rows) // LOOKED_AT)]
        having = sum(any(self.alike(row, rows[near.row]) for near in nearest(row)[:NEAREST]) for row in looked_at)
        return having / max(1, len(looked_at))

    def _words(self, texts: Mapping[str, str]) -> set[str]:
        return {word for name in self._telling for word in words_in_order(texts[name]) if len(word) > 1}

    def _numbers(self, texts: Mapping[str, str]) -> set[str]:
        found = {word for name in self._naming for word in words_in_order(texts[name])}
        return {word for word in found if kind_of(word) in ("number", "identifier")}

    def _size(self, words: Iterable[str]) -> float:
        return sum(map(self._rarity, sorted(words)))  # in order, so that rounding is the same each time
