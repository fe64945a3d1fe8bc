"""The gates engine: the publication's way, a record bit by bit under OpenFHE's BinFHE, with better circuits.

From the bottom up: `circuits` (gates, netlists, predicates of a text), `record_circuits` (a record's bits, questions
over them), `ciphertexts` (byte formats), `binfhe` (all calls into OpenFHE), `bitwise` (the engine), `elsewhere` (the
engine in a process of another environment, where OpenFHE does not import in this one). docs/laboratory/gates-engine.md
explains it.
"""

from __future__ import annotations

from collections.abc import Sequence

from blindlabel.engines.interface import Explained, Terms
from blindlabel.language.formula import Formula
from blindlabel_lab.gates.record_circuits import refusal


class GatesRules:
    """What is known of the gates engine without keys, and without OpenFHE."""

    name = "gates"
    unbounded = (
        "NO BOUND: on the gates engine nothing bounds what a cheating owner learns, in either direction: its keys are"
        " not known to have a bit to spare, and its answers are not sanitised by randomness of both sides. The owner of"
        " the records can also turn any no into a yes."
    )
    engine = "blindlabel_lab.gates.elsewhere:gates_engine"

    def outcomes(self, terms: Terms) -> int:  # noqa: ARG002
        """No and yes."""
        return 2

    def refuse(self, terms: Terms, question: Formula) -> str | None:
        """What the agreement does not encode or allow, and what there is no circuit for."""
        return refusal(terms, question)

    def least_terms(self, terms: Terms, questions: Sequence[Formula]) -> Terms:  # noqa: ARG002
        """As they are: a circuit has as much room as it takes."""
        return terms

    def zero_tests(self, terms: Terms) -> int:  # noqa: ARG002
        """None that anybody knows of."""
        return 0

    def explain(self, terms: Terms, question: Formula) -> Explained | None:  # noqa: ARG002
        """Not known."""
        return None
