"""The gates engine on real ciphertexts. Runs where OpenFHE imports (scripts/run-gates-tests.sh); elsewhere only the
other files run.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from blindlabel.engines.gates import engine as engine_module
from blindlabel.engines.gates import forking, parcels, published
from blindlabel.engines.gates.compiling import compiled
from blindlabel.engines.gates.engine import LocalGatesEngine
from blindlabel.engines.gates.library import Ciphertext, Context, ThresholdGates, TwoInputGates
from blindlabel.engines.gates.parameters import MODULUS
from blindlabel.engines.gates.parcels import Kind
from blindlabel.engines.interface import EngineError, Keys, ParcelError, Terms
from blindlabel.language.formula import Atom, Conjunction, Constant, Count, Disjunction, Formula, Negation, evaluate
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import Record, View

pytest.importorskip("openfhe", reason="OpenFHE does not import under this Python", exc_type=ImportError)

LENGTH = 6
TERMS = Terms((), record_length=LENGTH, encode_attributes=False, functions=tuple(PREDICATES), records=3)
ENGINE = LocalGatesEngine()


@pytest.fixture(scope="module")
def keys() -> Keys:
    return ENGINE.make_keys(TERMS)


@pytest.fixture(scope="module")
def library(keys: Keys) -> ThresholdGates:
    return engine_module._with_public_key(TERMS, keys.public)[1]


@pytest.fixture(scope="module")
def secret(keys: Keys, library: ThresholdGates) -> Any:
    return library.secret_key(parcels.opened(Kind.SECRET, TERMS, keys.secret)[1])


@pytest.fixture(scope="module")
def two_input() -> tuple[TwoInputGates, Any]:
    """The publication's gates, with keys of their own, and the secret one."""
    gates = TwoInputGates()
    return gates, gates.secret_key(gates.make_keys()[1])


def encrypted(library: Context, text: str) -> list[list[Ciphertext]]:
    return [[library.encrypt(bit) for bit in byte] for byte in published.bits_of(text)]


def asked(keys: Keys, questions: list[Formula], records: list[Record], workers: int = 1) -> list[list[bool]]:
    sent = list(ENGINE.encrypt(TERMS, keys.public, records))
    answers = ENGINE.evaluate(TERMS, keys.public, sent, questions, lambda _: b"", workers=workers)
    return [
        [bool(one) for one in row] for row in ENGINE.decrypt(TERMS, keys.secret, answers, len(questions), len(records))
    ]


# -- gates


@pytest.mark.parametrize(("needle", "text"), [("b", "ab"), ("a", "bc")])
def test_the_published_is_in_works_on_ciphertexts_serial_and_parallel(
    two_input: tuple[TwoInputGates, Any], needle: str, text: str
) -> None:
    gates, key = two_input
    a, b = encrypted(gates, needle), encrypted(gates, text)
    found = [published.is_in(gates, a, b), forking.is_in_parallel(gates, a, b, workers=2)]
    assert [gates.decrypt(key, one) for one in found] == [needle in text] * 2


def test_the_published_case_circuits_work_on_ciphertexts(two_input: tuple[TwoInputGates, Any]) -> None:
    gates, key = two_input
    (byte,) = published.lower(gates, encrypted(gates, "C"))
    assert [gates.decrypt(key, bit) for bit in byte] == published.bits_of("c")[0]


@pytest.mark.parametrize(("count", "inputs"), [(1, 2), (2, 2), (1, 3), (2, 3), (3, 3)])
def test_the_whole_truth_table_of_every_gate(library: ThresholdGates, secret: Any, count: int, inputs: int) -> None:
    for bits in itertools.product((False, True), repeat=inputs):
        value = library.at_least(count, [library.encrypt(bit) for bit in bits])
        assert library.decrypt(secret, value) == (sum(bits) >= count), bits


