"""Upper and lower case, one character to one.

Only the letters that pair up both ways take part: `A`/`a`, `É`/`é`, `Σ`/`σ`, 1,396 pairs in Unicode 14. Every other
character (`ß`, `İ`, the Kelvin sign, titlecase digraphs) is left alone by both functions. So texts keep their length,
and `upper(x) == upper(y)` holds exactly when `lower(x) == lower(y)` does; engines rely on both.
"""

from __future__ import annotations

import sys
from functools import lru_cache


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
