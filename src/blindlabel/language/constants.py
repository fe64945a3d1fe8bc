"""Finds questions that give the same answer whatever the record says."""

from __future__ import annotations

import numpy as np

from blindlabel.language import tree
from blindlabel.language.columns import Bits, column
from blindlabel.language.diagnostics import Diagnostic, warning
from blindlabel.language.formula import Atom, Constant, Formula, atoms_of

_MOST_PREDICATES = 10
"""Up to so many predicates every combination of their answers is tried; a larger question is rarely constant by
mistake.
"""


def constant_value(formula: Formula) -> bool | None:
    """The answer that the formula always gives, or None. Predicates are taken as independent of each other."""
    if isinstance(formula, Constant):
        return formula.value
    atoms = atoms_of(formula)
    if len(atoms) > _MOST_PREDICATES:
        return None
    table = _table(formula, atoms)
    return bool(table[0]) if table.all() or not table.any() else None


def _table(formula: Formula, atoms: tuple[Atom, ...]) -> Bits:
    """The formula's value for all combinations of its atoms."""
    numbers = np.arange(2 ** len(atoms))
    place = {id(atom): i for i, atom in enumerate(atoms)}
    return column(formula, len(numbers), lambda atom: (numbers >> place[id(atom)] & 1).astype(bool))


def constant_warning(question: tree.Tree, formula: Formula) -> list[Diagnostic]:
    """A warning at the `ret`, if the question always gives the same answer."""
    value = constant_value(formula)
    if value is None:
        return []
    answer = "yes" if value else "no"
    returned = next(statement for statement in question.statements if isinstance(statement, tree.Return))
    message = f"The answer is always {answer}, whatever the other record says."
    return [warning("constant", message, returned.span, "Ask for something that only a matching record has.")]
