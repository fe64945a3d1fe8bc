"""The randomness of answers comes from both sides, so that neither asker nor records' owner knows it alone.

y is zero where a question's points are reached, v where an exclusion holds. The records' owner sends encryptions of
r1, r2, r3, uniform in every slot, and the asker, with α, ρ', ρ'' of its own, computes

    y' = (r1 + α)·y        v' = (r2 + ρ'')·v + (r3 + ρ')·y

y' is zero where y is, else uniform. Where y is not zero, v' is uniform and says nothing; where it is, v' is zero where
v is, else uniform. Without the r, the asker could, with the coordinator's help, try candidate records against the
answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blindlabel.engines.packed.opening import pads
from blindlabel.engines.packed.seal.holders import KeyHolder
from blindlabel.engines.packed.seal.residues import uniform
from blindlabel.engines.packed.seal.ring import Cipher, Ring

LEVEL = 3
"""Primes at which the last products are taken: enough for them and for the pad."""


def share_count(values: int) -> int:
    """Ciphertexts of randomness that go with one ciphertext of pairs: for y alone one, with v three."""
    return 1 if values == 1 else 3


def shares(holder: KeyHolder, count: int) -> list[bytes]:
    """The records' owner's side: fresh uniform values in every slot, encrypted."""
    ring = holder.ring
    made = []
    for _ in range(count):
        # Uniform coefficients are uniform slots.
        content = pads.scaled(uniform(ring.degree, ring.modulus), ring.primes[:LEVEL], ring.modulus)
        made.append(holder.seeded_zero(LEVEL, plus=content))
    return made


def mixed(ring: Ring, results: Sequence[Cipher], received: Sequence[bytes], relinearisation: Any) -> list[Cipher]:
    """The asker's side: (y,) becomes (y',), and (y, v) becomes (y', v')."""
    factors = [_with_own(ring, share) for share in received]
    return combined(ring, [ring.switched(result, LEVEL) for result in results], factors, relinearisation)


def combined(ring: Ring, results: Sequence[Cipher], factors: Sequence[Cipher], relinearisation: Any) -> list[Cipher]:
    """The two formulas above, with the factors as they are."""
    y, *rest = results
    answers = [ring.multiply(factors[0], y, relinearisation)]
    if rest:
        both = ring.add(ring.product(factors[1], rest[0]), ring.product(factors[2], y))
        answers.append(ring.relinearised(both, relinearisation))
    return answers


def _with_own(ring: Ring, share: bytes) -> Cipher:
    own = ring.polynomial(uniform(ring.degree, ring.modulus))
    return ring.add_plain(ring.load_seeded(share, LEVEL), own)
