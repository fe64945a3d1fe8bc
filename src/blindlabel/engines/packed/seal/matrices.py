"""Products of matrices modulo primes below 2^60, with the floating-point matrix product of the machine (BLAS), exactly.

Both factors are cut into digits. A product of two digit matrices stays within 2^53, where doubles are exact, as long as
the inner dimension is at most `_Digits.longest` (longer ones are cut). Primes of up to 56 bits take two digits by
three, larger ones three by three, of the same width on both sides. The digits' products S are then put together as
Σ S·c modulo the prime with constants c: the quotient is estimated in doubles, where it is off by less than 128 (by less
than 6 for the larger primes, where the S are below 9·2^50 together), and the rest is taken in 64-bit words that may
overflow on the way, since only their lowest 64 bits count. Ten times as fast as multiplying word by word. Knows nothing
of encryption.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.residues import Residues

Doubles = npt.NDArray[np.float64]

MOST_BITS = 60
"""Bits of a prime, at most."""


@dataclass(frozen=True)
class _Digits:
    """How factors modulo a prime are cut: bits of a digit, and the longest inner dimension that is exact."""

    left: int
    right: int
    longest: int


def _digits(prime: int) -> _Digits:
    """Digits are signed, so at most half their range, but the highest one on the right: 26 + 18 + 9 bits are 53 for
    primes of 54 bits, 27 + 18 and something + 8 for those of 56. For larger ones products are below 2^40,
    which would do for 8,192; an eighth of that leaves the quotient's error room in 64-bit words.
    """
    bits = prime.bit_length()
    return _Digits(27, 18, 512) if bits <= 54 else _Digits(28, 19, 240) if bits <= 56 else _Digits(20, 20, 1024)


def left_digits(values: Residues, prime: int) -> list[Doubles]:
    """Values modulo the prime as signed digits, lowest first."""
    width = _digits(prime).left
    rest = values.astype(np.int64)
    rest -= np.where(rest > prime // 2, prime, 0)
    digits = []
    for _ in range(-(-prime.bit_length() // width) - 1):
        higher = (rest + (1 << (width - 1))) >> width
        digits.append((rest - (higher << width)).astype(np.float64))
        rest = higher
    return [*digits, rest.astype(np.float64)]


def right_digits(values: Residues, prime: int) -> list[Doubles]:
    """Values modulo the prime as digits, lowest first, signed but for the highest."""
    width = _digits(prime).right
    count = -(-prime.bit_length() // width)
    half, mask = 1 << (width - 1), np.uint64((1 << width) - 1)
    moved = values + np.uint64(sum(half << (width * place) for place in range(count - 1)))
    digits = [((moved >> np.uint64(width * place)) & mask).astype(np.float64) for place in range(count - 1)]
    lower = [np.subtract(digit, half, out=digit) for digit in digits]
    return [*lower, (moved >> np.uint64(width * (count - 1))).astype(np.float64)]


def product(left: Sequence[Doubles], right: Sequence[Doubles], prime: int) -> Residues:
    """left · right modulo the prime, both given in digits; matrices, or stacks of as many matrices on both sides. Small
    values (as a plaintext's coefficients are) may be one digit on either side; the other is then `right_digits`.
    """
    if prime.bit_length() > MOST_BITS:
        raise ValueError(f"a prime of {prime.bit_length()} bits, where {MOST_BITS} are exact")
    longest = _digits(prime).longest
    result = np.zeros((*left[0].shape[:-1], right[0].shape[-1]), dtype=np.int64)
    for start in range(0, left[0].shape[-1], longest):
        part = slice(start, start + longest)
        result += _piece([digit[..., part] for digit in left], [digit[..., part, :] for digit in right], prime)
        if start:
            result %= prime
    return result.view(np.uint64)


def _piece(left: Sequence[Doubles], right: Sequence[Doubles], prime: int) -> npt.NDArray[np.int64]:
    widths = _digits(prime)
    width = widths.right if len(right) == 1 else widths.left
    quotient, rest = np.zeros(()), np.zeros((), dtype=np.int64)
    for (i, one), (j, other) in itertools.product(enumerate(left), enumerate(right)):
        exact, constant = one @ other, pow(2, width * i + widths.right * j, prime)
        quotient = quotient + exact * (constant / prime)
        rest = rest + exact.astype(np.int64) * constant
    rest -= quotient.astype(np.int64) * prime
    rest -= rest // prime * prime  # a third of the time that a remainder takes
    return rest
