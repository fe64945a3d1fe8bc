"""But not: what speaks for another own row instead. At most a few, and only against rows that the points let pass.

An own row that gets as many points as are asked for is another thing all the same. Where it has an identifier, a year
or a name that the record lacks, the other record must not have that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blindlabel.language import words
from blindlabel.language.suggestions.evidence import holds
from blindlabel.language.suggestions.needles import Asking, Found, Needle, needles_of, words_in_order

MISSPELT_BY = 2


def exclusions_of(
    named: Sequence[tuple[Mapping[str, str], Sequence[Found]]], far: Sequence[Found], most: int
) -> list[Found]:
    """At most so many needles: first what keeps out rows that the points let pass, for each row what names it
    otherwise; then amounts that are `far` from the record's own.
    """
    chosen: dict[Needle, Found] = {}
    for row, needles in named:
        if len(chosen) < most and needles and not any(holds(needle, row) for needle in chosen):
            chosen[needles[0].needle] = needles[0]
    return [*chosen.values(), *far][:most]


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
