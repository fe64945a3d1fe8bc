"""But not: what speaks for another own row instead. At most a few, and only against rows that the points let pass.

An own row that gets as many points as are asked for is another thing all the same. Where it has an identifier, a year
or a name that the record lacks, the other record must not have that; where it has none, a word in place of one of the
record's ("professional" for "home").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from blindlabel.language import words
from blindlabel.language.suggestions.evidence import holds
from blindlabel.language.suggestions.needles import Asking, Found, Needle, kind_of, needles_of, words_in_order

MISSPELT_BY = 2
SEVERAL = 3
"""Own rows with a word from which on it is taken to name a kind of thing."""
MANY = 0.1
"""A word that a larger share of own rows has may stand in any record."""
SHORTEST = 4
"""Shorter words are found inside others."""


Texts = Mapping[str, str]
Speaking = Sequence[tuple[Texts, Sequence[Found]]]
"""Own rows that the points let pass, each with what speaks for it, best first."""


def exclusions_of(named: Speaking, far: Sequence[Found], apart: Speaking, most: int) -> list[Found]:
    """At most so many needles: first what `named` rows are named by otherwise; then amounts that are `far` from the
    record's own; then what sets other rows `apart`.
    """
    chosen: dict[Needle, Found] = {}

    def keep_out(rows: Speaking) -> None:
        for row, needles in rows:
            if len(chosen) < most and needles and not any(holds(needle, row) for needle in chosen):
                chosen[needles[0].needle] = needles[0]

    keep_out(named)
    chosen.update((one.needle, one) for one in far[: most - len(chosen)])
    keep_out(apart)
    return list(chosen.values())


def set_apart(texts: Texts, row: Texts, rows_having: Callable[[str], int], rows: int, asking: Asking) -> list[Found]:
    """Words that a row has in place of words of the record, the rarest first, where several own rows have either. The
    table must be well spelt and hold hardly any duplicates: else they are the same words, written otherwise.
    """
    theirs = {word: name for name, text in row.items() for word in words_in_order(text)}
    own = {word for text in texts.values() for word in words_in_order(text)}
    if "is_in" not in asking.functions or not any(
        len(word) >= SHORTEST - 1 and rows_having(word) >= SEVERAL for word in own - theirs.keys()
    ):
        return []
    found = [
        Found(Needle("is_in", word, None if asking.whole else name), "word", (name,), word)
        for word, name in theirs.items()
        if kind_of(word) == "word"
        and SHORTEST <= len(word) <= asking.limits.needle_length
        and SEVERAL <= rows_having(word) <= MANY * rows
        and not any(word in text for text in texts.values())
    ]
    return sorted(found, key=lambda one: (rows_having(one.word), one.word))


@dataclass(frozen=True)
class Naming:
    """What names rows of a table."""

    asking: Asking
    years: frozenset[str]
    """The attributes that hold a year."""
    spelt: bool
    """Whether words are seldom misspelt."""
    telling: frozenset[str] = frozenset()
    """Where they are not: the attributes that tell siblings apart, as far as that is known."""

    def otherwise(self, texts: Texts, row: Texts, *, identified: bool) -> list[Found]:
        """What names another row and not the record; nothing where the row may be about the same thing. Where words are
        often misspelt, a word that differs from one of the record by a letter or two says nothing, and the row must
        differ where siblings do (in the given name), or, where that is not known, in two things: with one, it may be
        about the same. Where the record has no identifier (not `identified`), another's says nothing: it may be the
        record's own, left out.
        """
        named = [
            one
            for one in self._named_by(texts, row)
            if identified or one.kind != "identifier"
            if not any(
                holds(Needle(one.needle.function, one.needle.text, name), texts) for name in _looked_at(one, texts)
            )
            and (self.spelt or self._is_age(one) or not _like_own(one, texts))
        ]
        if self.telling:
            return [one for one in named if not self.telling.isdisjoint(one.attributes)]
        return named if len({one.attributes for one in named}) >= (1 if self.spelt else 2) else []

    def _named_by(self, texts: Texts, row: Texts) -> list[Found]:
        """What names the row, best first: identifiers, years where the record has another, single words (a given name)
        where the record has another, and numbers that tell siblings apart (an age). A price or a quantity names
        nothing.
        """
        found = needles_of(row, self.years, self.asking)
        identifiers = [one for one in found if one.kind == "identifier"]
        years = [one for one in found if one.needle.attribute in self.years and texts[one.attributes[0]]]
        single = {
            name
            for name, text in texts.items()
            if name not in self.years and len(words_in_order(text)) == 1 == len(words_in_order(row[name]))
        }
        alone = [one for one in found if len(one.attributes) == 1 and one.attributes[0] in single]
        names = [one for one in alone if one.kind == "word"]
        ages = [one for one in alone if self._is_age(one)]
        return [*identifiers, *years, *self._as_words(names), *self._as_words(ages)]

    def _is_age(self, found: Found) -> bool:
        """Whether it is a number that tells siblings apart."""
        return found.kind == "number" and not self.telling.isdisjoint(found.attributes)

    def _as_words(self, found: Sequence[Found]) -> list[Found]:
        """Looked for as words of their attribute, where the agreement encodes that; else of the whole record; else
        anywhere, unless they are short.
        """
        if "has_word" in self.asking.functions:
            by_attribute = self.asking.single_attributes or not self.asking.whole
            return [
                replace(one, needle=Needle("has_word", one.word, one.attributes[0] if by_attribute else None))
                for one in found
            ]
        return [one for one in found if one.needle.function == "is_in" and len(one.word) >= SHORTEST]


def _looked_at(found: Found, texts: Texts) -> list[str]:
    """Where the record must lack what names another: everywhere, for names are exchanged; a year in its attribute."""
    return [found.needle.attribute] if found.kind == "number" and found.needle.attribute else list(texts)


def _like_own(found: Found, texts: Texts) -> bool:
    """Whether a word of the same attributes of the record may be the same word, spelt otherwise."""
    own = {word for name in found.attributes for word in words_in_order(texts[name])}
    return any(words.within_distance(found.word, word, MISSPELT_BY) for word in own)
