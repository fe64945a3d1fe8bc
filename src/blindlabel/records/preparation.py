"""Text preparation: what is done to every value before anything is asked about it. No files, no encryption.

Both owners must prepare values the same way, or equal texts would differ. So preparation is a recipe: named steps, in
order, and a type for attributes whose values are more than text (`types`). The agreement states it with `VERSION`; the
meaning of a step or a type never changes under one version. (Which characters exist depends on the Unicode tables of
the Python in use, `unicodedata.unidata_version`; owners with different ones can differ only on characters that the
older one does not know.)

A typed value is read after all steps except `strip_punctuation`, which would remove the signs needed to read it. What
can be read is left as it is; what cannot is text, and goes through all steps.

Lengths are counted in characters (code points) after preparation. A text beyond the agreement's limit is refused with
its position, or cut if the agreement says so: every attribute to its limit, then the last ones until all of them,
joined, are within the record's limit. So the whole is always what its attributes make, an empty last one included.
"""

from __future__ import annotations

import difflib
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Literal

from anyascii import anyascii

from blindlabel.errors import InputError
from blindlabel.language import words
from blindlabel.language.record import SEPARATOR, Record
from blindlabel.language.signatures import NeedleUse
from blindlabel.records.tables import Table
from blindlabel.records.types import TEXT, TYPES, Conventions, ValueType

VERSION = 2
"""Goes into the agreement. Raised whenever the result of a step or a type changes for any text."""

TooLong = Literal["refuse", "cut"]


class TooLongError(InputError):
    """A record is longer than the agreement encodes."""


@dataclass(frozen=True)
class PreparationStep:
    """One step of preparation."""

    description: str
    apply: Callable[[str], str]


@dataclass(frozen=True)
class Lengths:
    """How long texts may be after preparation, and what happens to longer ones."""

    record_length: int
    attribute_length: int | None = None
    """None: the same as for the record."""
    too_long: TooLong = "refuse"
    encode_whole: bool = True
    """Whether the whole record is encoded. If only single attributes are, its length does not matter."""

    @property
    def of_attribute(self) -> int:
        """How long a value may be."""
        return self.record_length if self.attribute_length is None else self.attribute_length


@lru_cache(maxsize=65536)
def _without_punctuation(character: str) -> str:
    if character in "'’‘ʼ`´" or unicodedata.category(character) == "Pd":
        return ""
    return " " if unicodedata.category(character)[0] in "PS" else character


STEPS: Mapping[str, PreparationStep] = {
    "nfkc": PreparationStep(
        "Unicode compatibility composition: one form for characters that look alike (full width, ligatures, accents).",
        partial(unicodedata.normalize, "NFKC"),
    ),
    "ascii": PreparationStep(
        "Unicode becomes its nearest ASCII spelling: Müller to Muller, Москва to Moskva.", anyascii
    ),
    "collapse_space": PreparationStep(
        "Runs of white space become one space; none at the ends.", lambda text: " ".join(text.split())
    ),
    "strip_punctuation": PreparationStep(
        "Apostrophes and hyphens are dropped (O'Neil to ONeil); every other punctuation mark or symbol becomes a"
        " space.",
        lambda text: "".join(map(_without_punctuation, text)),
    ),
    "lower": PreparationStep("Capital letters become small, one character to one.", words.lower),
}
"""Every step there is, by name."""

DEFAULT_STEPS = ("nfkc", "collapse_space")
"""The default of an agreement: harmless to meaning; Unicode and case are kept."""


def check_steps(steps: Iterable[str]) -> tuple[str, ...]:
    """The steps; an `InputError` about the first that is unknown or named twice."""
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


def prepare_text(text: str, steps: Iterable[str]) -> str:
    """One text after all steps, in order. After `lower`, what a later step writes in capitals (ascii: £ to GBP) is
    lowered too.
    """
    lowered = False
    for step in steps:
        lowered |= step == "lower"
        text = STEPS[step].apply(text)
        text = STEPS["lower"].apply(text) if lowered and step == "ascii" else text
    return text


