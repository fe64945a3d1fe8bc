"""The static noise estimate: how much noise every step adds, when a ciphertext loses a prime because of it, and how
likely a padded answer is opened wrongly in the end. Numbers are base-2 logarithms.

Noise is the error e of a ciphertext c0 + c1·s = ⌊q·m/t⌉ + e, taken as independent normal coefficients with the given
standard deviation. Everything comes from the public terms, nothing from a ciphertext: SEAL's own noise budget of a
foreign ciphertext would leak the key. Tests compare the estimate with the true budget of ciphertexts whose key they
have.

A product makes noise grow by some 38 bits. Once it is larger than a prime by what switching down adds itself, the last
prime can go: what is relative to the modulus stays the same, and everything later is cheaper. `Levels` plans that from
the agreement alone, so all questions are switched at the same steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blindlabel.engines.packed.rings import RingParameters

OPENED = 25
"""A ciphertext of answers may be opened wrongly with probability 2^-OPENED at most, whatever else may be wrong."""

MIXED, PADDED = 3, 2
"""Primes at which answers are multiplied by the randomness of both sides, enough for that and for the pad; and primes
that padded answers still have. With one, 1.6 % of values would be rounded wrongly.
"""

_ABOVE = 16
"""Bits that noise must still have after switching. Rounding three parts adds N/sqrt(27), 12 or 13 bits."""

_SIGMA = math.log2(3.2)


def fresh(ring: RingParameters) -> float:
    """An encryption with the public key: e = e1 + e2·s + e3·u with ternary s and u."""
    return _SIGMA + 0.5 * math.log2(1 + 4 * ring.degree / 3)


def fresh_symmetric() -> float:
    """An encryption with the secret key."""
    return math.log2(math.hypot(3.2, 12**-0.5))


def taken(ring: RingParameters, level: int) -> float:
    """An encryption with the secret key, switched down to the level at which it is taken."""
    return fresh_symmetric() if level == ring.data_primes else _together(fresh_symmetric(), rounding(ring))


def plain_product(ring: RingParameters, coefficients: int) -> float:
    """What a product with a plaintext of this many uniform coefficients adds."""
    return math.log2(ring.modulus) - 0.5 * math.log2(12) + 0.5 * math.log2(coefficients)


def sum_of(count: float) -> float:
    """What adding up this many ciphertexts with independent noise adds."""
    return 0.5 * math.log2(max(count, 1))


def product(ring: RingParameters) -> float:
    """What a product of two ciphertexts adds: t·(e1·k2 + e2·k1), where c0 + c1·s = q·k + … has k of standard deviation
    sqrt(N/18).
    """
    return math.log2(ring.modulus) + 0.5 * math.log2(ring.degree) + 0.5 * math.log2(ring.degree / 18) + 0.5


def rounding(ring: RingParameters) -> float:
    """What switching down adds: two parts, rounded."""
    return 0.5 * math.log2(ring.degree / 18)


def rotated(ring: RingParameters, bits: float, steps: int) -> float:
    """After this many rotations in a row: each adds, for every data prime, a uniform digit times a fresh error, over
    the special prime, which is as large as any other.
    """
    switching = _SIGMA + 0.5 * math.log2(ring.data_primes * ring.degree / 12)
    return 0.5 * math.log2(4**bits + steps * 4**switching)


class At(NamedTuple):
    """Primes that a ciphertext has, and its noise there."""

    level: int
    noise: float


@dataclass(frozen=True)
class Levels:
    """The plan for one ring, with the level and the noise of the linear forms."""

    ring: RingParameters
    first: int
    linear: float

    def switched(self, level: int, bits: float) -> At:
        """Switched down as far as the noise allows."""
        while level > MIXED and bits - self.ring.prime_bits[level - 1] >= _ABOVE:
            level, bits = level - 1, bits - self.ring.prime_bits[level - 1]
        return At(level, bits)

    def after(self, depth: int) -> At:
        """After this many products in a row."""
        if depth == 0:
            return At(self.first, self.linear)
        level, bits = self.after(depth - 1)
        return self.switched(level, bits + product(self.ring) + sum_of(2))

    def combined(self, depth: int, coefficients: int, summands: int) -> At:
        """After this many products and a clear combination of that many of them."""
        level, bits = self.after(depth)
        return self.switched(level, bits + plain_product(self.ring, coefficients) + sum_of(summands))

    def together(self, one: At, other: At) -> At:
        """The level at which two are multiplied, and the larger noise there."""
        level = min(one.level, other.level)
        lower = (at.noise - sum(self.ring.prime_bits[level : at.level]) for at in (one, other))
        return At(level, max(rounding(self.ring), *lower))


def opened_right(ring: RingParameters, values: Sequence[At]) -> float:
    """How unlikely it is that a padded answer is opened wrongly, given the noise of a pair's values before: they are
    switched down, multiplied by randomness and added up, all of them in the last one, switched down again, given a
    fresh zero and padded.

    The pad is uniform and independent of the noise, so that t·(pad + noise)/q and t·pad/q are rounded to different
    numbers with probability 2·t·E|noise|/q a coefficient at most, and a mean is never larger than the standard
    deviation: no tail is added. One wrong coefficient changes all slots.
    """
    bits = ring.prime_bits
    there = _together(max(at.noise - sum(bits[MIXED : at.level]) for at in values), rounding(ring))
    there = _together(there, fresh_symmetric()) + product(ring) + sum_of(len(values))
    there = _together(there - sum(bits[PADDED:MIXED]), rounding(ring), fresh(ring))
    return sum(bits[:PADDED]) - 0.1 - math.log2(ring.modulus) - 1 - there - math.log2(ring.degree)


def _together(*parts: float) -> float:
    return math.log2(sum(2**part for part in parts))
