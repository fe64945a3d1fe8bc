"""The rows of the own table that are most like a record. Nearly all of them are other things: they are what the record
must be told from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from blindlabel.language.suggestions.own_table import Column

COMMON = 0.2
"""Words of more rows than this share tell nothing about likeness, unless there are few rows at all."""
FEW = 50
MOST_COMMON = 20_000
"""Nor do words of more rows than this: a bound on the work in large tables."""


@dataclass(frozen=True)
class Neighbour:
    """A row of the own table like the record."""

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
        for word, reliance in record.items():
            having = self._column.rows_of_word(word)
            worth = reliance * self.rarity(len(having))
            size += worth
            if 0 < len(having) <= min(max(COMMON * rows, FEW), MOST_COMMON):
                shared[having] += worth
        shared[list(itself)] = 0.0
        most = min(most, rows)
        found = np.argpartition(-shared, most - 1)[:most] if most else np.zeros(0, dtype=np.int64)
        likeness = [(float(shared[row] / size) if size else 0.0, int(row)) for row in found if shared[row] > 0]
        return [Neighbour(row, value) for value, row in sorted(likeness, key=lambda one: (-one[0], one[1]))]

    def rarity(self, having: int) -> float:
        """Bits of information in a word that so many rows have."""
        return log2((len(self._column.texts) + 1) / (having + 0.5))
