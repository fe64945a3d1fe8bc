"""What is to be thought of a question before it is asked, from the owner's own rows alone.

Nobody sees the other side's records, but the owner's own rows are nearly always *other* things: a question that fits
one of them as well is likely to fit a wrong record over there. One count everywhere, on the page as in the log:
`others` are the owner's rows that a question fits *besides* its own record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from blindlabel.language.formula import Constant, Formula, evaluate
from blindlabel.storage.workspace import OwnRecord
from blindlabel.web.own_table import OwnTable

Kind = Literal["only", "others", "loose", "not-itself", "never", "always"]
RISKIEST: tuple[Kind, ...] = ("always", "never", "not-itself", "loose", "others", "only")
"""All kinds, the worst first."""
MOST_FITS = 5
"""From this many other rows on a question is too loose."""


@dataclass(frozen=True)
class Verdict:
    """How a question fits its own record and the owner's other rows."""

    kind: Kind
    others: int = 0
    rows: int = 0
    """How many other rows were looked at."""
    sampled: bool = False
    fits: tuple[int, ...] = ()
    """The other rows that it fits, as places among the rows: the first few."""

    @property
    def level(self) -> Literal["good", "warn", "bad"]:
        """How it is shown."""
        return "good" if self.kind == "only" else "warn" if self.kind == "others" else "bad"

    @property
    def brief(self) -> str:
        """In a few words, for a column."""
        if self.kind == "others":
            return f"also {self.others:,} other{'' if self.others == 1 else 's'}"
        if self.kind == "loose":
            return f"{self.others:,} others"
        return {"only": "only this", "not-itself": "not itself", "never": "always no", "always": "always yes"}[
            self.kind
        ]

    @property
    def headline(self) -> str:
        """What the page says first."""
        return {
            "only": "Only this record",
            "others": f"Also {self.others:,} other{'' if self.others == 1 else 's'} of yours",
            "loose": f"{self.others:,} of {self.rows:,} others: far too loose",
            "not-itself": "Not even this one",
            "never": "Always no",
            "always": "Always yes",
        }[self.kind]

    @property
    def detail(self) -> str:
        """And what it says then."""
        of = f"{'the ' if not self.sampled else 'a sample of '}{self.rows:,} other rows of your table"
        others = f"It fits {self.others:,} of {of}" if self.others else f"It fits none of {of}"
        return {
            "only": f"{others}.",
            "others": f"{others}; they are probably other things.",
            "loose": f"{others}. Ask for something rarer, or for more points.",
            "not-itself": f"It says no to the record that it was written for. {others}.",
            "never": "It says no to every record, whatever that record says.",
            "always": "It says yes to every record, whatever that record says.",
        }[self.kind]


def judge(formula: Formula, own: OwnRecord, table: OwnTable, most_shown: int = 20) -> Verdict:
    """The verdict about a question of this record."""
    place = table.place_of(own)
    rows = len(table) - (place is not None)
    if isinstance(formula, Constant):
        return Verdict("always" if formula.value else "never", rows if formula.value else 0, rows, table.rows.sampled)
    fits = table.fits(formula)
    if place is not None:
        fits = fits.copy()
        fits[place] = False
    others = int(np.count_nonzero(fits))
    shown = tuple(int(one) for one in np.flatnonzero(fits)[:most_shown])
    kind: Kind = "only" if not others else "others"
    if not evaluate(formula, own.prepared):
        kind = "not-itself"
    elif others > MOST_FITS or (others > 1 and 2 * others >= rows):
        kind = "loose"
    return Verdict(kind, others, rows, table.rows.sampled, shown)
