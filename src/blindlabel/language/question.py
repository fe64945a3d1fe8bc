"""A question, read once: its text, the tree, what was found wrong, and the formula that engines compile.

Whoever has a question passes this object on, so that the text is parsed, checked and rewritten in one place and once.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from blindlabel.errors import InputError
from blindlabel.language import checker, constants, parser
from blindlabel.language.diagnostics import Diagnostic, error, render
from blindlabel.language.formula import Formula
from blindlabel.language.interpreter import interpret
from blindlabel.language.limits import Limits
from blindlabel.language.points import points_of
from blindlabel.language.record import Record
from blindlabel.language.rewriting import RewritingError, formula_of
from blindlabel.language.tree import Tree
from blindlabel.language.wording import formula_in_words, points_in_words

_FOLLOWS_FROM_SYNTAX = ("no-ret", "unknown-variable", "unused-variable", "unreachable")
"""What is missing because statements could not be read; not said beside the syntax errors themselves."""


@dataclass(frozen=True)
class Question:
    """A question. Making one never raises, whatever the text; `problems` says what is wrong with it.

    `attributes` are those of the agreement (None: any is taken); `lowered` says that prepared records are in lower case
    already; `why` says why it was suggested, where it was.
    """

    text: str
    attributes: Sequence[str] | None = None
    limits: Limits = field(default_factory=Limits)
    lowered: bool = False
    why: str = ""
    tree: Tree = field(init=False, repr=False, compare=False)
    problems: tuple[Diagnostic, ...] = field(init=False, repr=False, compare=False)
    """Errors and warnings, in the order of their places."""
    formula: Formula | None = field(init=False, repr=False, compare=False)
    """What engines compile; there exactly where there is no error."""

    def __post_init__(self) -> None:
        parsed = parser.parse(self.text, self.limits)
        findings = checker.check(parsed.tree, self.attributes, self.limits, self.lowered)
        if parsed.diagnostics:
            findings = [one for one in findings if one.code not in _FOLLOWS_FROM_SYNTAX]
        found = [*parsed.diagnostics, *findings]
        formula = None
        if not any(one.severity == "error" for one in found):
            try:
                formula = formula_of(parsed.tree, self.limits)
                found += constants.constant_warning(parsed.tree, formula)
            except RewritingError as problem:
                found.append(error(problem.code, problem.message, problem.span, problem.hint))
        found.sort(key=lambda one: (one.span.start, one.severity))
        self._keep(tree=parsed.tree, problems=tuple(found), formula=formula)

    def _keep(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def ok(self) -> bool:
        """Whether the question can be used."""
        return self.formula is not None

    def refused(self, reason: Diagnostic, *, alone: bool = False) -> Question:
        """The same question, which cannot be used for a reason beyond the language (what the agreement encodes, say).
        `alone`: that is all there is to say.
        """
        found = copy.copy(self)
        found._keep(problems=(reason,) if alone else (*self.problems, reason), formula=None)
        return found

    def usable(self) -> Formula:
        """The formula; `InputError` with the errors at their places where there is none."""
        if self.formula is None:
            found = "\n".join(render(one, self.text) for one in self.problems if one.severity == "error")
            raise InputError(f"The question cannot be used:\n{found}")
        return self.formula

    def __call__(self, record: Record | Mapping[str, str]) -> bool:
        """The answer for a clear record, by definition (the plain interpreter). A mapping holds attributes by name."""
        self.usable()
        return interpret(self.tree, record if isinstance(record, Record) else Record.of(record))

    def explain(self) -> str:
        """What the question asks, line by line: as points and a bar where it is that, else as its parts."""
        formula = self.usable()
        points = points_of(formula)
        return formula_in_words(formula) if points is None else points_in_words(points)

    def __str__(self) -> str:
        return self.text
