"""Products of matrices modulo primes of up to 60 bits, with the floating-point matrix product of the machine (BLAS), exactly.

The left factor is cut into signed digits of 27 bits (30 for larger primes), the right one into unsigned digits of 18 (15); every product
of two digit matrices stays below 2^53, where doubles are exact, as long as the inner dimension is at most 512. Longer ones are cut. That is ten
times faster than multiplying word by word. Knows nothing of encryption.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.arithmetic import Words

Doubles = npt.NDArray[np.float64]

_LONGEST = 512
"""Inner dimension up to which sums of digit products are exact."""


def digit_bits(prime: int) -> tuple[int, int]:
    """Bits of a digit on the left and on the right. A left digit is at most half its range, so both and 9 bits more fit 53."""
    return (27, 18) if prime < 1 << 54 else (30, 15)


def left_digits(values: Words, prime: int) -> tuple[Doubles, Doubles]:
    """Values modulo the prime as low and high signed digits."""
    bits, _ = digit_bits(prime)
    signed = values.astype(np.int64)
    signed -= np.where(signed > prime // 2, prime, 0)
    high = (signed + (1 << (bits - 1))) >> bits
    return (signed - (high << bits)).astype(np.float64), high.astype(np.float64)


def right_digits(values: Words, prime: int) -> list[Doubles]:
    """Values modulo the prime as unsigned digits, lowest first."""
    _, bits = digit_bits(prime)
    count = -(-prime.bit_length() // bits)
    mask = np.uint64((1 << bits) - 1)
    return [((values >> np.uint64(bits * place)) & mask).astype(np.float64) for place in range(count)]


def product(left: tuple[Doubles, Doubles], right: list[Doubles], prime: int) -> Words:
    """left · right modulo the prime, both given in digits."""
    inner = left[0].shape[1]
    total: Words | None = None
    for start in range(0, inner, _LONGEST):
        part = slice(start, min(start + _LONGEST, inner))
        more = _product([digit[:, part] for digit in left], [digit[part] for digit in right], prime)
        total = more if total is None else (total + more) % np.uint64(prime)
    assert total is not None
    return total


def _product(left: list[Doubles], right: list[Doubles], prime: int) -> Words:
    left_bits, right_bits = digit_bits(prime)
    total: npt.NDArray[np.int64] | None = None
    for digit in reversed(right):  # Horner, from the highest digit of the right factor down
        whole = _shifted(_rest(left[1] @ digit, prime), left_bits, prime)
        whole += _rest(left[0] @ digit, prime)
        if total is not None:
            whole += _shifted(total, right_bits, prime)
        total = whole % prime
    assert total is not None
    return total.astype(np.uint64)


def _rest(exact: Doubles, prime: int) -> npt.NDArray[np.int64]:
    return np.asarray(exact.astype(np.int64) % prime)


def _shifted(values: npt.NDArray[np.int64], bits: int, prime: int) -> npt.NDArray[np.int64]:
    """values · 2^bits modulo the prime, in steps that 63 bits can hold."""
    room = 63 - prime.bit_length()
    while bits:
        step = min(bits, room)
        values = (values << step) % prime
        bits -= step
    return values
