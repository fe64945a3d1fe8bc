"""Diagnostics are data: what is wrong, where, and what to do. The command line and the editor render the same
objects.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

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
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "line": self.span.line,
            "column": self.span.column,
            "end_line": self.span.end_line,
            "end_column": self.span.end_column,
            "start": self.span.start,
            "end": self.span.end,
        }


def error(code: str, message: str, span: Span, hint: str = "") -> Diagnostic:
    """A finding that keeps the question from being used."""
    return Diagnostic(code, "error", message, span, hint)


def warning(code: str, message: str, span: Span, hint: str = "") -> Diagnostic:
    """A finding that is probably not meant, but has a meaning."""
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
    return "".join(
        (
            " "
            if character == "\t"
            else character
            if character.isprintable() or character == " "
            else "\N{REPLACEMENT CHARACTER}"
        )
        for character in line
    )
