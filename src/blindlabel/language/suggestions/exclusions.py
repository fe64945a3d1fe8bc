"""But not: what speaks for another own row instead. At most a few, and only against rows that the points let pass.

An own row that gets as many points as are asked for is another thing all the same. Where it has an identifier, a year
or a name that the record lacks, the other record must not have that; where it has none, a word in place of one of the
record's ("professional" for "home").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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


Speaking = Sequence[tuple[Mapping[str, str], Sequence[Found]]]
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


def set_apart(
    texts: Mapping[str, str], row: Mapping[str, str], rows_having: Callable[[str], int], rows: int, asking: Asking
) -> list[Found]:
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


def named_otherwise(
    texts: Mapping[str, str],
    row: Mapping[str, str],
    years: frozenset[str],
    asking: Asking,
    *,
    spelt: bool,
    identified: bool,
) -> list[Found]:
    """What names another row and not the record; nothing where the row may be about the same thing. Where words are
    often misspelt (not `spelt`), what differs from a word of the record by a letter or two says nothing, and a row must
    differ in two things: with one, it may be about the same. Where the record has no identifier (not `identified`),
    another's says nothing: it may be the record's own, left out.
    """
    named = [
        one
        for one in _naming(texts, row, years, asking)
        if identified or one.kind != "identifier"
        if not any(holds(Needle(one.needle.function, one.needle.text, name), texts) for name in _looked_at(one, texts))
        and (spelt or not _like_own(one, texts))
    ]
    return named if len({one.attributes for one in named}) >= (1 if spelt else 2) else []


def _looked_at(found: Found, texts: Mapping[str, str]) -> list[str]:
    """Where the record must lack what names another: everywhere, for names are exchanged; a year in its attribute."""
    return [found.needle.attribute] if found.kind == "number" and found.needle.attribute else list(texts)


def _like_own(found: Found, texts: Mapping[str, str]) -> bool:
    """Whether a word of the same attributes of the record may be the same word, spelt otherwise."""
    own = {word for name in found.attributes for word in words_in_order(texts[name])}
    return any(words.within_distance(found.word, word, MISSPELT_BY) for word in own)


def _naming(texts: Mapping[str, str], row: Mapping[str, str], years: frozenset[str], asking: Asking) -> list[Found]:
    """What names the row, best first: identifiers, years where the record has another, and single words (a given
    name) where the record has another. A price or a quantity names nothing.
    """
    found = needles_of(row, years, asking)
    identifiers = [one for one in found if one.kind == "identifier"]
    numbers = [one for one in found if one.needle.attribute in years and texts[one.attributes[0]]]
    single = {
        name
        for name, text in texts.items()
        if name not in years and len(words_in_order(text)) == 1 == len(words_in_order(row[name]))
    }
    names: list[Found] = []
    if asking.single_attributes and "has_word" in asking.functions:
        for one in found:
            if one.kind == "word" and len(one.attributes) == 1 and one.attributes[0] in single:
                names.append(Found(Needle("has_word", one.word, one.attributes[0]), "word", one.attributes, one.word))
    return [*identifiers, *numbers, *names]
