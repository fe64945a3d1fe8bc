"""What kind of thing each attribute of the own table holds, and how far it can be relied on. Looks at values only,
never at the attribute's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, NamedTuple

from blindlabel.language.suggestions.needles import SHORTEST_DIGITS, kind_of, unit_of, words_in_order
from blindlabel.language.suggestions.priors import Priors

MOST_ROWS = 20_000
"""Rows that an attribute is judged by, evenly spread."""
MOSTLY = 0.8
YEARS = range(1800, 2101)
SHORTEST_SPELT = 5
USUAL = 3
"""Rows with a word from which on it is taken to be spelt right."""
MANY_NUMBERS = 4
AGAIN = 1.5
"""A unit follows so many different numbers, each of which this many rows have on average."""

Kind = Literal["text", "year", "amount", "count"]
"""Text (also what is named by long numbers, as telephones are), a year, an amount with decimals, a whole number."""


@dataclass(frozen=True)
class Profile:
    """One attribute of a table."""

    kind: Kind
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
        """How far a word of this attribute can be relied on to stand in a true partner too."""
        told: float = min(1.0, priors.usual_words / self.words) ** priors.text_power if self.words else 1.0
        if identifier:
            usual = min(1.0, self.identifiers / priors.codes_usual)
            return told * self.presence(priors) * (priors.stray_code + (1 - priors.stray_code) * usual)
        return told * self.presence(priors) * min(1.0, priors.repeated + self.different)

    def presence(self, priors: Priors) -> float:
        """How probably the other record has a value at all, by how often the own rows have one."""
        return 1 - priors.filled + priors.filled * self.filled


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
    kind: Kind = "text"
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


def _kind_of_number(values: Sequence[Sequence[str]]) -> Kind:
    """What an attribute of numbers holds, by the usual form of its values (their runs of digits)."""

    def mostly(form: Callable[[Sequence[str]], bool]) -> bool:
        return sum(map(form, values)) >= MOSTLY * len(values)

    if mostly(lambda parts: max(map(len, parts)) >= SHORTEST_DIGITS):
        return "text"
    if mostly(lambda parts: parts[0].isdecimal() and int(parts[0]) in YEARS):
        return "year"
    return "count" if mostly(lambda parts: len(parts) == 1) else "amount"


def length_of(row: Mapping[str, str]) -> int:
    """The words of a row, all attributes together."""
    return sum(len(words_in_order(text)) for text in row.values())


def usual_length(rows: Sequence[Mapping[str, str]]) -> float:
    """The median length of a table's rows."""
    return median(map(length_of, rows[:: max(1, -(-len(rows) // MOST_ROWS))] or [{}]))


def units_of(rows: Sequence[Mapping[str, str]]) -> frozenset[str]:
    """The units that a table counts in: letters that follow several different numbers, and such words come again."""
    step = max(1, -(-len(rows) // MOST_ROWS))
    having: Counter[str] = Counter()
    for row in rows[::step]:
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


def misspelt(rows: Sequence[Mapping[str, str]]) -> Misspelt:
    """The longer words that look misspelt: no other row has them, but several have one that differs by a letter. An
    owner cannot know how well the other table is spelt; tables about the same things are often alike.
    """
    step = max(1, -(-len(rows) // MOST_ROWS))
    having: Counter[str] = Counter()
    for row in rows[::step]:
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
