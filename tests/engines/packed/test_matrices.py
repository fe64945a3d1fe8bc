"""Products of matrices modulo a prime, taken in doubles, are exact."""

from __future__ import annotations

import numpy as np
import pytest

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
