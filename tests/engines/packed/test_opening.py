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

from blindlabel.engines.interface import Outcome, outcomes
from blindlabel.engines.packed.planning.noise import PADDED
from blindlabel.engines.packed.residues import Residues, uniform
from blindlabel.engines.packed.rings import RingParameters
from blindlabel.engines.packed.running import opening
from blindlabel.engines.packed.seal import holders
from blindlabel.engines.packed.seal.ring import Cipher, open_ring

RING = open_ring(RingParameters("small", 8192, (38, 54, 54, 54)))
KEYS = holders.generate(RING, [])
HOLDER = holders.KeyHolder(RING, KEYS.secret)
ENCRYPTOR = holders.Encryptor(RING, KEYS.zero)
RELINEARISATION = holders.relinearisation_keys(RING, KEYS.relinearisation)


def _encrypted(values: Residues) -> Cipher:
    return RING.load_seeded(HOLDER.encrypt(RING.slots(values)))


def _opened(content: bytes) -> Residues:
    return RING.read_slots(HOLDER.decrypt(RING.load_cipher(content, PADDED)))


def _sometimes_zero() -> Residues:
    values = uniform(RING.degree, RING.modulus)
    values[uniform(RING.degree, 2) == 0] = 0
    return values


@pytest.mark.parametrize("count", [1, 2, 3])
def test_opened_values_equal_their_pads_exactly_where_the_answer_is_yes(count: int) -> None:
    checked = wrong = 0
    while checked < 50_000:
        values = [_sometimes_zero() for _ in range(count)]
        shares = opening.shares(HOLDER, count)
        made = opening.mixed(RING, [_encrypted(one) for one in values], shares, RELINEARISATION)
        equal = np.stack([_opened(one.cipher) == one.pad for one in (opening.padded(ENCRYPTOR, one) for one in made)])
        reached = np.logical_and.accumulate(np.stack(values) == 0)
        assert equal[reached].all()  # a yes is never lost
        wrong += int((equal & ~reached).sum())
        checked += count * RING.degree
    assert wrong <= 3  # each of 50,000 is zero by chance with probability 1/t, 2^-24: four of them in 1e-11 of all runs


def test_opened_values_are_the_content_plus_the_pad() -> None:
    content = uniform(RING.degree, RING.modulus)
    one = opening.padded(ENCRYPTOR, _encrypted(content))
    assert (_opened(one.cipher) == (content + one.pad) % np.uint64(RING.modulus)).all()


class _Clear:
    """Numbers modulo a small t, with the operations that `opening.combined` uses. Arrays, so that sums are in place."""

    def __init__(self, modulus: int) -> None:
        self.modulus = modulus

    def add_into(self, total: Any, more: Any) -> None:
        total += more
        total %= self.modulus

    def product(self, left: Any, right: Any) -> Any:
        return np.atleast_1d(left * right % self.modulus)

    def relinearised(self, value: Any, _: Any) -> Any:
        return value


@pytest.mark.parametrize("modulus", [3, 5, 7])
def test_answers_say_one_of_four_outcomes_and_nothing_more_at_a_small_modulus(modulus: int) -> None:
    """Every a, b, c there is: the joint distribution of (y', v', w') depends on nothing but whether Y, V and W are
    zero, and on V and W only where what is before them is.
    """
    ring: Any = _Clear(modulus)
    # The factors are sums of one share of each side: whatever one side chose, uniform by the other's.
    factors = [np.array(column) for column in zip(*product(range(modulus), repeat=3))]
    seen: dict[Outcome, set[frozenset[tuple[tuple[int, ...], int]]]] = {}
    for y, v, w in product(range(modulus), repeat=3):
        made = opening.combined(ring, [np.array([one]) for one in (y, v, w)], factors, None)
        found = Counter(zip(*(value.tolist() for value in made)))
        if y:
            outcome, fixed = Outcome.NO, 0  # uniform over all three, nothing about v and w
        elif v:
            outcome, fixed = Outcome.YES, 1
        else:
            outcome, fixed = (Outcome.EXCLUDED, 2) if w else (Outcome.RESTORED, 3)
        free = product(range(modulus), repeat=3 - fixed)
        assert found == {(0,) * fixed + rest: modulus**fixed for rest in free}
        seen.setdefault(outcome, set()).add(frozenset(found.items()))
    assert {outcome: len(distributions) for outcome, distributions in seen.items()} == dict.fromkeys(Outcome, 1)


def test_outcomes_are_read_from_the_first_value_on() -> None:
    """A later value that equals its pad by chance means nothing where an earlier one does not."""
    equal = np.array(list(product((False, True), repeat=3))).T[:, None, :]
    found = outcomes(equal)[0]
    expected = [Outcome.NO] * 4 + [Outcome.YES] * 2 + [Outcome.EXCLUDED, Outcome.RESTORED]
    assert found.tolist() == expected
    assert outcomes(equal[:2])[0].tolist() == [Outcome.NO] * 4 + [Outcome.YES] * 2 + [Outcome.EXCLUDED] * 2
    assert outcomes(equal[:1])[0].tolist() == [Outcome.NO] * 4 + [Outcome.YES] * 4


def test_pads_are_rounded_as_exact_arithmetic_rounds_them() -> None:
    primes = RING.primes[:PADDED]
    pad = opening.draw(primes, RING.degree, RING.modulus)
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
    rows = opening.scaled(values, primes, RING.modulus)
    for value, *residues in zip(values.tolist(), *rows.tolist()):
        exact = (prod(primes) * value + (RING.modulus + 1) // 2) // RING.modulus
        assert residues == [exact % prime for prime in primes]


def test_errors_have_the_distribution_of_seal() -> None:
    drawn = holders.errors(200_000)
    assert np.abs(drawn).max() <= 21
    assert abs(float(drawn.mean())) < 0.05
    assert 10.2 < float(drawn.var()) < 10.8  # 10.5 in theory, deviation 0.033
    assert set(np.unique(holders.ternary(1000)).tolist()) == {-1, 0, 1}


def test_nothing_random_is_used_twice() -> None:
    result = _encrypted(_sometimes_zero())
    first, second = opening.padded(ENCRYPTOR, result), opening.padded(ENCRYPTOR, result)
    assert (first.pad != second.pad).mean() > 0.99
    half = RING.form(PADDED).rows.length
    assert first.cipher[:half] != second.cipher[:half] and first.cipher[half:] != second.cipher[half:]
    shares = opening.shares(HOLDER, 3)
    assert len({share[:64] for share in shares}) == 3
    assert HOLDER.seeded_zero(2) != HOLDER.seeded_zero(2)


def test_the_askers_share_of_the_randomness_is_fresh_for_every_value_and_answer() -> None:
    """With one share r of the records' owner throughout, Y = 1 and V = W = 0 open as r + α, r + β, r + γ: a factor that
    was used twice would open as the same numbers.
    """
    (share,) = opening.shares(HOLDER, 1)
    one, zero = (np.full(RING.degree, value, dtype=np.uint64) for value in (1, 0))
    drawn = []
    for _ in range(2):
        made = opening.mixed(RING, [_encrypted(value) for value in (one, zero, zero)], [share] * 3, RELINEARISATION)
        for each in (opening.padded(ENCRYPTOR, value) for value in made):
            drawn.append((_opened(each.cipher) + np.uint64(RING.modulus) - each.pad) % np.uint64(RING.modulus))
    assert len(drawn) == 6
    for first, second in combinations(drawn, 2):
        assert (first != second).mean() > 0.99
