"""Every limit of the question language, in one place.

An agreement may set each of them; the defaults here are what a study gets that says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a question may at most be. The checker refuses what goes beyond, with a sentence."""

    question_bytes: int = 64 * 1024
    """Size of a question's source in UTF-8."""
    predicates: int = 256
    """Predicates (is_in, equals, …) a question comes to once its variables are filled in."""
    nesting: int = 100
    """How deep brackets, calls and negations may be nested."""
    needle_length: int = 16
    """Longest text that is_in, starts_with and ends_with may look for: what the agreement encodes."""
    total_weight: int = 64
    """Sum of the weights of one count, after scaling them to the smallest whole numbers."""
    similar_distance: int = 2
    """Largest edit distance that `similar` may ask for."""
    number_digits: int = 15
    """Digits of a number literal."""
