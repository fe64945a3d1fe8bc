"""What is to be thought of a question before it is asked, as the page says it. What a question says about the owner's
own rows is worked out in `language.suggestions`; here it gets a name, a colour and a sentence.

Nobody sees the other side's records, but the owner's own rows are nearly always *other* things: a question that fits
one of them as well is likely to fit a wrong record over there. One count everywhere, on the page as in the log:
`others` are the owner's rows that a question fits *besides* its own record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from blindlabel.language.formula import Constant, Formula
from blindlabel.language.suggestions import Verdict

Kind = Literal["only", "others", "loose", "not-itself", "never", "always"]
RISKIEST: tuple[Kind, ...] = ("always", "never", "not-itself", "loose", "others", "only")
"""All kinds, the worst first."""
MOST_FITS = 5
"""Above this many other rows a question is too loose."""


@dataclass(frozen=True)
class Judged:
    """How a question fits its own record and the owner's other rows."""

    kind: Kind
    others: int
    rows: int
    """How many other rows there are."""
    also: tuple[int, ...] = ()
    """The first of the other rows that it fits."""

    @property
    def level(self) -> Literal["good", "warn", "bad"]:
        """How it is shown."""
        return "good" if self.kind == "only" else "warn" if self.kind == "others" else "bad"

    @property
    def brief(self) -> str:
        """In a few words, for a column."""
        return self._filled(_WORDS[self.kind][0])

    @property
    def headline(self) -> str:
        """What the page says first."""
        return self._filled(_WORDS[self.kind][1])

    @property
    def detail(self) -> str:
        """And what it says then."""
        return self._filled(_WORDS[self.kind][2])

    def _filled(self, words: str) -> str:
        fits = f"It fits {f'{self.others:,}' if self.others else 'none'} of the {self.rows:,} other rows of your table"
        return words.format(n=self.others, plural="" if self.others == 1 else "s", rows=self.rows, fits=fits)


_WORDS: dict[Kind, tuple[str, str, str]] = {
    "only": ("only this", "Only this record", "{fits}."),
    "others": ("also {n:,} other{plural}", "Also {n:,} other{plural} of yours", "{fits}; probably other things."),
    "loose": (
        "{n:,} others",
        "{n:,} of {rows:,} others: far too loose",
        "{fits}. Ask for something rarer, or for more points.",
    ),
    "not-itself": ("not itself", "Not even this one", "It says no to the record that it was written for. {fits}."),
    "never": ("always no", "Always no", "It says no to every record, whatever that record says."),
    "always": ("always yes", "Always yes", "It says yes to every record, whatever that record says."),
}
"""For each kind of verdict: in a few words, what the page says first, and what it says then."""


def judged(verdict: Verdict, formula: Formula) -> Judged:
    """The verdict about a question with its name."""
    rows = max(0, verdict.rows - 1)
    kind: Kind = "only" if not verdict.others else "others"
    if isinstance(formula, Constant):
        kind = "always" if formula.value else "never"
    elif verdict.itself is False:
        kind = "not-itself"
    elif verdict.others > MOST_FITS or (verdict.others > 1 and 2 * verdict.others >= rows):
        kind = "loose"
    return Judged(kind, verdict.others, rows, verdict.also if kind != "always" else ())