def noise(library: ThresholdGates, secret: Any, ciphertext: Ciphertext, bit: bool) -> float:
    """How far the ciphertext is from the bit it holds, to two parts of the modulus: decrypted as one of 1024 values
    instead of six.
    """
    phase = 2 * int(library.context.Decrypt(secret, ciphertext, MODULUS // 2)) + 1
    return (phase - bit * MODULUS / 6 + MODULUS / 2) % MODULUS - MODULUS / 2


def test_negation_turns_both_bits_keeps_the_noise_and_works_through_gates(library: ThresholdGates, secret: Any) -> None:
    for bit in (False, True):
        fresh = library.encrypt(bit)
        turned = library.not_(fresh)
        assert library.decrypt(secret, turned) is not bit
        assert library.decrypt(secret, library.not_(turned)) is bit
        assert abs(noise(library, secret, turned, not bit) + noise(library, secret, fresh, bit)) <= 3
        for count, one in itertools.product((1, 2), (library.encrypt(True), library.constant(True))):
            gated = library.at_least(count, [turned, one])
            assert library.decrypt(secret, gated) is (not bit or count == 1)
            assert library.decrypt(secret, library.not_(gated)) is not (not bit or count == 1)
    assert [library.decrypt(secret, library.not_(library.constant(bit))) for bit in (True, False)] == [False, True]


def test_random_chains_of_gates_and_negations_stay_right_and_far_from_the_margin(
    library: ThresholdGates, secret: Any
) -> None:
    chance = random.Random(7)
    pool = [(library.encrypt(bit), bit) for bit in (True, False) * 5]
    noises = []
    for _ in range(150):
        chosen = chance.sample(pool, chance.choice((2, 3, 3)))
        turned = [chance.random() < 0.5 for _ in chosen]
        count = chance.randint(1, len(chosen))
        inputs = [library.not_(one) if turn else one for (one, _), turn in zip(chosen, turned)]
        expected = sum(bit != turn for (_, bit), turn in zip(chosen, turned)) >= count
        value = library.at_least(count, inputs)
        assert library.decrypt(secret, value) == expected
        noises.append(noise(library, secret, value, expected))
        pool[chance.randrange(len(pool))] = (value, expected)
    # A gate is wrong where the noise of three inputs exceeds half a sixth of the modulus: nearly ten standard
    # deviations, as measured.
    assert statistics.pstdev(noises) * math.sqrt(3) * 8 < MODULUS / 12
    assert abs(statistics.mean(noises)) < 4


# -- the engine

_words = st.text(alphabet="abA1 ", min_size=1, max_size=3)
_small_views = st.builds(View, st.none(), st.sampled_from(["exact", "lower", "upper"]))
_atoms: st.SearchStrategy[Formula] = st.one_of(
    st.builds(
        lambda function, needle, view: Atom(function, (needle,), view),
        st.sampled_from(["is_in", "starts_with", "ends_with", "equals", "has_word", "sounds_like"]),
        _words,
        _small_views,
    ),
    st.builds(lambda view: Atom("is_empty", (), view), _small_views),
    st.builds(lambda word, view: Atom("similar", (word, 1), view), _words, _small_views),
    st.builds(
        lambda low, size, view: Atom("between", (low, low + size), view),
        st.integers(0, 20),
        st.integers(0, 20),
        _small_views,
    ),
)
_formulas: st.SearchStrategy[Formula] = st.one_of(
    _atoms,
    st.builds(Negation, _atoms),
    st.builds(lambda a, b: Conjunction((a, b)), _atoms, _atoms),
    st.builds(lambda a, b: Disjunction((a, b)), _atoms, _atoms),
    st.builds(lambda a, b, c: Count((2, 1, 1), (a, b, c), 2, 3), _atoms, _atoms, _atoms),
)
_records = st.builds(lambda text: Record({}, text), st.text(alphabet="abA1 ", min_size=2, max_size=LENGTH))


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_formulas, min_size=1, max_size=2), _records)
def test_ciphertexts_answer_as_the_plain_meaning_does(keys: Keys, questions: list[Formula], record: Record) -> None:
    assume(20 <= compiled(TERMS, questions).gates <= 60)
    assert asked(keys, questions, [record]) == [[evaluate(question, record)] for question in questions]


def test_forked_processes_give_the_same_answers(keys: Keys) -> None:
    records = [Record({}, "ab"), Record({}, "ba"), Record({}, "")]
    questions: list[Formula] = [Atom("starts_with", ("a",), View()), Constant(True), Constant(False)]
    assert asked(keys, questions, records, workers=2) == [[True, False, False], [True] * 3, [False] * 3]


def test_a_constant_answer_looks_like_any_other(keys: Keys) -> None:
    sent = list(ENGINE.encrypt(TERMS, keys.public, [Record({}, "")]))
    key_id, _ = parcels.opened(Kind.SECRET, TERMS, keys.secret)
    (answers,) = ENGINE.evaluate(TERMS, keys.public, sent, [Constant(True), Constant(True)], lambda _: b"")
    values = parcels.opened_batch(Kind.ANSWERS, TERMS, answers, key_id, record=0, count=2)
    assert all(len(set(row.tolist())) > 100 for row in values), "a trivial ciphertext is all zeros but one"
    assert values[0].tolist() != values[1].tolist()


def test_parcels_and_keys_of_others_are_refused(keys: Keys) -> None:
    other = Terms((), agreement_hash=b"o" * 32, record_length=LENGTH, encode_attributes=False)
    with pytest.raises(ParcelError, match="another agreement"):
        list(ENGINE.encrypt(other, keys.public, [Record({}, "a")]))
    with pytest.raises(ParcelError, match="too short"):
        list(ENGINE.evaluate(TERMS, keys.public, [b"noise"], [Constant(True)], lambda _: b""))
    narrow = Terms((), record_length=LENGTH, encode_attributes=False, records=0)
    with pytest.raises(ParcelError, match="more encrypted records than the 0"):
        list(ENGINE.evaluate(narrow, keys.public, [b"noise"], [Constant(True)], lambda _: b""))
    with pytest.raises(ParcelError, match="Expected a secret key"):
        ENGINE.decrypt(TERMS, keys.public, [], 1, 0)
    with pytest.raises(EngineError, match="never asks for an assist"):
        ENGINE.assist(TERMS, keys.secret, b"")
