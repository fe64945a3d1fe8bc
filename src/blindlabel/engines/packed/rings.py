"""The BFV rings that the engine chooses from. Nothing here needs SEAL: the coordinator reads this table, too.

Sizes of primes are in bits, the last being the special prime of key switching. SEAL checks every ring against 128-bit
security when it is opened, and a test holds the plaintext modulus to the prime that SEAL takes for batching.
docs/explanation/packed-engine.md derives every number.

**What a ring is worth.** The guidelines (Bossuat and others, "Security Guidelines for Implementing Homomorphic
Encryption", IACR Communications in Cryptology 1(4), 2025, eprint 2024/463, table 5.2) give for every degree the largest
modulus, special prime included, at which a uniform ternary secret has 128 bits against classical attacks. They are
stricter than the standard of 2018 that SEAL enforces (16384: 430 bits instead of 438).

A cheating owner makes the answers to its questions say something about the key instead of the records, at most one bit
per question. A coefficient of the key has log2(3) bits, so n bits tell at most n / log2(3) coefficients, and a key of
which that many are known is a key of a smaller dimension under the same modulus. `zero_tests_left` is the number of
bits after which the dimension that is left still has 128 bits by the guidelines' table, read linearly between its rows.
An estimator run for exactly these hints would give more: hints that do not fix a coefficient each shrink the dimension
by less than is counted here, and the table's rows lie slightly above 128 bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

SEED = 64
"""Bytes of a seed of SEAL's generator, in place of the second half of a ciphertext."""


@dataclass(frozen=True)
class RingParameters:
    """One ring."""

    name: str
    degree: int
    prime_bits: tuple[int, ...]
    modulus: int = 16_580_609
    """Of plaintexts: the largest prime below 2^24 that is 1 modulo 65536, so that each coefficient has a slot."""

    @property
    def data_primes(self) -> int:
        """Primes that ciphertexts have."""
        return len(self.prime_bits) - 1

    def row_bytes(self, primes: int) -> int:
        """One half of a ciphertext that has this many primes, as it travels: two numbers in as many half bytes as
        either has.
        """
        return sum(self.degree // 2 * -(-bits // 4) for bits in self.prime_bits[:primes])

    def cipher_bytes(self, primes: int) -> int:
        """A ciphertext."""
        return 2 * self.row_bytes(primes)

    def seeded_bytes(self, primes: int) -> int:
        """A ciphertext whose second half is a seed."""
        return SEED + self.row_bytes(primes)

    def key_bytes(self, elements: int) -> int:
        """Bytes of the public keys: an encryption of zero, keys for this many rotations, and for products."""
        switching = self.data_primes * self.seeded_bytes(len(self.prime_bits))
        return self.seeded_bytes(self.data_primes) + (elements + 1) * switching


RINGS = (
    RingParameters("points-16384-320", 16384, (48, 48, 56, 56, 56, 56)),
    RingParameters("points-16384-360", 16384, (60, 60, 60, 60, 60, 60)),
    RingParameters("points-16384-390", 16384, (54, 56, 56, 56, 56, 56, 56)),
    RingParameters("points-16384-414", 16384, (36, 54, 54, 54, 54, 54, 54, 54)),
    RingParameters("points-32768-360", 32768, (60, 60, 60, 60, 60, 60)),
    RingParameters("points-32768-414", 32768, (54, 60, 60, 60, 60, 60, 60)),
)
"""Cheapest first: the first that can do what the terms ask for is taken. The number is the bits of all primes; the last
two are for keys that must be able to lose many bits.
"""


# -- what a ring is worth

GUIDELINES = (
    (1024, 26),
    (2048, 53),
    (4096, 106),
    (8192, 214),
    (16384, 430),
    (32768, 868),
    (65536, 1747),
    (131072, 3523),
)
"""Degree, and the most bits of the modulus at 128 bits of security."""


def dimension_needed(modulus_bits: float) -> float:
    """The dimension at which a modulus of this many bits has 128 bits of security."""
    first_degree, first_bits = GUIDELINES[0]
    if modulus_bits <= first_bits:
        return float(first_degree)
    for (low, low_bits), (high, high_bits) in pairwise(GUIDELINES):
        if modulus_bits <= high_bits:
            return low + (modulus_bits - low_bits) * (high - low) / (high_bits - low_bits)
    return math.inf


def zero_tests(ring: RingParameters) -> int:
    """How many bits a key of this ring can lose."""
    return zero_tests_left(ring.degree, sum(ring.prime_bits))


def zero_tests_left(degree: int, modulus_bits: float) -> int:
    """How many bits about its key a ring can lose and still have 128 bits of security, or 0 if it has no margin."""
    left = degree - dimension_needed(modulus_bits)
    return max(0, math.floor(math.log2(3) * left)) if math.isfinite(left) else 0
