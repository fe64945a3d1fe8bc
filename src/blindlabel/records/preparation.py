"""Text preparation: what is done to every value before anything is asked about it. No files, no encryption.

Both owners must prepare alike, or equal texts would differ; so preparation is a list of named steps, in order, that the
agreement states together with `VERSION`. A step's meaning never changes under one version. (Which characters exist
depends on the Unicode tables of the Python in use, `unicodedata.unidata_version`; owners with different ones can differ
only on characters that the older one does not know.)

Lengths are counted in characters (code points) after preparation. A text beyond the agreement's limit is refused with
its position, or cut where the agreement says so: every attribute to its limit, then the last ones until all of them,
joined, are within the record's limit. So the whole is always what its attributes make, an empty last one included.
"""

from __future__ import annotations

import difflib
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from anyascii import anyascii

from blindlabel.errors import InputError
from blindlabel.language.record import SEPARATOR, Record
from blindlabel.language.words import lower
from blindlabel.records.tables import Table

VERSION = 1
"""Goes into the agreement. Raised whenever a step's result changes for any text."""

TooLong = Literal["refuse", "cut"]


class TooLongError(InputError):
    """A record is longer than the agreement encodes."""


@dataclass(frozen=True)
class PreparationStep:
    """One step of preparation."""

    name: str
    description: str
    apply: Callable[[str], str]


@dataclass(frozen=True)
class Lengths:
    """How long texts may be after preparation, and what happens to longer ones."""

    record_length: int
    attribute_length: int | None = None
    """None: as the record."""
    too_long: TooLong = "refuse"
    encode_whole: bool = True
    """Whether the whole record is encoded; where only single attributes are, its length does not matter."""


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _collapse_space(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=65536)
def _without_punctuation(character: str) -> str:
    if character in "'’‘ʼ`´" or unicodedata.category(character) == "Pd":
        return ""
    return " " if unicodedata.category(character)[0] in "PS" else character


def _strip_punctuation(text: str) -> str:
    return "".join(map(_without_punctuation, text))


STEPS: Mapping[str, PreparationStep] = MappingProxyType(
    {
        step.name: step
        for step in (
            PreparationStep(
                "nfkc",
                "Unicode compatibility composition: one form for characters that look alike (full width, ligatures,"
                " accents).",
                _nfkc,
            ),
            PreparationStep(
                "ascii", "Unicode becomes its nearest ASCII spelling: Müller to Muller, Москва to Moskva.", anyascii
            ),
            PreparationStep(
                "collapse_space", "Runs of white space become one space; none at the ends.", _collapse_space
            ),
            PreparationStep(
                "strip_punctuation",
                "Apostrophes and hyphens are dropped (O'Neil to ONeil); every other punctuation mark or symbol becomes"
                " a space.",
                _strip_punctuation,
            ),
            PreparationStep("lower", "Capital letters become small, one character to one.", lower),
        )
    }
)
"""Every step there is, by name."""

DEFAULT_STEPS = ("nfkc", "collapse_space")
"""What a study gets that says nothing: harmless to meaning, Unicode and case kept."""


def check_steps(steps: Iterable[str]) -> tuple[str, ...]:
    """The steps, or a sentence about the first that is unknown or named twice."""
    checked: list[str] = []
    for step in steps:
        if step not in STEPS:
            near = difflib.get_close_matches(step, STEPS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"There is no preparation step {step!r}.{hint} The steps are {', '.join(STEPS)}.")
        if step in checked:
            raise InputError(f"The preparation step {step!r} is named twice.")
        checked.append(step)
    return tuple(checked)


def gives_lower_case(steps: Sequence[str]) -> bool:
    """Whether text prepared so has no capital letters that `lower` would change: no step that can write some comes
    after `lower`.
    """
    return "lower" in steps and not {"nfkc", "ascii"} & set(steps[steps.index("lower") :])


def prepare_text(text: str, steps: Sequence[str]) -> str:
    """One text after all steps, in order."""
    for step in steps:
        text = STEPS[step].apply(text)
    return text


def prepare(row: Mapping[str, str], attributes: Sequence[str], steps: Sequence[str]) -> Record:
    """A row of a table as a record with the agreement's attributes in the agreement's order; missing ones are empty. Of
    any length.
    """
    return Record.of({attribute: prepare_text(row.get(attribute, ""), steps) for attribute in attributes})


