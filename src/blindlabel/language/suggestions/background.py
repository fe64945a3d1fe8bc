"""The owner's own table as the background against which a needle is rare or common. Holds texts, no ids.

A large table is represented by some thousands of its rows, evenly spread, so that a suggestion takes milliseconds
whatever the size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from blindlabel.language import case
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import SEPARATOR, Record
from blindlabel.language.suggestions.needles import Needle, words_in_order

MOST_ROWS = 3000
"""Rows that stand for the table."""
KEPT = 16384
"""Needles whose rows are remembered (a byte a row each)."""
USUAL_WORDS = 12
"""Up to this many words an attribute is a name, title or address; beyond it is text, told differently by everybody."""

Presence = npt.NDArray[np.bool_]
"""For every row of the background, whether it has a needle."""


class Background:
    """The rows that stand for the table, and which of them have a needle."""

    def __init__(self, records: Sequence[Record], attributes: Sequence[str]) -> None:
        step = max(1, len(records) // MOST_ROWS)
        self.rows = [texts_of(record, attributes) for record in records[::step]]
        self.wholes = [whole_of(row) for row in self.rows]
        self.reliance = {attribute: self._reliance(attribute) for attribute in attributes}
        self._presence: dict[Needle, Presence] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def others(self, whole: str) -> Presence:
        """Which rows are not this very text."""
        return np.fromiter((text != whole for text in self.wholes), dtype=np.bool_, count=len(self.wholes))

    def presence(self, needle: Needle) -> Presence:
        """Which rows have the needle."""
        known = self._presence.get(needle)
        if known is None:
            if len(self._presence) >= KEPT:
                self._presence.clear()
            texts = self.wholes if needle.attribute is None else [row.get(needle.attribute, "") for row in self.rows]
            text = needle.text
            if needle.function == "is_in":
                found = (text in other for other in texts)
            elif needle.function == "equals":
                found = (text == other for other in texts)
            else:
                meaning = PREDICATES[needle.function].meaning
                found = (meaning(other, (text,)) for other in texts)
            known = self._presence[needle] = np.fromiter(found, dtype=np.bool_, count=len(texts))
        return known

    def _reliance(self, attribute: str) -> float:
        """How far words of an attribute can be relied on to stand in the other table too: 1, and less for long
        texts.
        """
        lengths = [len(words_in_order(row[attribute])) for row in self.rows if row[attribute]]
        mean = sum(lengths) / len(lengths) if lengths else 0.0
        return min(1.0, USUAL_WORDS / mean) ** 2 if mean else 1.0


def texts_of(record: Record, attributes: Sequence[str]) -> Mapping[str, str]:
    """The record's texts in lower case, in the order of the attributes."""
    return {attribute: case.lower(record.attributes.get(attribute, "")) for attribute in attributes}


def whole_of(texts: Mapping[str, str]) -> str:
    """The texts as one, as questions see it."""
    return SEPARATOR.join(texts.values())
