"""Types of values: one canonical form for what people write in several ways. No files, no network, no clock.

The agreement names a type for an attribute, and both owners then write its values the same way: "310/456-0488" and
"(310) 456 0488" are one telephone. A type can read a text or not; what it cannot read stays the text it was. A
canonical form is ASCII and reads as itself. What a type reads never changes under one `preparation.VERSION`; so these
are rules of our own and not a library's, whose results change with its releases (docs/decisions/0104).

To add a type: write how it reads a text and how part of a value is written, and add it to `TYPES`.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from blindlabel.settings import Setting


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """What a text alone does not say."""

    country: Annotated[
        str, Setting('Telephones: the country code of numbers written without one, as "1" or "49"; empty: none.')
    ] = ""
    day_first: Annotated[
        bool, Setting("Dates: 3/4/2014 is the third of April. With dots the day always comes first.")
    ] = False
    first_year: Annotated[
        int, Setting("Dates and years: one of two digits lies in the hundred years from this one on.", 1000, 2900)
    ] = 1940
    decimal_comma: Annotated[bool, Setting("Numbers: 1,299 is a little more than one, and 1.299 a thousand.")] = False


Reading = Callable[[str, Conventions], "str | None"]


@dataclass(frozen=True)
class ValueType:
    """A type of values."""

    description: str
    canonical: Reading
    """The canonical form, or None if the text cannot be read as one."""
    part: Reading
    """What part of a value looks like in canonical forms, or None if it occurs in none."""
    is_text: bool = False
    """Whether the canonical form is a text, to which all steps of preparation apply."""


_LONGEST = 64
"""Longer texts are no telephones, dates, numbers or codes."""


def _plain(text: str) -> str:
    """Without white space around it, every dash a hyphen and every space a space."""
    if len(text) > _LONGEST:
        return ""
    kinds = ((character, unicodedata.category(character)) for character in text.strip())
    return "".join("-" if kind == "Pd" else " " if kind == "Zs" else character for character, kind in kinds)


# Text and names


def _text(text: str, _: Conventions) -> str | None:
    return text


_FAMILY_FIRST = re.compile(r"\s*([^,;\d]+?)\s*,\s*([^,;\d]+?)\s*")


def _name(text: str, _: Conventions) -> str | None:
    found = _FAMILY_FIRST.fullmatch(text) if len(text) <= _LONGEST else None
    return f"{found[2]} {found[1]}" if found else text


# Telephones


_TELEPHONE = re.compile(r"\+?[0-9(][0-9 ()./-]*")


def _telephone(text: str, agreed: Conventions) -> str | None:
    text = _plain(text)
    if not _TELEPHONE.fullmatch(text):
        return None
    digits = re.sub(r"\D", "", text.replace("(0)", "") if text.startswith(("+", "00")) else text)
    if text.startswith("+") or digits.startswith("00"):
        digits = digits.removeprefix("00")
        return f"+{digits}" if 7 <= len(digits) <= 15 else None
    if not 6 <= len(digits) <= 15:
        return None
    if not agreed.country:
        return digits
    if not (len(digits) > 10 and digits.startswith(agreed.country)):
        kept = digits if agreed.country == "39" else digits.removeprefix("0")  # Italy's numbers keep their zero
        digits = agreed.country + kept
    return f"+{digits}" if 7 <= len(digits) <= 15 else None


def _part_of_telephone(text: str, _: Conventions) -> str | None:
    if not re.fullmatch(r"\+?[0-9 ()./-]*[0-9][0-9 ()./-]*", _plain(text)):
        return None
    return re.sub(r"[^0-9+]", "", _plain(text))


# Dates and years


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    "(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)[.]?"
)
_YEAR = "(?P<year>[0-9]{4}|[0-9]{2})"
_DAY = "(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<year>[0-9]{4})([-/.])(?P<month>[0-9]{1,2})\2(?P<day>[0-9]{1,2})(?:[ t]00:00(?::00(?:[.]0+)?)?)?",
        r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})",
        rf"(?P<day>[0-9]{{1,2}})[.] ?(?P<month>[0-9]{{1,2}})[.] ?{_YEAR}",
        rf"(?P<first>[0-9]{{1,2}})([-/])(?P<second>[0-9]{{1,2}})\2{_YEAR}",
        rf"{_DAY}[.]?[ -]?{_MONTH},?[ -]?{_YEAR}",
        rf"{_MONTH} ?{_DAY}(?:, ?| ){_YEAR}",
    )
)


def _read_date(text: str, agreed: Conventions) -> datetime.date | None:
    text = _plain(text).lower()
    found = next(filter(None, (pattern.fullmatch(text) for pattern in _DATES)), None)
    if found is None:
        return None
    parts = found.groupdict()
    if "first" in parts:
        parts["day"], parts["month"] = (parts["first"], parts["second"])[:: 1 if agreed.day_first else -1]
    month = int(parts["month"]) if "month" in parts else 1 + _MONTHS.index(parts["name"][:3])
    try:
        return datetime.date(_full_year(parts["year"], agreed), month, int(parts["day"]))
    except ValueError:
        return None


def _full_year(digits: str, agreed: Conventions) -> int:
    return int(digits) if len(digits) == 4 else agreed.first_year + (int(digits) - agreed.first_year) % 100


def _date(text: str, agreed: Conventions) -> str | None:
    found = _read_date(text, agreed)
    return None if found is None else found.isoformat()


def _part_of_date(text: str, agreed: Conventions) -> str | None:
    return _date(text, agreed) or (text if _is_within_a_date(text) else None)


_DIGITS = "0123456789"
_CHARACTERS_OF_A_DATE = (_DIGITS, _DIGITS, _DIGITS, _DIGITS, "-", "01", _DIGITS, "-", "0123", _DIGITS)


def _is_within_a_date(text: str) -> bool:
    places = range(1 + len(_CHARACTERS_OF_A_DATE) - len(text))
    return any(all(map(str.__contains__, _CHARACTERS_OF_A_DATE[place:], text)) for place in places)


def _year(text: str, agreed: Conventions) -> str | None:
    if found := re.fullmatch(r"([12][0-9]{3})(?:[.]0)?|'?([0-9]{2})", _plain(text)):
        return str(_full_year(found[1] or found[2], agreed))
    dated = _read_date(text, agreed)
    return None if dated is None or dated.year < 1000 else str(dated.year)


def _part_of_year(text: str, agreed: Conventions) -> str | None:
    return text if re.fullmatch("[0-9]{1,4}", text) else _year(text, agreed)


# Numbers and codes


def _number_written(point: str, mark: str) -> re.Pattern[str]:
    whole = rf"[0-9]{{1,15}}|[0-9]{{1,3}}(?P<mark>[{mark} '])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}}){{0,3}}"
    return re.compile(rf"(?P<sign>[+-]?) ?(?P<whole>{whole})(?:[{point}](?P<decimals>[0-9]{{1,15}}))?")


_WITH_POINT, _WITH_COMMA = _number_written(".", ","), _number_written(",", ".")


def _number(text: str, agreed: Conventions) -> str | None:
    """As agreed, or else by the other convention: 79,99 can only be read one way."""
    text = "".join(character for character in _plain(text) if unicodedata.category(character) != "Sc").strip()
    ways = (_WITH_POINT, _WITH_COMMA)[:: -1 if agreed.decimal_comma else 1]
    found = next(filter(None, (way.fullmatch(text) for way in ways)), None)
    if found is None:
        return None
    whole, decimals = re.sub("[^0-9]", "", found["whole"]).lstrip("0") or "0", (found["decimals"] or "").rstrip("0")
    sign = "-" if found["sign"] == "-" and (whole != "0" or decimals) else ""
    if agreed.decimal_comma and len(decimals) == 3:
        decimals += "0"  # otherwise it would be read as thousands
    return f"{sign}{whole}.{decimals}" if decimals else sign + whole


def _part_of_number(text: str, agreed: Conventions) -> str | None:
    if re.fullmatch("[0-9]+", text):
        return text
    return _number(text, agreed) or (text if re.fullmatch("-?[0-9]*[.]?[0-9]*", text) else None)


def _code(text: str, _: Conventions) -> str | None:
    text = _plain(text)
    found = "".join(character for character in text if character.isalnum())
    return found if found and found.isascii() else None


TEXT = ValueType("As the steps make it.", _text, _text, is_text=True)

TYPES: Mapping[str, ValueType] = {
    "text": TEXT,
    "name": ValueType(
        '"Smith, John" is John Smith: what stands before a single comma goes to the end.', _name, _text, is_text=True
    ),
    "telephone": ValueType(
        "Digits, with + and the country code where it is written or agreed.", _telephone, _part_of_telephone
    ),
    "date": ValueType(
        "2014-10-14, also where 10/14/2014, 14.10.2014, 14-Oct-14 or October 14, 2014 is written.", _date, _part_of_date
    ),
    "year": ValueType("Four digits; of a date its year.", _year, _part_of_year),
    "number": ValueType(
        "1299.5, also where $1,299.50 is written: no signs of currencies or thousands, no zeros at the ends.",
        _number,
        _part_of_number,
    ),
    "code": ValueType("Letters and digits joined: ATC-2000 and ATC 2000 are ATC2000.", _code, _code),
}
"""Every type there is, by name."""
