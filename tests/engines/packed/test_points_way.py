"""Points without help, encrypted: every answer as the interpreter's, nobody called, sizes and keys as promised."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest

from blindlabel.engines.interface import Evaluated, QuestionError, Terms, TermsError
from blindlabel.engines.packed import PackedEngine
from blindlabel.engines.packed.encoding.tables import features_of
from blindlabel.engines.packed.keys import open_public, open_secret
from blindlabel.engines.packed.seal import memory
from blindlabel.engines.packed.seal.library import sealapi, written
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.engines.packed.ways.points import forms, periodic
from blindlabel.engines.packed.ways.points import way as points_way
from blindlabel.engines.packed.ways.points.way import PointsWay
from blindlabel.language import Limits, Question, Record
from blindlabel.language.formula import Formula
from support.noise import noise_bits
from support.packed_rounds import ENGINE, Round, in_clear, keys_of
from support.random_questions import random_record

TERMS = Terms(
    ("name", "maker"),
    questions="points",
    record_length=60,
    attribute_length=28,
    functions=("is_in", "has_word", "is_empty"),
    limits=Limits(needle_length=3),
    records=12,
)
ASKED = (
    'ret 4*is_in("an", lower($r)) + 2*is_in("er", $r.name) + has_word("a", $r) + is_in("x", $r) >= 3',
    'ret 3*is_in("a", $r) + 3*is_in("b", $r) + 2*is_in("c", $r) + is_in("d", $r) >= 9',
    'ret is_in("a", $r) + is_in("e", $r) + is_in("r", $r) >= 1',
    'ret is_in("a", $r) & is_in("n", $r) & (is_in("b", lower($r)) | is_in("c", $r)) & !is_in("z", $r)',
    'ret is_in("a", $r) & !(is_in("b", $r) | is_in("C", $r))',
    'ret (is_in("a", $r) | is_in("e", $r)) & (is_in("n", $r) | is_in("l", $r))',
    "ret true",
    "ret false",
    'ret !is_empty($r.name) & !is_in("a", $r)',
)
TEXTS = ("Anna Berg", "bert ahorn", "carla BIRKE", "", "a", "xx a z", "an er", "abcd", "zan c")
RECORDS = [Record.of({"name": text, "maker": text[::-1]}) for text in TEXTS]
MANY = replace(
    TERMS, records=4096, record_length=8, encode_attributes=False, profile=(2, 1, 1), functions=("is_in",),
    limits=Limits(needle_length=2),
)  # fmt: skip


def formulas(*sources: str) -> list[Formula]:
    return [found for found in (Question(source).formula for source in sources) if found is not None]


def test_answers_are_the_interpreters_and_nobody_is_called() -> None:
    random = Random(5)
    records = [*RECORDS, *(random_record(random, ("name", "maker"), 28) for _ in range(3))]
    questions = formulas(*ASKED)
    played = Round(TERMS)
    assert (played.run(records, questions) == in_clear(records, questions)).all()
    assert not played.requests
    assert ENGINE.assist_schedule(TERMS, len(questions), len(records)).calls == 0


@pytest.mark.slow
@pytest.mark.parametrize("profile", [(1,), (2, 1, 1), (3, 3, 2, 2, 2, 1, 1, 1)])
def test_other_profiles_answer_what_fits_them(profile: tuple[int, ...]) -> None:
    terms = replace(TERMS, profile=profile, exclusions=len(profile) % 3)
    questions = [found for found in formulas(*ASKED) if ENGINE.refuse(terms, found) is None]
    assert len(questions) >= 3
    assert (Round(terms).run(RECORDS, questions) == in_clear(RECORDS, questions)).all()


@pytest.mark.slow
def test_many_records_and_questions_take_several_batches_and_groups() -> None:
    """Batches of four thousand records, each with the columns of two questions."""
    terms = MANY
    way = way_of(terms)
    assert isinstance(way, PointsWay) and way.layout.stride == 4
    records = [Record.of({"name": "".join(Random(i).choices("abc ", k=5)), "maker": ""}) for i in range(40)]
    questions = formulas(
        'ret 2*is_in("a", $r) + is_in("b", $r) + is_in("c", $r) >= 3',
        'ret is_in("ab", $r) & !is_in("c", $r)',
        'ret is_in("a", $r) + is_in("b", $r) + is_in("c", $r) >= 2',
        'ret is_in("b", $r) | is_in("cc", $r)',
        "ret true",
    )
    assert way.columns(len(questions)).copies == 1
    assert len(questions) > way.group_size(len(questions))
    assert (Round(terms).run(records, questions) == in_clear(records, questions)).all()


def test_a_stopped_evaluation_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points_way, "_MOST_SUMS", 1)  # a tile for every group, and groups of four questions
    terms = replace(MANY, profile=(1,), exclusions=0)
    keys, records = keys_of(terms), [Record.of({"name": text[:5], "maker": ""}) for text in TEXTS]
    parcels = list(ENGINE.encrypt(terms, keys.public, records))

    def evaluate(questions: list[Formula]) -> Iterator[Evaluated]:
        return PackedEngine(tmp_path).evaluate(terms, keys.public, parcels, questions, _never)

    asked = formulas(*(f'ret is_in("{letter}", $r)' for letter in "anberx"))
    stopped = evaluate(asked)
    first = [next(stopped), next(stopped)]
    del stopped
    damaged = sorted(tmp_path.glob("*.answers"))[1]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    again = list(evaluate(asked))
    assert again[0] == first[0]  # kept: made again it would have other masks
    assert first[1] not in again
    found = ENGINE.decrypt(terms, keys.secret, [one.parcel for one in again], len(asked), len(records))
    assert (found == in_clear(records, asked)).all()
    assert list(evaluate(asked)) == again
    assert len(list(evaluate(asked[:1]))) == len(list(tmp_path.glob("*.answers"))) == 1  # of other questions


def _never(request: bytes) -> bytes:
    raise AssertionError("nobody is called")


@pytest.mark.slow
def test_noise_is_within_its_estimate() -> None:
    """Answers before sanitising: the true noise is below the estimate, and not by far."""
    public, secret = open_public(TERMS, keys_of(TERMS).public), open_secret(TERMS, keys_of(TERMS).secret)
    way = public.way
    assert isinstance(way, PointsWay)
    ring = way.ring
    features = features_of(way.tables, RECORDS)
    items = [ring.sent(public.records.encryptor.encrypt(plain)) for plain in way.plaintexts(features)]
    plans = [way.plan(found) for found in formulas(*ASKED)]
    evaluation = way.evaluation(public, plans, len(RECORDS), items)
    (values,) = evaluation.answers([0], _never, lambda *_: None)
    for value in values:
        assert way.noise()["answers"].bits - 20 < noise_bits(secret.answers, value) <= way.noise()["answers"].bits


@pytest.mark.slow
def test_noise_under_an_owners_key_is_within_its_estimate() -> None:
    """What `opening` is given, at the level that the plan has for it."""
    terms = replace(TERMS, keys="owners", record_length=30, attribute_length=10)
    keys = keys_of(terms)
    public, secret = open_public(terms, keys.public), open_secret(terms, keys.secret)
    way = public.way
    assert isinstance(way, PointsWay)
    records = [Record.of({"name": text[:9], "maker": "x"}) for text in TEXTS]
    items = [secret.records.encrypt(plain) for plain in way.plaintexts(features_of(way.tables, records))]
    evaluation = way.evaluation(public, [way.plan(found) for found in formulas(*ASKED)], len(records), items)
    ((reached, _),) = evaluation.answers([0], _never, lambda *_: None)
    estimate = way.noise()["answers"]
    assert reached.coeff_modulus_size() == estimate.level < len(way.ring.primes)
    assert estimate.bits - 20 < noise_bits(secret.answers, reached) <= estimate.bits


def test_residues_read_from_memory_are_those_that_are_written() -> None:
    """At every level and in both forms, once the layout is proven by the first of them."""
    public, known = open_public(TERMS, keys_of(TERMS).public), memory.Memory()
    ring = public.way.ring
    cipher = public.records.encryptor.zero()
    for level in (len(ring.primes), 3, 1):
        for found in (ring.switched(cipher, level), ring.to_ntt(ring.switched(cipher, level))):
            in_file = ring.form(level, transformed=found.is_ntt_form()).seal_words(written(found))
            assert (known.words_of(found, partial(_given, in_file)) == in_file).all()
            assert known.proven
            assert (known.words_of(found, _unwanted) == in_file).all()
    nothing = np.zeros((0, 0, 0), dtype=np.uint64)
    assert known.words_of(sealapi.Ciphertext(), lambda: nothing) is nothing


def _given(words: Residues) -> Residues:
    return words


def _unwanted() -> Residues:
    raise AssertionError("the memory was known")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_KNOWN", False),
        ("_OBJECT", struct.Struct("<4Q?7xQQQdQ8xQQQ")),  # its length would be taken for an address
        ("_OBJECT", struct.Struct("<4Q?7xQQQdQ24xQQQ")),
        ("_POINTER", 8),
    ],
)
def test_where_ciphertexts_are_kept_otherwise_the_file_is_taken(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    public, known = open_public(TERMS, keys_of(TERMS).public), memory.Memory()
    cipher = public.records.encryptor.zero()
    expected = public.way.ring.residues(cipher)
    monkeypatch.setattr(memory, name, value)
    for _ in range(2):
        assert known.words_of(cipher, lambda: expected) is expected
        assert known.proven is False


def test_one_question_about_one_record_takes_no_more_steps_than_several() -> None:
    """A width of one column would add up every slot of a record by itself."""
    one, several = (way_of(replace(TERMS, profile=(1,), exclusions=0, records=records)) for records in (1, 8))
    assert isinstance(one, PointsWay) and isinstance(several, PointsWay)
    assert one.steps == several.steps
    assert one.steps.folds(one.layout) * one.steps.width // one.steps.babies < 100


@pytest.mark.slow
@pytest.mark.parametrize("records", [24, 2])
def test_every_step_of_the_linear_forms_lands_on_its_column(records: int) -> None:
    """All columns of all features of a batch, against clear matrix products; with few questions, stretches are added
    up.
    """
    terms = replace(TERMS, records=records)
    way = way_of(terms)
    assert isinstance(way, PointsWay)
    assert bool(way.steps.folds(way.layout)) == (records == 2)
    public, secret = open_public(terms, keys_of(terms).public), open_secret(terms, keys_of(terms).secret)
    chance = np.random.default_rng(3)
    features = chance.integers(0, way.ring.modulus, (9, way.tables.features), dtype=np.uint64)
    weights = chance.integers(0, way.ring.modulus, (1, way.steps.width, way.tables.features), dtype=np.uint64)
    items = [way.ring.sent(public.records.encryptor.encrypt(plain)) for plain in way.plaintexts(features)]
    ciphers = map(way.load_record, items)
    batch = forms.rotated(way.ring, way.layout, way.steps, ciphers, public.records.galois)
    (made,) = forms.products(public.records.encryptor, way.layout, way.steps, batch, weights, public.records.galois)
    found = way.ring.read_slots(secret.records.decrypt(made))
    by_record = periodic.from_slots(way.layout, found)[:9, : way.steps.width]
    expected = features.astype(object) @ weights[0].T.astype(object) % way.ring.modulus
    assert (by_record == expected.astype(np.uint64)).all()


def test_what_cannot_be_served_is_refused_with_a_sentence() -> None:
    with pytest.raises(TermsError, match="one label in a million"):
        way_of(replace(TERMS, profile=(2,) * 6 + (1,) * 6, exclusions=8))
    question = formulas('ret is_in("a", $r) + !is_in("b", $r) >= 1')[0]
    assert 'questions = "any"' in str(ENGINE.refuse(TERMS, question))
    with pytest.raises(QuestionError):
        way_of(TERMS).plan(question)
