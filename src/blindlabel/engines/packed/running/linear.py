"""The linear step: every place of every question as an inner product of clear weights with the records' features.

A matrix [columns × features] is multiplied by diagonals. A step is a baby step of the record ciphertexts, taken once a
batch for all questions, and a giant step of the sums, by Horner's rule:

    out = Σ_giant rotate^(giant·babies)(Σ_baby,chunk weights · rotate^baby(chunk))

A record's slots are cut into stretches of `width` places, no fewer than there are columns; column c stands in place c
of every stretch. Each takes the inner product with the features in its place and in the next width − 1, whatever
stretch they are in, so all together take every feature once; they are added up at the end, again by Horner's rule,
which takes a third Galois key. Only what lies before the first column c is not reached: moving a record's features
backwards by a place is a rotation that carries the first one into the record before. So either there are steps
backwards, as many as there are columns but one, or the first places of a record hold nothing (`RecordLayout.margin`),
which takes more ciphertexts; `planning.room` weighs one against the other. Weights are zero where a step would leave
the record. Records are encrypted moved by `back` places, so that no rotation goes backwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.planning.room import Steps
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.running import native, periodic
from blindlabel.engines.packed.seal.holders import Encryptor
from blindlabel.engines.packed.seal.ring import Cipher, Ring

_MOST_SUMS, _MOST_SUMS_BY_NUMPY = 84 << 20, 1 << 28
"""Bytes of sums that are held at once, unless one ciphertext has more. NumPy cuts all words anew for each lot."""


def record_slots(layout: RecordLayout, steps: Steps, features: Residues) -> list[Residues]:
    """The slots of a batch's plaintexts."""
    every = np.zeros((layout.block, features.shape[1]), dtype=np.uint64)
    every[: features.shape[0]] = features
    slots = np.moveaxis(layout.in_chunks(every), 1, 0).reshape(layout.chunks, 2, -1)
    return list(np.roll(slots, steps.back, axis=2).reshape(layout.chunks, -1))


def rotated_shape(layout: RecordLayout, steps: Steps, level: int) -> tuple[int, int, int, int]:
    """Of the words of a batch after every baby step: [baby · chunks + chunk, part, prime, position]."""
    return steps.babies * layout.chunks, 2, level, layout.degree


def rotate(ring: Ring, steps: Steps, ciphers: Iterable[tuple[int, Cipher]], keys: Any, words: Residues) -> None:
    """The words of some ciphertexts of a batch, which are numbered, after every baby step, at the level of `words`."""
    chunks = words.shape[0] // steps.babies
    for chunk, cipher in ciphers:
        moved = ring.switched(cipher, words.shape[2])
        for baby in range(steps.babies):
            if baby:
                moved = ring.automorphism(moved, ring.rotation(1), keys)
            words[baby * chunks + chunk] = ring.residues(ring.to_ntt(moved))


def products(
    encryptor: Encryptor, layout: RecordLayout, steps: Steps, batch: Residues, weights: Iterable[Residues], keys: Any
) -> Iterator[Cipher]:
    """weights[column, feature] of every output times the features of all records, one ciphertext an output: column c of
    record j in slot (j, c) of `RecordLayout.in_slots`. Columns from `width` on hold anything.
    """
    ring = encryptor.ring
    most = _MOST_SUMS_BY_NUMPY if native.kernel() is None else _MOST_SUMS
    together = max(1, most // (steps.giants * batch[0].nbytes))
    zero, stream = encryptor.zero(batch.shape[2]), iter(weights)
    while some := list(islice(stream, together)):
        patterns = _diagonals(layout, steps, layout.in_chunks(np.stack(some)))
        sums = periodic.sums(ring, layout, patterns.reshape(-1, batch.shape[0], layout.stride), batch)
        for one in sums.reshape(len(some), steps.giants, *sums.shape[1:]):
            yield _folded(ring, layout, steps, _horner(ring, steps, batch, one, (zero, keys)), keys)
        del sums, one  # large: not two lots at a time


def _diagonals(layout: RecordLayout, steps: Steps, weights: Residues) -> Residues:
    """From [output, column, chunk, place] to [output, giant, baby, chunk, column]: which weight every slot gets at
    every step. A place that lies before its column is reached from the first stretch, backwards; every other from the
    last stretch whose column is not behind it.
    """
    stride, width, (outputs, columns) = layout.stride, steps.width, weights.shape[:2]
    result = np.zeros((outputs, steps.giants, steps.babies, layout.chunks, stride), dtype=np.uint64)
    slot = np.arange(stride)
    for giant in range(steps.giants):
        own = (slot - giant * steps.babies) % stride  # where this slot of the sum will have been rotated to
        for baby in range(steps.babies):
            step = baby + giant * steps.babies - steps.back
            reached = (own + step >= 0) & (own + step < stride) & (own < width if step < 0 else step < width)
            valid = np.flatnonzero(reached & (own % width < columns))
            result[:, giant, baby, :, valid] = weights[:, own[valid] % width, :, own[valid] + step]
    return result


def _horner(ring: Ring, steps: Steps, batch: Residues, rows: Residues, given: tuple[Cipher, Any]) -> Cipher:
    """Σ_giant rotate^giant(row), from the last row down. Begins with an encrypted zero, so that questions without
    weights cost what others do.
    """
    total, keys = given
    for index, words in enumerate(rows[::-1]):
        if index:
            total = ring.automorphism(total, ring.rotation(steps.babies), keys)
        idle = not words.any()  # SEAL refuses ciphertexts of zeros only; the time is spent all the same
        added = ring.add(total, ring.from_ntt(ring.of_residues(batch[0] if idle else words, transformed=True)))
        total = total if idle else added
    return total


def _folded(ring: Ring, layout: RecordLayout, steps: Steps, total: Cipher, keys: Any) -> Cipher:
    """All stretches of a record added up, in the columns of the first."""
    folded = total
    for _ in range(steps.folds(layout)):
        folded = ring.add(ring.automorphism(folded, ring.rotation(steps.width), keys), total)
    return folded
