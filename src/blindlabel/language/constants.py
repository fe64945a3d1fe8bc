"""Finds questions that give the same answer whatever the record says."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from blindlabel.language import tree
from blindlabel.language.diagnostics import Diagnostic, warning
from blindlabel.language.formula import (
    Atom,
    Conjunction,
    Constant,
    Count,
    Disjunction,
    Formula,
    Negation,
    atoms_of,
    in_order,
)

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


def _table(formula: Formula, atoms: tuple[Atom, ...]) -> npt.NDArray[np.bool_]:
    """The formula's value for all combinations of its atoms."""
    numbers = np.arange(2 ** len(atoms))
    values: dict[int, npt.NDArray[np.bool_]] = {
        id(atom): (numbers >> i & 1).astype(bool) for i, atom in enumerate(atoms)
    }
    for node in in_order(formula):
        if isinstance(node, Negation):
            values[id(node)] = ~values[id(node.part)]
        elif isinstance(node, Conjunction):
            values[id(node)] = np.logical_and.reduce([values[id(part)] for part in node.parts])
        elif isinstance(node, Disjunction):
            values[id(node)] = np.logical_or.reduce([values[id(part)] for part in node.parts])
        elif isinstance(node, Count):
            total = np.zeros(len(numbers), dtype=np.int64)
            for weight, part in zip(node.weights, node.parts):
                total += weight * values[id(part)]
            values[id(node)] = (total >= node.low) & (total <= node.high)
    return values[id(formula)]


def constant_warning(question: tree.Question, formula: Formula) -> list[Diagnostic]:
    """A warning at the `ret`, if the question always gives the same answer."""
    value = constant_value(formula)
    if value is None:
        return []
    answer = "yes" if value else "no"
    returned = next(statement for statement in question.statements if isinstance(statement, tree.Return))
    message = f"The answer is always {answer}, whatever the other record says."
    return [warning("constant", message, returned.span, "Ask for something that only a matching record has.")]
