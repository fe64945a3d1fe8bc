"""The products: from the places of a group of questions to one value a pair that is zero for yes, uniform for no.

Every step is taken for every question. A sum of products is relinearised once. What a question asks for (S of `shape`)
is the same for all records, so Σ S·A is a product of matrices on words (`periodic`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.seal import residues
from blindlabel.engines.packed.seal.holders import Encryptor
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Ring
from blindlabel.engines.packed.ways.points import periodic
from blindlabel.engines.packed.ways.points.shape import Shape, merged


@dataclass(frozen=True, eq=False)
class Summand:
    """B · (Σ S·A) as its two factors."""

    right: Cipher
    """None for the constant 1."""
    left: Cipher


Coefficients = dict[tuple[int, ...], Cipher]
"""By the vector of how many places of each class do not hold. The constant 1, the vector of zeros, is left out."""


def summands(
    encryptor: Encryptor, layout: RecordLayout, shape: Shape, places: Sequence[Cipher], support: Residues, keys: Any
) -> list[Summand]:
    """The summands of y, not yet masked. `support` is S: [left, right, column]."""
    ring = encryptor.ring
    lefts = half(ring, shape, shape.left, places, keys)
    rights = half(ring, shape, shape.right, places, keys)
    words = np.stack([ring.residues(ring.to_ntt(cipher)) for cipher in lefts])
    made = periodic.sums(ring, layout, support[1:].transpose(1, 0, 2), words)
    found, zero = [], encryptor.zero()
    for factor, rows, constant in zip([None, *rights], made, support[0], strict=True):
        total = _nonzero(ring, rows, words[0], zero)
        plain = ring.slots(periodic.in_slots(layout, np.tile(constant, (layout.block, 1))))
        found.append(Summand(factor, ring.add_plain(total, plain)))
    return found


def masked_sum(encryptor: Encryptor, parts: Sequence[Summand], pairs: npt.NDArray[np.bool_], keys: Any) -> Cipher:
    """y = Σ ρ · B · (Σ S·A), with ρ uniform and fresh for every summand and pair; zero in slots that are no pair."""
    ring = encryptor.ring
    total: Cipher = None
    first, *rest = parts
    for part in rest:
        product = ring.product(times(encryptor, part.right, _masks(ring, pairs)), part.left)
        if total is None:
            total = product
        else:
            ring.add_into(total, product)
    alone = times(encryptor, first.left, _masks(ring, pairs))
    return alone if total is None else ring.add(ring.relinearised(total, keys), alone)


def _masks(ring: Ring, pairs: npt.NDArray[np.bool_]) -> Residues:
    return residues.uniform(ring.degree, ring.modulus) * pairs


def product_of(ring: Ring, factors: Sequence[Cipher], keys: Any) -> Cipher:
    """All factors multiplied, by twos."""
    while len(factors) > 1:
        pairs = [ring.multiply(one, other, keys) for one, other in zip(factors[::2], factors[1::2])]
        factors = [*pairs, *factors[len(pairs) * 2 :]]
    return factors[0]


def times(encryptor: Encryptor, cipher: Cipher, values: Residues) -> Cipher:
    """The product with a clear value for every slot."""
    ring = encryptor.ring
    idle = not values.any()  # SEAL refuses to multiply by zero; the time is spent all the same
    plain = ring.transformed(ring.slots(np.ones_like(values) if idle else values))
    product = ring.from_ntt(ring.multiply_plain(ring.to_ntt(cipher), plain))
    return encryptor.zero() if idle else product


def _nonzero(ring: Ring, rows: Residues, other: Residues, zero: Cipher) -> Cipher:
    """The ciphertext of these residues plus an encrypted zero; SEAL refuses residues that are all zero."""
    idle = not rows.any()
    added = ring.add(zero, ring.from_ntt(ring.of_residues(other if idle else rows, transformed=True)))
    return zero if idle else added


def half(ring: Ring, shape: Shape, classes: Sequence[int], places: Sequence[Cipher], keys: Any) -> list[Cipher]:
    """The coefficients of a half but the constant, in the order of the support's axis."""
    lists: dict[int, Coefficients] = {}
    for number in classes:
        made = alike(ring, [places[place] for place in shape.places_of(number)], keys)
        position = classes.index(number)
        lists[number] = {_unit(len(classes), position, count + 1): cipher for count, cipher in enumerate(made)}
    following = max(classes, default=-1) + 1
    for one, other in merged([((shape.sizes[number] - 1).bit_length(), number) for number in classes]):
        first, second = lists.pop(one), lists.pop(other)
        both = {
            tuple(a + b for a, b in zip(left, right)): ring.multiply(first[left], second[right], keys)
            for left in first
            for right in second
        }
        lists[following] = {**first, **second, **both}
        following += 1
    found = lists.popitem()[1] if lists else {}
    return [found[vector] for vector in sorted(found)]


def _unit(length: int, position: int, count: int) -> tuple[int, ...]:
    return tuple(count if place == position else 0 for place in range(length))


def alike(ring: Ring, places: Sequence[Cipher], keys: Any) -> list[Cipher]:
    """The elementary symmetric polynomials e_1, e_2, … of these places."""
    if len(places) == 1:
        return list(places)
    middle = (len(places) + 1) // 2
    first, second = alike(ring, places[:middle], keys), alike(ring, places[middle:], keys)
    found = []
    for degree in range(1, len(places) + 1):
        total: Cipher = None
        for count in range(max(1, degree - len(second)), min(degree - 1, len(first)) + 1):
            product = ring.product(first[count - 1], second[degree - count - 1])
            total = product if total is None else ring.add(total, product)
        total = None if total is None else ring.relinearised(total, keys)
        for other in (first, second):
            if degree <= len(other):
                total = other[degree - 1] if total is None else ring.add(total, other[degree - 1])
        found.append(total)
    return found
