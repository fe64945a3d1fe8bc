"""First stage of compiling: a formula's predicates become probes, each one element asked of one table.

`lower` and `upper` are resolved here. A text in upper case is not encoded: an element without small paired letters is
in the upper-case view exactly when its lower-case form is in the lower-case one, and an element with such a letter
never is (see `blindlabel.language.case`, and `CaseRule`: a predicate for which that does not follow has a table of its
own for the upper-case view).
"""

from __future__ import annotations

from dataclasses import dataclass

from blindlabel.engines.allowed import refuse_atom
from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.engines.packed.encoding.tables import Table, Tables
from blindlabel.language import case
from blindlabel.language.formula import Atom
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import View
from blindlabel.language.signatures import CaseRule


@dataclass(frozen=True)
class Probe:
    """Is this element in that table?"""

    table: Table
    element: str


def probes_of(terms: Terms, tables: Tables, atom: Atom) -> tuple[Probe, ...]:
    """The probes any of which makes the predicate true; none at all where it never is."""
    refused = refuse_atom(terms, atom)
    if refused is not None:
        raise QuestionError(refused)
    predicate = PREDICATES[atom.function]
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
