"""What other things of one family have in common, by attribute. From the own table alone.

Members of a household share surname, address and telephone, and differ in given name and age; products of a line share
their words, and differ in the model number. An owner sees that in the few rows of its own table that are siblings, and
takes it to hold for records whose siblings stand in the other table alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from blindlabel.language.suggestions.needles import Found, kind_of, words_in_order
from blindlabel.language.suggestions.neighbours import Neighbour

LOOKED_AT = 400
"""Rows whose siblings are looked for, evenly spread."""
LIKE = 0.4
"""An own row that shares so much with another, by rarity, is of its family."""
EXPECTED = 0.2
UNKNOWN = 4
"""What is expected where nothing is known, and the words that it counts for: few siblings tell little."""
ENOUGH = 10
TELLS_APART = 0.33
"""An attribute tells siblings apart where fewer of its words are shared, of so many at least."""
SHARED = 0.5
"""A sibling is taken to have what is shared more often than not."""

Texts = Mapping[str, str]


class Siblings:
    """How often a sibling has a word of an attribute too, identifiers apart from other words. Nothing, while empty."""

    def __init__(self) -> None:
        self._all: Counter[tuple[str, bool]] = Counter()
        self._shared: Counter[tuple[str, bool]] = Counter()

    @classmethod
    def of(
        cls,
        rows: Sequence[Texts],
        nearest: Callable[[Texts], Sequence[Neighbour]],
        alike: Callable[[Texts, Texts], bool],
    ) -> Siblings:
        """As they are in these rows. Rows that look like the same thing are no siblings."""
        found = cls()
        for row in rows[:: max(1, len(rows) // LOOKED_AT)]:
            like = (rows[one.row] for one in nearest(row) if one.likeness >= LIKE)
            sibling = next((other for other in like if not alike(row, other)), None)
            if sibling is not None:
                found._count(row, sibling)
        return found

    @property
    def telling(self) -> frozenset[str]:
        """The attributes that tell siblings apart. Where none does, they may be the same things twice, misspelt."""
        return frozenset(
            name
            for (name, identifier), count in self._all.items()
            if not identifier and count >= ENOUGH and self._shared[name, identifier] < TELLS_APART * count
        )

    def lonely(self, nearest: Sequence[Neighbour]) -> float:
        """The share of a record's nearest own rows that are no siblings of it; 0 where nothing is known of siblings."""
        return sum(one.likeness < LIKE for one in nearest) / max(1, len(nearest)) if self.telling else 0.0

    def share(self, found: Found) -> float:
        """How probably a sibling has a needle of the record too."""
        keys = [(name, kind_of(found.word) == "identifier") for name in found.attributes]
        return max((self._shared[key] + UNKNOWN * EXPECTED) / (self._all[key] + UNKNOWN) for key in keys)

    def has(self, found: Found) -> bool:
        """Whether a sibling is taken to have it."""
        return self.share(found) >= SHARED

    def _count(self, row: Texts, sibling: Texts) -> None:
        for name, text in row.items():
            others = set(words_in_order(sibling[name]))
            for word in words_in_order(text) if others else ():
                key = name, kind_of(word) == "identifier"
                self._all[key] += 1
                self._shared[key] += word in others
