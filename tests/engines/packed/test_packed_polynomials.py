"""The clear arithmetic of the assist: what the owner wants is linear in functions of the padded value."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.packed.seal import residues
from blindlabel.engines.packed.ways.assisted import polynomials
from blindlabel.engines.packed.ways.assisted.polynomials import BIT_MODULUS

P = np.uint64(BIT_MODULUS)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=40), min_size=1, max_size=4), st.integers(0, 2**32))
def test_a_function_of_a_padded_value_is_linear_in_its_powers(tables: list[list[bool]], seed: int) -> None:
    random = Random(seed)
    degree = max(map(len, tables))
    pads = residues.uniform(len(tables) * 16, BIT_MODULUS).reshape(len(tables), 16)
    values = np.array([[random.randrange(len(table)) for _ in range(16)] for table in tables], dtype=np.uint64)
    coefficients = polynomials.shifted(polynomials.coefficients(tables, degree), pads)
    seen = (values + pads) % P
    powers = polynomials.all_powers(seen.reshape(-1), degree).reshape(degree, *seen.shape)
    total = (coefficients[0] + (coefficients[1:] * powers % P).sum(axis=0)) % P
    for row, table in enumerate(tables):
        assert total[row].tolist() == [int(table[int(value)]) for value in values[row]]


def test_the_number_of_differing_bits_is_linear_in_the_bits() -> None:
    seen, pad = residues.uniform(500, 2**29), residues.uniform(500, 2**29)
    pad[:100] = seen[:100]
    pad_bits, seen_bits = polynomials.bits(pad, 29), polynomials.bits(seen, 29)
    total = (pad_bits.sum(axis=0) + (polynomials.signs(pad_bits) * seen_bits % P).sum(axis=0)) % P
    assert total.tolist() == [(int(a) ^ int(b)).bit_count() for a, b in zip(seen, pad)]


def test_secret_randomness_is_uniform_and_in_range() -> None:
    drawn = residues.uniform(200_000, BIT_MODULUS)
    assert drawn.max() < BIT_MODULUS
    counts = np.bincount((drawn * np.uint64(64) // P).astype(np.int64), minlength=64)
    expected = drawn.size / 64
    assert ((counts - expected) ** 2 / expected).sum() < 160  # 63 degrees of freedom: beyond it with probability 2e-10
    assert residues.uniform_nonzero(100_000, 5).min() == 1


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 2**29), st.integers(0, 50))
def test_powers_are_powers(base: int, count: int) -> None:
    assert residues.powers(base, count, 536690689).tolist() == [pow(base, k, 536690689) for k in range(count)]
