"""The linear stage with the assist: many inner products between clear weights and encrypted features, packed densely.

A ciphertext of a batch holds, for record j and feature k of its stretch, the feature as coefficient of X^(j·stride −
k). Multiplied by the polynomial Σ w_k X^k of a question's weights, the coefficient of X^(j·stride) is the inner product
Σ_k w_k·feature_k of record j, for all records of the batch at once; all other coefficients are rubbish. A probe asks
one table, so it costs a product with the few ciphertexts that its table touches and not with all.

Packing (Chen, Dai, Kim, Song 2020) merges two ciphertexts, each good at every n-th coefficient, into one that is good
at every n/2-th: with a the automorphism X → X^(block·columns + 1), which keeps the good places of the even one and
negates those of the shifted odd one, `even + X^s·odd + a(even − X^s·odd)` doubles the good values and cancels the
rubbish between. After log2(stride) steps all coefficients are good and all values are multiplied by stride, which the
weights undo beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.encoding.tables import Tables, asking
from blindlabel.engines.packed.planning.probing import Probe
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Ring


def automorphisms(layout: RecordLayout) -> list[int]:
    """The Galois elements that packing needs."""
    elements = []
    columns = 2
    while columns <= layout.stride:
        elements.append(layout.block * columns + 1)
        columns *= 2
    return elements


def record_polynomials(layout: RecordLayout, features: Residues, modulus: int) -> list[Residues]:
    """The coefficients of a batch's plaintexts: feature k of record j at X^(j·stride − k), a minus where that is
    negative.
    """
    padded = np.zeros((layout.block, layout.chunks * layout.stride), dtype=np.uint64)
    padded[: features.shape[0], : features.shape[1]] = features
    places = np.arange(layout.block)[:, None] * layout.stride - np.arange(layout.stride)[None, :]
    negative = places < 0
    result = []
    for chunk in range(layout.chunks):
        part = padded[:, chunk * layout.stride : (chunk + 1) * layout.stride]
        coefficients = np.zeros(layout.degree, dtype=np.uint64)
        coefficients[places % layout.degree] = np.where(
            negative, (np.uint64(modulus) - part) % np.uint64(modulus), part
        )
        result.append(coefficients)
    return result


def span(layout: RecordLayout, tables: Tables) -> int:
    """Ciphertexts that the widest table touches: what every probe is made to cost."""
    return max((table.end - 1) // layout.stride - table.offset // layout.stride + 1 for table in tables.tables)


def inner_product(
    ring: Ring, layout: RecordLayout, tables: Tables, chunks: Sequence[Cipher], probe: Probe
) -> tuple[Cipher, int]:
    """The probe over all records of a batch (good at every stride-th coefficient), and the fingerprint to compare
    with.
    """
    weights, fingerprint = asking(tables, probe.table, probe.element)
    scale = np.uint64(pow(layout.stride, -1, ring.modulus))
    weights = weights * scale % np.uint64(ring.modulus)
    pairs = []
    for chunk in range(probe.table.offset // layout.stride, (probe.table.end - 1) // layout.stride + 1):
        start, stop = chunk * layout.stride, (chunk + 1) * layout.stride
        first, last = max(start, probe.table.offset), min(stop, probe.table.end)
        polynomial = np.zeros(last - start, dtype=np.uint64)
        polynomial[first - start :] = weights[first - probe.table.offset : last - probe.table.offset]
        if not polynomial.any():
            continue
        pairs.append((chunks[chunk], ring.transformed(ring.polynomial(polynomial))))
    for _ in range(
        span(layout, tables) - len(pairs)
    ):  # narrower tables take the time of the widest, so that time tells nothing
        ring.multiply_plain(chunks[0], ring.transformed(ring.polynomial(weights[: layout.stride])))
    return ring.combination(pairs), fingerprint


def pack(
    ring: Ring, layout: RecordLayout, columns: int, column: Callable[[int], Cipher | None], keys: Any
) -> Cipher | None:
    """One ciphertext with column i of every record at X^(record·stride + i·stride/columns); `column` makes them one by
    one, None where unused.
    """

    def merged(first: int, step: int, count: int) -> Cipher | None:
        if count == 1:
            return column(first)
        even = merged(first, 2 * step, count // 2)
        odd = merged(first + step, 2 * step, count // 2)
        if even is None and odd is None:
            return None
        element = layout.block * count + 1
        if odd is None:
            return ring.add(even, ring.automorphism(even, element, keys))
        shifted = ring.multiply_plain(odd, ring.monomial(layout.stride // count))
        if even is None:
            return ring.subtract(shifted, ring.automorphism(shifted, element, keys))
        total = ring.add(even, shifted)
        ring.add_into(total, ring.automorphism(ring.subtract(even, shifted), element, keys))
        return total

    return merged(0, 1, columns)
