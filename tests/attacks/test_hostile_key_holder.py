"""A records' owner that makes its keys, evaluation keys and records on purpose sees nothing of the questions.

What it can see of an answer is the ciphertext and, with the key it chose, its phase c0 + c1·s. Both are compared
between two sets of questions, by the distinguisher that finds the noise where the pad is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import pytest

from blindlabel.engines.interface import ParcelError
from blindlabel.engines.packed.planning.noise import MIXED, PADDED
from blindlabel.engines.packed.residues import Residues, uniform
from blindlabel.engines.packed.rings import SEED, RingParameters
from blindlabel.engines.packed.running import opening
from blindlabel.engines.packed.seal import holders
from blindlabel.engines.packed.seal.forms import Seeds
from blindlabel.engines.packed.seal.ring import Cipher, Ring, open_ring

RING = open_ring(RingParameters("small", 8192, (38, 54, 54, 54)))
BINS = 256
LIMIT = 430.0
"""χ² of 255 degrees lies beyond this with probability 4e-11; some two hundred are looked at."""


def _chi_square(shares: Residues) -> float:
    """Of 64-bit numbers that should be uniform."""
    counts = np.bincount((shares >> np.uint64(56)).astype(np.int64), minlength=BINS)
    expected = shares.size / BINS
    return float(((counts - expected) ** 2 / expected).sum())


def _fractions(ring: Ring, rows: Residues, factor: int) -> Residues:
    """frac(factor·x/q) in 2^-64, for x given by its residues."""
    primes = ring.primes[: rows.shape[0]]
    whole = prod(primes)
    value = np.zeros(rows.shape[1], dtype=object)
    for row, prime in zip(rows, primes, strict=True):
        value += row.astype(object) * (pow(whole // prime, -1, prime) * (whole // prime))
    return np.array(((value * factor % whole) << 64) // whole, dtype=np.uint64)


def _residue_fractions(ring: Ring, row: Residues, place: int, factor: int) -> Residues:
    """The same modulo one prime alone: a pad that left a prime out would show there."""
    prime = ring.primes[place]
    return np.array(((row.astype(object) * factor % prime) << 64) // prime, dtype=np.uint64)


def _phase(ring: Ring, secret: Residues, cipher: Cipher) -> Residues:
    """c0 + c1·s, coefficient by coefficient, for a secret in NTT form[prime, position]."""
    level = cipher.coeff_modulus_size()
    halves = ring.residues(ring.to_ntt(cipher))
    rows = []
    for row, prime in enumerate(ring.primes[:level]):
        product = halves[1, row].astype(object) * secret[row].astype(object)
        rows.append(((halves[0, row].astype(object) + product) % prime).astype(np.uint64))
    carrier = ring.of_residues(np.stack([np.stack(rows), halves[1]]), transformed=True)
    phase: Residues = ring.residues(ring.from_ntt(carrier))[0]
    return phase


# -- what a hostile holder may send: anything behind the seeds


class Hostile:
    """Keys and records of a holder that chose them. `first` changes the first half of whatever it sends."""

    def __init__(self, first: Callable[[Residues], Residues], *, secret: bool = True) -> None:
        self._first = first
        self.keys = holders.generate(RING, [])
        self.holder = holders.KeyHolder(RING, self.keys.secret)
        rows = RING.secret_form.rows
        self.secret = rows.read(self.keys.secret) if secret else np.zeros((len(rows.primes), RING.degree), np.uint64)

    def changed(self, content: bytes, level: int = 0) -> bytes:
        form = RING.form(level, seeded=True)
        return content[:SEED] + form.rows.write(self._first(form.words(content)[0]))

    def record(self) -> Cipher:
        values = uniform(RING.degree, RING.modulus)
        return RING.load_seeded(self.changed(self.holder.encrypt(RING.slots(values))))

    @property
    def relinearisation(self) -> bytes:
        form = RING.relinearisation_form
        size = form.one.length
        parts = [self.keys.relinearisation[start : start + size] for start in range(0, form.length, size)]
        return b"".join(part[:SEED] + form.one.rows.write(self._first(form.one.words(part)[0])) for part in parts)


def _keep(rows: Residues) -> Residues:
    return rows


def _zero(rows: Residues) -> Residues:
    return np.zeros_like(rows)


def _constant(rows: Residues) -> Residues:
    return np.ones_like(rows)


def _huge_noise(rows: Residues) -> Residues:
    """Noise of up to 2^95: the content survives, and the noise of a product says much of its other factor."""
    noise = uniform(rows.shape[1], 1 << 30)
    changed = [
        (row + opening.times(noise, (1 << 65) % prime, prime)) % np.uint64(prime)
        for row, prime in zip(rows, _primes(rows), strict=True)
    ]
    return np.stack(changed)


def _rubbish(rows: Residues) -> Residues:
    return np.stack([uniform(row.size, prime) for row, prime in zip(rows, _primes(rows), strict=True)])


def _primes(rows: Residues) -> tuple[int, ...]:
    return RING.secret_form.rows.primes[: rows.shape[0]]


HOSTILE = {
    "honest": lambda: Hostile(_keep),
    "huge noise": lambda: Hostile(_huge_noise),
    "first halves of zero": lambda: Hostile(_zero),
    "first halves of one": lambda: Hostile(_constant),
    "rubbish": lambda: Hostile(_rubbish),
    "a secret of zero": lambda: Hostile(_zero, secret=False),
}


def _answers(hostile: Hostile, weights: Residues, *, padded: bool, count: int = 3) -> list[Cipher]:
    """What leaves when a question with these weights is asked about hostile records, with and without the pad."""
    relinearisation = holders.relinearisation_keys(RING, hostile.relinearisation)
    encryptor = holders.Encryptor(RING, hostile.changed(hostile.keys.zero))
    found = []
    for _ in range(count):
        result = RING.multiply_plain(hostile.record(), RING.polynomial(weights))
        shares = [hostile.changed(share, MIXED) for share in opening.shares(hostile.holder, 1)]
        (answer,) = opening.mixed(RING, [result], shares, relinearisation)
        if padded:
            found.append(RING.load_cipher(opening.padded(encryptor, answer).cipher, PADDED))
        else:
            found.append(RING.switched(result, PADDED))
    return found


SMALL = np.array([1], dtype=np.uint64)
LARGE = np.full(4096, RING.modulus // 3, dtype=np.uint64)
"""The weights of two sets of questions whose products have noise of very different size."""


def _phases(hostile: Hostile, answers: list[Cipher]) -> Residues:
    return np.concatenate([_phase(RING, hostile.secret, answer) for answer in answers], axis=1)


def _noise(phases: Residues) -> float:
    """How far phases lie from the nearest plaintexts on average, in units of half the distance: 0.5 where uniform."""
    fractions = _fractions(RING, phases, RING.modulus)
    return float((np.minimum(fractions, np.uint64(0) - fractions).astype(np.float64) / 2**63).mean())


def test_without_the_pad_the_noise_tells_the_questions_apart() -> None:
    hostile = Hostile(_huge_noise)
    small, large = (_noise(_phases(hostile, _answers(hostile, weights, padded=False))) for weights in (SMALL, LARGE))
    assert large > 2 * small  # the distinguisher works


@pytest.mark.parametrize("kind", HOSTILE)
def test_with_the_pad_a_hostile_holder_sees_uniform_numbers_whatever_is_asked(kind: str) -> None:
    hostile = HOSTILE[kind]()
    for weights in (SMALL, LARGE):
        answers = _answers(hostile, weights, padded=True)
        halves = np.concatenate([RING.residues(answer) for answer in answers], axis=2)
        phases = _phases(hostile, answers)
        for seen in (halves[0], halves[1], phases):
            assert _chi_square(_fractions(RING, seen, 1)) < LIMIT
            for place, row in enumerate(seen):
                assert _chi_square(_residue_fractions(RING, row, place, 1)) < LIMIT
                assert _chi_square(_residue_fractions(RING, row, place, RING.modulus)) < LIMIT
        assert _chi_square(_fractions(RING, phases, RING.modulus)) < LIMIT
        assert abs(_noise(phases) - 0.5) < 0.011  # deviation 0.0018 where uniform


def test_two_answers_to_one_question_about_the_same_bytes_differ_by_uniform_numbers() -> None:
    """A holder has a round repeated, and serves the same bytes again: what it did not send cancels out."""
    hostile = Hostile(_zero)
    relinearisation = holders.relinearisation_keys(RING, hostile.relinearisation)
    encryptor = holders.Encryptor(RING, hostile.changed(hostile.keys.zero))
    result = RING.multiply_plain(hostile.record(), RING.polynomial(LARGE))
    shares = [hostile.changed(share, MIXED) for share in opening.shares(hostile.holder, 1)]

    def difference(*, padded: bool) -> Residues:
        answers = []
        for _ in range(2):
            (answer,) = opening.mixed(RING, [result], shares, relinearisation)
            sent = RING.load_cipher(opening.padded(encryptor, answer).cipher, PADDED)
            answers.append(RING.residues(sent if padded else RING.switched(result, PADDED)))
        primes = np.array(_primes(answers[0][0]), dtype=np.uint64)[None, :, None]
        found: Residues = (answers[0] + primes - answers[1]) % primes
        return found

    assert not difference(padded=False).any(), "the control: bare answers to one question are the same"
    for half in difference(padded=True):
        for place, row in enumerate(half):
            assert _chi_square(_residue_fractions(RING, row, place, 1)) < LIMIT


def test_two_objects_from_one_seed_are_refused() -> None:
    seeds = Seeds()
    seeds.take_all([bytes(SEED)])
    with pytest.raises(ParcelError, match="same seed"):
        seeds.take_all([bytes(SEED)])
