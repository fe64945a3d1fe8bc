"""Polynomials of masked values: how the assist answers without learning anything, and how the owner uses the answer.

The owner adds a uniform pad π to an encrypted value v. The coordinator sees u = v + π, which is uniform, and returns
fresh encryptions of functions of u. Since the owner knows π in clear, what it wants of v is *linear* in what comes
back:

- is v = 0 in the large field? Iff u and π have the same bits; from the encrypted bits of u the owner adds up in how
  many places they differ: Σ_i π_i + (1 − 2·π_i)·u_i, a number from 0 to the bit length;
- any function f on 0..d: a polynomial of degree d, so f(v) = f(u − π) = Σ_k c_k(π)·u^k with coefficients known in
  clear. From the encrypted powers u, u^2, …, u^d that is one linear combination.

No product of ciphertexts is ever taken. This module is the clear arithmetic of both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.seal import residues
from blindlabel.engines.packed.seal.residues import Residues

BIT_MODULUS = 65537
"""Plaintext modulus of the ring for bits: the smallest prime with as many slots as coefficients."""
_P = np.uint64(BIT_MODULUS)


def bits(values: Residues, count: int) -> Residues:
    """The bits of values, lowest first: one row a bit."""
    return (values[None, :] >> np.arange(count, dtype=np.uint64)[:, None]) & np.uint64(1)


def signs(pad_bits: Residues) -> Residues:
    """1 − 2·bit, modulo the bit ring's modulus: the weights of the encrypted bits in the number of differences."""
    return np.where(pad_bits == 1, _P - np.uint64(1), np.uint64(1)).astype(np.uint64)


def all_powers(values: Residues, degree: int) -> Residues:
    """values^1 … values^degree: one row a power."""
    result = np.empty((degree, values.size), dtype=np.uint64)
    result[0] = values
    for k in range(1, degree):
        result[k] = result[k - 1] * values % _P
    return result


@lru_cache(maxsize=16)
def _lagrange(degree: int) -> npt.NDArray[np.float64]:
    """The matrix from values at 0..degree to coefficients, lowest first."""
    points = np.arange(degree + 1)
    columns = []
    for j in range(degree + 1):
        polynomial = [1]
        bottom = 1
        for other in points.tolist():
            if other == j:
                continue
            polynomial = [(a - other * b) % BIT_MODULUS for a, b in zip([0, *polynomial], [*polynomial, 0])]
            bottom = bottom * (j - other) % BIT_MODULUS
        scale = pow(bottom, -1, BIT_MODULUS)
        columns.append([c * scale % BIT_MODULUS for c in polynomial])
    return np.array(columns, dtype=np.float64).T


def coefficients(tables: Sequence[Sequence[bool]], degree: int) -> npt.NDArray[np.float64]:
    """One column a table: coefficients of the polynomial of this degree that is 1 where the table accepts and 0 where
    not (also beyond it).
    """
    values = np.zeros((degree + 1, len(tables)))
    for column, table in enumerate(tables):
        values[: len(table), column] = table
    return np.asarray((_lagrange(degree) @ values) % BIT_MODULUS)  # 17 bits times bits, a few hundred of them: exact


def shifted(polynomials: npt.NDArray[np.float64], pads: Residues) -> Residues:
    """Coefficients in u of f(u − pad): for polynomial column q and pads[q, :] an array [coefficient, q, pad].

    c_k = 1/k! · Σ_j (k+j)!·f_(k+j) · (−π)^j/j!, a product of small matrices; products of 17-bit numbers, a few hundred
    added up, are exact in doubles.
    """
    degree = polynomials.shape[0] - 1
    factorial = np.ones(degree + 1, dtype=np.uint64)
    for k in range(1, degree + 1):
        factorial[k] = factorial[k - 1] * np.uint64(k) % _P
    inverse = residues.inverse(factorial, BIT_MODULUS)
    scaled = (polynomials.astype(np.uint64) * factorial[:, None] % _P).astype(np.float64)
    negative = (_P - pads) % _P
    powers = np.empty((degree + 1, *pads.shape), dtype=np.float64)
    current = np.ones_like(pads)
    for j in range(degree + 1):
        powers[j] = current * inverse[j] % _P
        current = current * negative % _P
    result = np.empty((degree + 1, *pads.shape), dtype=np.uint64)
    hankel = np.zeros((degree + 1, degree + 1))
    for q in range(pads.shape[0]):
        for k in range(degree + 1):
            hankel[k, : degree + 1 - k] = scaled[k:, q]
        product = hankel @ powers[:, q, :]
        result[:, q, :] = (product % BIT_MODULUS).astype(np.uint64) * inverse[:, None] % _P
    return result
