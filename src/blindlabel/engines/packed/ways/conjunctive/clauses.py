"""Compiling for agreements without the assist: a formula of AND and OR becomes clauses of alternatives.

Zero means true. An alternative is a conjunction of probes, which is one linear form: Σ ρ_i·x_i with random non-zero ρ_i
is zero where all x_i are, and otherwise with probability 1/t only. A clause is the product of its alternatives; all
clauses must hold, so they are added up, each already carrying randomness of its own. Negation and counting are not
possible here and are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.engines.packed.encoding.tables import Tables
from blindlabel.engines.packed.planning import parameters
from blindlabel.engines.packed.planning.probing import Probe, probes_of
from blindlabel.language.formula import Atom, Conjunction, Count, Formula, fold

Alternative = frozenset[Probe]
"""Probes that must all hold; empty: always true."""
Alternatives = frozenset[Alternative]
"""One of them must hold; empty: never true."""

_TRUE: Alternatives = frozenset([frozenset()])


@dataclass(frozen=True)
class ClausePlan:
    """A compiled question: every clause must hold, by at least one of its alternatives."""

    clauses: tuple[Alternatives, ...]


def alternatives(terms: Terms) -> int:
    """Alternatives of one clause."""
    return max(terms.alternatives, parameters.widest(terms))


def compile_question(terms: Terms, tables: Tables, formula: Formula) -> ClausePlan:
    """The plan of a question, or `QuestionError` where it does not fit the agreement's room."""
    expanding = _Expanding(terms, tables)
    limit = expanding.limit
    top = formula.parts if isinstance(formula, Conjunction) else (formula,)
    expanded = sorted((fold(part, expanding) for part in top), key=len, reverse=True)
    clauses: list[Alternatives] = []
    for part in expanded:
        for index, clause in enumerate(clauses):
            joined = _both(clause, part)
            # A part joins a clause where that does not multiply it out; else it opens a clause of its own while there
            # is room.
            if len(joined) <= limit and (len(clauses) == terms.clauses or len(joined) <= max(len(clause), len(part))):
                clauses[index] = joined
                break
        else:
            if len(clauses) == terms.clauses:
                raise _too_many(terms)
            clauses.append(part)
    return ClausePlan(tuple(clauses))


def _too_many(terms: Terms) -> QuestionError:
    return QuestionError(
        f"This question multiplies out to more than the agreement has room for ({terms.clauses} clauses of"
        f" {alternatives(terms)} alternatives). Write it with fewer OR, or agree on more alternatives or"
        " clauses."
    )


class _Expanding:
    """The algebra of alternatives: what a formula multiplies out to, as far as there is room."""

    def __init__(self, terms: Terms, tables: Tables) -> None:
        self.terms, self.tables = terms, tables
        self.limit = alternatives(terms)

    def constant(self, value: bool) -> Alternatives:
        return _TRUE if value else frozenset()

    def atom(self, atom: Atom) -> Alternatives:
        return self._held(frozenset(frozenset([probe]) for probe in probes_of(self.terms, self.tables, atom)))

    def conjunction(self, parts: Sequence[Alternatives]) -> Alternatives:
        found = _TRUE
        for part in sorted(parts, key=len):
            found = self._held(_both(found, part))
        return found

    def disjunction(self, parts: Sequence[Alternatives]) -> Alternatives:
        return self._held(_without_redundant(frozenset().union(*parts)))

    def negation(self, part: Alternatives) -> Alternatives:  # noqa: ARG002
        raise AssertionError("negations have been refused before")

    def count(self, count: Count, parts: Sequence[Alternatives]) -> Alternatives:  # noqa: ARG002
        raise AssertionError("counts have been refused before")

    def _held(self, found: Alternatives) -> Alternatives:
        if len(found) > self.limit:
            raise _too_many(self.terms)
        return found


def _both(left: Alternatives, right: Alternatives) -> Alternatives:
    return _without_redundant(frozenset(a | b for a in left for b in right))


def _without_redundant(options: Alternatives) -> Alternatives:
    """An alternative that asks more than another one is not needed."""
    return frozenset(one for one in options if not any(other < one for other in options))
