"""Finds questions that give the same answer whatever the record says, or a yes to whatever lacks something."""

from __future__ import annotations

from blindlabel.language import tree
from blindlabel.language.chain import table_of
from blindlabel.language.diagnostics import Diagnostic, warning
from blindlabel.language.formula import Formula, atoms_of

_MOST_PREDICATES = 10
"""Up to so many predicates every combination of their answers is tried; a larger question is rarely constant by
mistake.
"""


def constant_warning(question: tree.Tree, formula: Formula) -> list[Diagnostic]:
    """A warning at the `ret`, if the question always gives the same answer, or a yes to every record that has none of
    what it asks about. Predicates are taken as independent of each other.
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
