"""A question is put on the places of a profile.

1. Negations go to the leaves; parts that only deny become exclusions, the rest says what must be reached.
2. Leaves that are alike (exchanging them changes nothing, as of two conditions worth the same) share classes of places.
   That is looked up in the table of all values, so it is the meaning that counts: `a & (b | c)`, points of any size,
   counts of counts, an OR inside a count.
3. Where that takes more classes than there are, a count's conditions may take several places each (4 = 3 + 1), and
   whatever is short as an OR of ANDs is asked as one.

What does not fit is refused, with a sentence that says what would.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

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
from blindlabel.engines.packed.ways.points.shape import MOST_PLACES, Shape, shape_of
from blindlabel.language.formula import Formula, in_order, parts_of

Support = npt.NDArray[np.uint8]
"""1 at every vector (left half, right half) of places that do not hold at which the question is false."""

_MOST_VARIABLES = MOST_PLACES + 2
_MOST_NODES = 4096
_MOST_TRIES = 2_000
"""Of putting conditions on several places each; refusing must not take long either."""
_MOST_IMPLICANTS = 256


@dataclass(frozen=True, eq=False)
class PointsPlan:
    """A question on its places: what every place asks (None: never), when it is false, and what it excludes."""

    places: tuple[Leaf | None, ...]
    support: Support
    exclusions: tuple[Leaf, ...]


@dataclass(frozen=True)
class Fit:
    """Which leaves stand in every class of a shape, and what a leaf of a class is worth where points decide."""

    classes: tuple[tuple[Leaf, ...], ...]
    units: tuple[int, ...] = ()
    bar: int = 0


def compile_question(terms: Terms, tables: Tables, formula: Formula) -> PointsPlan:
    """The plan of a question, or `QuestionError` where it does not fit the agreement's profile."""
    shape = shape_of(terms.profile)
    wanted, exclusions = _parts(terms, tables, formula)
    if len(exclusions) > terms.exclusions:
        raise QuestionError(
            f"This question excludes {len(exclusions)} conditions, and the agreement has room for {terms.exclusions}."
            " Exclude fewer, or agree on more exclusions."
        )
    leaves = leaves_of(wanted)
    if len(leaves) > _MOST_VARIABLES:
        raise _too_large(terms, len(leaves))
    table = truth(wanted, [Literal(leaf) for leaf in leaves])
    leaves, table = _relevant(leaves, table)
    if not leaves:
        return PointsPlan((None,) * shape.places, _constant(shape, bool(table[0])), exclusions)
    fit = _alike(shape, leaves, table)
    if fit is not None:
        return _plan(shape, fit, _support(shape, fit, leaves, table), exclusions)
    fit = _weighed(shape, terms.profile, wanted) or _alternatives(shape, leaves, table)
    if fit is None:
        raise _too_large(terms, len(leaves))
    return _plan(shape, fit, _weighed_support(shape, fit), exclusions)


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


