"""What the functions of the language are built on: upper and lower case, words, phonetic codes, and the numbers, dates,
years and telephones in a text.

Case is changed one character to one. Only the letters that pair up both ways take part: `A`/`a`, `É`/`é`, `Σ`/`σ`,
1,396 pairs in Unicode 14. Every other character (`ß`, `İ`, the Kelvin sign, titlecase digraphs) is left alone by both
functions. So texts keep their length, and `upper(x) == upper(y)` holds exactly when `lower(x) == lower(y)` does;
engines rely on both.
"""

from __future__ import annotations

import datetime
import re
import sys
import unicodedata
from fractions import Fraction
from functools import lru_cache

import jellyfish
from anyascii import anyascii


@lru_cache(maxsize=1)
def _pairs() -> tuple[dict[int, int], dict[int, int]]:
    """Capital to small, and small to capital. Made when first needed: plain ASCII text never needs it."""
    down: dict[int, int] = {}
    up: dict[int, int] = {}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        small = character.lower()
        if small != character and len(small) == 1 and small.upper() == character:
            down[code] = ord(small)
            up[ord(small)] = code
    return down, up


def lower(text: str) -> str:
    """The text with every paired capital letter replaced by its small letter."""
    return text.lower() if text.isascii() else text.translate(_pairs()[0])


def upper(text: str) -> str:
    """The text with every paired small letter replaced by its capital letter."""
    return text.upper() if text.isascii() else text.translate(_pairs()[1])


def has_paired_lower(text: str) -> bool:
    """Whether `upper` would change the text."""
    if text.isascii():
        return text != text.upper()
    return any(ord(character) in _pairs()[1] for character in text)


def has_paired_upper(text: str) -> bool:
    """Whether `lower` would change the text."""
    if text.isascii():
        return text != text.lower()
    return any(ord(character) in _pairs()[0] for character in text)


SIMILAR_WORD_LENGTH = 16
"""`similar` compares words of up to this many characters by edit distance; a longer word is similar only to itself."""

NUMBER_DECIMALS = 2
"""Decimals that `between` looks at; further ones are cut off (towards minus infinity)."""

NUMBER_BOUND = 2**32
"""`between` treats numbers at or beyond this size as this size."""

_ASCII_WORD = re.compile(r"[0-9A-Za-z]+")
_NUMBER = re.compile(r"(?:(?<![0-9A-Za-z.])[+-])?[0-9]+(?:\.[0-9]+)?")


def is_word_character(character: str) -> bool:
    """Letters, digits and the marks that combine with them make words; all else separates words."""
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def words_in_order(text: str) -> list[str]:
    """The words of a text, first to last: longest runs of word characters."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return "".join(character if is_word_character(character) else " " for character in text).split()


@lru_cache(maxsize=65536)
def words_of(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(words_in_order(text))


def is_word(text: str) -> bool:
    """Whether the text is exactly one word."""
    return bool(text) and all(is_word_character(character) for character in text)


@lru_cache(maxsize=65536)
def phonetic_code(word: str) -> str:
    """The Metaphone code of a word, folded to ASCII letters first, or empty if nothing is left to pronounce."""
    letters = "".join(c for c in anyascii(word).upper() if "A" <= c <= "Z")
    return jellyfish.metaphone(letters) if letters else ""


@lru_cache(maxsize=65536)
def phonetic_codes(text: str) -> frozenset[str]:
    """The phonetic codes of a text's words."""
    return frozenset(code for code in map(phonetic_code, words_of(text)) if code)


def hundredths(value: Fraction) -> int:
    """A number as whole hundredths, cut towards minus infinity and clamped to the bound."""
    scale: int = 10**NUMBER_DECIMALS
    limit = NUMBER_BOUND * scale
    cut: int = (value.numerator * scale) // value.denominator
    return max(-limit, min(limit - 1, cut))


@lru_cache(maxsize=65536)
def first_number(text: str) -> int | None:
    """The first number in a text, in hundredths, or None if there is none.

    A sign counts only where no letter, digit or point stands directly before it, so `24-70` starts with 24 and holds no
    -70.
    """
    match = _NUMBER.search(text)
    if match is None:
        return None
    literal = match.group()
    whole, _, decimals = literal.lstrip("+-").partition(".")
    # Only the first digits matter; cutting early keeps a hostile text of digits cheap.
    whole = whole.lstrip("0")
    if len(whole) > 12:
        value = Fraction(NUMBER_BOUND)
    else:
        value = Fraction(int(whole or "0")) + Fraction(int(decimals[:12] or "0"), 10 ** len(decimals[:12]))
        if literal[0] == "-" and decimals[12:].strip("0"):
            value += Fraction(1, 10**12)  # the part that was cut still makes a negative number smaller
    return hundredths(-value if literal[0] == "-" else value)


_DATE = re.compile(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


@lru_cache(maxsize=65536)
def first_date(text: str) -> datetime.date | None:
    """The first date in a text, written as 1980-05-17, or None if there is none."""
    return next(filter(None, map(date_of, _DATE.findall(text))), None)


def date_of(written: str) -> datetime.date | None:
    """The date that is written, 1980-05-17 or 19800517."""
    found = re.fullmatch(r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})", written)
    try:
        return datetime.date(int(found[1]), int(found[3]), int(found[4])) if found else None
    except ValueError:
        return None


YEARS = range(1000, 3000)
"""What four digits can be a year."""


def years_of(text: str) -> frozenset[int]:
    """The words of a text that are years."""
    return frozenset(int(word) for word in words_of(text) if re.fullmatch("[12][0-9]{3}", word))


TELEPHONE_ENDING = 7
"""The digits by which telephones are compared: what is left without prefixes."""


@lru_cache(maxsize=65536)
def telephone_endings(text: str) -> frozenset[str]:
    """The last digits of every telephone in a text: of each long run of digits, spaces and ( ) . / - left out."""
    runs = re.findall(f"[0-9]{{{TELEPHONE_ENDING},}}", re.sub(r"[ ()./-]", "", text))
    return frozenset(run[-TELEPHONE_ENDING:] for run in runs)


@lru_cache(maxsize=262144)
def within_distance(left: str, right: str, distance: int) -> bool:
    """Whether two words are within a Levenshtein distance, with the length rule for long words."""
    if left == right:
        return True
    if len(left) > SIMILAR_WORD_LENGTH or len(right) > SIMILAR_WORD_LENGTH:
        return False
    if abs(len(left) - len(right)) > distance:
        return False
    return _levenshtein(left, right) <= distance


def _levenshtein(left: str, right: str) -> int:
    # Over code points: jellyfish counts grapheme clusters, where a letter and its combining accent are one.
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        current = [i]
        for j, b in enumerate(right, start=1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (a != b)))
        previous = current
    return previous[-1]
