"""Plaintexts that are the same for all records of a batch, and their products with many ciphertexts at once.

What belongs to one record stands side by side, record after record: column c of record j in slot j·stride + c, half of
the records in either row of slots. Values that are the same for all records are periodic, and the same in both rows.
That makes their plaintext a polynomial in Y = X^(degree / 2·stride), where Y^(2·stride) = -1, which Y -> 1/Y leaves
alone: a_0 + Σ a_i·(Y^i + 1/Y^i), i below stride. Its NTT form is constant on 2·stride stretches of positions, and the
same on the first and the last, the second and the last but one, and so on. A sum of products of such plaintexts with
ciphertexts is then, on each pair of stretches and for each prime, a product of clear matrices, which `matrices` takes
by BLAS, or all of this `native`. Nothing is encoded by SEAL.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.running import native
from blindlabel.engines.packed.seal import matrices
from blindlabel.engines.packed.seal.ring import Ring

_MOST_PATTERNS = 1 << 23
"""Values of patterns that are transformed at a time; each takes some 60 bytes meanwhile."""
_MOST_RIGHT = 1 << 18
"""Words of ciphertexts that are cut into digits at a time."""
_PIECE = 256
"""Patterns that are transformed and cut into digits at a time."""


def sums(ring: Ring, layout: RecordLayout, patterns: Residues, words: Residues) -> Residues:
    """Σ_inner pattern · ciphertext for every row: patterns[row, inner, column] times words[inner, part, prime,
    position], as words [row, part, prime, position]. Words of a lower level have fewer primes.
    """
    size = max(1, _MOST_PATTERNS // max(1, patterns[0].size))
    kernel = native.kernel() if native.fits(words, layout.stride) else None
    result = np.zeros((patterns.shape[0], *words.shape[1:]), dtype=np.uint64)
    for start in range(0, patterns.shape[0], size):
        part, place = patterns[start : start + size], result[start : start + size]
        if kernel is None:
            place[...] = by_numpy(ring, layout, part, words)
        else:
            kernel.add_sums(ring, part, words, place)
    return result


def by_numpy(ring: Ring, layout: RecordLayout, patterns: Residues, words: Residues) -> Residues:
    """The same without the library."""
    rows, inner, stride = patterns.shape
    primes = ring.primes[: words.shape[2]]
    signed = _coefficients(ring, layout, patterns.reshape(rows * inner, stride))
    stretches = words.reshape(inner, 2, len(primes), 2 * stride, -1)
    result = np.empty((rows, *stretches.shape[1:]), dtype=np.uint64)
    together = max(1, _MOST_RIGHT // (inner * 2 * words.shape[3] // stride))
    for index, prime in enumerate(primes):
        left = _left(signed, _transform(ring, layout)[index], prime).reshape(-1, stride, rows, inner)
        for start in range(0, stride, together):
            parts = np.arange(start, min(start + together, stride))
            both = np.stack([parts, 2 * stride - 1 - parts], axis=1)
            right = np.moveaxis(stretches[:, :, index, both], 2, 0).reshape(len(parts), inner, -1)
            made = matrices.product(list(left[:, start : start + together]), matrices.right_digits(right, prime), prime)
            result[:, :, index, both] = np.moveaxis(made.reshape(len(parts), rows, 2, 2, -1), 0, 2)
    return result.reshape(rows, *words.shape[1:])


def _left(signed: matrices.Doubles, transform: Residues, prime: int) -> matrices.Doubles:
    """The constants of all patterns as digits [digit, stretch, pattern], made in pieces that stay in the cache. Two
    neighbouring stretches belong to Y and −Y, where even powers are the same and odd ones have the other sign, so
    either kind is summed up for every other stretch alone.
    """
    kinds = [(np.ascontiguousarray(signed[:, odd::2]), transform[odd::2, 0::2].T) for odd in (0, 1)]
    left = [matrices.right_digits(matrix, prime) for _, matrix in kinds]
    p = np.uint64(prime)
    found: matrices.Doubles | None = None
    for start in range(0, signed.shape[0], _PIECE):
        even, odd = (
            matrices.product(digits, [powers[start : start + _PIECE].T], prime)
            for (powers, _), digits in zip(kinds, left)
        )
        values = np.empty((signed.shape[1], even.shape[1]), dtype=np.uint64)
        values[0::2] = _reduced(even + odd, p)
        values[1::2] = _reduced(even + (p - odd), p)
        made = matrices.left_digits(values, prime)
        found = np.empty((len(made), *signed.shape[::-1])) if found is None else found
        for place, digit in zip(found, made):
            place[:, start : start + _PIECE] = digit
    assert found is not None
    return found


def _reduced(values: Residues, prime: np.uint64) -> Residues:
    """Values below twice the prime, below the prime."""
    found: Residues = np.minimum(values, values - prime)  # what is negative wraps around and is large
    return found


def _coefficients(ring: Ring, layout: RecordLayout, patterns: Residues) -> matrices.Doubles:
    """The coefficients a_i, as SEAL lifts a plaintext: the smaller, the less noise."""
    made = matrices.product(
        matrices.left_digits(patterns, ring.modulus),
        matrices.right_digits(_encoding(ring, layout), ring.modulus),
        ring.modulus,
    ).astype(np.float64)
    made[made > ring.modulus // 2] -= ring.modulus
    return made


def _both_powers(root: int, order: int, exponents: npt.NDArray[np.int64], modulus: int) -> Residues:
    """root^e + root^-e for every exponent, root being of this order."""
    powers = [1]
    for _ in range(order - 1):
        powers.append(powers[-1] * root % modulus)
    table = np.array(powers, dtype=np.uint64)
    return (table[exponents % order] + table[-exponents % order]) % np.uint64(modulus)


@lru_cache(maxsize=8)
def _encoding(ring: Ring, layout: RecordLayout) -> Residues:
    """The matrix from periodic slots [column] to those coefficients. Slot c is the value at Y = root^(3^c), and the
    inverse of that is a sum over all odd powers of the root: (root^(i·3^c) + root^(-i·3^c)) / 2·stride.
    """
    stride, t = layout.stride, ring.modulus
    root = pow(ring.root(t), ring.degree // (2 * stride), t)
    turned = np.array([pow(3, column, 4 * stride) for column in range(stride)])
    both = _both_powers(root, 4 * stride, turned[:, None] * np.arange(stride)[None, :], t)
    return both * np.uint64(pow(2 * stride, -1, t)) % np.uint64(t)


@lru_cache(maxsize=8)
def _transform(ring: Ring, layout: RecordLayout) -> Residues:
    """For each prime the matrix from those coefficients to the constants of the first `stride` stretches: sums of a
    root of unity's powers, Y^i + 1/Y^i.
    """
    stride, bits = layout.stride, layout.stride.bit_length()
    turned = np.array([int(f"{part:0{bits}b}"[::-1], 2) for part in range(stride)])
    exponents = np.arange(stride)[:, None] * (2 * turned + 1)[None, :] % (4 * stride)
    result = np.empty((len(ring.primes), stride, stride), dtype=np.uint64)
    for index, prime in enumerate(ring.primes):
        root = pow(ring.root(prime), ring.degree // (2 * stride), prime)
        result[index] = _both_powers(root, 4 * stride, exponents, prime)
        result[index, 0] = 1
    return result
