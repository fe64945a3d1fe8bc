"""Where in a record a question finds what it asks for, so that a person sees at a glance why a row fits."""

from __future__ import annotations

from collections.abc import Iterable

from blindlabel.language import Record
from blindlabel.language.formula import Atom
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import View
from blindlabel.language.words import is_word_character

Span = tuple[int, int]


def marked(record: Record, atoms: Iterable[Atom]) -> list[dict[str, object]]:
    """A record attribute by attribute, cut into parts that are hits and parts that are not; as the browser gets it."""
    wanted = list(atoms)
    return [
        {"name": name, "parts": _cut(value, _spans(record, name, value, wanted))}
        for name, value in record.attributes.items()
        if value
    ]


def _spans(record: Record, name: str, value: str, atoms: list[Atom]) -> list[Span]:
    found: list[Span] = []
    for atom in atoms:
        if atom.view.attribute not in (None, name):
            continue
        text = record.text(View(name, atom.view.case))
        if len(text) == len(value):  # changing the case of a few letters changes the length; then nothing is marked
            found += spans_in(atom, text)
    return found


def spans_in(atom: Atom, text: str) -> list[Span]:
    """Where a predicate finds what it asks for in a text: the text itself, or words that meet it by themselves."""
    meaning, arguments = PREDICATES[atom.function].meaning, atom.arguments
    needle = next((value for value in arguments if isinstance(value, str) and value), "")
    whole_words = atom.function == "has_word"
    if needle and atom.function in ("is_in", "has_word", "equals", "starts_with", "ends_with"):
        return [
            (start, start + len(needle))
            for start in _occurrences(text, needle)
            if not whole_words or _stands_alone(text, start, start + len(needle))
        ]
    return [(start, end) for start, end in word_spans(text) if meaning(text[start:end], arguments)]


def _occurrences(text: str, needle: str) -> Iterable[int]:
    start = text.find(needle)
    while start >= 0:
        yield start
        start = text.find(needle, start + 1)


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (start and is_word_character(text[start - 1])) and not (end < len(text) and is_word_character(text[end]))


def word_spans(text: str) -> list[Span]:
    """Where the words of a text stand."""
    found: list[Span] = []
    start = None
    for place, character in enumerate([*text, " "]):
        if is_word_character(character):
            start = place if start is None else start
        elif start is not None:
            found.append((start, place))
            start = None
    return found


def _cut(value: str, spans: list[Span]) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = []
    hit = [False] * len(value)
    for start, end in spans:
        hit[start:end] = [True] * (min(end, len(value)) - start)
    for character, is_hit in zip(value, hit, strict=True):
        if parts and parts[-1]["hit"] == is_hit:
            parts[-1]["text"] = f"{parts[-1]['text']}{character}"
        else:
            parts.append({"text": character, "hit": is_hit})
    return parts
