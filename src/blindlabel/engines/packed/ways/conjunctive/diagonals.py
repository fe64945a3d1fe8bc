"""The linear stage without the assist: a clear matrix of weights times encrypted features, by diagonals, with the
result in slots.

A ciphertext of a batch holds one feature for each of `stride` blocks of slots, and in a block one slot a record. The
result has question i in block i. Diagonal k multiplies every block by the weight that question (block − k) gives its
feature; rotating that left by k blocks puts all of them where they belong, so the product is Σ_k rotate^k(Σ_chunks
weights_k · chunk). Evaluated from the last diagonal down (Horner), that takes one rotation by a single block for each
diagonal and none of the records' ciphertexts, so there is nothing to keep for later rounds and one rotation key does
it. Fewer questions than blocks leave several blocks for each; those partial sums are folded together at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Ring


def rotations(ring: Ring, layout: RecordLayout) -> list[int]:
    """The Galois elements that products by diagonals need."""
    elements = [ring.swap]
    blocks = 1
    while blocks < layout.stride // 2:
        elements.append(ring.rotation(blocks * layout.block))
        blocks *= 2
    return elements


def record_slots(layout: RecordLayout, features: Residues) -> list[Residues]:
    """The slots of a batch's plaintexts: feature f of record j in slot (f mod stride)·block + j of ciphertext f div
    stride.
    """
    padded = np.zeros((layout.block, layout.chunks * layout.stride), dtype=np.uint64)
    padded[: features.shape[0], : features.shape[1]] = features
    return [padded[:, c * layout.stride : (c + 1) * layout.stride].T.reshape(-1).copy() for c in range(layout.chunks)]


def group_size(layout: RecordLayout, questions: int) -> int:
    """Questions evaluated together: a power of two, at most one a block."""
    return 1 << max(0, min(questions, layout.stride) - 1).bit_length()


def product(
    ring: Ring, layout: RecordLayout, chunks: Sequence[Cipher], weights: Residues, *, masks: Residues, keys: Any
) -> Cipher | None:
    """weights (one row a question, a power of two of them) times the features of all records: question i in block i and
    in its copies.

    Every result is multiplied by the mask of its question and record, for free. None where all weights are zero.
    """
    questions = weights.shape[0]
    half = layout.stride // 2
    padded = np.zeros((questions, layout.chunks * layout.stride), dtype=np.uint64)
    padded[:, : weights.shape[1]] = weights
    work = _Work(ring, layout, chunks, padded, masks, keys)
    side, place = np.divmod(np.arange(layout.stride), half)
    if questions == layout.stride:
        same = work.horner(half, lambda k: side * half + (place - k) % half)
        other = work.horner(half, lambda k: (1 - side) * half + (place - k) % half)
        return work.sum(same, None if other is None else ring.automorphism(other, ring.swap, keys))
    total = work.horner(questions, lambda k: (place - k) % questions)
    if total is None:
        return None
    blocks = questions
    while blocks < half:
        total = ring.add(total, ring.automorphism(total, ring.rotation(blocks * layout.block), keys))
        blocks *= 2
    return ring.add(total, ring.automorphism(total, ring.swap, keys))


@dataclass(frozen=True, eq=False)
class _Work:
    ring: Ring
    layout: RecordLayout
    chunks: Sequence[Cipher]
    weights: Residues
    masks: Residues
    keys: Any

    def horner(self, diagonals: int, question: Callable[[int], npt.NDArray[np.intp]]) -> Cipher | None:
        """Σ_k rotate^k(diagonal k); `question` says for each block whose weight it takes on a diagonal."""
        element = self.ring.rotation(self.layout.block)
        total: Cipher = None
        for k in range(diagonals - 1, -1, -1):
            if total is not None:
                total = self.ring.automorphism(total, element, self.keys)
            total = self.sum(total, self._diagonal(question(k)))
        return total

    def sum(self, left: Cipher | None, right: Cipher | None) -> Cipher | None:
        """The sum, where None is nothing."""
        if left is None or right is None:
            return right if left is None else left
        return self.ring.add(left, right)

    def _diagonal(self, questions: npt.NDArray[np.intp]) -> Cipher | None:
        stride, t = self.layout.stride, np.uint64(self.ring.modulus)
        masks = self.masks[questions]
        pairs = []
        for index, chunk in enumerate(self.chunks):
            values = self.weights[questions, index * stride + np.arange(stride)][:, None] * masks % t
            idle = not values.any()  # SEAL refuses to multiply by zero; the time is spent all the same
            plain = self.ring.transformed(self.ring.slots(masks.reshape(-1) if idle else values.reshape(-1)))
            if idle:
                self.ring.multiply_plain(chunk, plain)
            else:
                pairs.append((chunk, plain))
        return self.ring.combination(pairs) if pairs else None
