"""Which types the values of a table seem to have: a proposal from one table alone, for people to decide on.

A type is proposed if it reads nearly all values and they look like it. (Reading alone is not enough: every number reads
as a code, and every date of eight digits as a telephone.) `together` says how two owners' proposals differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from blindlabel.records.preparation import Recipe, prepare_text
from blindlabel.records.tables import Table
from blindlabel.records.types import TYPES

ENOUGH = 0.9
"""The share of values that a type has to read."""
_MOST_LOOKED_AT = 5000
_EXAMPLES = 3

_LOOKS: tuple[tuple[str, str, str, float], ...] = (
    # type, what the attribute's name looks like, what its values look like, the share of values that must
    ("date", r"", r"\D*\d{1,4}[-/. ].*[-/. ]\D*\d{2,4}\D*|(?i:.*[a-z]{3}.*)|.*00:00.*", 0.9),
    ("year", r"", r"(?:1[5-9]|20)\d\d(?:\.0)?", 0.9),
    ("telephone", r"phone|tele?\b|tel_|fax|mobile|cell", r"\+?[(]?\d[\d ()./-]{8,}", 0.9),
    ("telephone", r"", r"\+\d.{8,}|[(]?0?\d{2,4}[)/ -]+\d{3,}[ -]?\d{2,}.*", 0.9),
    ("number", r"", r".*(?:[.,]\d|\d ?[$€£]|[$€£] ?\d).*", 0.3),
    ("code", r"", r"(?=\S*[^\W\d])(?=\S*\d)\S+(?: \S+)?", 0.9),
    ("name", r"name|author|person", r"[^,;\d]+, ?[^,;\d]+", 0.5),
)


@dataclass(frozen=True)
class Proposal:
    """The type that an attribute seems to have."""

    attribute: str
    type: str
    read: int
    """Values that it reads, of those that were looked at."""
    values: int
    changed: int
    """Values that are prepared differently from text."""
    examples: tuple[tuple[str, str, str], ...]
    """Some of them: as they stand, as text, and as the type."""

    def __str__(self) -> str:
        shown = ", ".join(f"{raw} is {typed}, not {text}" for raw, text, typed in self.examples)
        changes = f" It changes {self.changed:,}: {shown}." if self.changed else ""
        return f"{self.attribute} looks like {self.type}: {self.read:,} of {self.values:,} values read.{changes}"


def proposals(table: Table, recipe: Recipe) -> list[Proposal]:
    """The types that the attributes of a table seem to have, other than text."""
    columns = _columns(table)
    looks = {attribute: _looks_like(attribute, values, recipe) for attribute, values in columns.items()}
    return [_proposal(name, kind, columns[name], recipe) for name, kind in looks.items() if kind is not None]


def readable(table: Table, recipe: Recipe) -> dict[str, list[str]]:
    """The types that read nearly all values of an attribute, whatever they look like."""
    return {
        name: [kind for kind in TYPES if _share_read(kind, values, recipe) >= ENOUGH]
        for name, values in _columns(table).items()
        if values
    }


def day_first(table: Table, attributes: Iterable[str]) -> bool | None:
    """Whether dates in these attributes have the day first, if that can be told: no month has a number above 12."""
    texts = [text for row in table for name, text in row.items() if name in set(attributes)]
    found = [re.fullmatch(r"\s*(\d{1,2})[-/](\d{1,2})[-/]\d{2,4}\s*", text) for text in texts]
    first, second = (sum(one is not None and int(one[place]) > 12 for one in found) for place in (1, 2))
    return None if first == second else first > second


def together(
    proposed: Sequence[Mapping[str, str]], readable: Sequence[Mapping[str, Sequence[str]]]
) -> tuple[dict[str, str], dict[str, str]]:
    """The types on which several owners' tables agree, and a sentence about each attribute on which they differ. What
    one owner proposes is accepted if every other table can be read as it.
    """
    types, said = {}, {}
    for attribute in dict.fromkeys(name for one in proposed for name in one):
        named = [one.get(attribute, "text") for one in proposed]
        wanted = sorted({kind for kind in named if kind != "text"})
        if len(wanted) == 1 and all(wanted[0] in (one.get(attribute) or wanted) for one in readable):
            types[attribute] = wanted[0]
        else:
            said[attribute] = f"{attribute} looks like {' and '.join(named)}; it is text unless --type decides."
    return types, said


REHEARSED = ("nfkc", "collapse_space", "lower")
"""The steps of preparation in rehearsals and demonstrations."""


def recipe_for(tables: Sequence[Table], attributes: Sequence[str], steps: Sequence[str] = REHEARSED) -> Recipe:
    """The recipe that the owners of these tables would agree on, for rehearsals, which have all tables."""
    plain = Recipe.of(steps)
    proposed = [{one.attribute: one.type for one in proposals(table, plain)} for table in tables]
    types, _ = together(proposed, [readable(table, plain) for table in tables])
    return Recipe.of(steps, {name: kind for name, kind in types.items() if name in attributes})


def lengths_for(tables: Sequence[Table], attributes: Sequence[str], recipe: Recipe) -> dict[str, int]:
    """The lengths of the longest record and value, rounded up, as people would agree on them before a study."""
    rows = [record for table in tables for record in recipe.rows(table, attributes)]
    record = 8 * (max(len(row.whole) for row in rows) // 8 + 1)
    value = 8 * (max(len(text) for row in rows for text in row.attributes.values()) // 8 + 1)
    return {"record_length": record, "attribute_length": min(value, record)}


def _columns(table: Table) -> dict[str, list[str]]:
    """The values of every attribute that are not empty."""
    rows = table.rows[:_MOST_LOOKED_AT]
    columns = zip(table.attributes, zip(*rows))
    return {name: [text.strip() for text in column if text.strip()] for name, column in columns}


def _looks_like(attribute: str, values: Sequence[str], recipe: Recipe) -> str | None:
    if not values:
        return None
    for kind, named, looks, share in _LOOKS:
        if not re.search(named, attribute.lower()):
            continue
        if sum(bool(re.fullmatch(looks, text)) for text in values) < share * len(values):
            continue
        if _share_read(kind, values, recipe) >= ENOUGH:
            return "year" if kind == "date" and _only_first_days(values, recipe) else kind
    return None


def _only_first_days(values: Sequence[str], recipe: Recipe) -> bool:
    """Whether all dates are the first of January, which is how tools write a year that they take for a date."""
    return all((recipe.read(TYPES["date"], text) or "-01-01").endswith("-01-01") for text in values)


def _share_read(kind: str, values: Sequence[str], recipe: Recipe) -> float:
    return sum(recipe.read(TYPES[kind], text) is not None for text in values) / max(1, len(values))


def _proposal(attribute: str, kind: str, values: Sequence[str], recipe: Recipe) -> Proposal:
    typed = replace(recipe, types=((attribute, kind),))
    prepared = [(text, prepare_text(text, recipe.steps), typed.value(attribute, text)) for text in values]
    changed = [one for one in prepared if one[1] != one[2]]
    read = sum(recipe.read(TYPES[kind], text) is not None for text in values)
    return Proposal(attribute, kind, read, len(values), len(changed), tuple(dict.fromkeys(changed))[:_EXAMPLES])
