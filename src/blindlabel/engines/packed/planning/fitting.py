"""A question is put on the places of a profile: from its formula over predicates to a plan of what is asked where.

1. A predicate becomes *probes*, each one element asked of one table; any of them makes it true.
2. The chain of the question (`language.chain`) is made over probes. A *leaf* is a set of probes that must all hold; it
   costs one place, since Σ ρ·x over its probes is zero exactly where all of them are. What is necessary becomes part of
   every other leaf.
3. Leaves that are alike, so that exchanging them changes nothing, share classes of places. Where that takes more
   classes than there are, a count's conditions may take several places each (4 = 3 + 1), and whatever is short as an OR
   of ANDs is asked as one.

A question that does not fit is refused, with a sentence that says what would fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from blindlabel.engines.allowed import refuse_atom
from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.engines.packed.encoding.features import SetTable, Tables
from blindlabel.engines.packed.planning.places import PlaceClasses, shape_of
from blindlabel.language import chain, words
from blindlabel.language.formula import Atom, Count, Formula, atoms_of, in_order
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import View
from blindlabel.language.signatures import CaseRule

Support = npt.NDArray[np.uint8]
"""1 at every vector (left half, right half) of places that do not hold at which the question is false."""

_MOST_TRIES = 2_000
"""Tries of putting conditions on several places each; refusing must not take long either."""


@dataclass(frozen=True)
class Probe:
    """Is this element in that table?"""

    table: SetTable
    element: str

    def __str__(self) -> str:
        return f"{self.element!r} among {self.table.family.name} of {self.table.view}"


Leaf = frozenset[Probe]
"""Probes that must all hold; empty: always."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A question on its places: what every place asks (None: never), when its points are missed, what it excludes, and
    unless.
    """

    places: tuple[Leaf | None, ...]
    support: Support
    exclusions: tuple[Leaf, ...]
    unless: tuple[Leaf, ...]


def probes_of(terms: Terms, tables: Tables, atom: Atom) -> tuple[Probe, ...]:
    """The probes any of which makes the predicate true; none at all if it never is.

    `lower` and `upper` are resolved here. A text in upper case is not encoded: an element without small paired letters
    is in the upper-case view exactly when its lower-case form is in the lower-case one, and an element with such a
    letter never is (see `blindlabel.language.words`, and `CaseRule`: a predicate for which that does not follow has a
    table of its own for the upper-case view).
    """
    refused = refuse_atom(terms, atom)
    if refused is not None:
        raise QuestionError(refused)
    predicate = PREDICATES[atom.function]
    family = predicate.family_of(atom.arguments, terms.limits)
    elements = predicate.asked(atom.arguments)
    view = View(atom.view.attribute, "exact" if predicate.ignores_case else atom.view.case)
    if view.case == "upper" and predicate.case_rule is not CaseRule.SEPARATE:
        elements = tuple(words.lower(element) for element in elements if not words.has_paired_lower(element))
        view = View(view.attribute, "lower")
    if terms.case == "lower" and view.case == "lower":
        view = View(view.attribute)
    found = ((tables.find(view, family.name, element), element) for element in dict.fromkeys(elements))
    # No table: a stretch longer than any text, which is in none of them.
    return tuple(Probe(table, element) for table, element in found if table is not None)


@dataclass(frozen=True, eq=False)
class Meaning:
    """The chain of a question over probes: the leaves that its points are about, their table, and what is below."""

    leaves: tuple[Leaf, ...]
    table: chain.TruthTable
    sums: tuple[chain.Weights, ...]
    """Weights of the leaves in the counts of the question."""
    exclusions: tuple[Leaf, ...]
    unless: tuple[Leaf, ...]

    @cached_property
    def alike(self) -> tuple[tuple[Leaf, ...], ...]:
        """Leaves in groups: exchanging two of a group changes nothing. The largest group first."""
        groups = sorted(_groups(len(self.leaves), self.table), key=len, reverse=True)
        return tuple(tuple(self.leaves[variable] for variable in group) for group in groups)

    @cached_property
    def ways_to_yes(self) -> list[Leaf]:
        """The smallest sets of leaves that make it true, each joined to one: an OR of ANDs."""
        joined = chain.joined(self.leaves, chain.minimal(self.table))
        return [one for one in joined if not any(other < one for other in joined)]


def meaning_of(terms: Terms, tables: Tables, formula: Formula) -> Meaning:
    """The chain of a question; `QuestionError` if it has too many conditions or levels, whatever the room."""
    probes = {atom: probes_of(terms, tables, atom) for atom in atoms_of(formula)}
    try:
        levels = chain.levels_of(formula, probes.__getitem__)
    except chain.TooManyConditions as problem:
        raise _too_large(terms, problem.args[0]) from problem
    except chain.TooManyLevels as problem:
        raise QuestionError(
            f'This question needs {problem.args[0]} levels below its points ("but not …, unless …, but not …"), and two'
            " can be asked. Say less, or ask for something else."
        ) from problem
    exclusions, unless = (tuple(dict.fromkeys(level)) for level in levels.below)
    leaves, table = levels.leaves, levels.reached
    sums = [_weights(node, probes, leaves) for node in in_order(formula) if isinstance(node, Count)]
    leaves, table, sums = _necessary_joined(leaves, table, sums)
    return Meaning(leaves, table, tuple(sums), exclusions, unless)


def _weights(count: Count, probes: dict[Atom, tuple[Probe, ...]], leaves: Sequence[Leaf]) -> chain.Weights:
    """What a count gives the leaves: the weight of the part that is about a leaf alone; 0: there is none."""
    weights = [0] * len(leaves)
    for part, weight in zip(count.parts, count.weights):
        about = frozenset(probe for atom in atoms_of(part) for probe in probes[atom])
        for place, leaf in enumerate(leaves):
            if about == leaf:
                weights[place] = weight
    return weights, None


def _necessary_joined(
    leaves: tuple[Leaf, ...], table: chain.TruthTable, sums: Sequence[chain.Weights]
) -> tuple[tuple[Leaf, ...], chain.TruthTable, list[chain.Weights]]:
    """Without a leaf that must hold beside others: where all others have it, they are false without it, too."""
    for place, must in enumerate(leaves):
        rest = chain.where(table, place, True)
        if len(leaves) > 1 and not chain.where(table, place, False).any() and not rest[0]:
            others = tuple(leaf | must for other, leaf in enumerate(leaves) if other != place)
            narrowed = [((*one[:place], *one[place + 1 :]), bar) for one, bar in sums]
            return _necessary_joined(others, rest, narrowed)
    return leaves, table, list(sums)


def _too_large(terms: Terms, leaves: int) -> QuestionError:
    return QuestionError(
        f"This question has {leaves} conditions with points of their own, more than fit the agreement's profile"
        f" ({' '.join(map(str, terms.profile))}). Give more conditions the same points, or leave some out."
    )


@dataclass(frozen=True)
class Fit:
    """Which leaves stand in every class of a shape, and what a leaf of a class is worth where points decide."""

    classes: tuple[tuple[Leaf, ...], ...]
    units: tuple[int, ...] = ()
    bar: int = 0


def compile_question(terms: Terms, tables: Tables, formula: Formula) -> Plan:
    """The plan of a question, or `QuestionError` if it does not fit the agreement's room."""
    shape = shape_of(terms.profile)
    meaning = meaning_of(terms, tables, formula)
    for asked, room, what in (
        (meaning.exclusions, terms.exclusions, "take a yes back (but not)"),
        (meaning.unless, terms.unless, "give it back (unless)"),
    ):
        if len(asked) > room:
            raise QuestionError(
                f"This question has {len(asked)} conditions that {what}, and the agreement has room for {room}."
            )
    made = partial(Plan, exclusions=meaning.exclusions, unless=meaning.unless)
    if not meaning.leaves:
        return made((None,) * shape.places, _constant(shape, bool(meaning.table[0])))
    fit = _alike(shape, meaning)
    if fit is not None:
        return made(_places(shape, fit), _support(shape, fit, meaning))
    fit = _weighed(shape, terms.profile, meaning) or _alternatives(shape, meaning)
    if fit is None:
        raise _too_large(terms, len(meaning.leaves))
    return made(_places(shape, fit), _shaped(shape, _held(shape, fit) @ np.array(fit.units) < fit.bar))


