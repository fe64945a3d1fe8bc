"""The question language: what an oracle writes about the other record, and what it means.

    checked = read_question('ret is_in("canon", lower($r))', attributes=["name"])
    checked.ok, checked.diagnostics        # findings, with line, column and a sentence
    interpret(checked.question, record)    # the plain meaning, by definition
    checked.formula                        # what engines compile

Knows nothing of encryption, parties or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blindlabel.language import checker, constants, parser
from blindlabel.language.diagnostics import Diagnostic, error, render
from blindlabel.language.formatter import format_question
from blindlabel.language.formula import Formula
from blindlabel.language.functions import FUNCTIONS
from blindlabel.language.interpreter import interpret
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record, View
from blindlabel.language.rewriting import RewritingError, formula_of
from blindlabel.language.tree import Question

__all__ = [
    "FUNCTIONS",
    "Checked",
    "Diagnostic",
    "Limits",
    "Question",
    "Record",
    "View",
    "format_question",
    "interpret",
    "read_question",
    "render",
]


@dataclass(frozen=True)
class Checked:
    """A question that has been read and checked. `formula` is there exactly when it has no error."""

    question: Question
    formula: Formula | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether the question can be used."""
        return self.formula is not None


def read_question(
    source: str, *, attributes: Sequence[str] | None = None, limits: Limits | None = None, lowered: bool = False
) -> Checked:
    """Read and check a question. Never raises, whatever the text.

    `attributes` are those of the agreement (None: any is taken); `lowered` says that prepared records are in lower case
    already.
    """
    limits = limits or Limits()
    parsed = parser.parse(source, limits)
    found = list(parsed.diagnostics)
    findings = checker.check(parsed.question, attributes, limits, lowered)
    if found:  # where statements could not be read, what is missing because of them is not said
        findings = [
            one for one in findings if one.code not in ("no-ret", "unknown-variable", "unused-variable", "unreachable")
        ]
    found += findings
    formula = None
    if not any(one.severity == "error" for one in found):
        try:
            formula = formula_of(parsed.question, limits)
            found += constants.constant_warning(parsed.question, formula)
        except RewritingError as problem:
            found.append(error(problem.code, problem.message, problem.span, problem.hint))
    found.sort(key=lambda one: (one.span.start, one.severity))
    return Checked(parsed.question, formula, tuple(found))
