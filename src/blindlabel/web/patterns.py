"""Patterns: one question for many records, with each record's own words filled in.

`{surname}` stands for the record's own value of an attribute, as a text in quotes; `{surname 1}` for its first word,
`{surname 2}` for the second; `{words}` for all words of the record. A record that lacks what a placeholder asks for is
left out, with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from blindlabel.errors import InputError
from blindlabel.language import Question, Record
from blindlabel.language.diagnostics import nearest
from blindlabel.language.formatter import quote
from blindlabel.language.words import is_word_character

_PLACEHOLDER = re.compile(r"\{([^{}\n]+)\}")
_NUMBERED = re.compile(r"(.*\S)\s+(\d{1,3})")


@dataclass(frozen=True)
class Filled:
    """A pattern with one record's words in it, or why it could not be filled."""

    record: int
    question: str
    problem: str = ""


def placeholders(pattern: str) -> list[str]:
    """What stands between braces outside of comments."""
    return [match.strip() for line in pattern.split("\n") for match in _PLACEHOLDER.findall(line.split("#")[0])]


def check_pattern(pattern: str, attributes: Iterable[str]) -> None:
    """Refuse a pattern whose placeholders no record can fill."""
    if not pattern.strip():
        raise InputError("Write a pattern first.")
    known = list(attributes)
    for placeholder in placeholders(pattern):
        name = _parts(placeholder, known)[0]
        if name != "words" and name not in known:
            close = nearest(name, [*known, "words"])
            hint = f" Did you mean {{{close}}}?" if close else f" There are {', '.join(known)} and words."
            raise InputError(f"There is no attribute {name!r} for {{{placeholder}}}.{hint}")


def fill(pattern: str, record: int, prepared: Record, check: Callable[[str], Question]) -> Filled:
    """The question that a pattern gives for one record."""
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        found = _value(match.group(1).strip(), prepared)
        if not found:
            missing.append(match.group(0))
        return quote(found)

    text = _PLACEHOLDER.sub(value, pattern)
    if missing:
        return Filled(record, text, f"The record has nothing for {missing[0]}.")
    checked = check(text)
    return Filled(
        record, text, "" if checked.ok else next(one.message for one in checked.problems if one.severity == "error")
    )


def _parts(placeholder: str, attributes: Iterable[str]) -> tuple[str, int | None]:
    numbered = _NUMBERED.fullmatch(placeholder)
    if numbered and placeholder not in attributes:
        return numbered.group(1), int(numbered.group(2))
    return placeholder, None


def _value(placeholder: str, prepared: Record) -> str:
    name, number = _parts(placeholder, prepared.attributes)
    text = " ".join(prepared.attributes.values()) if name == "words" else prepared.attributes.get(name, "")
    if number is None:
        return " ".join(ordered_words(text)) if name == "words" else text.strip()
    words = ordered_words(text)
    return words[number - 1] if 1 <= number <= len(words) else ""


def ordered_words(text: str) -> list[str]:
    """The words of a text, in order, each once."""
    split = "".join(character if is_word_character(character) else " " for character in text).split()
    return list(dict.fromkeys(split))
