"""What can be asked about a record: its words, pieces of its long words, and its short values. Does not weigh them.

A short word is looked for as it is. A longer one is cut into pieces of four or five characters which are looked for one
by one: "kxts3282b" is "kxts" and "3282b", so that "kx-ts3282b" still shows one of them; a typing error spoils one
piece; an abbreviation keeps the first. Words of letters only stay whole up to eight letters at first, and are cut like
the others when their record comes back (`finer`): it may have been the spelling that failed; a name that is all an
attribute holds is then asked for by its sound as well. A date of eight digits falls into year and day by the same cut.
An attribute that is missing asks for nothing. A single character is only looked for as a word of its own, and a short
value that is all an attribute holds ("31", "f", "1999") as the value of that attribute.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from blindlabel.language import words
from blindlabel.language.limits import Limits

LONGEST_UNCUT = 6
PIECE = 4
LONGEST_UNCUT_LETTERS = 8
PIECE_LETTERS = 5
LONGEST_VALUE = 4
"""A value of an attribute up to this long is asked for as the whole value, where the table has several attributes."""
MOST_WORDS = 400
"""Words of one attribute that are looked at: a bound on the work for very long texts."""


@dataclass(frozen=True)
class Needle:
    """One thing to ask: a predicate, what it looks for, and where (None: anywhere in the record)."""

    function: str
    text: str
    attribute: str | None = None


def needles_of(
    texts: Mapping[str, str],
    functions: Collection[str],
    limits: Limits,
    *,
    whole: bool,
    attributes: bool,
    finer: bool = False,
) -> dict[Needle, tuple[str, ...]]:
    """All needles of a record (attribute name to its text in lower case), each with the attributes it comes from, in
    order.
    """
    found: dict[Needle, tuple[str, ...]] = {}
    by_value = attributes and len(texts) > 1 and "equals" in functions
    for name, text in texts.items():
        where = None if whole else name
        in_order = words_in_order(text)[:MOST_WORDS]
        if by_value and in_order == [text] and len(text) <= LONGEST_VALUE:
            found[Needle("equals", text, name)] = (name,)
            continue
        if (
            finer
            and attributes
            and "sounds_like" in functions
            and in_order == [text]
            and text.isalpha()
            and len(text) > LONGEST_VALUE
        ):
            found[Needle("sounds_like", text, name)] = (name,)
        for word in in_order:
            for needle in _of_word(word, where, functions, limits, finer):
                if name not in found.get(needle, ()):
                    found[needle] = (*found.get(needle, ()), name)
    return found


def words_in_order(text: str) -> list[str]:
    """The words of a text as the language sees them, first to last."""
    separated = "".join(character if words.is_word_character(character) else " " for character in text)
    return separated.split()


def _of_word(word: str, where: str | None, functions: Collection[str], limits: Limits, finer: bool) -> Sequence[Needle]:
    if "is_in" in functions and len(word) > 1:
        return [Needle("is_in", piece, where) for piece in pieces(word, limits.needle_length, finer)]
    if "has_word" in functions:
        return [Needle("has_word", word, where)]
    if "is_in" in functions and limits.needle_length > 0:
        return [Needle("is_in", word, where)]
    if "sounds_like" in functions and words.phonetic_code(word):
        return [Needle("sounds_like", word, where)]
    return []


def pieces(word: str, longest: int, finer: bool = False) -> list[str]:
    """The word as it is, or cut into nearly equal pieces of at most `longest` characters."""
    if longest < 1:
        return []
    letters = word.isalpha() and not finer
    if len(word) <= min(LONGEST_UNCUT_LETTERS if letters else LONGEST_UNCUT, longest):
        return [word]
    length = min(PIECE_LETTERS if letters else PIECE, longest)
    count = max(2, round(len(word) / length), -(-len(word) // longest))
    cuts = [round(i * len(word) / count) for i in range(count + 1)]
    return [word[start:end] for start, end in itertools.pairwise(cuts) if end > start]
