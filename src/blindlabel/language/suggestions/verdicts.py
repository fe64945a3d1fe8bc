"""What a question says about its owner's own table: which rows it fits besides the one it was written for.

An expert sees from that at once whether a question is too loose, too strict, or always says the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from blindlabel.language.formula import Formula, evaluate
from blindlabel.language.record import Record
from blindlabel.language.suggestions.own_table import OwnTable

NAMED = 10
"""Other rows that a verdict names."""


@dataclass(frozen=True)
class Verdict:
    """How a question fits the rows of its owner's own table."""

    rows: int
    """Rows of the table."""
    others: int
    """Rows it fits besides this record; those that say the very same as it are not counted."""
    itself: bool | None
    """Whether it fits this record; None where it was asked for no record."""
    also: tuple[int, ...] = ()
    """Positions of the first of these others."""
    same: Literal["always", "never"] | None = None
    """Whether it says the same of every row: then it tells nothing apart."""

    @property
    def sentence(self) -> str:
        """The verdict for a person."""
        if self.same == "never" and not self.itself:
            return "It fits none of your own rows, not even this one." if self.itself is False else "It fits no row."
        if self.same == "always":
            return "It fits every one of your own rows, so it tells nothing apart."
        but = " But it does not fit this one." if self.itself is False else ""
        if self.others == 0:
            return f"It fits no other of your own {self.rows:,} rows.{but}"
        what = "one other" if self.others == 1 else f"{self.others:,} others"
        return f"It also fits {what} of your own {self.rows:,} rows.{but}"


def verdict(question: Formula, table: OwnTable, record: Record | None = None) -> Verdict:
    """The verdict on a question, written for this record."""
    fits = table.fitting(question)
    itself = None if record is None else evaluate(question, record)
    count = int(np.count_nonzero(fits))
    same: Literal["always", "never"] | None = None
    if len(table) > 1 and count in (0, len(table)):
        same = "never" if count == 0 else "always"
    found = np.flatnonzero(fits)
    if record is not None:
        found = np.array([row for row in found.tolist() if table.records[row].whole != record.whole], dtype=np.int64)
    return Verdict(len(table), len(found), itself, tuple(found[:NAMED].tolist()), same)
