"""What the coordinator, who holds the secret key, can see: uniform values, rounding noise, and sizes that say
nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from blindlabel.engines.packed.keys import open_secret
from blindlabel.engines.packed.ways.assisted.polynomials import BIT_MODULUS

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind
from blindlabel.engines.packed.seal import ring
from blindlabel.engines.packed.seal.holders import Encryptor, KeyHolder
from blindlabel.language import Limits, Question, Record
from blindlabel.language.formula import Formula
from support.packed_rounds import ENGINE, Round, in_clear

TERMS = Terms(
    ("a",), questions="any",
    record_length=24, records=30, case="lower", encode_attributes=False, functions=("is_in", "has_word"),
    limits=Limits(needle_length=4, total_weight=7), probes=4, inner_gates=1, inner_weight=7,
)  # fmt: skip
POINTS = replace(TERMS, questions="points", profile=(2, 1, 1), exclusions=0)
RECORDS = [Record.of({"a": f"w{i % 3} common x{i}"}) for i in range(30)]


def asked(*sources: str) -> list[Formula]:
    return [formula for formula in (Question(source).formula for source in sources) if formula is not None]


FEW = asked(*[f'ret is_in("q{i}", $r) & is_in("zz", $r)' for i in range(20)])
MANY = asked(*[f'ret (has_word("w{i % 3}", $r) & is_in("com", $r)) | is_in("x{i}", $r)' for i in range(20)])


def _opened(one: Round, content: bytes, *kinds: Kind) -> tuple[Kind, ring.Cipher]:
    secret = open_secret(one.terms, one.keys.secret)
    parcel = parcels.read(content, kinds, secret.study, most_items=1, most_bytes=1 << 24)
    ring = secret.way.ring if parcel.kind is Kind.DIGITS_REQUEST else secret.way.answer_ring
    return parcel.kind, ring.load_cipher(parcel.items[0], 1)


def _answer_slots(one: Round) -> npt.NDArray[np.uint64]:
    secret = open_secret(one.terms, one.keys.secret)
    holder = secret.answers
    found = [holder.ring.read_slots(holder.decrypt(_opened(one, answer, Kind.ANSWERS)[1])) for answer in one.answers]
    return np.concatenate(found)


def _chi_square(values: npt.NDArray[np.uint64], modulus: int, bins: int = 32) -> float:
    counts = np.bincount((values * np.uint64(bins) // np.uint64(modulus)).astype(np.int64), minlength=bins)
    expected = values.size / bins
    return float(((counts - expected) ** 2 / expected).sum())


LIMIT = 110.0
"""31 degrees of freedom: beyond this with probability 9e-11; a run looks at up to a hundred."""


@pytest.mark.slow
def test_answers_are_zero_or_uniform_and_unused_slots_are_uniform() -> None:
    """With the assist; `test_points_privacy` has the other way."""
    no, unused, zeros = [], [], 0
    for _ in range(3):
        one = Round(TERMS)
        labels = one.run(RECORDS, MANY)
        assert (labels == in_clear(RECORDS, MANY)).all()
        # Four probes of up to 64 questions share a ciphertext; the answer is in the first copy.
        copies = _answer_slots(one).reshape(4, 32, 64)
        table, rest = copies[0].T, np.concatenate([copies[1:].reshape(-1), copies[0, :, len(MANY) :].reshape(-1)])
        pairs = table[: len(MANY), : len(RECORDS)]
        assert ((pairs == 0) == labels).all()
        no.append(pairs[pairs != 0])
        unused.append(np.concatenate([rest, table[: len(MANY), len(RECORDS) :].reshape(-1)]))
        zeros += int((unused[-1] == 0).sum())
    assert _chi_square(np.concatenate(no), BIT_MODULUS) < LIMIT
    assert _chi_square(np.concatenate(unused), BIT_MODULUS) < LIMIT
    assert zeros < 30  # a slot that was forgotten would be zero in thousands


@pytest.mark.slow
def test_what_the_assist_decrypts_is_uniform_whatever_is_asked() -> None:
    for questions in (FEW, MANY):
        one = Round(TERMS)
        one.run(RECORDS, questions)
        secret = open_secret(TERMS, one.keys.secret)
        for request in one.requests:
            kind, cipher = _opened(one, request, Kind.DIGITS_REQUEST, Kind.POWERS_REQUEST)
            if kind is Kind.DIGITS_REQUEST:
                values, modulus = (
                    secret.way.ring.read_polynomial(secret.records.decrypt(cipher)),
                    secret.way.ring.modulus,
                )
            else:
                values, modulus = secret.way.answer_ring.read_slots(secret.answers.decrypt(cipher)), BIT_MODULUS
            assert _chi_square(values, modulus) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("terms", [TERMS, POINTS])
def test_number_and_size_of_messages_do_not_depend_on_the_questions(terms: Terms) -> None:
    shapes = []
    for questions in (FEW, MANY):
        one = Round(terms)
        one.run(RECORDS, questions)
        assert len(one.requests) == ENGINE.assist_schedule(terms, len(questions), len(RECORDS)).calls
        shapes.append([len(message) for message in (*one.parcels, *one.requests, *one.replies, *one.answers)])
    assert shapes[0] == shapes[1]
    assert (len(shapes[0]) > 2) == (terms is TERMS)


# -- the distinguisher: it owns the key and looks at the noise


def _noise_of(holder: KeyHolder, cipher: ring.Cipher) -> float:
    """Bits of the largest noise coefficient, to about a twentieth: the smallest factor k at which SEAL's whole-number
    budget drops.
    """
    ring = holder.ring
    budget = holder.noise_budget(cipher)
    for k in range(17, 33):
        if (
            holder.noise_budget(ring.multiply_plain(cipher, ring.polynomial(np.array([k], dtype=np.uint64))))
            < budget - 4
        ):
            return float(-budget - np.log2(k / 32))
    return float(-budget)


def _noises(terms: Terms, questions: list[Formula], runs: int) -> dict[Kind, list[float]]:
    """The noise of everything that leaves in some rounds, by kind."""
    found: dict[Kind, list[float]] = {}
    for _ in range(runs):
        one = Round(terms)
        one.run(RECORDS, questions)
        secret = open_secret(one.terms, one.keys.secret)
        for content in (*one.requests, *one.answers):
            kind, cipher = _opened(one, content, Kind.DIGITS_REQUEST, Kind.POWERS_REQUEST, Kind.ANSWERS)
            holder = secret.records if kind is Kind.DIGITS_REQUEST else secret.answers
            found.setdefault(kind, []).append(_noise_of(holder, cipher))
    return found


UNLIKE = asked(*["ret 1 == 1"] * len(MANY)), MANY
"""Question sets whose computation leaves different noise: constants alone, against products or sums of everything."""


@pytest.mark.slow
@pytest.mark.parametrize("terms", [TERMS, POINTS])
def test_a_distinguisher_with_the_secret_key_learns_nothing_from_sanitised_noise(terms: Terms) -> None:
    one, other = (_noises(terms, questions, 2) for questions in UNLIKE)
    assert one.keys() == other.keys()
    for kind in one:
        # The largest of 8,192 rounding errors varies by about a tenth of a bit, and upwards by more: two means of two
        # lie 0.4 apart in one of a thousand runs, 0.9 never. In the points way's ring it comes out in whole bits. Noise
        # that is not hidden stands out by more than five.
        allowed = 1.1 if terms is POINTS else 0.9
        assert abs(np.mean(one[kind]) - np.mean(other[kind])) < allowed
        assert np.std([*one[kind], *other[kind]]) < allowed


@pytest.mark.slow
def test_the_same_distinguisher_succeeds_where_sanitising_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    primes = [0]  # that answers have when they are not switched down

    def left_alone(_: Encryptor, cipher: ring.Cipher) -> ring.Cipher:
        primes[0] = cipher.coeff_modulus_size()
        return cipher

    monkeypatch.setattr(Encryptor, "sanitised", left_alone)
    form = ring.Ring.form
    monkeypatch.setattr(
        ring.Ring, "form", lambda self, level=0, **how: form(self, primes[0] if level == 1 else level, **how)
    )
    one, other = (_noises(POINTS, questions, 1) for questions in UNLIKE)
    assert min(other[Kind.ANSWERS]) - max(one[Kind.ANSWERS]) > 5
    # A fresh zero without switching down does not help either: the noise of the computation still stands out.
    monkeypatch.setattr(
        Encryptor,
        "sanitised",
        lambda self, cipher: self.ring.add(cipher, self.ring.switched(self.zero(), cipher.coeff_modulus_size())),
    )
    one, other = (_noises(POINTS, questions, 1) for questions in UNLIKE)
    assert min(other[Kind.ANSWERS]) - max(one[Kind.ANSWERS]) > 5
