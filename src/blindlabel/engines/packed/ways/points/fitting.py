"""A question is put on the places of a profile.

1. Leaves that are alike (`meaning`) share classes of places.
2. Where that takes more classes than there are, a count's conditions may take several places each (4 = 3 + 1), and
   whatever is short as an OR of ANDs is asked as one.

What does not fit is refused, with a sentence that says what would.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.engines.packed.encoding.tables import Tables
from blindlabel.engines.packed.ways.points.expressions import Expression, Leaf, Literal, Sum, Truth
from blindlabel.engines.packed.ways.points.meaning import Meaning, meaning_of, too_large
from blindlabel.engines.packed.ways.points.shape import Shape, shape_of
from blindlabel.language.formula import Formula

Support = npt.NDArray[np.uint8]
"""1 at every vector (left half, right half) of places that do not hold at which the question is false."""

_MOST_TRIES = 2_000
"""Of putting conditions on several places each; refusing must not take long either."""


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
    meaning = meaning_of(terms, tables, formula)
    exclusions = meaning.exclusions
    if len(exclusions) > terms.exclusions:
        raise QuestionError(
            f"This question excludes {len(exclusions)} conditions, and the agreement has room for {terms.exclusions}."
            " Exclude fewer, or agree on more exclusions."
        )
    if not meaning.leaves:
        return PointsPlan((None,) * shape.places, _constant(shape, bool(meaning.table[0])), exclusions)
    fit = _alike(shape, meaning)
    if fit is not None:
        return _plan(shape, fit, _support(shape, fit, meaning), exclusions)
    fit = _weighed(shape, terms.profile, meaning.wanted) or _alternatives(shape, meaning)
    if fit is None:
        raise too_large(terms, len(meaning.leaves))
    return _plan(shape, fit, _weighed_support(shape, fit), exclusions)


# -- where the classes of leaves go


def _alike(shape: Shape, meaning: Meaning) -> Fit | None:
    """Groups of leaves that are alike, each in classes of its own."""
    taken = _covered(shape.sizes, [len(group) for group in meaning.alike], frozenset(range(len(shape.sizes))))
    if taken is None:
        return None
    classes: list[tuple[Leaf, ...]] = [()] * len(shape.sizes)
    for group, numbers in zip(meaning.alike, taken):
        waiting = group
        for number in numbers:
            classes[number], waiting = waiting[: shape.sizes[number]], waiting[shape.sizes[number] :]
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


def _alternatives(shape: Shape, meaning: Meaning) -> Fit | None:
    """As an OR of ANDs, each on a place of its own."""
    if len(meaning.ways_to_yes) > shape.places:
        return None
    classes, waiting = [], meaning.ways_to_yes
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


def _support(shape: Shape, fit: Fit, meaning: Meaning) -> Support:
    """False where the table is, with as many leaves of every group as hold, no matter which."""
    held = _held(shape, fit)
    index = np.zeros(len(held), dtype=np.int64)
    for group in meaning.alike:
        own = [number for number, leaves in enumerate(fit.classes) if leaves and leaves[0] in group]
        bits = [1 << meaning.leaves.index(leaf) for leaf in group]
        index += np.cumsum([0, *bits])[held[:, own].sum(axis=1)]
    return _shaped(shape, ~meaning.table[index])


def _weighed_support(shape: Shape, fit: Fit) -> Support:
    return _shaped(shape, _held(shape, fit) @ np.array(fit.units) < fit.bar)


def _constant(shape: Shape, value: bool) -> Support:
    """Always yes: nothing makes it false. Always no: the constant 1 does."""
    support = np.zeros((shape.coefficients(shape.left), shape.coefficients(shape.right)), dtype=np.uint8)
    support[0, 0] = not value
    return support


def _shaped(shape: Shape, false: Truth) -> Support:
    return false.astype(np.uint8).reshape(shape.coefficients(shape.left), shape.coefficients(shape.right))
