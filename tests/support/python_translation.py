"""A second, independent evaluation of questions: each is translated into Python source and compiled.

It shares no code with the interpreter: word splitting, case, phonetic codes, numbers and distances are written anew,
the slow and obvious way.
"""

from __future__ import annotations

import itertools
import re
import time
import unicodedata
from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

import jellyfish
from anyascii import anyascii

from blindlabel.language import tree
from blindlabel.language.record import Record

_OPERATORS = {"&": "and", "|": "or", "+": "+", "*": "*"}


class _Fields(dict[str, str]):
    """A record in Python: attributes, and the whole."""

    whole = ""


def _text(value: Any) -> str:
    return value.whole if isinstance(value, _Fields) else value


def _cased(value: Any, swap: Callable[[str], str]) -> Any:
    if isinstance(value, _Fields):
        changed = _Fields({key: swap(text) for key, text in value.items()})
        changed.whole = swap(value.whole)
        return changed
    return swap(value)


def _lower(text: str) -> str:
    return "".join(c.lower() if len(c.lower()) == 1 and c.lower().upper() == c else c for c in text)


def _upper(text: str) -> str:
    return "".join(c.upper() if len(c.upper()) == 1 and c.upper().lower() == c else c for c in text)


def _is_part(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _words(text: str) -> list[str]:
    return ["".join(run) for part, run in itertools.groupby(text, _is_part) if part]


def _one_word(text: str) -> bool:
    return _words(text) == [text]


def _sound(word: str) -> str:
    letters = re.sub("[^A-Z]", "", anyascii(word).upper())
    return jellyfish.metaphone(letters) if letters else ""


def _distance(a: str, b: str) -> int:
    grid = [[i + j if not i or not j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        change = 0 if a[i - 1] == b[j - 1] else 1
        grid[i][j] = min(grid[i - 1][j] + 1, grid[i][j - 1] + 1, grid[i - 1][j - 1] + change)
    return grid[len(a)][len(b)]


def _similar(word: str, text: Any, distance: Fraction) -> bool:
    if not _one_word(word):
        return False
    for other in _words(_text(text)):
        if other == word or (len(other) <= 16 and len(word) <= 16 and _distance(word, other) <= distance):
            return True
    return False


def _first_number(text: Any) -> Fraction | None:
    source = _text(text)
    for start, character in enumerate(source):
        if character in "0123456789":
            end = start
            while end < len(source) and source[end] in "0123456789":
                end += 1
            if end + 1 < len(source) and source[end] == "." and source[end + 1] in "0123456789":
                end += 1
                while end < len(source) and source[end] in "0123456789":
                    end += 1
            number = Decimal(source[start:end])
            if (
                start
                and source[start - 1] in "+-"
                and not re.match("[0-9A-Za-z.]", source[start - 2 : start - 1] or " ")
            ):
                number = -number if source[start - 1] == "-" else number
            cut = number.quantize(Decimal("0.01"), rounding=ROUND_FLOOR)
            cut = min(max(cut, Decimal(-(2**32))), Decimal(2**32) - Decimal("0.01"))
            return Fraction(cut)
    return None


def _between(text: Any, low: Fraction, high: Fraction) -> bool:
    number = _first_number(text)
    return number is not None and low <= number <= high


def _band(number: Fraction) -> int:
    """How often 1 can be made half as large again, cut to hundredths, and stay within the number; 34 times at most."""
    start, band = 150, 0
    while band < 34 and number * 100 >= start:
        start, band = start + start // 2, band + 1
    return band


def _far_from(asked: Fraction, text: Any) -> bool:
    number = _first_number(text)
    return number is not None and abs(_band(number) - _band(asked)) >= 3


def _same_telephone(telephone: str, text: Any) -> bool:
    def endings(source: str) -> set[str]:
        kept = "".join(c for c in source if c not in " ()./-")
        runs = ["".join(run) for digit, run in itertools.groupby(kept, lambda c: c in "0123456789") if digit]
        return {run[-7:] for run in runs if len(run) >= 7}

    return len(endings(telephone)) == 1 and endings(telephone) <= endings(_text(text))


def _date(written: str) -> str:
    """As YYYYMMDD; empty where it is none."""
    digits = written.replace("-", "") if re.fullmatch(r"[0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}", written) else "0"
    try:
        time.strptime(digits, "%Y%m%d")
    except ValueError:
        return ""
    return digits


def _near_date(asked: str, text: Any) -> bool:
    own = _date(asked)
    found = re.findall(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])", _text(text))
    first = next((_date(one) for one in found if _date(one)), "")
    if not own or not first:
        return False
    return sum(a != b for a, b in zip(own, first)) <= 1 or own == first[:4] + first[6:] + first[4:6]


def _near_year(asked: Fraction, text: Any) -> bool:
    years = [word for word in _words(_text(text)) if len(word) == 4 and word[0] in "12"]
    return any(abs(int(year) - asked) < 2 for year in years if all(c in "0123456789" for c in year))


_NAMES: dict[str, Any] = {
    "lower": lambda value: _cased(value, _lower),
    "upper": lambda value: _cased(value, _upper),
    "is_in": lambda needle, text: needle in _text(text),
    "starts_with": lambda needle, text: _text(text)[: len(needle)] == needle,
    "ends_with": lambda needle, text: _text(text)[max(0, len(_text(text)) - len(needle)) :] == needle,
    "equals": lambda value, text: _text(text) == value,
    "has_word": lambda word, text: word in _words(_text(text)),
    "is_empty": lambda text: all(c.isspace() or c == "|" for c in _text(text)),
    "sounds_like": lambda word, text: (
        _one_word(word) and _sound(word) != "" and _sound(word) in [_sound(w) for w in _words(_text(text))]
    ),
    "similar": _similar,
    "between": _between,
    "far_from": _far_from,
    "same_telephone": _same_telephone,
    "near_date": _near_date,
    "near_year": _near_year,
    "common_words": lambda wanted, text: len(set(_words(wanted)) & set(_words(_text(text)))),
    "choose": lambda condition, a, b: a if condition else b,
    "Fraction": Fraction,
}


def _python(node: tree.Expression) -> str:
    if isinstance(node, tree.Text):
        return repr(node.value)
    if isinstance(node, tree.Number):
        return f"Fraction({node.value.numerator}, {node.value.denominator})"
    if isinstance(node, tree.Boolean):
        return repr(node.value)
    if isinstance(node, tree.Variable):
        return f"v_{node.name}"
    if isinstance(node, tree.Attribute):
        return f"{_python(node.record)}.get({node.name!r}, '')"
    if isinstance(node, tree.Not):
        return f"(not {_python(node.operand)})"
    if isinstance(node, tree.Compare):
        return f"({_python(node.left)} {node.operator} {_python(node.right)})"
    if isinstance(node, tree.Operation):
        return "(" + f" {_OPERATORS[node.operator]} ".join(map(_python, node.operands)) + ")"
    arguments = [_python(argument) for argument in node.arguments]
    if node.function in ("is_in", "starts_with", "ends_with", "equals"):
        arguments[0] = f"str({arguments[0]})"
    return f"{node.function}({', '.join(arguments)})"


def python_answer(question: tree.Tree, record: Record) -> bool:
    """The answer by way of Python."""
    lines = ["def answer(v_r):"]
    for statement in question.statements:
        value = _python(statement.value)
        lines.append(
            f"    return {value}" if isinstance(statement, tree.Return) else f"    v_{statement.name} = {value}"
        )
    names = dict(_NAMES)
    exec("\n".join(lines), names)
    fields = _Fields(record.attributes)
    fields.whole = record.whole
    return bool(names["answer"](fields))
