"""A record as questions see it: named attributes, and the whole as one text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Union

from blindlabel.language import words

SEPARATOR = " | "
"""Joins the attributes of a record into one text."""

Case = Literal["exact", "lower", "upper"]


@dataclass(frozen=True)
class View:
    """Which text of a record a predicate looks at: one attribute or the whole (None), and in which case."""

    attribute: str | None = None
    case: Case = "exact"

    def __str__(self) -> str:
        name = "$r" if self.attribute is None else f'$r["{self.attribute}"]'
        return name if self.case == "exact" else f"{self.case}({name})"


TextSource = Union[str, View]
"""Where a text may come from: a text written in the question, or a view of the other record."""

CASES: Mapping[str, Callable[[str], str]] = {"exact": str, "lower": words.lower, "upper": words.upper}


def cased(source: TextSource, form: str) -> TextSource:
    """What `lower` or `upper` makes of a text or of a view."""
    if isinstance(source, View):
        return View(source.attribute, "lower" if form == "lower" else "upper")
    return CASES[form](source)


@dataclass(frozen=True)
class Record:
    """One prepared record. Missing attributes are empty text."""

    attributes: Mapping[str, str]
    whole: str

    @classmethod
    def of(cls, attributes: Mapping[str, str]) -> Record:
        """A record whose whole is its attributes joined in their order."""
        return cls(dict(attributes), SEPARATOR.join(attributes.values()))

    def text(self, view: View) -> str:
        """The text that a view shows."""
        return CASES[view.case](self.whole if view.attribute is None else self.attributes.get(view.attribute, ""))
