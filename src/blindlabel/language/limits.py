"""Every limit of the question language, in one place.

An agreement may set each of them; these defaults apply to a study whose agreement does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from blindlabel.settings import Setting

DEFAULT_FUNCTIONS = ("is_in", "starts_with", "ends_with", "equals", "has_word", "is_empty", "sounds_like", "far_from")
"""The functions that can be asked unless the agreement says otherwise."""
DEFAULT_PROFILE = (4, 4, 3, 3, 2, 2, 2, 1, 1, 1)
"""The places of a question by weight, unless the agreement says otherwise. Places of equal weight are a class, and
conditions worth the same take places of the same classes, whatever the class is worth.
"""


@dataclass(frozen=True)
class Limits:
    """How large a question may be. The checker refuses anything beyond, with a sentence."""

    question_bytes: Annotated[int, Setting("Size of a question's text, in bytes of UTF-8.", 1, 10**9)] = 64 * 1024
    predicates: Annotated[
        int, Setting("Function calls a question comes to once its variables are filled in.", 1, 10**9)
    ] = 256
    nesting: Annotated[int, Setting("How deep brackets, calls and negations may be nested.", 1, 10**9)] = 100
    needle_length: Annotated[
        int, Setting("Longest text that is_in, starts_with and ends_with may look for.", 1, 10**9)
    ] = 16
    total_weight: Annotated[
        int, Setting("Sum of the weights of one count, scaled to the smallest whole numbers.", 1, 10**9)
    ] = 64
    similar_distance: Annotated[int, Setting("Largest edit distance that `similar` may ask for.", 0, 5)] = 1
    number_digits: Annotated[int, Setting("Digits of a number in a question.", 1, 10**9)] = 15

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}
