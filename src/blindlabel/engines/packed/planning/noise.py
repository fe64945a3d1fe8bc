"""The static noise estimate: how much noise every step adds, and what is left of it after sanitising. Numbers are
base-2 logarithms.

Noise is the error e of a ciphertext c0 + c1·s = ⌊q·m/t⌉ + e, taken as independent normal coefficients with the given
standard deviation; the bound adds `TAIL` bits (6.7 standard deviations, beyond which one of 2^15 coefficients lies with
probability below 2^-20). Everything comes from the public terms, nothing from a ciphertext: SEAL's own noise budget of
a foreign ciphertext would leak the key. Tests hold the estimate against the true budget of ciphertexts whose key they
own.
"""

from __future__ import annotations

import math

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.encoding.tables import Tables
from blindlabel.engines.packed.planning import parameters
from blindlabel.engines.packed.planning.parameters import ParameterSet
from blindlabel.engines.packed.seal.parameters import RingParameters
from blindlabel.engines.packed.ways.assisted.inner_products import span
from blindlabel.engines.packed.ways.assisted.tallies import Room

HIDDEN = 53
"""Old noise (6.7 standard deviations) must be at most 2^-HIDDEN of the rounding unit when it leaves. Its mean is then
below 2^-56, and the statistical distance over at most 2^14 coefficients below 2^-42."""

TAIL = 2.75
_SIGMA = math.log2(3.2)


def fresh(ring: RingParameters) -> float:
    """An encryption with the public key: e = e1 + e2·s + e3·u with ternary s and u."""
    return _SIGMA + 0.5 * math.log2(1 + 4 * ring.degree / 3)


def fresh_symmetric() -> float:
    """An encryption with the secret key."""
    return math.log2(math.hypot(3.2, 12**-0.5))


def plain_product(ring: RingParameters, modulus: int, coefficients: int | None = None) -> float:
    """What a product with a plaintext of so many uniform coefficients adds (None: all)."""
    return math.log2(modulus) - 0.5 * math.log2(12) + 0.5 * math.log2(coefficients or ring.degree)


def sum_of(count: float) -> float:
    """What adding up so many ciphertexts with independent noise adds."""
    return 0.5 * math.log2(max(count, 1))


def product(ring: RingParameters, modulus: int) -> float:
    """What a product of two ciphertexts adds: t·(e1·k2 + e2·k1), where c0 + c1·s = q·k + … has k of standard deviation
    sqrt(N/18).
    """
    return math.log2(modulus) + 0.5 * math.log2(ring.degree) + 0.5 * math.log2(ring.degree / 18) + 0.5


def stages(terms: Terms, chosen: ParameterSet, tables: Tables, layout: RecordLayout) -> dict[str, float]:
    """The noise of every ciphertext that leaves, before sanitising."""
    ring = chosen.evaluation
    if chosen.wide:
        # Weights are polynomials of `stride` terms; up to two diagonals a feature; then the masks.
        linear = (
            fresh(ring)
            + plain_product(ring, tables.modulus, layout.stride)
            + sum_of(2 * layout.chunks * layout.stride)
            + 0.5
        )
        linear += plain_product(ring, tables.modulus)
        depth = (parameters.alternatives(terms) - 1).bit_length()
        return {"answers": linear + depth * product(ring, tables.modulus) + sum_of(terms.clauses) + TAIL}
    if chosen.bits is None:
        # Whatever the number of questions, a result is the sum of all features' products: rotations and folds only move
        # them.
        linear = fresh(ring) + plain_product(ring, tables.modulus) + sum_of(layout.chunks * layout.stride) + 0.5
        depth = (parameters.alternatives(terms) - 1).bit_length()
        return {"answers": linear + depth * product(ring, tables.modulus) + sum_of(terms.clauses) + TAIL}
    inner = fresh(ring) + plain_product(ring, tables.modulus, layout.stride) + sum_of(span(layout, tables))
    room = Room.of(terms)
    bits = chosen.bits
    width = (tables.modulus - 1).bit_length()
    one = fresh_symmetric() + plain_product(bits, parameters.BIT_MODULUS)
    gate = one + sum_of(max(width, room.inner_weight))
    weighed = (
        gate
        + plain_product(bits, parameters.BIT_MODULUS)
        + sum_of(room.probes + room.inner_gates * room.inner_levels)
        + 1
    )
    return {
        "digits": inner + math.log2(layout.stride) + TAIL,
        "differences": one + sum_of(width) + TAIL,
        "gates": weighed + TAIL,
        "answers": one + sum_of(room.final_weight) + TAIL,
    }


def left(terms: Terms, chosen: ParameterSet, tables: Tables, layout: RecordLayout) -> dict[str, float]:
    """Of the noise of every ciphertext that leaves, what is left beside the rounding noise of switching down."""
    result = {}
    for stage, noise in stages(terms, chosen, tables, layout).items():
        ring = chosen.evaluation if stage == "digits" or chosen.bits is None else chosen.bits
        result[stage] = noise - ring.dropped_bits
    return result
