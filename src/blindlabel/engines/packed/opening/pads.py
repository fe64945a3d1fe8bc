"""Pads over the whole ring. Exact arithmetic on residues; knows nothing of SEAL.

A pad P is uniform over Z_q for every coefficient, q being the product of the primes. Added to the first half of a
ciphertext it makes that half uniform, whatever it was. Whoever decrypts gets the content plus σ = round(t·P/q), and
whoever drew P knows σ. By the Chinese remainder theorem P = Σ_i a_i·(q/q_i) with a_i uniform modulo q_i, and
P/q = Σ_i a_i/q_i up to a whole number: σ needs no numbers beyond 64 bits, only long division.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from blindlabel.engines.packed.seal.residues import Residues, uniform

_FRACTION = 56
"""Bits to which t·a/q is worked out behind the point. Two such sums differ from the true one by less than 2^-54, so
that σ is rounded the wrong way with probability below 2^-54 a coefficient.
"""


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