def _groups(count: int, table: chain.TruthTable) -> list[list[int]]:
    """The variables in groups: exchanging two of a group changes nothing."""
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


# -- where the classes of leaves go


def _alike(shape: PlaceClasses, meaning: Meaning) -> Fit | None:
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


def _alternatives(shape: PlaceClasses, meaning: Meaning) -> Fit | None:
    """As an OR of ANDs, each on a place of its own."""
    if len(meaning.ways_to_yes) > shape.places:
        return None
    classes, waiting = [], meaning.ways_to_yes
    for size in shape.sizes:
        classes.append(tuple(waiting[:size]))
        waiting = waiting[size:]
    return Fit(tuple(classes), (1,) * len(shape.sizes), 1)


# -- by points, a condition on several places


def _weighed(shape: PlaceClasses, profile: tuple[int, ...], meaning: Meaning) -> Fit | None:
    """The conditions of a count on places whose units come to their points."""
    weights = chain.weights_of(meaning.table, meaning.sums)
    if weights is None:
        return None
    points = dict(zip(meaning.leaves, weights[0]))
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
            return Fit(classes, units, weights[1])
    return None


def _units(shape: PlaceClasses, profile: tuple[int, ...], points: Sequence[int]) -> Iterator[tuple[int, ...]]:
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


