"""What follows from the profile alone: places, classes, and the tree that multiplies them.

Zero means true: a place holds x = 0 if its condition holds, else a value that is as good as uniform; an unused place
holds 1, "never". Places of one weight stand in classes. Of a class only *how many* places do not hold matters, so it is
known by its elementary symmetric polynomials e_0 = 1, e_1, …, e_m, and e_k is not zero exactly where at least k of its
places do not hold (but for an accident of probability about 1/t). A question says which vectors (k of each class) make
it false; that is where its points and its bar live, and nothing else of the evaluation depends on them:

    Y = Σ_right B_right · (Σ_left S[left, right] · A_left)

with A and B the products of the classes of either half, S the question's 0 and 1. Y is zero if the question is true,
and what leaves is Y times a fresh uniform value for every pair. So points are free: the profile's weights only say
which conditions are alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from blindlabel.engines.interface import TermsError
from blindlabel.engines.packed.planning.noise import At, Levels

MOST_PLACES = 14
"""With more, the probability of a wrong label would exceed one in a million (`room`)."""
MOST_ALIKE = 4
"""Places of a class, at most; more of the same weight make several classes."""
MOST_COEFFICIENTS = 64
"""Coefficients of one half, at most: what a pair costs grows with them."""


@dataclass(frozen=True)
class PlaceClasses:
    """Classes of places, in the profile's order, and which of them make up the left half of the tree."""

    sizes: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]

    @property
    def places(self) -> int:
        """Conditions that a question has room for."""
        return sum(self.sizes)

    def places_of(self, number: int) -> range:
        """The places of a class."""
        start = sum(self.sizes[:number])
        return range(start, start + self.sizes[number])

    def coefficients(self, half: Sequence[int]) -> int:
        """Coefficients of a half, the constant 1 included."""
        return math.prod(self.sizes[number] + 1 for number in half)

    @property
    def depth(self) -> tuple[int, int]:
        """Products in a row that the left and the right half take."""
        return _depth(self.sizes, self.left), _depth(self.sizes, self.right)

    @property
    def products(self) -> int:
        """Products of ciphertexts for a group of pairs."""
        return self._of_halves + self.coefficients(self.right) - 1

    @property
    def _of_halves(self) -> int:
        return _products(self.sizes, self.left) + _products(self.sizes, self.right)

    def combined(self, levels: Levels, stride: int) -> At:
        """Where the sums Σ S·A are."""
        return levels.combined(self.depth[0], 2 * stride, self.coefficients(self.left))


@lru_cache(maxsize=64)
def shape_of(profile: tuple[int, ...]) -> PlaceClasses:
    """The shape of a profile: the division into halves that costs least."""
    if not 1 <= len(profile) <= MOST_PLACES:
        raise TermsError(f"The profile has {len(profile)} places; the packed engine takes 1 to {MOST_PLACES}.")
    sizes: list[int] = []
    for weight in sorted(set(profile), reverse=True):
        count = profile.count(weight)
        classes = -(-count // MOST_ALIKE)
        sizes += [count // classes + (number < count % classes) for number in range(classes)]
    found = min(_divisions(tuple(sizes)), key=_cost)
    if max(found.coefficients(half) for half in (found.left, found.right)) > MOST_COEFFICIENTS:
        raise TermsError(
            f"The profile's {len(profile)} places have too many different weights for one tree. Give more of them the"
            " same weight, or agree on fewer places."
        )
    return found


def cost_of(profile: tuple[int, ...]) -> float:
    """What the places of a profile cost beside those of others, or infinite if there is no shape for them."""
    try:
        return _cost(shape_of(profile))[1]
    except TermsError:
        return math.inf


def _divisions(sizes: tuple[int, ...]) -> list[PlaceClasses]:
    numbers = range(len(sizes))
    halves = itertools.chain.from_iterable(itertools.combinations(numbers, count) for count in range(len(sizes) + 1))
    return [PlaceClasses(sizes, half, tuple(number for number in numbers if number not in half)) for half in halves]


def _cost(shape: PlaceClasses) -> tuple[float, ...]:
    """Products of ciphertexts, of which the last ones are cheap (few primes are left, and their sum is relinearised
    once), and some more for coefficients, each of which is turned into words and back. A level of depth is worth about
    a third, the clear combination of the left half about four fifths of a level.
    """
    left, right = shape.coefficients(shape.left), shape.coefficients(shape.right)
    too_many = max(left, right) > MOST_COEFFICIENTS
    work = shape._of_halves + 0.5 * (right - 1) + 0.3 * (left + right)
    return too_many, work * 1.3 ** max(shape.depth[0] + 0.8, shape.depth[1]), left < right


def merged(items: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The order in which lists of coefficients are multiplied together: the two shallowest first. Items are (depth,
    number); the result names pairs of numbers, a new one being the next number.
    """
    waiting = sorted(items)
    steps = []
    following = max((number for _, number in items), default=-1) + 1
    while len(waiting) > 1:
        (first, one), (second, other), *rest = waiting
        steps.append((one, other))
        waiting = sorted([*rest, (max(first, second) + 1, following)])
        following += 1
    return steps


def _depth(sizes: tuple[int, ...], half: Sequence[int]) -> int:
    waiting = sorted((sizes[number] - 1).bit_length() for number in half)
    while len(waiting) > 1:
        waiting = sorted([*waiting[2:], waiting[1] + 1])
    return waiting[0] if waiting else 0


def _products(sizes: tuple[int, ...], half: Sequence[int]) -> int:
    """Products that make the coefficients of a half from its places."""
    lists = [((sizes[number] - 1).bit_length(), number) for number in half]
    lengths = dict(zip(half, (sizes[number] for number in half)))
    total = sum(_alike_products(sizes[number]) for number in half)
    following = max(half, default=-1) + 1
    for one, other in merged(lists):
        total += lengths[one] * lengths[other]
        lengths[following] = (lengths[one] + 1) * (lengths[other] + 1) - 1
        following += 1
    return total


def _alike_products(size: int) -> int:
    """Products that make the symmetric polynomials of this many places."""
    if size <= 1:
        return 0
    half = (size + 1) // 2
    return _alike_products(half) + _alike_products(size - half) + half * (size - half)
