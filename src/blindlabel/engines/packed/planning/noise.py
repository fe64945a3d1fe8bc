"""The static noise estimate: how much noise every step adds, and what is left of it after sanitising or padding.
Numbers are base-2 logarithms.

Noise is the error e of a ciphertext c0 + c1·s = ⌊q·m/t⌉ + e, taken as independent normal coefficients with the given
standard deviation; the bound adds `TAIL` bits (6.7 standard deviations, beyond which one of 2^15 coefficients lies with
probability below 2^-20). Everything comes from the public terms, nothing from a ciphertext: SEAL's own noise budget of
a foreign ciphertext would leak the key. Tests hold the estimate against the true budget of ciphertexts whose key they
own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from blindlabel.engines.packed.seal.parameters import RingParameters

HIDDEN = 53
"""Old noise (6.7 standard deviations) must be at most 2^-HIDDEN of the rounding unit when it leaves. Its mean is then
below 2^-56, and the statistical distance over at most 2^14 coefficients below 2^-42."""

OPENED = 30
"""Where owners hold the keys: an answer's ciphertext may be opened wrongly with probability 2^-OPENED, at most."""

TAIL = 2.75
_SIGMA = math.log2(3.2)


@dataclass(frozen=True)
class Noise:
    """The noise of a kind of ciphertext that leaves, before sanitising."""

    bits: float
    ring: RingParameters
    level: int = 0
    """Primes that the ciphertext still has; 0: all of them."""

    @property
    def left(self) -> float:
        """What is left of it beside the rounding noise of switching down to the first prime."""
        return self.bits - sum(self.ring.prime_bits[1 : self.level or -1]) + 0.1


def fresh(ring: RingParameters) -> float:
    """An encryption with the public key: e = e1 + e2·s + e3·u with ternary s and u."""
    return _SIGMA + 0.5 * math.log2(1 + 4 * ring.degree / 3)


def fresh_symmetric() -> float:
    """An encryption with the secret key."""
    return math.log2(math.hypot(3.2, 12**-0.5))


def plain_product(ring: RingParameters, modulus: int, coefficients: int | None = None) -> float:
    """What a product with a plaintext of so many uniform coefficients adds (None: all)."""
    return math.log2(modulus) - 0.5 * math.log2(12) + 0.5 * math.log2(coefficients or ring.degree)


def sum_of(count: float) -> float:
    """What adding up so many ciphertexts with independent noise adds."""
    return 0.5 * math.log2(max(count, 1))


def product(ring: RingParameters, modulus: int) -> float:
    """What a product of two ciphertexts adds: t·(e1·k2 + e2·k1), where c0 + c1·s = q·k + … has k of standard deviation
    sqrt(N/18).
    """
    return math.log2(modulus) + 0.5 * math.log2(ring.degree) + 0.5 * math.log2(ring.degree / 18) + 0.5


def rounding(ring: RingParameters) -> float:
    """What switching down adds: two parts, rounded."""
    return 0.5 * math.log2(ring.degree / 18)


def rotated(ring: RingParameters, bits: float, steps: int) -> float:
    """After so many rotations in a row: each adds, for every data prime, a uniform digit times a fresh error, over the
    special prime, which is as large as any other.
    """
    switching = _SIGMA + 0.5 * math.log2(ring.data_primes * ring.degree / 12)
    return 0.5 * math.log2(4**bits + steps * 4**switching)


def opened_right(answers: Noise, modulus: int, *, mixed: int, padded: int) -> float:
    """How unlikely it is that a padded answer is opened wrongly, given the noise of the answers before: they are
    switched down to `mixed` primes, multiplied by randomness, switched down to `padded` primes, given a fresh zero and
    padded.

    The pad is uniform and independent of the noise, so that t·(pad + noise)/q and t·pad/q are rounded to different
    numbers with probability 2·t·E|noise|/q a coefficient at most, and a mean is never larger than the standard
    deviation: no tail is added. One wrong coefficient changes all slots.
    """
    ring = answers.ring
    bits = ring.prime_bits
    there = _together(answers.bits - TAIL - sum(bits[mixed : answers.level or -1]), rounding(ring))
    there = _together(there, fresh_symmetric()) + product(ring, modulus) + sum_of(2)
    there = _together(there - sum(bits[padded:mixed]), rounding(ring), fresh(ring))
    return sum(bits[:padded]) - 0.1 - math.log2(modulus) - 1 - there - math.log2(ring.degree)


def _together(*parts: float) -> float:
    return math.log2(sum(2**part for part in parts))
