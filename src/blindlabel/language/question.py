"""A question, read once: its text, its tree, what is wrong with it, and the formula that engines compile.

Whoever has a question passes this object on, so that the text is parsed, checked and rewritten once, in one place.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from blindlabel.errors import InputError
from blindlabel.language import checker, parser, tree
from blindlabel.language.builder import FormulaTooLarge
from blindlabel.language.chain import Chain, chain_of, table_of
from blindlabel.language.diagnostics import Diagnostic, error, render, warning
from blindlabel.language.formatter import format_question
from blindlabel.language.formula import Formula, atoms_of
from blindlabel.language.in_words import chain_in_words
from blindlabel.language.interpreter import interpret
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.language.rewriting import Rewritten, rewritten
from blindlabel.language.signatures import NeedleRecipe
from blindlabel.language.tree import Tree

_MOST_PREDICATES = 10
"""Up to this many predicates every combination of their answers is tried; a larger question is rarely constant by
mistake.
"""


def constant_warning(question: tree.Tree, formula: Formula) -> list[Diagnostic]:
    """A warning at the `ret` if the question always gives the same answer, or says yes to every record that has nothing
    of what it asks for. Predicates are treated as independent of each other.
    """
    atoms = atoms_of(formula)
    if len(atoms) > _MOST_PREDICATES:
        return []
    table = table_of(formula, {atom: (place,) for place, atom in enumerate(atoms)}, len(atoms))
    returned = next(statement for statement in question.statements if isinstance(statement, tree.Return))
    if table.all() or not table.any():
        message = f"The answer is always {'yes' if table[0] else 'no'}, whatever the other record says."
        return [warning("constant", message, returned.span, "Ask for something that only a matching record has.")]
    if table[0]:
        message = "A record that has nothing of what is asked gets a yes, so this is nearly always too loose."
        return [warning("loose", message, returned.span, "Ask for something that a matching record has, too.")]
    return []


_FOLLOWS_FROM_SYNTAX = ("no-ret", "unknown-variable", "unused-variable", "unreachable")
"""Findings that only follow from statements that could not be read; not reported beside the syntax errors."""


@dataclass(frozen=True)
class Question:
    """A question. Making one never raises, whatever the text; `problems` says what is wrong with it.

    `attributes` are those of the agreement (None: any is taken). `recipe` says how records are prepared: needles are
    looked for as they stand there (None: as they are written). `why` says why it was suggested, where it was.
    """

    text: str
    attributes: Sequence[str] | None = None
    limits: Limits = field(default_factory=Limits)
    recipe: NeedleRecipe | None = None
    why: str = ""
    tree: Tree = field(init=False, repr=False, compare=False)
    """With needles as they are looked for."""
    problems: tuple[Diagnostic, ...] = field(init=False, repr=False, compare=False)
    """Errors and warnings, in the order of their places."""
    formula: Formula | None = field(init=False, repr=False, compare=False)
    """What engines compile; None exactly if there is an error."""
    _rewritten: Rewritten | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parsed = parser.parse(self.text, self.limits)
        read, findings = checker.check(parsed.tree, self.attributes, self.limits, self.recipe)
        if parsed.diagnostics:
            findings = [one for one in findings if one.code not in _FOLLOWS_FROM_SYNTAX]
        found = [*parsed.diagnostics, *findings]
        made = None
        if not any(one.severity == "error" for one in found):
            try:
                made = rewritten(read, self.limits)
                found += constant_warning(read, made.formula)
            except FormulaTooLarge as problem:
                found.append(error(problem.code, problem.message, problem.span, problem.hint))
        found.sort(key=lambda one: (one.span.start, one.severity))
        formula = None if made is None else made.formula
        self._keep(tree=read, problems=tuple(found), formula=formula, _rewritten=made)

    def _keep(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def lowered(self) -> bool:
        """Whether prepared records are in lower case."""
        return self.recipe is not None and self.recipe.lowered

    @property
    def ok(self) -> bool:
        """Whether the question can be used."""
        return self.formula is not None

    def refused(self, reason: Diagnostic, *, alone: bool = False) -> Question:
        """The same question, which cannot be used for a reason beyond the language (what the agreement encodes, say).
        `alone`: that is the only thing to say.
        """
        found = copy.copy(self)
        found.__dict__.pop("chain", None)
        found._keep(problems=(reason,) if alone else (*self.problems, reason), formula=None, _rewritten=None)
        return found

    def warned(self, more: Diagnostic) -> Question:
        """The same question with one more warning."""
        found = copy.copy(self)
        found._keep(problems=(*self.problems, more))
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

    @cached_property
    def chain(self) -> Chain | None:
        """The question as points and a bar, but not, unless, with the numbers that were written, or None if it has
        errors, too many conditions, or an exception to an exception.
        """
        return None if self._rewritten is None else chain_of(self._rewritten.formula, self._rewritten.sums)

    def explain(self) -> str:
        """What the question asks, line by line: as its chain, else as it is written."""
        self.usable()
        return format_question(self.tree) if self.chain is None else chain_in_words(self.chain)

    def __str__(self) -> str:
        return self.text
