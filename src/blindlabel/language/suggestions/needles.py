"""What can be asked about a record: its words, its values, and pieces of its identifiers. Does not weigh them.

Whole words come first. A word of three characters or more is looked for anywhere in the text, so that an ending or a
missing hyphen does no harm; a shorter one only as a word of its own, and a word that only joins others ("for") never. A
number that is all an attribute holds (a year, a price, an age) is looked for there, by its whole part. A piece is only
asked for where an identifier is longer than the agreement encodes, or ends in letters (a colour, a market).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from blindlabel.language import words
from blindlabel.language.formula import Atom
from blindlabel.language.functions import PREDICATES
from blindlabel.language.limits import Limits
from blindlabel.language.record import Case, View
from blindlabel.language.words import words_in_order

NeedleKind = Literal["word", "identifier", "piece", "number", "initial"]
Texts = Mapping[str, str]
"""A row as the suggester sees it: the text of each attribute, in lower case."""

SHORTEST_PART = 3
"""Shorter words are no part to look for inside other words."""
SHORTEST_MIXED = 4
SHORTEST_DIGITS = 5
SHORTEST_HALVED = 7
"""Letters and digits together of this many characters, or this many digits alone, are an identifier; digits from the
last on may be asked for in halves.
"""
_JOINING = (
    "a an and as at by for from in into is it of on or per the to with"
    " am auf aus bei das dem den der des die ein eine im mit und von zu zum zur"
    " au aux d de del du e el en et l la las le les los par pour sur un una une y"
)
JOINING = frozenset(_JOINING.split(" "))
"""Words that only join others, in English, German, French and Spanish: no evidence, while there is anything else."""
MOST_WORDS = 400
"""Words of one attribute that are looked at: a bound on the work for very long texts."""


@dataclass(frozen=True)
class Needle:
    """One thing to ask: a predicate, what it looks for, and where (None: anywhere in the record)."""

    function: str
    text: str
    attribute: str | None = None

    def atom(self, case: Case) -> Atom:
        """The predicate on the other record."""
        ignores_case = PREDICATES[self.function].ignores_case
        return Atom(self.function, (self.text,), View(self.attribute, "exact" if ignores_case else case))


@dataclass(frozen=True)
class Found:
    """A needle of a record: what kind of thing it is and which attributes it comes from."""

    needle: Needle
    kind: NeedleKind
    attributes: tuple[str, ...]
    word: str
    """The word or value that it stands for."""
    place: int = 0
    """How many words come before it in its attribute."""

    @property
    def half(self) -> bool:
        """Whether it is half of an identifier, or less."""
        return self.kind == "piece" and 2 * len(self.needle.text) <= len(self.word) + 1


@dataclass(frozen=True)
class Asking:
    """What the agreement lets be asked."""

    functions: frozenset[str]
    limits: Limits
    whole: bool = True
    single_attributes: bool = True
    units: frozenset[str] = frozenset()
    """Units that the table counts in: "gb", "ft". With one of them, digits are a quantity and no identifier."""
    halves: bool = False
    """Whether long numbers are asked for in halves: where typing errors are usual, one spoils a half only."""


def kind_of(word: str, units: Collection[str] = ()) -> NeedleKind:
    """What a word is by its letters and digits, and by the units that the table counts in."""
    digits = any(character.isdigit() for character in word)
    if digits and not word.isdigit():
        if unit_of(word) in units:
            return "number"
        return "identifier" if len(word) >= SHORTEST_MIXED else "number"
    if digits:
        return "identifier" if len(word) >= SHORTEST_DIGITS else "number"
    return "word" if len(word) > 1 else "initial"


def unit_of(word: str) -> str:
    """What follows the digits that a word begins with, where it is letters only: "gb" in "32gb"; empty otherwise."""
    unit = word.lstrip("0123456789")
    return unit if len(unit) < len(word) and unit.isalpha() else ""


def numbers_and_identifiers(texts: Iterable[str]) -> frozenset[str]:
    """The words that are a number or an identifier."""
    found = {word for text in texts for word in words_in_order(text)}
    return frozenset(word for word in found if kind_of(word) in ("number", "identifier"))


def needles_of(texts: Texts, numeric: Collection[str], asking: Asking) -> list[Found]:
    """All needles of a record (attribute name to its text in lower case), in order. `numeric` are the attributes that
    hold a number. Of "7 1" only the first number is asked for: the second says nothing by itself.
    """
    found: dict[Needle, Found] = {}
    for name, text in texts.items():
        by_value = name in numeric and asking.single_attributes
        where = name if by_value or not asking.whole else None
        in_order = words_in_order(text)[:MOST_WORDS]
        for place, word in enumerate(in_order[:1] if by_value else in_order):
            if place and all(one.isdigit() and len(one) < SHORTEST_PART for one in in_order[place - 1 : place + 1]):
                continue
            kind: NeedleKind = kind_of(word, asking.units) if not by_value else "number"
            for needle, asked in _needles(word, kind, where, asking, by_value=by_value):
                known = found.setdefault(needle, Found(needle, asked, (name,), word, place))
                if name not in known.attributes:
                    found[needle] = replace(known, attributes=(*known.attributes, name))
    telling = [one for one in found.values() if one.word not in JOINING]
    return telling if len(telling) > 1 else list(found.values())


def _needles(
    word: str, kind: NeedleKind, where: str | None, asking: Asking, *, by_value: bool
) -> list[tuple[Needle, NeedleKind]]:
    """What is asked for a word: the word or its core, or both halves of a long number."""
    functions, longest = asking.functions, asking.limits.needle_length
    half, core = (len(word) + 1) // 2, core_of(word)
    if kind == "identifier" and "is_in" in functions:
        if asking.halves and word.isdigit() and len(word) >= SHORTEST_HALVED and half <= longest:
            return [(Needle("is_in", part, where), "piece") for part in (word[:half], word[half:])]
        if core != word and len(core) <= longest:
            return [(Needle("is_in", core, where), "piece")]
    if "is_in" in functions and SHORTEST_PART <= len(word) <= longest and not by_value:
        return [(Needle("is_in", word, where), kind)]
    if "has_word" in functions:
        return [(Needle("has_word", word, where), kind)]
    if "is_in" in functions and len(word) > 1 and longest > 1:
        return [(Needle("is_in", word[:longest], where), kind if len(word) <= longest else "piece")]
    heard = "sounds_like" in functions and words.phonetic_code(word)
    return [(Needle("sounds_like", word, where), kind)] if heard else []


def core_of(word: str) -> str:
    """An identifier up to its last digit, where that leaves enough of it: "dscw150b" is "dscw150"."""
    core = word.rstrip("".join({character for character in word if not character.isdigit()}))
    return core if len(core) >= SHORTEST_DIGITS else word
