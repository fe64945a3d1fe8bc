"""Padded answers: what the key holder opens is the answer plus the asker's pad, exactly; and nothing else can be
seen.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import pytest

from blindlabel.engines.packed.opening import joint, padding, pads
from blindlabel.engines.packed.seal import holders, samples
from blindlabel.engines.packed.seal.parameters import RingParameters
from blindlabel.engines.packed.seal.residues import Residues, uniform
from blindlabel.engines.packed.seal.ring import Cipher, open_ring

RING = open_ring(RingParameters(8192, (38, 54, 54, 54), plain_bits=24))
KEYS = holders.generate(RING, [], relinearisation=True, seeded=True)
HOLDER = holders.KeyHolder(RING, KEYS.secret)
ENCRYPTOR = holders.SeededEncryptor(RING, KEYS.public)
RELINEARISATION = holders.relinearisation_keys(RING, KEYS.relinearisation)


def _encrypted(values: Residues) -> Cipher:
    return RING.load_seeded(HOLDER.encrypt(RING.slots(values)))


def _opened(content: bytes) -> Residues:
    return RING.read_slots(HOLDER.decrypt(RING.load_cipher(content, padding.LEVEL)))


def _sometimes_zero() -> Residues:
    values = uniform(RING.degree, RING.modulus)
    values[uniform(RING.degree, 2) == 0] = 0
    return values


def test_opened_values_equal_the_pad_exactly_where_the_answer_is_yes() -> None:
    checked = wrong = 0
    while checked < 100_000:
        y, v = _sometimes_zero(), _sometimes_zero()
        shares = joint.shares(HOLDER, joint.share_count(2))
        made = joint.mixed(RING, [_encrypted(y), _encrypted(v)], shares, RELINEARISATION)
        reached, excluded = (_opened(one.cipher) == one.pad for one in (padding.padded(ENCRYPTOR, one) for one in made))
        assert reached[y == 0].all() and excluded[(y == 0) & (v == 0)].all()  # a yes is never lost
        wrong += int(reached[y != 0].sum() + excluded[(y != 0) | (v != 0)].sum())
        checked += 2 * RING.degree
    assert wrong <= 3  # each of 72,000 is zero by chance with probability 1/t, 2^-24: four of them in 1e-11 of all runs


def test_opened_values_are_the_content_plus_the_pad() -> None:
    content = uniform(RING.degree, RING.modulus)
    one = padding.padded(ENCRYPTOR, _encrypted(content))
    assert (_opened(one.cipher) == (content + one.pad) % np.uint64(RING.modulus)).all()


class _Clear:
    """Numbers modulo a small t, with the operations that `joint.combined` uses."""

    def __init__(self, modulus: int) -> None:
        self.modulus = modulus

    def add(self, left: int, right: int) -> int:
        return (left + right) % self.modulus

    def product(self, left: int, right: int) -> int:
        return left * right % self.modulus

    def multiply(self, left: int, right: int, _: Any) -> int:
        return self.product(left, right)

    def relinearised(self, value: int, _: Any) -> int:
        return value


@pytest.mark.parametrize("modulus", [3, 5, 7])
def test_answers_say_the_outcome_and_nothing_more_at_a_small_modulus(modulus: int) -> None:
    ring: Any = _Clear(modulus)
    everything = set(product(range(modulus), repeat=2))
    for y, v in product(range(modulus), repeat=2):
        # The factors are sums of one share of each side: whatever one side chose, uniform by the other's.
        found = Counter(
            tuple(joint.combined(ring, [y, v], factors, None)) for factors in product(range(modulus), repeat=3)
        )
        if y:
            assert found == dict.fromkeys(everything, modulus)  # not reached: uniform, nothing about v
        elif v:
            assert found == {(0, value): modulus**2 for value in range(modulus)}
        else:
            assert found == {(0, 0): modulus**3}


def test_pads_are_rounded_as_exact_arithmetic_rounds_them() -> None:
    primes = RING.primes[: padding.LEVEL]
    pad = pads.draw(primes, RING.degree, RING.modulus)
    whole = prod(primes)
    for position in range(RING.degree):
        residues = [int(row[position]) for row in pad.residues]
        value = sum(
            residue * pow(whole // prime, -1, prime) * (whole // prime) for residue, prime in zip(residues, primes)
        )
        assert (2 * RING.modulus * (value % whole) + whole) // (2 * whole) % RING.modulus == pad.content[position]


def test_scaled_values_are_rounded_as_exact_arithmetic_rounds_them() -> None:
    primes = RING.primes
    values = uniform(64, RING.modulus)
    rows = pads.scaled(values, primes, RING.modulus)
    for value, *residues in zip(values.tolist(), *rows.tolist()):
        exact = (prod(primes) * value + (RING.modulus + 1) // 2) // RING.modulus
        assert residues == [exact % prime for prime in primes]


def test_errors_have_the_distribution_of_seal() -> None:
    drawn = samples.errors(200_000)
    assert np.abs(drawn).max() <= 21
    assert abs(float(drawn.mean())) < 0.05
    assert 10.2 < float(drawn.var()) < 10.8  # 10.5 in theory, deviation 0.033
    assert set(np.unique(samples.ternary(1000)).tolist()) == {-1, 0, 1}


def test_nothing_random_is_used_twice() -> None:
    result = _encrypted(_sometimes_zero())
    first, second = padding.padded(ENCRYPTOR, result), padding.padded(ENCRYPTOR, result)
    assert (first.pad != second.pad).mean() > 0.99
    half = RING.form(padding.LEVEL).rows.length
    assert first.cipher[:half] != second.cipher[:half] and first.cipher[half:] != second.cipher[half:]
    shares = joint.shares(HOLDER, 3)
    assert len({share[:64] for share in shares}) == 3
    assert HOLDER.seeded_zero(2) != HOLDER.seeded_zero(2)


def test_the_askers_share_of_the_randomness_is_fresh_for_every_value_and_answer() -> None:
    """With one share of the records' owner throughout, y = 1 and v = 0 (and the reverse) open as r + α, r + ρ', r +
    ρ'': a factor that was used twice would open as the same numbers.
    """
    (share,) = joint.shares(HOLDER, 1)
    one, zero = (np.full(RING.degree, value, dtype=np.uint64) for value in (1, 0))
    drawn = []
    for y, v in ((one, zero), (zero, one), (one, zero)):
        made = joint.mixed(RING, [_encrypted(y), _encrypted(v)], [share] * 3, RELINEARISATION)
        opened = [padding.padded(ENCRYPTOR, value) for value in made]
        drawn += [
            (_opened(each.cipher) + np.uint64(RING.modulus) - each.pad) % np.uint64(RING.modulus) for each in opened
        ]
    assert not drawn.pop(2).any()  # y' of y = 0
    for first, second in combinations(drawn, 2):
        assert (first != second).mean() > 0.99


def test_a_forged_opening_makes_no_yes() -> None:
    pad = padding.padded(ENCRYPTOR, _encrypted(uniform(RING.degree, RING.modulus))).pad
    tries = 0
    while tries < 10_000:  # zeros, what was opened, random values: the opener does not know the pad
        for forged in (np.zeros_like(pad), uniform(RING.degree, RING.modulus)):
            assert (forged == pad).sum() <= 1
            tries += pad.size