def prepare_rows(table: Table, attributes: Sequence[str], steps: Sequence[str]) -> list[Record]:
    """Every row of a table as a record, of any length."""
    return [prepare(row, attributes, steps) for row in table]


@dataclass(frozen=True)
class Excess:
    """A text that is longer than the agreement encodes."""

    position: int
    what: str
    """The attribute, or "the whole record"."""
    length: int
    limit: int

    def __str__(self) -> str:
        what = self.what if self.what == WHOLE else f"its {self.what}"
        return f"row {self.position + 1:,} ({what} has {self.length:,} characters)"


WHOLE = "the whole record"


def excess(record: Record, lengths: Lengths, position: int) -> list[Excess]:
    """What of a record is longer than agreed."""
    limit = lengths.record_length if lengths.attribute_length is None else lengths.attribute_length
    found = [Excess(position, name, len(text), limit) for name, text in record.attributes.items() if len(text) > limit]
    if lengths.encode_whole and len(record.whole) > lengths.record_length:
        found.append(Excess(position, WHOLE, len(record.whole), lengths.record_length))
    return found


def check_lengths(records: Iterable[Record], lengths: Lengths, *, refuse: bool = True) -> list[Excess]:
    """All that is longer than agreed, where the agreement cuts it (or `refuse` is off); else a sentence about it."""
    found = [one for position, record in enumerate(records) for one in excess(record, lengths, position)]
    if refuse and found and lengths.too_long == "refuse":
        raise _too_long(found)
    return found


def fit(record: Record, lengths: Lengths, position: int) -> Record:
    """The record within the agreed lengths: as it is, cut, or refused with a sentence that names the row."""
    found = excess(record, lengths, position)
    if not found:
        return record
    if lengths.too_long == "refuse":
        raise _too_long(found)
    limit = lengths.record_length if lengths.attribute_length is None else lengths.attribute_length
    attributes, most = {}, lengths.record_length if lengths.encode_whole else sys.maxsize
    room = max(0, most - len(SEPARATOR) * (len(record.attributes) - 1))
    for name, text in record.attributes.items():  # what is cut from the whole is cut from its attributes
        attributes[name] = text[: min(limit, room)]
        room -= len(attributes[name])
    return Record(attributes, SEPARATOR.join(attributes.values())[:most])


_MOST_NAMED = 10
"""Rows that a sentence names one by one."""


def named_rows(found: Sequence[Excess]) -> str:
    """The rows that are too long, the longest first, as a part of a sentence."""
    longest = {one.position: one for one in sorted(found, key=lambda one: one.length)}
    rows = sorted(longest.values(), key=lambda one: -one.length)
    more = f", and {len(rows) - _MOST_NAMED:,} more" if len(rows) > _MOST_NAMED else ""
    return ", ".join(str(one) for one in rows[:_MOST_NAMED]) + more


def sentence_about_cuts(found: Sequence[Excess]) -> str:
    """How many rows are cut, and which; empty where none is."""
    rows = len({one.position for one in found})
    if not rows:
        return ""
    return (
        f"{'one row is' if rows == 1 else f'{rows:,} rows are'} longer than the agreement encodes and cut; what is cut"
        f" off cannot be asked about, and true matches can be lost: {named_rows(found)}."
    )


def _too_long(found: Sequence[Excess]) -> TooLongError:
    rows = len({one.position for one in found})
    longest = max(found, key=lambda one: one.length - one.limit)
    setting = "encoding.record_length" if longest.what == WHOLE else "the length of an attribute"
    return TooLongError(
        f"{'One row is' if rows == 1 else f'{rows:,} rows are'} too long after preparation; the agreement encodes"
        f" {longest.limit:,} characters of {longest.what}: {named_rows(found)}. Agree on a larger limit"
        f" ({longest.length:,} for {setting} would do for {longest.what}), on fewer attributes, or on cutting what is"
        " too long."
    )


def prepare_table(
    table: Table, positions: Iterable[int], attributes: Sequence[str], steps: Sequence[str], lengths: Lengths
) -> list[Record]:
    """The rows at these positions as records, in that order."""
    missing = [attribute for attribute in attributes if attribute not in table.attributes]
    if missing:
        raise InputError(
            f"{table.name} has no attribute {missing[0]!r}, which the agreement names. It has:"
            f" {', '.join(table.attributes)}."
        )
    steps = check_steps(steps)
    return [fit(prepare(table.row(position), attributes, steps), lengths, position) for position in positions]