@dataclass(frozen=True)
class Recipe:
    """How values are prepared, and the needles that are compared with them."""

    steps: tuple[str, ...] = DEFAULT_STEPS
    types: tuple[tuple[str, str], ...] = ()
    """Attributes and their types; an attribute that is not named is text."""
    conventions: Conventions = field(default_factory=Conventions)

    @classmethod
    def of(
        cls, steps: Iterable[str], types: Mapping[str, str] | None = None, conventions: Conventions | None = None
    ) -> Recipe:
        """A recipe of known steps and types; an `InputError` about the first that is wrong."""
        for attribute, name in (types or {}).items():
            if name not in TYPES:
                raise InputError(f"There is no type {name!r} for {attribute}. The types are {', '.join(TYPES)}.")
        return cls(check_steps(steps), tuple(sorted((types or {}).items())), conventions or Conventions())

    @property
    def lowered(self) -> bool:
        """Whether prepared text has no capital letters that `lower` would change: no step that can write some comes
        after `lower`.
        """
        return "lower" in self._of_needles

    def type_of(self, attribute: str) -> ValueType:
        """The type of an attribute."""
        return self._kinds.get(attribute, TEXT)

    @property
    def with_one_form(self) -> frozenset[str]:
        """The attributes whose values have one form, however people write them."""
        return frozenset(attribute for attribute, kind in self._kinds.items() if not kind.is_text)

    @cached_property
    def _kinds(self) -> dict[str, ValueType]:
        return {attribute: TYPES[kind] for attribute, kind in self.types}

    def value(self, attribute: str, text: str) -> str:
        """A value of an attribute, prepared."""
        found = self.read(self.type_of(attribute), text)
        return prepare_text(text, self.steps) if found is None else found

    def read(self, kind: ValueType, text: str) -> str | None:
        """A value as its type has it, or None if it cannot be read as one."""
        if kind is TEXT:
            return prepare_text(text, self.steps)
        found = kind.canonical(prepare_text(text, self._before_reading), self.conventions)
        if found is None:  # what preparation makes readable must be read: preparing it again must change nothing
            found = kind.canonical(prepare_text(text, self.steps), self.conventions)
        return prepare_text(found, self.steps) if kind.is_text and found is not None else found

    @cached_property
    def _before_reading(self) -> tuple[str, ...]:
        return tuple(step for step in self.steps if step != "strip_punctuation")

    def record(self, row: Mapping[str, str], attributes: Iterable[str]) -> Record:
        """A row of a table as a record of any length, with the agreement's attributes in the agreement's order; missing
        ones are empty.
        """
        return Record.of({attribute: self.value(attribute, row.get(attribute, "")) for attribute in attributes})

    def rows(self, table: Table, attributes: Iterable[str]) -> list[Record]:
        """Every row of a table as a record, of any length."""
        return [self.record(row, attributes) for row in table]

    def unread(self, table: Table) -> dict[str, int]:
        """How many values of a table cannot be read as their type and stay text, by attribute."""
        columns = dict(zip(table.attributes, zip(*table.rows, strict=True), strict=True))
        found = {
            name: sum(bool(text.strip()) and self.read(TYPES[kind], text) is None for text in columns[name])
            for name, kind in self.types
            if name in columns
        }
        return {name: count for name, count in found.items() if count}

    # Needles

    @cached_property
    def _of_needles(self) -> tuple[str, ...]:
        """The steps, except those whose work a later one may undo: a prepared value can have what they take away."""
        after = [set(self.steps[place + 1 :]) for place in range(len(self.steps))]
        return tuple(step for step, later in zip(self.steps, after) if not later & _UNDONE_BY.get(step, set()))

    def forms(self, attribute: str | None, needle: str, use: NeedleUse) -> frozenset[str]:
        """What a needle looks like in the prepared values of an attribute (None: in whole records). More than one form
        if that depends on what stands around it, or on the attribute; none if nothing is left of it.
        """
        if attribute is not None:
            return self._forms(self.type_of(attribute), needle, use)
        if SEPARATOR.strip() in needle:  # stands between attributes, and is not prepared
            return frozenset([SEPARATOR.join(self._piece(one, use) for one in needle.split(SEPARATOR))])
        forms, is_phrase = self._forms(TEXT, needle, use), " " in needle and any(map(str.isalpha, needle))
        for kind in set() if is_phrase or use not in ("part", "word") else set(self._kinds.values()):
            forms |= self._typed(kind, needle, use)
        return forms

    def _piece(self, text: str, use: NeedleUse) -> str:
        forms = self._forms(TEXT, text, use)
        return next(iter(forms)) if len(forms) == 1 else text

    def _forms(self, kind: ValueType, needle: str, use: NeedleUse) -> frozenset[str]:
        if use == "value":
            read = None if kind.is_text else self.read(kind, needle)
            if read is None:
                text = kind.canonical(needle, self.conventions) if kind.is_text else needle
                read = prepare_text(text or "", self._of_needles)
            return _unless_lost(read, needle)
        if use == "words":
            return frozenset([prepare_text(needle, self._of_needles)])
        if typed := self._typed(kind, needle, use):
            return typed
        within = prepare_text(f"x{needle}x", self._of_needles)
        if not needle or not (len(within) > 1 and within[0] == within[-1] == "x"):
            return frozenset([needle])
        within = within[1:-1]
        if use == "word":
            return _unless_lost(within.strip(), needle)
        if "collapse_space" in self._of_needles:  # what stood at either end may have become a space, or nothing
            within = within if needle[0].isspace() else within.lstrip()
            within = within if needle[-1].isspace() else within.rstrip()
        return _unless_lost(within, needle)

    def _typed(self, kind: ValueType, needle: str, use: NeedleUse) -> frozenset[str]:
        """What a needle looks like in canonical forms; none if it occurs in none."""
        if kind.is_text:
            return frozenset()
        part = kind.part(prepare_text(needle, self._before_reading), self.conventions) or ""
        if use == "word":
            part = (self.read(kind, needle) or part).strip("+-")
            return frozenset([part] if words.is_word(part) else [])
        return frozenset([part] if part else [])


