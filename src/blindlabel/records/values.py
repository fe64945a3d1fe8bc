"""Values as text: how numbers, dates and the like are written, wherever a table comes from."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

_MISSING = ("NAType", "NaTType")
"""What pandas puts where there is nothing; known by name, since pandas need not be there."""


def text_of(value: object) -> str:
    """A value as text: missing and not-a-number are empty, truth is `true` or `false`, a whole number has no decimals
    (31.0 is `31`), other numbers are written shortest without rounding, dates and times as in ISO 8601, lists joined by
    `, `."""
    if value is None or type(value).__name__ in _MISSING:
        return ""
    if isinstance(value, str):
        value.encode()  # half a surrogate pair is no text: it could not be sent
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Decimal):
        return "" if value.is_nan() else format(value, "f")
    if isinstance(value, (datetime.date, datetime.time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, (list, tuple)):
        return ", ".join(text_of(part) for part in value)
    if hasattr(value, "item"):  # a number of NumPy
        return text_of(value.item())
    raise TypeError(f"a value of type {type(value).__name__} has no text form")


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(float(value))


def unusable(error: Exception) -> str:
    """Why a value has no text form, for a sentence."""
    return "a text that is not valid Unicode" if isinstance(error, UnicodeError) else str(error)
