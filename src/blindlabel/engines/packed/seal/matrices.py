"""Products of matrices modulo primes below 2^60, with the floating-point matrix product of the machine (BLAS), exactly.

The left factor is cut into signed digits, the right one into unsigned ones. A product of two digit matrices stays
within 2^53, where doubles are exact, as long as the inner dimension is at most 512 (longer ones are cut). Primes of up
to 54 bits take two digits of 27 bits and three of 18, larger ones three of 20 each. The digits' products S are then put
together as Σ S·c modulo the prime with constants c: the quotient is estimated in doubles, where it is off by less than
128, and the rest is taken in 64-bit words that may overflow on the way, since only their lowest 64 bits count. Ten
times as fast as multiplying word by word. Knows nothing of encryption.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.seal.residues import Residues

Doubles = npt.NDArray[np.float64]

MOST_BITS = 60
"""Bits of a prime, at most."""
_TWO_DIGITS = 54
"""Bits up to which a left factor takes two digits."""
_LONGEST = 512
_ROWS, _COLUMNS = 64, 512
"""Results are put together in pieces that stay in the processor's cache."""


def _widths(prime: int) -> tuple[int, int]:
    """Bits of a left and of a right digit. A left digit is at most half its range, so 26 + 18 + 9 bits of the inner
    dimension are 53, and 19 + 20 + 9 are less.
    """
    return (27, 18) if prime.bit_length() <= _TWO_DIGITS else (20, 20)


def left_digits(values: Residues, prime: int) -> list[Doubles]:
    """Values modulo the prime as signed digits, lowest first."""
    width = _widths(prime)[0]
    rest = values.astype(np.int64)
    rest -= np.where(rest > prime // 2, prime, 0)
    digits = []
    for _ in range(-(-prime.bit_length() // width) - 1):
        higher = (rest + (1 << (width - 1))) >> width
        digits.append((rest - (higher << width)).astype(np.float64))
        rest = higher
    return [*digits, rest.astype(np.float64)]


def right_digits(values: Residues, prime: int) -> list[Doubles]:
    """Values modulo the prime as unsigned digits, lowest first."""
    width = _widths(prime)[1]
    mask = np.uint64((1 << width) - 1)
    places = range(-(-prime.bit_length() // width))
    return [((values >> np.uint64(width * place)) & mask).astype(np.float64) for place in places]


def product(left: list[Doubles], right: list[Doubles], prime: int) -> Residues:
    """left · right modulo the prime, both given in digits."""
    if prime.bit_length() > MOST_BITS:
        raise ValueError(f"a prime of {prime.bit_length()} bits, where {MOST_BITS} are exact")
    rows, inner = left[0].shape
    columns = right[0].shape[1]
    result = np.zeros((rows, columns), dtype=np.int64)
    for start in range(0, inner, _LONGEST):
        part = slice(start, min(start + _LONGEST, inner))
        for top in range(0, rows, _ROWS):
            some = slice(top, min(top + _ROWS, rows))
            own = [digit[some, part] for digit in left]
            for first in range(0, columns, _COLUMNS):
                place = (some, slice(first, min(first + _COLUMNS, columns)))
                result[place] += _piece(own, [digit[part, place[1]] for digit in right], prime)
        if start:
            result %= prime
    return result.view(np.uint64)


def _piece(left: list[Doubles], right: list[Doubles], prime: int) -> npt.NDArray[np.int64]:
    shape = (left[0].shape[0], right[0].shape[1])
    exact, scaled, quotient = np.empty(shape), np.empty(shape), np.zeros(shape)
    words, rest = np.empty(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    left_width, right_width = _widths(prime)
    for j, low in enumerate(right):
        for i, high in enumerate(left):
            constant = pow(2, left_width * i + right_width * j, prime)
            np.matmul(high, low, out=exact)
            np.multiply(exact, constant / prime, out=scaled)
            quotient += scaled
            words[...] = exact
            words *= constant
            rest += words
    words[...] = quotient
    words *= prime
    rest -= words
    rest %= prime
    return rest
