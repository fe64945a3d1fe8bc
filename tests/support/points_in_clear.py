"""The points way played in clear: the same algebra on the same feature vectors, with no encryption between."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from random import Random

from blindlabel.engines.packed.encoding.tables import Tables, asking, features_of
from blindlabel.engines.packed.ways.points.expressions import Leaf
from blindlabel.engines.packed.ways.points.fitting import PointsPlan
from blindlabel.engines.packed.ways.points.shape import Shape
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


def half_of(shape: Shape, classes: Sequence[int], places: Sequence[int], modulus: int) -> list[int]:
    """The coefficients of a half, in the support's order."""
    lists = [symmetric([places[place] for place in shape.places_of(number)], modulus) for number in classes]
    found = []
    for some in itertools.product(*lists):
        product = 1
        for factor in some:
            product = product * factor % modulus
        found.append(product)
    return found


def masked(shape: Shape, plan: PointsPlan, places: Sequence[int], modulus: int, masks: Sequence[int]) -> int:
    """y for these places and masks."""
    left = half_of(shape, shape.left, places, modulus)
    right = half_of(shape, shape.right, places, modulus)
    total = 0
    for number, (factor, mask) in enumerate(zip(right, masks, strict=True)):
        total += mask * factor * sum(a for a, wanted in zip(left, plan.support[:, number], strict=True) if wanted)
    return total % modulus


def answer(tables: Tables, shape: Shape, plan: PointsPlan, record: Record, random: Random) -> bool:
    """What the reader of the answers makes of a pair."""
    features = _features(tables, record.whole, tuple(record.attributes.items()))
    places = [place_value(tables, features, leaf, random) for leaf in plan.places]
    masks = [random.randrange(tables.modulus) for _ in range(shape.coefficients(shape.right))]
    reached = masked(shape, plan, places, tables.modulus, masks) == 0
    return reached and not any(place_value(tables, features, leaf, random) == 0 for leaf in plan.exclusions)
