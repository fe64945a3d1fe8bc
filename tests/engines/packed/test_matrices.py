"""Arithmetic modulo primes on whole arrays is exact, products of matrices in doubles too; randomness is uniform."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindlabel.engines.packed import residues
from blindlabel.engines.packed.rings import RINGS
from blindlabel.engines.packed.seal import matrices

PRIMES = {54: (1 << 54) - 33, 56: (1 << 56) - 5, 60: (1 << 60) - 93}


@pytest.mark.parametrize("bits", PRIMES)
@pytest.mark.parametrize("inner", [1, 1024, 1100])
def test_products_of_matrices_are_exact_up_to_the_largest_values(bits: int, inner: int) -> None:
    prime = PRIMES[bits]
    random = np.random.default_rng(inner)
    left, right = (
        random.integers(0, prime, (2, 100, inner), dtype=np.uint64),
        random.integers(0, prime, (2, inner, 300 if inner == 1 else 9), dtype=np.uint64),
    )
    for layer, (one, other) in enumerate(zip(left, right)):
        one[0], one[1], one[2], other[:, 0] = prime - 1, prime // 2, prime // 2 + 1, prime - 1
        one[3], other[:, 1] = sum((1 << 19) - 1 << shift for shift in (0, 20, 40)), prime - 1
        one[4], other[:, 2] = (1 << 26) - 1 + ((1 << 26) - 1 << 27), prime // 2 + layer
    made = matrices.product(matrices.left_digits(left, prime), matrices.right_digits(right, prime), prime)
    for layer, found in enumerate(made):
        expected = (left[layer].astype(object) @ right[layer].astype(object)) % prime
        assert (found.astype(object) == expected).all()
        own, other = matrices.left_digits(left[layer], prime), matrices.right_digits(right[layer], prime)
        assert (matrices.product(own, other, prime) == found).all()


@pytest.mark.parametrize("bits", PRIMES)
def test_small_values_may_be_one_digit_on_either_side(bits: int) -> None:
    prime = PRIMES[bits]
    random = np.random.default_rng(bits)
    large = random.integers(0, prime, (5, 130), dtype=np.uint64)
    small = random.integers(-(1 << 23), 1 << 23, (130, 7))
    large[0], small[:, 0] = prime - 1, 1 << 23
    expected = large.astype(object) @ small.astype(object) % prime
    digit = small.astype(np.float64)
    assert (matrices.product(matrices.right_digits(large, prime), [digit], prime) == expected).all()
    turned = matrices.product([np.ascontiguousarray(digit.T)], matrices.right_digits(large.T, prime), prime)
    assert (expected == turned.T).all()


def test_secret_randomness_is_uniform_and_in_range() -> None:
    modulus = RINGS[0].modulus
    drawn = residues.uniform(200_000, modulus)
    assert drawn.max() < modulus
    counts = np.bincount((drawn * np.uint64(64) // np.uint64(modulus)).astype(np.int64), minlength=64)
    expected = drawn.size / 64
    assert ((counts - expected) ** 2 / expected).sum() < 160  # 63 degrees of freedom: beyond it with probability 2e-10
    assert residues.uniform_nonzero(100_000, 5).min() == 1


@given(st.integers(1, 2**24), st.integers(0, 50))
def test_powers_are_powers(base: int, count: int) -> None:
    modulus = RINGS[0].modulus
    assert residues.powers(base, count, modulus).tolist() == [pow(base, k, modulus) for k in range(count)]