def is_another(raw: str, prepared: str) -> bool:
    """Whether a person who reads a value would write it differently from how it is prepared: more than case and space
    differ.
    """
    return raw.lower().split() != prepared.lower().split()


_UNDONE_BY = {
    "collapse_space": {"strip_punctuation", "nfkc", "ascii"},
    "strip_punctuation": {"nfkc", "ascii"},
    "lower": {"nfkc", "ascii"},
}
"""Steps that can write what a step takes away."""


def _unless_lost(text: str, needle: str) -> frozenset[str]:
    return frozenset([text] if text.strip() or not needle.strip() else [])


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
    limit, texts = lengths.of_attribute, record.attributes.items()
    found = [Excess(position, name, len(text), limit) for name, text in texts if len(text) > limit]
    if lengths.encode_whole and len(record.whole) > lengths.record_length:
        found.append(Excess(position, WHOLE, len(record.whole), lengths.record_length))
    return found


def check_lengths(records: Iterable[Record], lengths: Lengths, *, refuse: bool = True) -> list[Excess]:
    """All that is longer than agreed, if the agreement cuts it (or `refuse` is off); otherwise an error about it."""
    found = [one for position, record in enumerate(records) for one in excess(record, lengths, position)]
    if refuse and found and lengths.too_long == "refuse":
        raise _too_long(found)
    return found


def fit(record: Record, lengths: Lengths, position: int) -> Record:
    """The record within the agreed lengths: as it is, or cut, or refused with an error that names the row."""
    found = excess(record, lengths, position)
    if not found:
        return record
    if lengths.too_long == "refuse":
        raise _too_long(found)
    limit = lengths.of_attribute
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
    """How many rows are cut, and which, or empty if none is."""
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
    table: Table, positions: Iterable[int], attributes: Sequence[str], recipe: Recipe, lengths: Lengths
) -> list[Record]:
    """The rows at these positions as records, in that order."""
    missing = [attribute for attribute in attributes if attribute not in table.attributes]
    if missing:
        raise InputError(
            f"{table.name} has no attribute {missing[0]!r}, which the agreement names. It has:"
            f" {', '.join(table.attributes)}."
        )
    return [fit(recipe.record(table.row(position), attributes), lengths, position) for position in positions]
