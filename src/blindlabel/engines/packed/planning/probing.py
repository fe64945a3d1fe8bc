"""First stage of compiling: a formula's predicates become probes, each one element asked of one table.

`lower` and `upper` are resolved here. A text in upper case is not encoded: an element without small paired letters is
in the upper-case view exactly when its lower-case form is in the lower-case one, and an element with such a letter
never is (see `blindlabel.language.case`, and `CaseRule`: a predicate for which that does not follow has a table of its
own for the upper-case view).
"""

from __future__ import annotations

from dataclasses import dataclass

from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.engines.packed.encoding.tables import Table, Tables
from blindlabel.language import case
from blindlabel.language.formula import Atom, Count, Formula, Negation, in_order
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import View
from blindlabel.language.signatures import CaseRule


@dataclass(frozen=True)
class Probe:
    """Is this element in that table?"""

    table: Table
    element: str


def check_allowed(terms: Terms, formula: Formula) -> None:
    """Refuse operators that the agreement switches off."""
    for node in in_order(formula):
        if isinstance(node, Negation) and not terms.negation:
            raise QuestionError(
                "This agreement does not allow negation (!, choose). Rewrite the question without it, or agree on"
                " negation."
            )
        if isinstance(node, Count) and not terms.counting:
            raise QuestionError(
                "This agreement does not allow counting (+, common_words). Rewrite the question, or agree on counting."
            )


def probes_of(terms: Terms, tables: Tables, atom: Atom) -> tuple[Probe, ...]:
    """The probes any of which makes the predicate true; none at all where it never is."""
    predicate = PREDICATES[atom.function]
    if atom.function not in terms.functions:
        raise QuestionError(f"This agreement does not encode {atom.function}. It encodes {', '.join(terms.functions)}.")
    _check_view(terms, atom.view)
    problem = predicate.problem(atom.arguments, terms.limits)
    if problem is not None:
        raise QuestionError(f"{atom.function}: {problem.message} {problem.hint}")
    family = predicate.family_of(atom.arguments, terms.limits)
    elements = predicate.asked(atom.arguments)
    view = View(atom.view.attribute, "exact" if predicate.ignores_case else atom.view.case)
    if view.case == "upper" and predicate.case_rule is not CaseRule.SEPARATE:
        elements = tuple(case.lower(element) for element in elements if not case.has_paired_lower(element))
        view = View(view.attribute, "lower")
    if terms.case == "lower" and view.case == "lower":
        view = View(view.attribute)
    found = ((tables.find(view, family.name, element), element) for element in dict.fromkeys(elements))
    # No table: a stretch longer than any text, which is in none of them.
    return tuple(Probe(table, element) for table, element in found if table is not None)


def _check_view(terms: Terms, view: View) -> None:
    if view.attribute is None:
        if not terms.encode_whole:
            raise QuestionError(
                "This agreement does not encode whole records. Ask about an attribute, such as $r.name."
            )
    elif not terms.encode_attributes:
        raise QuestionError("This agreement does not encode single attributes. Ask about $r.")
    elif view.attribute not in terms.attributes:
        raise QuestionError(
            f"This agreement has no attribute {view.attribute!r}; it has {', '.join(terms.attributes)}."
        )
