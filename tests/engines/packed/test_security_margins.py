"""Every ring against the newest guidelines, and what a key can lose."""

from __future__ import annotations

import pytest

from blindlabel.engines.packed import rings
from blindlabel.engines.packed.rings import RINGS, RingParameters


@pytest.mark.parametrize("ring", RINGS, ids=lambda ring: ring.name)
def test_every_ring_has_a_margin_below_the_guidelines(ring: RingParameters) -> None:
    assert sum(ring.prime_bits) < dict(rings.GUIDELINES)[ring.degree]
    assert rings.zero_tests_left(ring.degree, sum(ring.prime_bits)) > 100


def test_a_key_can_lose_less_the_larger_its_modulus() -> None:
    assert rings.zero_tests_left(16384, 363) == 4027
    assert rings.zero_tests_left(16384, 421) == 541
    assert rings.zero_tests_left(16384, 430) == rings.zero_tests_left(16384, 433) == 0
    assert rings.zero_tests_left(32768, 433) == 25790
    assert rings.zero_tests_left(1024, 27) == rings.zero_tests_left(8192, 5000) == 0
    left = [rings.zero_tests_left(16384, bits) for bits in range(10, 440)]
    assert left == sorted(left, reverse=True)


def test_the_table_is_read_between_its_rows() -> None:
    assert rings.dimension_needed(20) == 1024
    assert rings.dimension_needed(430) == 16384
    assert rings.dimension_needed(322) == pytest.approx((8192 + 16384) / 2)
