"""What a question wants, as the table of all values of its conditions, and what it excludes.

Negations go to the leaves; parts that only deny become exclusions, the rest says what must be reached. Leaves are
*alike* where exchanging them changes nothing, as of two conditions worth the same. All of that is looked up in the
table, so it is the meaning that counts: `a & (b | c)`, points of any size, counts of counts, an OR inside a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.engines.packed.encoding.tables import Tables
from blindlabel.engines.packed.planning.probing import probes_of
from blindlabel.engines.packed.ways.points.expressions import (
    Expression,
    Leaf,
    Literal,
    Sum,
    Truth,
    all_of,
    conjuncts,
    expression_of,
    joined,
    leaves_of,
    literals_of,
    negative,
    opposite,
    truth,
)
from blindlabel.engines.packed.ways.points.shape import MOST_PLACES
from blindlabel.language.formula import Formula, in_order, parts_of

_MOST_VARIABLES = MOST_PLACES + 2
_MOST_NODES = 4096
_MOST_IMPLICANTS = 256


@dataclass(frozen=True, eq=False)
class Meaning:
    """A question: what it wants, the leaves that matter for that, their table of values, and what it excludes."""

    wanted: Expression
    leaves: tuple[Leaf, ...]
    table: Truth
    exclusions: tuple[Leaf, ...]

    @cached_property
    def alike(self) -> tuple[tuple[Leaf, ...], ...]:
        """The leaves by which are alike, the largest group first."""
        groups = sorted(_groups(len(self.leaves), self.table), key=len, reverse=True)
        return tuple(tuple(self.leaves[variable] for variable in group) for group in groups)

    @cached_property
    def ways_to_yes(self) -> list[Leaf]:
        """The smallest sets of leaves that make it true, each joined to one: an OR of ANDs. Far too many of them are
        not all listed.
        """
        return _implicants(self.leaves, self.table)


def meaning_of(terms: Terms, tables: Tables, formula: Formula) -> Meaning:
    """What a question means; `QuestionError` where points cannot say it, whatever the profile."""
    wanted, exclusions = _parts(terms, tables, formula)
    leaves = leaves_of(wanted)
    if len(leaves) > _MOST_VARIABLES:
        raise too_large(terms, len(leaves))
    kept, table = _relevant(leaves, truth(wanted, [Literal(leaf) for leaf in leaves]))
    return Meaning(wanted, tuple(kept), table, exclusions)


def too_large(terms: Terms, leaves: int) -> QuestionError:
    """What does not fit the profile."""
    return QuestionError(
        f"This question has {leaves} conditions with points of their own, more than fit the agreement's profile"
        f" ({' '.join(map(str, terms.profile))}). Give more conditions the same points, or leave some out."
    )


# -- what is wanted and what is excluded


def _parts(terms: Terms, tables: Tables, formula: Formula) -> tuple[Expression, tuple[Leaf, ...]]:
    sizes: dict[int, int] = {}
    for node in in_order(formula):
        sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts_of(node))
    if sizes[id(formula)] > _MOST_NODES:
        raise QuestionError("This question is too long once it is written out. Ask about fewer things.")
    whole = expression_of(formula, partial(probes_of, terms, tables))
    wanted: list[Expression] = []
    excluded: list[Leaf] = []
    for part in conjuncts(whole):
        kind = negative(part)
        if kind:
            excluded += _terms(opposite(part), terms)
        elif kind is None:
            positive, more = _without_denied(part)
            wanted += conjuncts(positive)
            excluded += more
        else:
            wanted.append(part)
    return joined(all_of(wanted)), tuple(dict.fromkeys(excluded))


def _terms(expression: Expression, terms: Terms) -> list[Leaf]:
    """What a positive expression comes to as an OR of leaves."""
    expression = joined(expression)
    leaves = leaves_of(expression)
    if len(leaves) > _MOST_VARIABLES:
        raise QuestionError(
            f"This question excludes {len(leaves)} conditions, and the agreement has room for {terms.exclusions}."
        )
    return _implicants(leaves, truth(expression, [Literal(leaf) for leaf in leaves]))


def _without_denied(part: Expression) -> tuple[Expression, list[Leaf]]:
    """A part with denied leaves, each of which it cannot do without, as what is wanted and what is excluded."""
    literals = literals_of(part)
    if len(literals) > _MOST_VARIABLES:
        raise _denial()
    table = truth(part, literals)
    index = np.arange(table.size)
    for place, one in enumerate(literals):
        if one.negated and table[(index >> place) & 1 == 0].any():
            raise _denial()
    return _granted(part), [one.leaf for one in literals if one.negated]


def _granted(expression: Expression) -> Expression:
    """The expression with every denied leaf taken to be absent."""
    if isinstance(expression, Literal):
        return all_of(()) if expression.negated else expression
    return Sum(expression.weights, tuple(_granted(part) for part in expression.parts), expression.low)


def _denial() -> QuestionError:
    return QuestionError(
        "This question denies something inside a count or an alternative. Write what speaks against a match at the end"
        ' ("… & !has_word(…)"), or agree on questions = "any".'
    )


# -- on the table of values


def _relevant(leaves: Sequence[Leaf], table: Truth) -> tuple[list[Leaf], Truth]:
    """Without the leaves that change nothing."""
    kept = list(leaves)
    for leaf in leaves:
        place = kept.index(leaf)
        by_bit = table.reshape(-1, 2, 1 << place)
        if (by_bit[:, 0] == by_bit[:, 1]).all():
            table = by_bit[:, 0].reshape(-1)
            kept.remove(leaf)
    return kept, table


def _groups(count: int, table: Truth) -> list[list[int]]:
    """The variables by which are alike: exchanging two of a group changes nothing."""
    axes = table.reshape((2,) * count)  # variable i is axis count − 1 − i
    groups: list[list[int]] = []
    for variable in range(count):
        for group in groups:
            if (np.swapaxes(axes, count - 1 - variable, count - 1 - group[0]) == axes).all():
                group.append(variable)
                break
        else:
            groups.append([variable])
    return groups


def _implicants(leaves: Sequence[Leaf], table: Truth) -> list[Leaf]:
    """The smallest sets of leaves that make it true: an OR of ANDs."""
    found: list[int] = []
    for index in sorted(map(int, np.flatnonzero(table)), key=lambda value: (value.bit_count(), value)):
        if not any(index & one == one for one in found):
            found.append(index)
            if len(found) > _MOST_IMPLICANTS:
                break
    joined_leaves = [
        frozenset().union(*(leaf for place, leaf in enumerate(leaves) if index >> place & 1)) for index in found
    ]
    if len(found) > _MOST_IMPLICANTS:  # not all of them, so far too many
        return joined_leaves
    return [one for one in joined_leaves if not any(other < one for other in joined_leaves)]
