"""Answers for a key holder who is not trusted with them: randomness of both sides, and a pad over the whole ring.

**Mixing.** Y is zero if a question's points are reached, V where an exclusion holds, W where an exception to it
does. The records' owner sends encryptions of r, uniform in every slot, one for each value that leaves; the asker adds ρ
of its own, and with a = r₁ + ρ₁ and so on computes

    y' = a·Y        v' = b·Y + a·V        w' = c·Y + b·V + a·W

Y ≠ 0: all of them are uniform. Y = 0 ≠ V: y' is zero, v' and w' are uniform. Y = V = 0: w' is zero exactly where W is.
So there are four outcomes and nothing else to see. Without the r, the asker could, with the coordinator's help, try
candidate records against the answers.

**Padding.** A result is switched down to two primes; there (p0·u + e1, p1·u + e2) with fresh u, e1, e2 is added, and P,
uniform over the whole ring, to the first half. Whatever the key holder put into its keys and records,

- the first half is exactly uniform and independent of everything else, because P is;
- the second half is c1 + p1·u + e2 with p1 expanded from a seed, an RLWE sample with the secret u: computationally
  uniform, whatever c1 is.

So no estimate of noise is needed for privacy. An honest key holder, whose (p0, p1) encrypts zero, decrypts the content
plus σ = round(t·P/q), which the asker keeps. The noise only has to leave rounding alone: see
docs/explanation/packed-engine.md.

**Pads.** A pad P is uniform over Z_q for every coefficient, q being the product of the primes. By the Chinese remainder
theorem P = Σ_i a_i·(q/q_i) with a_i uniform modulo q_i, and P/q = Σ_i a_i/q_i up to a whole number: σ needs no numbers
beyond 64 bits, only long division.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from blindlabel.engines.packed.planning.noise import MIXED, PADDED
from blindlabel.engines.packed.residues import Residues, uniform
from blindlabel.engines.packed.seal.holders import Encryptor, KeyHolder
from blindlabel.engines.packed.seal.ring import Cipher, Ring

_FRACTION = 56
"""Bits to which t·a/q is worked out behind the point. Two such sums differ from the true one by less than 2^-54, so
that σ is rounded the wrong way with probability below 2^-54 a coefficient.
"""

# -- randomness of both sides


def shares(holder: KeyHolder, values: int) -> list[bytes]:
    """The records' owner's side: fresh uniform values in every slot, encrypted, one for each value of a pair."""
    ring = holder.ring
    made = []
    for _ in range(values):
        # Uniform coefficients are uniform slots.
        content = scaled(uniform(ring.degree, ring.modulus), ring.primes[:MIXED], ring.modulus)
        made.append(holder.seeded_zero(MIXED, plus=content))
    return made


def mixed(ring: Ring, results: Sequence[Cipher], received: Sequence[bytes], relinearisation: Any) -> list[Cipher]:
    """The asker's side: (Y, V, W), or as many of them as there are, become (y', v', w')."""
    factors = [_with_own(ring, share) for share in received]
    return combined(ring, [ring.switched(result, MIXED) for result in results], factors, relinearisation)


def combined(ring: Ring, results: Sequence[Cipher], factors: Sequence[Cipher], relinearisation: Any) -> list[Cipher]:
    """The formulas above, with the factors as they are."""
    answers = []
    for value in range(len(results)):
        total = ring.product(factors[value], results[0])
        for place in range(1, value + 1):
            ring.add_into(total, ring.product(factors[value - place], results[place]))
        answers.append(ring.relinearised(total, relinearisation))
    return answers


def _with_own(ring: Ring, share: bytes) -> Cipher:
    own = ring.polynomial(uniform(ring.degree, ring.modulus))
    return ring.add_plain(ring.load_seeded(share, MIXED), own)


# -- the pad


@dataclass(frozen=True, eq=False)
class Padded:
    """What leaves, and what the asker keeps."""

    cipher: bytes
    pad: Residues
    """σ, slot by slot."""


def padded(encryptor: Encryptor, result: Cipher) -> Padded:
    """A result as it may leave. Everything random is drawn here and used once."""
    ring, form = encryptor.ring, encryptor.ring.form(PADDED)
    primes = form.rows.primes
    pad = draw(primes, ring.degree, ring.modulus)
    words = ring.residues(ring.switched(result, PADDED)) + encryptor.zero_residues(PADDED)
    words[0] += pad.residues
    words %= np.array(primes, dtype=np.uint64)[None, :, None]
    cipher = b"".join(form.rows.write(half) for half in words)
    return Padded(cipher, ring.read_slots(ring.polynomial(pad.content)))


@dataclass(frozen=True, eq=False)
class Pad:
    """One pad: `residues`[prime, position] to add to a ciphertext, and `content`[position], what it adds to the plain
    one.
    """

    residues: Residues
    content: Residues


def draw(primes: tuple[int, ...], degree: int, modulus: int) -> Pad:
    """A pad that is used once."""
    whole = prod(primes)
    residues = np.empty((len(primes), degree), dtype=np.uint64)
    total, behind = np.zeros(degree, dtype=np.uint64), np.zeros(degree, dtype=np.uint64)
    for row, prime in zip(residues, primes, strict=True):
        share = uniform(degree, prime)
        row[:] = times(share, whole // prime % prime, prime)
        before, fraction = divided(share, modulus, prime)
        total += before
        behind += fraction
    rounded = (behind + np.uint64(1 << (_FRACTION - 1))) >> np.uint64(_FRACTION)
    return Pad(residues, (total + rounded) % np.uint64(modulus))


def times(values: Residues, constant: int, prime: int) -> Residues:
    """values·constant modulo a prime below 2^60, by digits of the constant that fit beside the prime in a word."""
    room = 64 - prime.bit_length()
    result = np.zeros_like(values)
    for place in reversed(range(0, constant.bit_length(), room)):
        digit = np.uint64((constant >> place) & ((1 << room) - 1))
        result = (result << np.uint64(room)) % np.uint64(prime) + values * digit % np.uint64(prime)
        result = np.where(result >= prime, result - np.uint64(prime), result)
    return result


def divided(values: Residues, factor: int, prime: int) -> tuple[Residues, Residues]:
    """values·factor/prime: the whole number and `_FRACTION` bits behind the point. Long division, digit by digit."""
    room = 64 - prime.bit_length()
    whole, rest = np.zeros_like(values), np.zeros_like(values)
    for place in reversed(range(0, factor.bit_length(), room)):
        digit = np.uint64((factor >> place) & ((1 << room) - 1))
        first, rest = np.divmod(rest << np.uint64(room), np.uint64(prime))
        second, more = np.divmod(values * digit, np.uint64(prime))
        rest += more
        carry = rest >= prime
        rest = np.where(carry, rest - np.uint64(prime), rest)
        whole = (whole << np.uint64(room)) + first + second + carry
    fraction = np.zeros_like(values)
    left = _FRACTION
    while left:
        step = np.uint64(min(room, left))
        digits, rest = np.divmod(rest << step, np.uint64(prime))
        fraction = (fraction << step) + digits
        left -= int(step)
    return whole, fraction


def scaled(values: Residues, primes: tuple[int, ...], modulus: int) -> Residues:
    """round(q·value/t) modulo each prime: values modulo t as SEAL puts them into the first half of a ciphertext."""
    whole = prod(primes)
    rounded = (values * np.uint64(whole % modulus) + np.uint64((modulus + 1) // 2)) // np.uint64(modulus)
    return np.stack([(times(values, whole // modulus % prime, prime) + rounded) % np.uint64(prime) for prime in primes])
