"""Plaintexts that are the same for all records of a batch, and their products with many ciphertexts at once.

A row of slots holds what belongs to one record side by side, record after record: column (row, place) of record j
stands in slot j·period + place of that row, with period = stride / 2. Values that are the same for all records are
periodic, which makes their plaintext a polynomial in X^(degree / stride), and its NTT form constant on `stride`
stretches of positions. A sum of products of such plaintexts with ciphertexts is then, on each stretch and for each
prime, a product of clear matrices, which `matrices` takes by BLAS. Nothing is encoded by SEAL.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.seal import matrices
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Ring

_MOST_PATTERNS = 1 << 23
"""Values of patterns that are transformed at a time; each takes some 60 bytes meanwhile."""


def in_slots(layout: RecordLayout, values: Residues) -> Residues:
    """values[record, column] as slots."""
    return values.reshape(layout.block, 2, layout.stride // 2).transpose(1, 0, 2).reshape(-1).copy()


def from_slots(layout: RecordLayout, slots: Residues) -> Residues:
    """The inverse: [record, column]."""
    return slots.reshape(2, layout.block, layout.stride // 2).transpose(1, 0, 2).reshape(layout.block, layout.stride)


def sums(ring: Ring, layout: RecordLayout, patterns: Residues, words: Residues) -> Residues:
    """Σ_inner pattern · ciphertext for every row: patterns[row, inner, column] times words[inner, part, prime,
    position], as words [row, part, prime, position].
    """
    size = max(1, _MOST_PATTERNS // max(1, patterns[0].size))
    parts = [patterns[start : start + size] for start in range(0, patterns.shape[0], size)]
    return np.concatenate([_sums(ring, layout, part, words) for part in parts])


def _sums(ring: Ring, layout: RecordLayout, patterns: Residues, words: Residues) -> Residues:
    rows, inner, stride = patterns.shape
    stretch = ring.degree // stride
    signed = _coefficients(ring, layout, patterns.reshape(rows * inner, stride))
    result = np.empty((rows, 2, len(ring.primes), ring.degree), dtype=np.uint64)
    for index, prime in enumerate(ring.primes):
        transform = matrices.right_digits(_transform(ring, layout)[index], prime)
        values = matrices.product([signed], transform, prime).reshape(rows, inner, stride)
        left = [np.ascontiguousarray(digit.transpose(2, 0, 1)) for digit in matrices.left_digits(values, prime)]
        for part in range(stride):
            positions = slice(part * stretch, (part + 1) * stretch)
            right = matrices.right_digits(words[:, :, index, positions].reshape(inner, 2 * stretch), prime)
            made = matrices.product([digit[part] for digit in left], right, prime)
            result[:, :, index, positions] = made.reshape(rows, 2, stretch)
    return result


def _coefficients(ring: Ring, layout: RecordLayout, patterns: Residues) -> matrices.Doubles:
    """The coefficients of X^(degree/stride), as SEAL lifts a plaintext: the smaller, the less noise."""
    made = matrices.product(
        matrices.left_digits(patterns, ring.modulus),
        matrices.right_digits(_encoding(ring, layout), ring.modulus),
        ring.modulus,
    ).astype(np.float64)
    made[made > ring.modulus // 2] -= ring.modulus
    return made


@lru_cache(maxsize=8)
def _encoding(ring: Ring, layout: RecordLayout) -> Residues:
    """The matrix from periodic slots [column] to those coefficients: asked of SEAL, one column at a time."""
    step = ring.degree // layout.stride
    rows = []
    for column in range(layout.stride):
        pattern = np.zeros((layout.block, layout.stride), dtype=np.uint64)
        pattern[:, column] = 1
        coefficients = ring.read_polynomial(ring.slots(in_slots(layout, pattern)))
        assert not np.delete(coefficients.reshape(layout.stride, step), 0, axis=1).any()
        rows.append(coefficients[::step])
    return np.stack(rows)


@lru_cache(maxsize=8)
def _transform(ring: Ring, layout: RecordLayout) -> Residues:
    """For each prime the matrix from those coefficients to the constants of the NTT form's stretches: powers of a root
    of unity.
    """
    stride, bits = layout.stride, layout.stride.bit_length() - 1
    turned = np.array([int(f"{part:0{bits}b}"[::-1], 2) if bits else 0 for part in range(stride)])
    exponents = np.arange(stride)[:, None] * (2 * turned + 1)[None, :] % (2 * stride)
    result = np.empty((len(ring.primes), stride, stride), dtype=np.uint64)
    for index, prime in enumerate(ring.primes):
        root = pow(ring.root(prime), ring.degree // stride, prime)
        powers = [1]
        for _ in range(2 * stride - 1):
            powers.append(powers[-1] * root % prime)
        result[index] = np.array(powers, dtype=np.uint64)[exponents]
    return result
