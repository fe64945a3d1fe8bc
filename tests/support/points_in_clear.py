"""A plan played in clear: the same algebra on the same feature vectors, or on nothing but which probes hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random

from blindlabel.engines.packed.encoding.features import Tables, asking, features_of
from blindlabel.engines.packed.planning.fitting import Leaf, Plan, Probe
from blindlabel.engines.packed.planning.places import PlaceClasses
from blindlabel.language.record import Record


@lru_cache(maxsize=64)
def _features(tables: Tables, whole: str, attributes: tuple[tuple[str, str], ...]) -> list[int]:
    return [int(value) for value in features_of(tables, [Record(dict(attributes), whole)])[0]]


def place_value(tables: Tables, features: Sequence[int], leaf: Leaf | None, random: Random) -> int:
    """What a place holds for a record: zero where its condition is met."""
    if leaf is None:
        return 1
    total = 0
    for probe in leaf:
        weights, fingerprint = asking(tables, probe.table, probe.element)
        own = features[probe.table.offset : probe.table.end]
        distance = sum(int(weight) * feature for weight, feature in zip(weights, own, strict=True)) - fingerprint
        total += random.randrange(1, tables.modulus) * distance
    return total % tables.modulus


def symmetric(values: Sequence[int], modulus: int) -> list[int]:
    """1 and the elementary symmetric polynomials."""
    found = [1]
    for value in values:
        found = [a + value * b for a, b in zip([*found, 0], [0, *found])]
    return [one % modulus for one in found]


def half_of(shape: PlaceClasses, classes: Sequence[int], places: Sequence[int], modulus: int) -> list[int]:
    """The coefficients of a half, in the support's order."""
    lists = [symmetric([places[place] for place in shape.places_of(number)], modulus) for number in classes]
    found = []
    for some in itertools.product(*lists):
        product = 1
        for factor in some:
            product = product * factor % modulus
        found.append(product)
    return found


def missed(shape: PlaceClasses, plan: Plan, places: Sequence[int], modulus: int) -> int:
    """Y for these places: zero where the points are reached."""
    left = half_of(shape, shape.left, places, modulus)
    right = half_of(shape, shape.right, places, modulus)
    total = 0
    for number, factor in enumerate(right):
        total += factor * sum(a for a, wanted in zip(left, plan.support[:, number], strict=True) if wanted)
    return total % modulus


def answer(tables: Tables, shape: PlaceClasses, plan: Plan, record: Record, random: Random) -> bool:
    """What comes out for a pair."""
    features = _features(tables, record.whole, tuple(record.attributes.items()))

    def some_hold(leaves: Sequence[Leaf]) -> bool:
        return any(place_value(tables, features, leaf, random) == 0 for leaf in leaves)

    places = [place_value(tables, features, leaf, random) for leaf in plan.places]
    reached = missed(shape, plan, places, tables.modulus) == 0
    return reached and (not some_hold(plan.exclusions) or some_hold(plan.unless))


def holds(shape: PlaceClasses, plan: Plan, true: Callable[[Probe], bool]) -> bool:
    """The plan's answer where these probes hold: exact, without any number. A class counts its places that do
    not hold; the support says at which counts the question is false, and falseness only grows with them.
    """

    def hold(leaf: Leaf | None) -> bool:
        return leaf is not None and all(map(true, leaf))

    missing = [sum(not hold(plan.places[place]) for place in shape.places_of(n)) for n in range(len(shape.sizes))]
    false = any(
        plan.support[left, right]
        for left, lefts in enumerate(_vectors(shape, shape.left))
        for right, rights in enumerate(_vectors(shape, shape.right))
        if all(lefts[n] <= missing[n] for n in lefts) and all(rights[n] <= missing[n] for n in rights)
    )
    return not false and (not any(map(hold, plan.exclusions)) or any(map(hold, plan.unless)))


def _vectors(shape: PlaceClasses, classes: Sequence[int]) -> list[dict[int, int]]:
    """The vectors of a half, in the support's order."""
    ranges = [range(shape.sizes[number] + 1) for number in classes]
    return [dict(zip(classes, counts)) for counts in itertools.product(*ranges)]
