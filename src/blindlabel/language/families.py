"""Set families: the finite sets a text is turned into, so that a predicate becomes "is this element in that set?".

Each family maps a text to a set of strings (`elements`), bounds that set's size for texts up to a public length
(`bound`), and is named by a string that is part of the agreement. A predicate of the language asks for one or more
elements of one family, any of which makes it true. This is exact mathematics on clear text and knows nothing of
encryption; `tests/language/test_families.py` proves for each function that asking the family and the plain meaning are
the same.
"""

from __future__ import annotations

import datetime
import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from blindlabel.language import words

WILDCARD = "\uffff"
"""Stands for "any one character" in edit patterns; a noncharacter, so never part of a word."""


@dataclass(frozen=True)
class Family:
    """A named way to turn a text into a set of elements."""

    name: str
    elements: Callable[[str], frozenset[str]]
    bound: Callable[[int], int]
    """The most elements any text of up to this many characters can have."""
    joins: bool = False
    """Whether several texts together never have more elements than a single text can have that is as long as all of
    them with the separators in between.
    """


def substrings(length: int) -> Family:
    """All stretches of exactly `length` characters."""
    return Family(
        f"substring-{length}",
        lambda text: frozenset(text[i : i + length] for i in range(len(text) - length + 1)),
        lambda longest: max(0, longest - length + 1),
        joins=True,
    )


def _of_an_end(name: str, longest_needle: int, cut: Callable[[str, int], str]) -> Family:
    """Stretches of 1, 2, … characters at one end."""

    def elements(text: str) -> frozenset[str]:
        return frozenset(cut(text, length) for length in range(1, min(len(text), longest_needle) + 1))

    return Family(name, elements, lambda longest: min(longest, longest_needle))


def prefixes(longest_needle: int) -> Family:
    """The first 1, 2, … characters."""
    return _of_an_end("prefix", longest_needle, lambda text, length: text[:length])


def suffixes(longest_needle: int) -> Family:
    """The last 1, 2, … characters."""
    return _of_an_end("suffix", longest_needle, lambda text, length: text[-length:])


WHOLE = Family("whole", lambda text: frozenset([text]), lambda _: 1)

