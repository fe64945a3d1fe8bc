"""The named parameter sets, and which one an agreement gets.

A set holds the ring in which records are encrypted and, where the assist is used, the ring in which bits are computed. Sizes of primes are in
bits, the last being the special prime of key switching. All sets are checked against 128-bit security by SEAL when a ring is opened. The first
prime is small (plaintext bits + 12), so that switching down to it drowns all earlier noise; docs/packed-engine.md derives every number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from blindlabel.engines.interface import EngineError, Terms
from blindlabel.language import families, words
from blindlabel.language.functions import PREDICATES

BIT_MODULUS = 65537
"""Plaintext modulus of the ring for bits: the smallest prime with as many slots as coefficients."""

_MOST_BLOCK = 1024
_MOST_FEATURES = 1 << 23
"""Records times features that are held in memory at once; 48 to 112 bytes each."""


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

    @property
    def dropped_bits(self) -> int:
        """How far switching down to the first prime shrinks the noise, at least."""
        return sum(self.prime_bits[1:-1]) - self.data_primes  # a prime of b bits is above 2^(b-1)


@dataclass(frozen=True)
class ParameterSet:
    """A named choice: `evaluation` for records; `bits` where the assist serves; `depth` products in a row where it does not."""

    name: str
    evaluation: RingParameters
    bits: RingParameters | None = None
    depth: int = 0


_TABLE = (
    ParameterSet(
        "assisted-8192",
        RingParameters(8192, (40, 54, 54, 54), plain_bits=28),
        RingParameters(8192, (32, 56, 56, 56), plain_modulus=BIT_MODULUS),
    ),
    ParameterSet("alone-8192-1", RingParameters(8192, (38, 46, 45, 45, 44), plain_bits=24), depth=1),
    ParameterSet("alone-16384-3", RingParameters(16384, (42, 50, 50, 50, 50, 50, 50), plain_bits=28), depth=3),
    ParameterSet("alone-16384-5", RingParameters(16384, (42, 48, 48, 48, 48, 48, 48, 48, 48), plain_bits=28), depth=5),
)


def parameter_sets() -> tuple[ParameterSet, ...]:
    """All of them, for documentation and tests."""
    return _TABLE


def uses_assist(terms: Terms) -> bool:
    """Whether an agreement ever calls the assist: only for counting and negation."""
    return terms.counting or terms.negation


def choose(terms: Terms) -> ParameterSet:
    """The set for an agreement."""
    if uses_assist(terms):
        return _TABLE[0]
    needed = (alternatives(terms) - 1).bit_length()
    for candidate in _TABLE[1:]:
        if needed <= candidate.depth:
            return candidate
    raise EngineError(
        f"The packed engine multiplies out at most {1 << _TABLE[-1].depth} alternatives without the assist, and this agreement wants "
        f"{alternatives(terms)}. Ask for fewer, or allow counting or negation."
    )


# -- public limits that follow from the terms ------------------------------------------------------------------------------------------


def widest(terms: Terms) -> int:
    """The most set elements that one predicate of the agreement may ask for."""
    most = 1
    if "between" in terms.functions:
        most = max(most, families.MOST_INTERVALS)
    if "similar" in terms.functions:
        length = words.SIMILAR_WORD_LENGTH
        most = max(most, len(families.with_wildcards("a" * length, terms.limits.similar_distance)))
    return most


def probes(terms: Terms) -> int:
    """Set elements that every question is given room for."""
    if terms.probes:
        return terms.probes
    return 16 if widest(terms) == 1 else 16 + 2 * widest(terms)


def inner_weight(terms: Terms) -> int:
    """Largest sum of an inner gate."""
    if terms.inner_weight:
        return terms.inner_weight
    return max(31, widest(terms))


def final_weight(terms: Terms) -> int:
    """Largest sum of the last gate."""
    return max(terms.limits.total_weight, widest(terms)) if not terms.inner_weight else terms.limits.total_weight


def alternatives(terms: Terms) -> int:
    """Alternatives of one clause in agreements without assist."""
    return max(terms.alternatives, widest(terms))


def encoded_functions(terms: Terms) -> tuple[str, ...]:
    """The predicates among the functions of the terms."""
    return tuple(name for name in terms.functions if name in PREDICATES)


@lru_cache(maxsize=64)
def block(terms: Terms, features: int, degree: int) -> int:
    """Records evaluated together, a power of two."""
    wanted = 1 << max(0, terms.records - 1).bit_length()
    room = 1 << max(0, (_MOST_FEATURES // max(features, 1)).bit_length() - 1)
    return max(1, min(wanted, room, _MOST_BLOCK * degree // 8192))
