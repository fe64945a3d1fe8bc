"""Diagnostics are data: what is wrong, where, and what to do. The command line and the editor render the same objects.

Syntax errors are explained in words, too: what was found, what was expected, and the habit from other languages that
may be behind it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from lark import Token

from blindlabel.language.functions import FUNCTIONS
from blindlabel.language.tree import Span

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Diagnostic:
    """One finding. The code is stable and can be scripted against; the message is a sentence; the hint says what to
    do.
    """

    code: str
    severity: Severity
    message: str
    span: Span
    hint: str = ""

    def to_json(self) -> dict[str, object]:
        """As the command line prints it: lines and columns count from 1, offsets count code points from 0."""
        found: dict[str, object] = asdict(self) | asdict(self.span)
        del found["span"]
        return found


def error(code: str, message: str, span: Span, hint: str = "") -> Diagnostic:
    """A finding that keeps the question from being used."""
    return Diagnostic(code, "error", message, span, hint)


def warning(code: str, message: str, span: Span, hint: str = "") -> Diagnostic:
    """A finding about something that has a meaning, but probably not the intended one."""
    return Diagnostic(code, "warning", message, span, hint)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to a mistyped one, if any is close."""
    names = list(known)
    folded = {candidate.casefold(): candidate for candidate in names}
    found = difflib.get_close_matches(name.casefold()[:100], folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


_WINDOW = 120


def render(diagnostic: Diagnostic, source: str, name: str = "question") -> str:
    """The finding as lines for a terminal: place and message, the source line, carets under the place, the hint."""
    span = diagnostic.span
    lines = source.split("\n")
    line = lines[span.line - 1] if span.line <= len(lines) else ""
    end = span.end_column if span.end_line == span.line else len(line) + 1
    # A very long line is shown around the place only.
    first = max(0, span.column - 1 - _WINDOW // 2) if len(line) > _WINDOW else 0
    shown = _visible(line[first : first + _WINDOW].rstrip("\r"))
    width = max(1, min(end, first + _WINDOW + 1) - span.column)
    number = str(span.line)
    gutter = " " * len(number)
    output = [
        f"{name}:{span.line}:{span.column}: {diagnostic.severity}: {diagnostic.message} [{diagnostic.code}]",
        f"{number} | {shown}",
        f"{gutter} | {' ' * (span.column - 1 - first)}{'^' * width}",
    ]
    if diagnostic.hint:
        output.append(f"{gutter} = {diagnostic.hint}")
    return "\n".join(output)


def _visible(line: str) -> str:
    """Control characters, which would move the cursor or be lost, as one visible character each."""
    shown = line.replace("\t", " ")
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in shown)


# Syntax errors

_Spanning = Callable[..., Span]

_STARTS_A_VALUE = frozenset({"TEXT", "NUMBER", "TRUE", "FALSE", "VARIABLE", "NAME", "LPAR", "NOT"})
_HABITS = {
    "and": "Write & for and.",
    "or": "Write | for or.",
    "not": "Write ! for not.",
    "return": "Write ret to give the answer.",
    "if": "There is no if; use choose(condition, a, b), or & and |.",
    "else": "There is no else; use choose(condition, a, b).",
    "r": "The other record is $r.",
}
_HINTS = {
    "'": 'Texts stand in double quotes: "text".',
    "\N{LEFT DOUBLE QUOTATION MARK}": 'Use the plain double quote ".',
    "\N{RIGHT DOUBLE QUOTATION MARK}": 'Use the plain double quote ".',
    "\N{DOUBLE LOW-9 QUOTATION MARK}": 'Use the plain double quote ".',
    "-": "There is no subtraction; move the number to the other side of the comparison.",
    "/": "There is no division; multiply the other side instead. Comments start with #.",
    ";": "No ; is needed at the end of a statement.",
    "$": "A variable is $ and a name, for example $r.",
    "%": "Variables start with $, and there is no percentage.",
    "{": "Use round brackets ( ).",
    "}": "Use round brackets ( ).",
}


def _wrong(message: str, span: Span, hint: str = "") -> Diagnostic:
    return error("syntax", message, span, hint)


def unknown_character(token: Token, span: Span) -> Diagnostic:
    """A character that has no place in the language."""
    name = f"The character {token}" if token.isprintable() else f"The character U+{ord(token):04X}"
    return _wrong(f"{name} means nothing here.", span, _HINTS.get(str(token), ""))


def _shown(token: Token) -> str:
    text = str(token)
    return text if len(text) <= 30 else text[:27] + "..."


def unexpected(piece: list[Token], position: int, accepted: frozenset[str], spanning: _Spanning) -> Diagnostic:
    """A token that cannot stand where it stands."""
    token = piece[position]
    previous = piece[position - 1] if position else None
    span = spanning(token)
    if previous is None:
        meant = f"Did you mean: ret {_shown(token)}...?"
        hint = meant if token.type in _STARTS_A_VALUE else "Begin with ret, or with a variable and =."
        return _wrong("A statement begins with ret, or with a variable and =.", span, _habit(token) or hint)
    if token.type in ("AND", "OR", "SAME") and previous.type == token.type:
        return _wrong(f"{previous}{token} is not needed.", span, f"Write a single {previous}.")
    followed = position + 1 < len(piece) and piece[position + 1].type == "ASSIGN"
    if (token.type == "ASSIGN" and previous.type == "NOT") or (token.type == "NOT" and followed):
        return _wrong("There is no !=.", span, "Write !(a == b).")
    if token.type == "ASSIGN":
        return _wrong("Only a variable at the start of a statement can be assigned to.", span, "To compare, write ==.")
    if previous.type == "NAME" and "LPAR" in accepted and len(accepted) == 1:
        hint = _habit(previous) or f"Variables start with $: ${previous}. Texts stand in double quotes."
        if str(previous) in FUNCTIONS:
            hint = f"Write its arguments in brackets: {FUNCTIONS[str(previous)].signature}."
        return _wrong(f"{_shown(previous)} is not a value by itself.", spanning(previous), hint)
    if accepted & _STARTS_A_VALUE:
        return _wrong(f"Expected a value here, not {_shown(token)}.", span, _habit(token))
    if token.type in _STARTS_A_VALUE:
        hint = _habit(token) or "Join conditions with & or |, and separate arguments with a comma."
        return _wrong(f"{_shown(token)} does not follow from what stands before it.", span, hint)
    if token.type == "RPAR":
        return _wrong("This ) has no ( before it.", span, "Remove it, or open a bracket before.")
    if token.type in ("AT_LEAST", "MORE", "AT_MOST", "LESS", "SAME"):
        return _wrong("Comparisons cannot be chained.", span, "Join two comparisons with &.")
    if token.type == "COMMA":
        return _wrong("A comma stands only between the arguments of a function.", span, "Join conditions with & or |.")
    return _wrong(f"{_shown(token)} cannot stand here.", span, _habit(token))


def ended(piece: list[Token], spanning: _Spanning) -> Diagnostic:
    """A statement that stops too early."""
    last = piece[-1]
    open_brackets: list[Token] = []
    for token in piece:
        if token.type in ("LPAR", "LSQB"):
            open_brackets.append(token)
        elif token.type in ("RPAR", "RSQB") and open_brackets:
            open_brackets.pop()
    if last.type == "NAME" and str(last) not in FUNCTIONS and len(piece) > 1 and piece[-2].type != "DOT":
        hint = _habit(last) or f"Variables start with $: ${last}. Texts stand in double quotes."
        return _wrong(f"{_shown(last)} is not a value by itself.", spanning(last), hint)
    if last.type == "NAME" and str(last) in FUNCTIONS:
        return _wrong(f"{last} needs its arguments.", spanning(last), f"Write {FUNCTIONS[str(last)].signature}.")
    if open_brackets and last.type in ("TEXT", "NUMBER", "TRUE", "FALSE", "VARIABLE", "RPAR", "RSQB", "NAME"):
        bracket = open_brackets[-1]
        closing = ")" if bracket.type == "LPAR" else "]"
        return _wrong(f"This {bracket} is never closed.", spanning(bracket), f"Add a {closing}.")
    if last.type == "RET":
        return _wrong("ret needs the answer behind it.", spanning(last), 'For example: ret is_in("canon", lower($r)).')
    return _wrong(f"The statement stops after {_shown(last)}; a value is missing.", spanning(last))


def _habit(token: Token) -> str:
    return _HABITS.get(str(token).lower(), "")
