"""Products of matrices modulo primes below 2^60, with the floating-point matrix product of the machine (BLAS), exactly.

Both factors are cut into digits. A product of two digit matrices stays within 2^53, where doubles are exact, as long as
the inner dimension is at most `_Digits.longest` (longer ones are cut). Primes of up to 56 bits take two digits by
three, larger ones three by three, of the same width on both sides. The digits' products S are then put together as
Σ S·c modulo the prime with constants c: the quotient is estimated in doubles, where it is off by less than 128 (by less
than 6 for the larger primes, where the S are below 5·2^50 together), and the rest is taken in 64-bit words that may
overflow on the way, since only their lowest 64 bits count. Ten times as fast as multiplying word by word. Knows nothing
of encryption.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.residues import Residues

Doubles = npt.NDArray[np.float64]

MOST_BITS = 60
"""Bits of a prime, at most."""
_TWO = ((0, 1), (0, 2), (1, 2))
"""The sums of two of three digits."""
_ROWS, _COLUMNS = 96, 256
"""Results are put together in pieces that stay in the processor's cache."""


@dataclass(frozen=True)
class _Digits:
    """How factors modulo a prime are cut: bits of a digit, and the longest inner dimension that is exact."""

    left: int
    right: int
    longest: int


def _digits(prime: int) -> _Digits:
    """Digits are signed, so at most half their range, but the highest one on the right: 26 + 18 + 9 bits are 53 for
    primes of 54 bits, 27 + 18 and something + 8 for those of 56. For larger ones sums of two digits are below 2^20 and
    3·2^19, which would do for 4,096; a quarter of that leaves the quotient's error room in 64-bit words.
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
    if left[0].ndim == 2:
        alone: Residues = product([digit[None] for digit in left], [digit[None] for digit in right], prime)[0]
        return alone
    stack, rows, inner = left[0].shape
    columns, longest = right[0].shape[2], _digits(prime).longest
    sums = _TWO if len(left) == len(right) == 3 else ()  # made of a piece, where they stay in the cache
    result = np.zeros((stack, rows, columns), dtype=np.int64)
    for start in range(0, inner, longest):
        part = slice(start, start + longest)
        for layers, others in _pieces(stack, rows, columns):
            other = _with_sums([digit[layers, part, others] for digit in right], sums)
            for top in range(0, rows, _ROWS):
                some = slice(top, top + _ROWS)
                own = _with_sums([digit[layers, some, part] for digit in left], sums)
                result[layers, some, others] += _piece(own, other, prime)
        if start:
            result %= prime
    return result.view(np.uint64)


def _with_sums(digits: list[Doubles], of: Sequence[tuple[int, int]]) -> list[Doubles]:
    return digits + [digits[i] + digits[j] for i, j in of]


def _pieces(stack: int, rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Layers and columns of a stack of results, this many that a piece of them stays in the cache."""
    height, width = min(rows, _ROWS), min(columns, _COLUMNS)
    together = max(1, _ROWS * _COLUMNS // max(1, height * width))
    for layer in range(0, stack, together):
        for first in range(0, columns, width):
            yield slice(layer, layer + together), slice(first, first + width)


def _piece(left: Sequence[Doubles], right: Sequence[Doubles], prime: int) -> npt.NDArray[np.int64]:
    shape = (*left[0].shape[:2], right[0].shape[2])
    summands = list(_summands(left, right, prime))
    exact, rest = np.empty((len(summands), *shape)), np.zeros(shape, dtype=np.int64)
    for made, (one, other, constant) in zip(exact, summands):
        np.matmul(one, other, out=made)
        words = made.astype(np.int64)
        words *= constant
        rest += words
    shares = np.array([constant / prime for _, _, constant in summands])
    words = (shares @ exact.reshape(len(summands), -1)).reshape(shape).astype(np.int64)  # the quotient
    words *= prime
    rest -= words
    np.floor_divide(rest, prime, out=words)  # a third of the time that a remainder takes
    words *= prime
    rest -= words
    return rest


def _summands(left: Sequence[Doubles], right: Sequence[Doubles], prime: int) -> Iterator[tuple[Doubles, Doubles, int]]:
    """Matrices of digits, and what their product counts for. Three digits by three take six products instead of nine
    (Karatsuba): a_i·b_j + a_j·b_i = (a_i + a_j)·(b_i + b_j) − a_i·b_i − a_j·b_j.
    """
    widths = _digits(prime)
    if len(left) == len(right) == 3 + len(_TWO):
        power = [pow(2, widths.left * place, prime) for place in range(5)]
        own = [power[2 * place] - sum(power[i + j] for i, j in _TWO if place in (i, j)) for place in range(3)]
        for one, other, constant in zip(left, right, [*own, *(power[i + j] for i, j in _TWO)]):
            yield one, other, constant % prime
        return
    width = widths.right if len(right) == 1 else widths.left
    for (i, one), (j, other) in itertools.product(enumerate(left), enumerate(right)):
        yield one, other, pow(2, width * i + widths.right * j, prime)