def _too_large(terms: Terms, leaves: int) -> QuestionError:
    return QuestionError(
        f"This question has {leaves} conditions with points of their own, more than fit the agreement's profile"
        f" ({' '.join(map(str, terms.profile))}). Give more conditions the same points, or leave some out."
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


def _alike(shape: Shape, leaves: Sequence[Leaf], table: Truth) -> Fit | None:
    """Groups of leaves that are alike, each in classes of its own."""
    groups = sorted(_groups(len(leaves), table), key=len, reverse=True)
    taken = _covered(shape.sizes, [len(group) for group in groups], frozenset(range(len(shape.sizes))))
    if taken is None:
        return None
    classes: list[tuple[Leaf, ...]] = [()] * len(shape.sizes)
    for group, numbers in zip(groups, taken):
        waiting = [leaves[variable] for variable in group]
        for number in numbers:
            classes[number], waiting = tuple(waiting[: shape.sizes[number]]), waiting[shape.sizes[number] :]
    return Fit(tuple(classes))


def _covered(sizes: Sequence[int], wanted: Sequence[int], free: frozenset[int]) -> list[tuple[int, ...]] | None:
    """Classes for each of the groups, so that every group has room; the least wasteful first."""
    if not wanted:
        return []
    choices = [
        some
        for count in range(1, len(free) + 1)
        for some in itertools.combinations(sorted(free), count)
        if sum(sizes[number] for number in some) >= wanted[0]
        and all(sum(sizes[other] for other in some if other != number) < wanted[0] for number in some)
    ]
    for some in sorted(choices, key=lambda one: (sum(sizes[number] for number in one), len(one))):
        rest = _covered(sizes, wanted[1:], free - set(some))
        if rest is not None:
            return [some, *rest]
    return None


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


def _alternatives(shape: Shape, leaves: Sequence[Leaf], table: Truth) -> Fit | None:
    """As an OR of ANDs, each on a place of its own."""
    found = _implicants(leaves, table)
    if len(found) > shape.places:
        return None
    classes, waiting = [], list(found)
    for size in shape.sizes:
        classes.append(tuple(waiting[:size]))
        waiting = waiting[size:]
    return Fit(tuple(classes), (1,) * len(shape.sizes), 1)


# -- by points, a condition on several places


def _weighed(shape: Shape, profile: tuple[int, ...], wanted: Expression) -> Fit | None:
    """The conditions of a count on places whose units come to their points."""
    if not isinstance(wanted, Sum) or not all(isinstance(part, Literal) for part in wanted.parts):
        return None
    points: dict[Leaf, int] = {}
    for weight, part in zip(wanted.weights, wanted.parts):
        assert isinstance(part, Literal)
        points[part.leaf] = points.get(part.leaf, 0) + weight
    order = sorted(points, key=lambda leaf: -points[leaf])
    wanted_points = [points[leaf] for leaf in order]
    budget = _MOST_TRIES
    for units in itertools.islice(_units(shape, profile, sorted(set(wanted_points))), _MOST_TRIES):
        found, budget = _placed(shape.sizes, units, wanted_points, budget)
        if budget <= 0:
            return None
        if found is not None:
            classes = tuple(
                tuple(leaf for leaf, counts in zip(order, found) for _ in range(counts[number]))
                for number in range(len(shape.sizes))
            )
            return Fit(classes, units, wanted.low)
    return None


def _units(shape: Shape, profile: tuple[int, ...], points: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """What a place of every class may be worth: the profile's weights and their multiples, then whatever occurs."""
    own = sorted(profile, reverse=True)
    weights = tuple(own[shape.places_of(number)[0]] for number in range(len(shape.sizes)))
    for factor in range(1, max(points) + 1):
        yield tuple(weight * factor for weight in weights)
    values = sorted({*points, *(high - low for high in points for low in points if high > low), 1})
    yield from itertools.product(values, repeat=len(shape.sizes))


def _placed(
    sizes: Sequence[int], units: Sequence[int], points: Sequence[int], budget: int
) -> tuple[list[tuple[int, ...]] | None, int]:
    """For every condition how many places of each class it takes, so that they are worth exactly its points; and what
    is left of the budget of tries.
    """
    if sum(size * unit for size, unit in zip(sizes, units)) < sum(points):
        return None, budget

    def place(index: int, left: tuple[int, ...]) -> list[tuple[int, ...]] | None:
        nonlocal budget
        if index == len(points):
            return []
        for counts in _ways(points[index], units, left):
            budget -= 1
            if budget < 0:
                return None
            rest = place(index + 1, tuple(have - taken for have, taken in zip(left, counts)))
            if rest is not None:
                return [counts, *rest]
        return None

    return place(0, tuple(sizes)), budget


def _ways(points: int, units: Sequence[int], left: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to make up the points, those with few places first."""
    ranges = [range(min(have, points // unit) + 1) for unit, have in zip(units, left)]
    found = [
        counts
        for counts in itertools.product(*ranges)
        if sum(count * unit for count, unit in zip(counts, units)) == points
    ]
    return iter(sorted(found, key=sum))


# -- plans


def _plan(shape: Shape, fit: Fit, support: Support, exclusions: tuple[Leaf, ...]) -> PointsPlan:
    places: list[Leaf | None] = []
    for size, leaves in zip(shape.sizes, fit.classes):
        places += [*leaves, *(None,) * (size - len(leaves))]
    return PointsPlan(tuple(places), support, exclusions)


def _vectors(shape: Shape) -> npt.NDArray[np.int64]:
    """Every vector of how many places of each class do not hold, in the support's order; classes in the shape's."""
    order = [*shape.left, *shape.right]
    grids = np.meshgrid(*(np.arange(shape.sizes[number] + 1) for number in order), indexing="ij")
    found = np.zeros((grids[0].size if grids else 1, len(shape.sizes)), dtype=np.int64)
    for number, grid in zip(order, grids):
        found[:, number] = grid.reshape(-1)
    return found


def _held(shape: Shape, fit: Fit) -> npt.NDArray[np.int64]:
    """How many of each class's leaves hold at every vector, at most."""
    used = np.array([len(leaves) for leaves in fit.classes])
    return np.asarray(np.minimum(used, np.array(shape.sizes) - _vectors(shape)))


def _support(shape: Shape, fit: Fit, leaves: Sequence[Leaf], table: Truth) -> Support:
    """False where the table is, with as many leaves of every group as hold, no matter which."""
    held = _held(shape, fit)
    group_of = {leaves[variable]: tuple(group) for group in _groups(len(leaves), table) for variable in group}
    totals: dict[tuple[int, ...], npt.NDArray[np.int64]] = {}
    for number, own in enumerate(fit.classes):
        if own:
            alike = group_of[own[0]]
            totals[alike] = totals.get(alike, np.zeros(len(held), dtype=np.int64)) + held[:, number]
    index = np.zeros(len(held), dtype=np.int64)
    for alike, counts in totals.items():
        index += np.cumsum([0, *(1 << variable for variable in alike)])[counts]
    return _shaped(shape, ~table[index])


def _weighed_support(shape: Shape, fit: Fit) -> Support:
    return _shaped(shape, _held(shape, fit) @ np.array(fit.units) < fit.bar)


def _constant(shape: Shape, value: bool) -> Support:
    """Always yes: nothing makes it false. Always no: the constant 1 does."""
    support = np.zeros((shape.coefficients(shape.left), shape.coefficients(shape.right)), dtype=np.uint8)
    support[0, 0] = not value
    return support


def _shaped(shape: Shape, false: Truth) -> Support:
    return false.astype(np.uint8).reshape(shape.coefficients(shape.left), shape.coefficients(shape.right))
