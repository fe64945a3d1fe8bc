"""The BFV rings that the engine chooses from. Nothing here needs SEAL: the coordinator reads this table, too.

Sizes of primes are in bits, the last being the special prime of key switching. SEAL checks every ring against 128-bit
security when it is opened, and a test holds the plaintext modulus to the prime that SEAL takes for batching.
docs/packed-engine.md derives every number.
"""

from __future__ import annotations

from dataclasses import dataclass

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
        """One half of a ciphertext that has so many primes, as it travels: two numbers in as many half bytes as either
        has.
        """
        return sum(self.degree // 2 * -(-bits // 4) for bits in self.prime_bits[:primes])

    def cipher_bytes(self, primes: int) -> int:
        """A ciphertext."""
        return 2 * self.row_bytes(primes)

    def seeded_bytes(self, primes: int) -> int:
        """A ciphertext whose second half is a seed."""
        return SEED + self.row_bytes(primes)

    def key_bytes(self, elements: int) -> int:
        """The public keys: an encryption of zero, keys for so many rotations, and for products."""
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
