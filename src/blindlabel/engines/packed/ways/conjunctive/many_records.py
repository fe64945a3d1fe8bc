"""The linear stage for many records without the assist: the product by diagonals as plain matrix products over the
ciphertexts' words.

*Layout.* A row of slots holds the features of one record side by side, record after record: feature (row, place) of
record j stands in slot j·period + place of that row, with period = stride / 2. So weights that are the same for all
records are periodic, which makes their plaintext a polynomial in X^(degree / stride), and its NTT form constant on
`stride` stretches of positions. A diagonal of weights times all ciphertexts is then, on each stretch, a vector times a
matrix of words; many diagonals of many questions are a matrix product, which `modular` takes by BLAS. Encoding and
transforming a plaintext for every question, feature and batch, which is nearly all the time of `diagonals`, is gone.

*Price.* Masks differ from record to record and are no longer free: they cost one more product with a plaintext, and
with it 24 bits of noise, which a ring of degree 16384 has room for. And rotating by one place carries a record's last
feature to the next record, so there are 2·period − 1 diagonals on each side instead of period (those beyond the record
have weight zero).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.seal import matrices, residues
from blindlabel.engines.packed.seal.holders import Encryptor
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Ring

_MOST_WORDS = 1 << 24
"""Residues of results that are held at a time (128 MB), unless one matrix has more."""


def rotations(ring: Ring, layout: RecordLayout) -> list[int]:
    """The Galois elements that the product needs."""
    period = layout.stride // 2
    return [ring.swap] + ([ring.rotation(1), ring.rotation(1 - period)] if period > 1 else [])


def record_slots(layout: RecordLayout, features: Residues) -> list[Residues]:
    """The slots of a batch's plaintexts."""
    padded = np.zeros((layout.block, layout.chunks * layout.stride), dtype=np.uint64)
    padded[: features.shape[0], : features.shape[1]] = features
    return [in_slots(layout, padded[:, c * layout.stride : (c + 1) * layout.stride]) for c in range(layout.chunks)]


