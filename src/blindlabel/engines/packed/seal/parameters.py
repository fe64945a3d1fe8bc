"""The parameters of BFV rings, and named sets of them. Each way of answering lists its own; docs/packed-engine.md
derives every number.

Sizes of primes are in bits, the last being the special prime of key switching. Every ring is checked against 128-bit
security by SEAL when it is opened. The first prime is small (plaintext bits + 12), so that switching down to it drowns
all earlier noise.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RingParameters:
    """One BFV ring."""

    degree: int
    prime_bits: tuple[int, ...]
    plain_bits: int = 0
    """Bits of a batching plaintext prime; 0 where `plain_modulus` says it."""
    plain_modulus: int = 0

    @property
    def data_primes(self) -> int:
        """Primes that ciphertexts have."""
        return len(self.prime_bits) - 1

    @property
    def ciphertext_bytes(self) -> int:
        """The most that a ciphertext takes when saved."""
        return 2 * self.degree * 8 * self.data_primes + 4096


@dataclass(frozen=True)
class ParameterSet:
    """A named choice."""

    name: str
    rings: tuple[RingParameters, ...]
    """The first is the one that records are encrypted in, the last the one that answers leave in."""
