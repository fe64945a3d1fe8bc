"""Questions as the points way sees them: negations pushed down to the predicates, conjunctions of probes joined.

A *leaf* is a set of probes that must all hold; it costs one place, since Σ ρ·x over its probes is zero exactly where
all of them are. An expression says when a question is true in terms of leaves. `truth` tabulates it over all values of
its leaves, and what is decided about a question (which leaves are alike, what is excluded, whether it fits) is decided
on the table, so by meaning and not by spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.planning.probing import Probe
from blindlabel.language.formula import Atom, Conjunction, Constant, Disjunction, Formula, Negation

Leaf = frozenset[Probe]
"""Probes that must all hold; empty: always."""

Truth = npt.NDArray[np.bool_]
"""A value for every combination of variables: variable i is bit i of the index."""


@dataclass(frozen=True)
class Literal:
    """A leaf that must hold, or (negated) must not."""

    leaf: Leaf
    negated: bool = False


@dataclass(frozen=True)
class Sum:
    """Whether the weights of the parts that hold come to at least `low`. OR has low 1, AND has all."""

    weights: tuple[int, ...]
    parts: tuple[Expression, ...]
    low: int

    @property
    def total(self) -> int:
        """All weights together."""
        return sum(self.weights)


Expression = Union[Literal, Sum]


def any_of(parts: Sequence[Expression]) -> Sum:
    """At least one of the parts; none at all: never."""
    return Sum((1,) * len(parts), tuple(parts), 1)


def all_of(parts: Sequence[Expression]) -> Sum:
    """All of the parts; none at all: always."""
    return Sum((1,) * len(parts), tuple(parts), len(parts))


def expression_of(formula: Formula, probes_of: Callable[[Atom], Sequence[Probe]], negated: bool = False) -> Expression:
    """A formula, or its negation, with negations at the leaves only."""
    if isinstance(formula, Constant):
        return all_of(()) if formula.value != negated else any_of(())
    if isinstance(formula, Atom):
        literals = [Literal(frozenset([probe]), negated) for probe in probes_of(formula)]
        if len(literals) == 1:
            return literals[0]
        return all_of(literals) if negated else any_of(literals)
    if isinstance(formula, Negation):
        return expression_of(formula.part, probes_of, not negated)
    if isinstance(formula, (Conjunction, Disjunction)):
        parts = [expression_of(part, probes_of, negated) for part in formula.parts]
        return all_of(parts) if isinstance(formula, Conjunction) != negated else any_of(parts)
    if negated:  # below low, or beyond high
        below, beyond = formula.total - formula.low + 1, formula.high + 1
        return any_of(
            [
                *([_sum(formula.weights, formula.parts, below, probes_of, True)] if formula.low else []),
                *([_sum(formula.weights, formula.parts, beyond, probes_of, False)] if beyond <= formula.total else []),
            ]
        )
    within = formula.total - formula.high
    return all_of(
        [
            *([_sum(formula.weights, formula.parts, formula.low, probes_of, False)] if formula.low else []),
            *([_sum(formula.weights, formula.parts, within, probes_of, True)] if within else []),
        ]
    )


def _sum(
    weights: Sequence[int],
    parts: Sequence[Formula],
    low: int,
    probes_of: Callable[[Atom], Sequence[Probe]],
    negated: bool,
) -> Sum:
    return Sum(tuple(weights), tuple(expression_of(part, probes_of, negated) for part in parts), low)


def conjuncts(expression: Expression) -> list[Expression]:
    """The parts that must all hold, taken out of each other."""
    if isinstance(expression, Sum) and expression.low == expression.total:
        return [inner for part in expression.parts for inner in conjuncts(part)]
    if isinstance(expression, Sum) and len(expression.parts) == 1 and expression.low > 0:
        return conjuncts(expression.parts[0])
    return [expression]


def negative(expression: Expression) -> bool | None:
    """Whether all literals are negated (True), none is (False), or both kinds occur (None)."""
    if isinstance(expression, Literal):
        return expression.negated
    kinds = {negative(part) for part in expression.parts}
    return None if len(kinds) > 1 else kinds.pop() if kinds else False


def opposite(expression: Expression) -> Expression:
    """What holds exactly where the expression does not."""
    if isinstance(expression, Literal):
        return Literal(expression.leaf, not expression.negated)
    parts = tuple(opposite(part) for part in expression.parts)
    return Sum(expression.weights, parts, expression.total - expression.low + 1)


def joined(expression: Expression) -> Expression:
    """The same with fewer leaves: leaves that must all hold become one, and one that must hold beside a sum becomes
    part of every leaf of that sum. Only for expressions without negation.
    """
    if isinstance(expression, Literal):
        return expression
    if expression.low <= 0 or expression.low > expression.total:
        return all_of(()) if expression.low <= 0 else any_of(())
    if expression.low < expression.total:
        return _joined_sum(expression)
    parts = [joined(part) for part in conjuncts(expression)]
    must = [part.leaf for part in parts if isinstance(part, Literal)]
    sums = [part for part in parts if isinstance(part, Sum)]
    if any(part.low > part.total for part in sums):
        return any_of(())
    sums = [part for part in sums if part.low > 0]
    if not must:
        return sums[0] if len(sums) == 1 else all_of(sums)
    leaf: Leaf = frozenset().union(*must)
    if not sums:
        return Literal(leaf)
    first, *rest = sorted(sums, key=lambda part: len(leaves_of(part)))
    inside = _with(leaf, first)
    return all_of([inside, *rest]) if rest else inside


def _joined_sum(expression: Sum) -> Expression:
    """The parts joined; those that are always or never true are counted out, and an OR in an OR is one OR."""
    weights: list[int] = []
    parts: list[Expression] = []
    low = expression.low
    for weight, part in zip(expression.weights, expression.parts):
        made = joined(part)
        if isinstance(made, Sum) and made.low > made.total:
            continue
        if isinstance(made, Sum) and made.low <= 0:
            low -= weight
            continue
        if expression.low == 1 and isinstance(made, Sum) and made.low == 1:
            weights += [1] * len(made.parts)
            parts += made.parts
            continue
        weights.append(weight)
        parts.append(made)
    made_sum = Sum(tuple(weights), tuple(parts), low)
    if 0 < low == made_sum.total or low <= 0 or low > made_sum.total:
        return joined(made_sum)
    return made_sum


def _with(leaf: Leaf, expression: Expression) -> Expression:
    """The expression and the leaf: false wherever all its leaves are, so it is enough to add to them."""
    if isinstance(expression, Literal):
        return Literal(expression.leaf | leaf)
    if expression.low == expression.total:
        return Sum(expression.weights, (_with(leaf, expression.parts[0]), *expression.parts[1:]), expression.low)
    return Sum(expression.weights, tuple(_with(leaf, part) for part in expression.parts), expression.low)


def literals_of(expression: Expression) -> list[Literal]:
    """The different literals, in order of first use."""
    if isinstance(expression, Literal):
        return [expression]
    return list(dict.fromkeys(one for part in expression.parts for one in literals_of(part)))


def leaves_of(expression: Expression) -> list[Leaf]:
    """The different leaves, in order of first use."""
    return list(dict.fromkeys(one.leaf for one in literals_of(expression)))


def truth(expression: Expression, variables: Sequence[Literal]) -> Truth:
    """The expression's value for every combination of the literals' values; a leaf and its denial count as two."""
    index = np.arange(1 << len(variables))
    position = {literal: place for place, literal in enumerate(variables)}

    def value(one: Expression) -> Truth:
        if isinstance(one, Literal):
            return np.asarray((index >> position[one]) & 1 == 1)
        total = np.zeros(index.size, dtype=np.int64)
        for weight, part in zip(one.weights, one.parts):
            total += weight * value(part)
        return np.asarray(total >= one.low)

    return value(expression)