WORDS = Family("word", words.words_of, lambda longest: (longest + 1) // 2, joins=True)

SOUNDS = Family("sound", words.phonetic_codes, lambda longest: (longest + 1) // 2, joins=True)

EMPTY = Family("empty", lambda text: frozenset(["empty"] if is_blank(text) else []), lambda _: 1)


def is_blank(text: str) -> bool:
    """Nothing but white space and the bars that join a record's attributes."""
    return not text.replace("|", " ").strip()


# -- similar


def edited(distance: int) -> Family:
    """For every word, all its edits of up to `distance` steps, made on this side.

    A deletion removes a character, a substitution puts a wildcard in its place, an insertion puts a wildcard between
    characters. The asker puts wildcards into its own word at up to `distance` places. A pattern with the same wildcards
    on both sides exists exactly when the words are within that Levenshtein distance.
    """
    return Family(
        f"edited-{distance}",
        lambda text: frozenset(itertools.chain.from_iterable(_edits(word, distance) for word in words.words_of(text))),
        lambda longest: _edited_bound(longest, distance),
        joins=True,
    )


def _edits(word: str, distance: int) -> set[str]:
    patterns = {word}
    if len(word) > words.SIMILAR_WORD_LENGTH:
        return patterns
    for _ in range(distance):
        patterns |= {edit for pattern in patterns for edit in _one_edit(pattern)}
    return patterns


def _one_edit(pattern: str) -> Iterator[str]:
    for i in range(len(pattern) + 1):
        yield pattern[:i] + WILDCARD + pattern[i:]
        if i < len(pattern):
            yield pattern[:i] + pattern[i + 1 :]
            yield pattern[:i] + WILDCARD + pattern[i + 1 :]


def _edits_of_length(length: int, distance: int) -> int:
    if length > words.SIMILAR_WORD_LENGTH:
        return 1
    # The most patterns come from a word of different characters; counting them is exact and small (length <= 16).
    return len(_edits("".join(chr(0x4E00 + i) for i in range(length)), distance))


_EDITED_BOUNDS: dict[tuple[int, int], int] = {}


def _edited_bound(longest: int, distance: int) -> int:
    """The worst text: words and single separators filling the length so that the edits are most (a knapsack)."""
    key = (longest, distance)
    if key not in _EDITED_BOUNDS:
        best = [0] * (longest + 2)
        worth = {n: _edits_of_length(n, distance) for n in range(1, words.SIMILAR_WORD_LENGTH + 1)}
        # A word takes its length and one separator; the last separator is not needed.
        for room in range(1, longest + 2):
            ends = [best[room - n - 1] + value for n, value in worth.items() if n + 1 <= room]
            best[room] = max([best[room - 1], *ends])
        _EDITED_BOUNDS[key] = best[longest + 1]
    return _EDITED_BOUNDS[key]


def with_wildcards(word: str, distance: int) -> tuple[str, ...]:
    """What the asker of `similar` looks for: the word with wildcards at up to `distance` of its places."""
    if len(word) > words.SIMILAR_WORD_LENGTH:
        return (word,)
    patterns = []
    for count in range(distance + 1):
        for places in itertools.combinations(range(len(word)), count):
            characters = list(word)
            for place in places:
                characters[place] = WILDCARD
            patterns.append("".join(characters))
    return tuple(patterns)


# -- between

_RADICES = (10, 10) + (8,) * 11
"""From the last digit up: hundredths, tenths, then the whole part in base 8 (33 bits, offset so that it is never
negative).
"""


def _digits(value: int) -> tuple[int, ...]:
    """A number in hundredths as digits, last first."""
    whole, hundredth = divmod(value, 100)
    rest = (whole + words.NUMBER_BOUND) * 100 + hundredth
    digits = []
    for radix in _RADICES:
        rest, digit = divmod(rest, radix)
        digits.append(digit)
    return tuple(digits)


def _interval(level: int, above: tuple[int, ...], first: int, last: int) -> str:
    """Name of the set of numbers with these digits above `level` and a digit from first to last at it."""
    return f"{level}:{','.join(map(str, above))}:{first}-{last}"


def _intervals_around(text: str) -> frozenset[str]:
    value = words.first_number(text)
    if value is None:
        return frozenset()
    digits = _digits(value)
    return frozenset(
        _interval(level, digits[level + 1 :], first, last)
        for level, radix in enumerate(_RADICES)
        for first in range(digits[level] + 1)
        for last in range(digits[level], radix)
    )


def intervals_within(low: int, high: int) -> tuple[str, ...]:
    """Disjoint intervals, at most two a level, that together are exactly the numbers from low to high (in
    hundredths).
    """
    if low > high:
        return ()
    intervals: list[str] = []
    lows, highs = list(_digits(low)), list(_digits(high))
    for level, radix in enumerate(_RADICES):
        above_low, above_high = tuple(lows[level + 1 :]), tuple(highs[level + 1 :])
        if above_low == above_high:
            if lows[level] <= highs[level]:
                intervals.append(_interval(level, above_low, lows[level], highs[level]))
            return tuple(intervals)
        if lows[level] > 0:
            intervals.append(_interval(level, above_low, lows[level], radix - 1))
            _step(lows, level + 1, +1)
        if highs[level] < radix - 1:
            intervals.append(_interval(level, above_high, 0, highs[level]))
            _step(highs, level + 1, -1)
        if tuple(reversed(lows[level + 1 :])) > tuple(reversed(highs[level + 1 :])):
            return tuple(intervals)
    return tuple(intervals)


def _step(digits: list[int], level: int, by: int) -> None:
    while level < len(digits):
        digits[level] += by
        if 0 <= digits[level] < _RADICES[level]:
            return
        digits[level] %= _RADICES[level]
        level += 1


MOST_INTERVALS = 2 * len(_RADICES)
"""The most intervals that any range of `between` comes to."""

INTERVALS = Family(
    "interval",
    _intervals_around,
    lambda longest: sum((radix // 2) * (radix - radix // 2) + radix // 2 for radix in _RADICES) if longest else 0,
)


# -- far_from

NEAR_BANDS = 2
"""Numbers this many bands apart are not yet far from each other."""


_BAND_STARTS = tuple(itertools.accumulate(range(34), lambda start, _: start * 3 // 2, initial=100))
"""Where the bands begin, in hundredths: at 1 and then each half as high again, up to nearly a million."""


def _band(value: int) -> int:
    """The band of a number in hundredths. What is below the first belongs to it."""
    return max(0, bisect_right(_BAND_STARTS, value) - 1)


def band_asked(value: int) -> str:
    """What the asker of `far_from` looks for."""
    return str(_band(value))


def near(value: int) -> tuple[int, int]:
    """The first and the last number that are not far from this one, in hundredths."""
    band, beyond = _band(value), words.NUMBER_BOUND * 10**words.NUMBER_DECIMALS
    first, after = band - NEAR_BANDS, band + NEAR_BANDS + 1
    low, high = _BAND_STARTS[max(0, first)], (*_BAND_STARTS, beyond)[min(after, len(_BAND_STARTS))]
    return low if first > 0 else -beyond, high - 1


def _bands_far_from(text: str) -> frozenset[str]:
    value = words.first_number(text)
    if value is None:
        return frozenset()
    own = _band(value)
    return frozenset(str(band) for band in range(len(_BAND_STARTS)) if abs(band - own) > NEAR_BANDS)


FAR_BANDS = Family("far-band", _bands_far_from, lambda longest: len(_BAND_STARTS) - NEAR_BANDS - 1 if longest else 0)


# -- same_telephone, near_year, near_date

TELEPHONES = Family(
    "telephone-ending",
    words.telephone_endings,
    lambda longest: (longest + 1) // (words.TELEPHONE_ENDING + 1),
    joins=True,
)

NEAR_YEARS = Family(
    "near-year",
    lambda text: frozenset(str(year + by) for year in words.years_of(text) for by in (-1, 0, 1)),
    lambda longest: 3 * ((longest + 1) // 5),
    joins=True,
)


def dates_near(date: datetime.date) -> frozenset[str]:
    """The date itself, every date that differs from it in one digit, and the one with day and month exchanged."""
    written = date.isoformat()
    places = (place for place, character in enumerate(written) if character != "-")
    changed = (written[:place] + digit + written[place + 1 :] for place in places for digit in "0123456789")
    exchanged = f"{written[:4]}-{written[8:]}-{written[5:7]}"
    return frozenset(one for one in (*changed, exchanged) if words.date_of(one))


def _dates_near_first(text: str) -> frozenset[str]:
    date = words.first_date(text)
    return frozenset() if date is None else dates_near(date)


MOST_NEAR_DATES = 1 + 4 * 9 + (1 + 8) + (3 + 9) + 1
"""Itself; another digit in the year, the month (tens, ones) or the day; exchanged."""

NEAR_DATES = Family("near-date", _dates_near_first, lambda longest: MOST_NEAR_DATES if longest >= 10 else 0)