def in_slots(layout: RecordLayout, values: Residues) -> Residues:
    """values[record, question or feature] as slots."""
    return values.reshape(layout.block, 2, layout.stride // 2).transpose(1, 0, 2).reshape(-1).copy()


def from_slots(layout: RecordLayout, slots: Residues) -> Residues:
    """The inverse: [record, question]."""
    return slots.reshape(2, layout.block, layout.stride // 2).transpose(1, 0, 2).reshape(layout.block, layout.stride)


@dataclass(frozen=True, eq=False)
class Opened:
    """A batch's ciphertexts as words: [ciphertext, part, prime, position]."""

    words: Residues


def opened(ring: Ring, items: Sequence[bytes]) -> Opened:
    """The ciphertexts of a batch, checked and transformed."""
    words = np.empty((len(items), 2, ring.parameters.data_primes, ring.degree), dtype=np.uint64)
    for index, item in enumerate(items):
        words[index] = ring.residues(ring.to_ntt(ring.load_cipher(item)))
    return Opened(words)


def products(encryptor: Encryptor, layout: RecordLayout, batch: Opened, weights: Residues, keys: Any) -> list[Cipher]:
    """weights[matrix, question, feature] times the features of all records, one ciphertext a matrix: question q of
    record j in slot (j, q) of `in_slots`. So many matrices as have room are multiplied together.
    """
    size = matrices_together(encryptor.ring, layout)
    parts = [weights[start : start + size] for start in range(0, weights.shape[0], size)]
    return [result for part in parts for result in _products(encryptor, layout, batch, part, keys)]


def matrices_together(ring: Ring, layout: RecordLayout) -> int:
    """Matrices whose products have room in memory at a time."""
    return max(1, _MOST_WORDS // (2 * len(ring.primes) * ring.degree * 2 * (layout.stride - 1)))


def _products(encryptor: Encryptor, layout: RecordLayout, batch: Opened, weights: Residues, keys: Any) -> list[Cipher]:
    ring, matrices, period = encryptor.ring, weights.shape[0], layout.stride // 2
    padded = np.zeros((matrices, layout.stride, layout.chunks * layout.stride), dtype=np.uint64)
    padded[:, :, : weights.shape[2]] = weights
    diagonals = _diagonals(layout, padded.reshape(matrices, layout.stride, layout.chunks, layout.stride))
    count = diagonals.shape[1]
    words = _multiply(ring, layout, batch, diagonals.reshape(matrices * count, layout.chunks, layout.stride))
    results = []
    for index in range(matrices):
        rows = words[index * count : (index + 1) * count]
        same = _horner(encryptor, batch, rows[: 2 * period - 1], keys)
        other = _horner(encryptor, batch, rows[2 * period - 1 :], keys)
        total = ring.add(same, ring.automorphism(other, ring.swap, keys))
        results.append(ring.automorphism(total, ring.rotation(1 - period), keys) if period > 1 else total)
    return results


def _diagonals(layout: RecordLayout, weights: Residues) -> Residues:
    """From [matrix, question, ciphertext, feature] to [matrix, diagonal, ciphertext, feature]: which weight each
    feature gets on each diagonal. First the diagonals of questions in the feature's own row of slots, then those of
    questions in the other row.
    """
    period = layout.stride // 2
    row, place = np.divmod(np.arange(layout.stride), period)
    result = np.zeros((weights.shape[0], 2 * (2 * period - 1), weights.shape[2], layout.stride), dtype=np.uint64)
    for side in (0, 1):
        for step in range(2 * period - 1):
            target = place - (step - (period - 1))
            valid = np.flatnonzero((target >= 0) & (target < period))
            questions = (row[valid] ^ side) * period + target[valid]
            result[:, side * (2 * period - 1) + step, :, valid] = weights[:, questions, :, valid]
    return result


def _multiply(ring: Ring, layout: RecordLayout, batch: Opened, diagonals: Residues) -> Residues:
    """Each row of weights [diagonal, ciphertext, feature] times all ciphertexts: words [diagonal, part, prime,
    position].
    """
    rows, stretch = diagonals.shape[0], ring.degree // layout.stride
    flat = diagonals.reshape(-1, layout.stride)
    sparse = matrices.product(
        matrices.left_digits(flat, ring.modulus),
        matrices.right_digits(_encoding(ring, layout), ring.modulus),
        ring.modulus,
    )
    signed = sparse.astype(np.int64)
    signed -= np.where(
        signed > ring.modulus // 2, ring.modulus, 0
    )  # as SEAL lifts a plaintext: the smaller, the less noise
    result = np.empty((rows, 2, len(ring.primes), ring.degree), dtype=np.uint64)
    for index, prime in enumerate(ring.primes):
        lifted = matrices.left_digits((signed % prime).astype(np.uint64), prime)
        values = matrices.product(lifted, matrices.right_digits(_transform(ring, layout)[index], prime), prime)
        values = values.reshape(rows, layout.chunks, layout.stride)
        for part in range(layout.stride):
            positions = slice(part * stretch, (part + 1) * stretch)
            right = batch.words[:, :, index, positions].reshape(layout.chunks, 2 * stretch)
            made = matrices.product(
                matrices.left_digits(values[:, :, part], prime), matrices.right_digits(right, prime), prime
            )
            result[:, :, index, positions] = made.reshape(rows, 2, stretch)
    return result


def _horner(encryptor: Encryptor, batch: Opened, rows: Residues, keys: Any) -> Cipher:
    """Σ_k rotate^k(row k), from the last row down. Begins with a fresh zero, so that questions without weights cost
    what others do.
    """
    ring, total = encryptor.ring, encryptor.zero()
    for index, words in enumerate(rows[::-1]):
        if index:
            total = ring.automorphism(total, ring.rotation(1), keys)
        idle = not words.any()  # SEAL refuses ciphertexts of zeros only; the time is spent all the same
        added = ring.add(total, ring.from_ntt(ring.of_residues(batch.words[0] if idle else words, transformed=True)))
        total = total if idle else added
    return total


@lru_cache(maxsize=8)
def _encoding(ring: Ring, layout: RecordLayout) -> Residues:
    """The matrix from periodic slots [feature] to the coefficients of X^(degree/stride): asked of SEAL, one feature at
    a time.
    """
    step = ring.degree // layout.stride
    rows = []
    for feature in range(layout.stride):
        pattern = np.zeros((layout.block, layout.stride), dtype=np.uint64)
        pattern[:, feature] = 1
        coefficients = ring.read_polynomial(ring.slots(in_slots(layout, pattern)))
        assert not np.delete(coefficients.reshape(layout.stride, step), 0, axis=1).any()
        rows.append(coefficients[::step])
    return np.stack(rows)


@lru_cache(maxsize=8)
def _transform(ring: Ring, layout: RecordLayout) -> npt.NDArray[np.uint64]:
    """For each prime the matrix from those coefficients to the constants of the NTT form's stretches: powers of a root
    of unity.
    """
    step = ring.degree // layout.stride
    bits = layout.stride.bit_length() - 1
    result = np.empty((len(ring.primes), layout.stride, layout.stride), dtype=np.uint64)
    for index, prime in enumerate(ring.primes):
        root = pow(ring.root(prime), step, prime)
        for part in range(layout.stride):
            turned = int(f"{part:0{bits}b}"[::-1], 2)
            point = pow(root, 2 * turned + 1, prime)
            result[index, :, part] = [pow(point, power, prime) for power in range(layout.stride)]
    return result


def masked(ring: Ring, cipher: Cipher) -> Cipher:
    """Every slot times a fresh random non-zero value."""
    masks = residues.uniform_nonzero(ring.degree, ring.modulus)
    return ring.from_ntt(ring.multiply_plain(ring.to_ntt(cipher), ring.transformed(ring.slots(masks))))