def _places(shape: PlaceClasses, fit: Fit) -> tuple[Leaf | None, ...]:
    """What every place asks."""
    places: list[Leaf | None] = []
    for size, leaves in zip(shape.sizes, fit.classes):
        places += [*leaves, *(None,) * (size - len(leaves))]
    return tuple(places)


def _vectors(shape: PlaceClasses) -> npt.NDArray[np.int64]:
    """Every vector of how many places of each class do not hold, in the support's order; classes in the shape's."""
    order = [*shape.left, *shape.right]
    grids = np.meshgrid(*(np.arange(shape.sizes[number] + 1) for number in order), indexing="ij")
    found = np.zeros((grids[0].size if grids else 1, len(shape.sizes)), dtype=np.int64)
    for number, grid in zip(order, grids):
        found[:, number] = grid.reshape(-1)
    return found


def _held(shape: PlaceClasses, fit: Fit) -> npt.NDArray[np.int64]:
    """How many of each class's leaves hold at every vector, at most."""
    used = np.array([len(leaves) for leaves in fit.classes])
    return np.asarray(np.minimum(used, np.array(shape.sizes) - _vectors(shape)))


def _support(shape: PlaceClasses, fit: Fit, meaning: Meaning) -> Support:
    """False if the table is, with as many leaves of every group as hold, no matter which."""
    held = _held(shape, fit)
    index = np.zeros(len(held), dtype=np.int64)
    for group in meaning.alike:
        own = [number for number, leaves in enumerate(fit.classes) if leaves and leaves[0] in group]
        bits = [1 << meaning.leaves.index(leaf) for leaf in group]
        index += np.cumsum([0, *bits])[held[:, own].sum(axis=1)]
    return _shaped(shape, ~meaning.table[index])


def _constant(shape: PlaceClasses, value: bool) -> Support:
    """Always yes: nothing makes it false. Always no: the constant 1 does."""
    support = np.zeros((shape.coefficients(shape.left), shape.coefficients(shape.right)), dtype=np.uint8)
    support[0, 0] = not value
    return support


def _shaped(shape: PlaceClasses, false: chain.TruthTable) -> Support:
    return false.astype(np.uint8).reshape(shape.coefficients(shape.left), shape.coefficients(shape.right))
