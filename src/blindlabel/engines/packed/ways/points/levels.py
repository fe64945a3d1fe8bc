"""After how many products a ciphertext loses a prime: planned from the noise that every step adds.

A product makes noise grow by some 38 bits. Once it is larger than a prime by what switching down adds itself, the last
prime can go: what is relative to the modulus stays the same, and everything later is cheaper. The plan follows from the
agreement alone, so all questions are switched at the same steps. Noise is in bits, as in `planning.noise`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from blindlabel.engines.packed.planning import noise
from blindlabel.engines.packed.seal.parameters import RingParameters

LEAST = 3
"""Primes that are never taken: `opening` multiplies once more."""
_ABOVE = 16
"""Bits that noise must still have after switching. Rounding three parts adds N/sqrt(27), 12 or 13 bits."""


class At(NamedTuple):
    """Primes that a ciphertext has, and its noise there."""

    level: int
    noise: float


@dataclass(frozen=True)
class Levels:
    """The plan for one ring, with the noise of the linear forms."""

    ring: RingParameters
    modulus: int
    linear: float

    def switched(self, level: int, bits: float) -> At:
        """As far down as the noise lets it."""
        while level > LEAST and bits - self.ring.prime_bits[level - 1] >= _ABOVE:
            level, bits = level - 1, bits - self.ring.prime_bits[level - 1]
        return At(level, bits)

    def after(self, depth: int) -> At:
        """After so many products in a row."""
        if depth == 0:
            return At(self.ring.data_primes, self.linear)
        level, bits = self.after(depth - 1)
        return self.switched(level, bits + noise.product(self.ring, self.modulus) + noise.sum_of(2))

    def combined(self, depth: int, coefficients: int, summands: int) -> At:
        """After so many products and a clear combination of so many of them."""
        level, bits = self.after(depth)
        bits += noise.plain_product(self.ring, self.modulus, coefficients) + noise.sum_of(summands)
        return self.switched(level, bits)

    def together(self, one: At, other: At) -> At:
        """The level at which two are multiplied, and the larger noise there."""
        level = min(one.level, other.level)
        rounding = noise.rounding(self.ring)
        return At(
            level, max(rounding, *(at.noise - sum(self.ring.prime_bits[level : at.level]) for at in (one, other)))
        )
