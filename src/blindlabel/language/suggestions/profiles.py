"""What kind of thing each attribute of the own table holds, and how far it can be relied on. Looks at values only,
never at the attribute's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from blindlabel.language.suggestions.needles import kind_of, words_in_order
from blindlabel.language.suggestions.priors import Priors

MOST_ROWS = 20_000
"""Rows that an attribute is judged by, evenly spread."""
MOSTLY = 0.8
YEARS = range(1800, 2101)


@dataclass(frozen=True)
class Profile:
    """One attribute of a table."""

    kind: Literal["text", "year", "amount"]
    filled: float
    """Share of rows that have a value."""
    different: float
    """Different values among those, as a share."""
    words: float
    """Words of a value, on average."""
    identifiers: float
    """Share of rows whose value has an identifier."""

    def reliance(self, priors: Priors, *, identifier: bool = False) -> float:
        """How far a word of this attribute can be relied on to stand in a true partner too."""
        told = min(1.0, priors.usual_words / self.words) ** priors.text_power if self.words else 1.0
        filled = 1 - priors.filled + priors.filled * self.filled
        if identifier:
            usual = min(1.0, 0.3 + 0.7 * self.identifiers / priors.codes_usual)
            return told * filled * usual
        return told * filled * min(1.0, priors.repeated + self.different)


def profiles_of(rows: Sequence[Mapping[str, str]], attributes: Sequence[str]) -> dict[str, Profile]:
    """The profile of every attribute, from rows of texts in lower case."""
    step = max(1, -(-len(rows) // MOST_ROWS))
    looked_at = rows[::step]
    return {attribute: _profile([row[attribute] for row in looked_at]) for attribute in attributes}


def _profile(values: Sequence[str]) -> Profile:
    present = [value for value in values if value]
    if not present:
        return Profile("text", 0.0, 0.0, 0.0, 0.0)
    in_words = [words_in_order(value) for value in present]
    numeric = sum(bool(parts) and all(part.isdigit() for part in parts) for parts in in_words) / len(present)
    kind: Literal["text", "year", "amount"] = "text"
    if numeric >= MOSTLY:
        years = sum(bool(parts) and parts[0].isdecimal() and int(parts[0][:9]) in YEARS for parts in in_words)
        kind = "year" if years >= MOSTLY * len(present) else "amount"
    identifiers = sum(any(kind_of(part) == "identifier" for part in parts) for parts in in_words)
    return Profile(
        kind,
        len(present) / len(values),
        len(set(present)) / len(present),
        sum(map(len, in_words)) / len(present),
        identifiers / len(values),
    )
