"""The packed engine answers what the interpreter answers, encrypted all the way."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from blindlabel.engines.interface import (
    Answers,
    EngineError,
    QuestionError,
    RecordError,
    Terms,
    TermsError,
    WorkerLost,
    Working,
)
from blindlabel.engines.packed import PackedEngine
from blindlabel.engines.packed.encoding import layout
from blindlabel.engines.packed.questions import plan_of
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.errors import OutsideError
from blindlabel.language import Limits, Question, Record, interpret
from blindlabel.language.formula import Formula
from blindlabel.language.rewriting import formula_of
from support.packed_rounds import ENGINE, Round, in_clear, keys_of
from support.random_questions import ATTRIBUTES, NoRecordLeft, QuestionMaker, random_record

SMALL = Terms(
    ("name",),
    questions="any",
    record_length=40,
    records=8,
    encode_attributes=False,
    limits=Limits(needle_length=8, total_weight=15),
    probes=8,
    inner_gates=1,
)


def formulas(*sources: str) -> list[Formula]:
    found = [Question(source).formula for source in sources]
    return [formula for formula in found if formula is not None]


def random_round(terms: Terms, seed: int, records: int, questions: int) -> tuple[list[Record], list[Formula], Answers]:
    """Random hostile records, random questions that the terms allow, and what the interpreter says."""
    random = Random(seed)
    rows = [random_record(random, terms.attributes, 12) for _ in range(records - 2)]
    rows += [
        Record.of(dict.fromkeys(terms.attributes, "")),
        Record.of({name: "a" * (name == terms.attributes[0]) for name in terms.attributes}),
    ]
    found: list[Formula] = []
    answers = []
    while len(found) < questions:
        maker = QuestionMaker(
            random, rows, terms.attributes, terms.limits.needle_length,
            [f for f in terms.functions if f != "common_words"],
            terms.limits.similar_distance,
        )  # fmt: skip
        try:
            question = maker.question()
            formula = formula_of(question, terms.limits)
            plan_of(way_of(terms), formula)
        except (NoRecordLeft, QuestionError):
            continue
        found.append(formula)
        answers.append([interpret(question, record) for record in rows])
    return rows, found, np.array(answers, dtype=np.bool_)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_questions_with_the_assist(seed: int) -> None:
    terms = Terms(
        ATTRIBUTES,
        questions="any",
        record_length=46,
        attribute_length=12,
        records=9,
        limits=Limits(needle_length=6, total_weight=20),
        inner_weight=20,
    )
    records, questions, expected = random_round(terms, seed, 9, 24)
    assert (Round(terms).run(records, questions) == expected).all()
    assert expected.any()
    assert not expected.all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_questions_without_the_assist(seed: int) -> None:
    terms = Terms(
        ATTRIBUTES, record_length=46, attribute_length=12, records=9, limits=Limits(needle_length=4),
        profile=(2, 2, 1, 1), exclusions=1,
    )  # fmt: skip
    records, questions, expected = random_round(terms, seed, 9, 24)
    one = Round(terms)
    assert (one.run(records, questions) == expected).all()
    assert one.requests == []


@pytest.mark.slow
def test_similar_and_between_work_where_an_agreement_lists_them() -> None:
    terms = Terms(
        ("name",), questions="any",
        record_length=24, records=8, case="both", encode_attributes=False, functions=("similar",
        "between", "has_word"),
        limits=Limits(similar_distance=1), inner_gates=1,
    )  # fmt: skip
    records = [
        Record.of({"name": text})
        for text in ("jonson 1999", "johnson 12.50", "Jonsen -3", "ionson", "", "2001 a space", "x", "jjonson 7")
    ]
    questions = formulas(
        'ret similar("jonson", $r, 1)',
        'ret similar("johnson", lower($r), 1) & !has_word("jonson", $r)',
        "ret between($r, 1998, 2001)",
        'ret between($r, -5, 12.5) & similar("johnson", $r, 1)',
        'ret similar("JONSON", upper($r), 1)',
    )
    found = Round(terms).run(records, questions)
    assert (found == in_clear(records, questions)).all()
    assert found.sum() >= 10


@pytest.mark.slow
def test_ranges_without_the_assist() -> None:
    terms = Terms(
        ("year",), record_length=12, records=64, case="lower", encode_attributes=False, functions=("between",
        "has_word"), profile=(1,) * 14, exclusions=0,
    )  # fmt: skip
    records = [Record.of({"year": text}) for text in ("1999", "2001 b", "a", "-4.25")]
    questions = formulas(
        "ret between($r, 1998, 2001)",
        'ret between($r, -777.77, 1999.13) & has_word("1999", $r)',
        "ret between($r, -4.3, 777.7)",
    )
    one = Round(terms)
    assert (one.run(records, questions) == in_clear(records, questions)).all()
    assert one.requests == []


@pytest.mark.parametrize(("records", "questions"), [(1, 1), (2, 65), (64, 3), (65, 2)])
@pytest.mark.parametrize("assisted", [True, False])
def test_batches_of_any_size(records: int, questions: int, assisted: bool) -> None:
    terms = Terms(
        ("a",), questions="any" if assisted else "points", record_length=10, records=max(records, questions),
        case="lower", encode_attributes=False, functions=("has_word",),
        limits=Limits(total_weight=3), probes=2, inner_gates=0, profile=(1,), exclusions=0,
    )  # fmt: skip
    rows = [Record.of({"a": f"w{i % 7} v{i % 5}"}) for i in range(records)]
    asked = formulas(*(f'ret has_word("w{i % 7}", $r) & has_word("v{i % 5}", $r)' for i in range(questions)))
    assert (Round(terms).run(rows, asked) == in_clear(rows, asked)).all()


@pytest.mark.slow
def test_samples_larger_than_a_batch_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Many features make the engine hold fewer records at a time; a small memory does so here: three batches of 512.
    monkeypatch.setattr(layout, "_MOST_FEATURES", 1 << 12)
    terms = Terms(
        ("a",), record_length=9, records=1100, case="lower", encode_attributes=False, functions=("has_word",),
        profile=(1,), exclusions=0,
    )  # fmt: skip
    rows = [Record.of({"a": f"w{i % 11}"}) for i in range(1100)]
    asked = formulas(*(f'ret has_word("w{i}", $r)' for i in range(9)))
    one = Round(terms)
    assert (one.run(rows, asked) == in_clear(rows, asked)).all()
    assert len(one.answers) == 3


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing() -> None:
    records = [Record.of({"name": name}) for name in ("sony dvd", "canon", "sony usm", "")]
    questions = formulas('ret is_in("sony", $r) & !is_in("dvd", $r)', 'ret is_empty($r) | has_word("canon", $r)')
    for terms in (SMALL, replace(SMALL, questions="points", profile=(1, 1), exclusions=1)):
        assert (Round(terms).run(records, questions, workers=2) == in_clear(records, questions)).all()


def test_an_error_in_a_worker_is_the_same_error() -> None:
    one = Round(SMALL)
    parcels = list(ENGINE.encrypt(SMALL, one.keys.public, [Record.of({"name": "x"})]))

    def broken(request: bytes) -> bytes:
        raise EngineError("the line is down")

    with pytest.raises(EngineError, match="the line is down"):
        list(ENGINE.evaluate(SMALL, one.keys.public, parcels, formulas('ret is_in("x", $r)'), broken, Working(2)))


def test_a_killed_worker_is_an_error_that_trying_again_may_help() -> None:
    one = Round(SMALL)
    parcels = list(ENGINE.encrypt(SMALL, one.keys.public, [Record.of({"name": "x"})]))
    before = multiprocessing.active_children()

    def deadly(request: bytes) -> bytes:
        for process in multiprocessing.active_children():
            if process not in before:
                process.kill()
        return one.assist(request)

    with pytest.raises(WorkerLost, match="Start again") as caught:
        list(ENGINE.evaluate(SMALL, one.keys.public, parcels, formulas('ret is_in("x", $r)'), deadly, Working(2)))
    assert isinstance(caught.value, OutsideError)


def test_records_beyond_the_agreement_are_refused_before_anything_is_encrypted() -> None:
    public = keys_of(SMALL).public
    for text in ("x" * 41, "x" * 10_000):
        with pytest.raises(RecordError, match="characters"):
            list(ENGINE.encrypt(SMALL, public, [Record.of({"name": "ok"}), Record.of({"name": text})]))
    with pytest.raises(RecordError, match="9 records"):
        list(ENGINE.encrypt(SMALL, public, [Record.of({"name": "ok"})] * 9))
    with pytest.raises(RecordError, match="no record"):
        list(ENGINE.encrypt(SMALL, public, []))


def test_a_question_beyond_the_agreement_is_refused_and_named() -> None:
    long = formulas('ret is_in("abcdefghijkl", $r)')
    assert "needles of at most" in (ENGINE.refuse(SMALL, long[0]) or "")
    with pytest.raises(QuestionError, match="Question 1: "):
        list(ENGINE.evaluate(SMALL, keys_of(SMALL).public, [], long, Round(SMALL).assist))


@pytest.mark.parametrize(
    "terms",
    [
        replace(SMALL, probes=5000), replace(SMALL, records=0), replace(SMALL, functions=()), replace(SMALL,
        agreement_hash=b"x"),
        replace(SMALL, case="upper"), replace(SMALL, limits=Limits(total_weight=400)),
        replace(SMALL, keys="owners"), replace(SMALL, questions="points", profile=(1,) * 15),
    ],
)  # fmt: skip
def test_terms_that_cannot_be_served_are_refused_with_a_sentence(terms: Terms) -> None:
    with pytest.raises(TermsError, match=r"[a-z].*\."):
        ENGINE.make_keys(terms)


def test_progress_is_told_and_ends_at_one() -> None:
    told: list[tuple[str, float]] = []
    working = Working(progress=lambda *step: told.append(step))
    one = Round(SMALL)
    parcels = list(ENGINE.encrypt(SMALL, one.keys.public, [Record.of({"name": "x"})], working=working))
    list(ENGINE.evaluate(SMALL, one.keys.public, parcels, formulas('ret is_in("x", $r)'), one.assist, working))
    for phase in ("encrypt", "prepare", "evaluate"):
        shares = [share for name, share in told if name == phase]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_an_evaluation_stopped_at_every_assist_call_makes_none_twice(tmp_path: Path) -> None:
    """As with files carried by hand: the reply is there only when the evaluation is begun again."""
    terms = replace(SMALL, record_length=12, functions=("equals",), probes=2, inner_gates=0, inner_levels=0)
    keys, records = keys_of(terms), [Record.of({"name": name}) for name in ("x", "y")]
    parcels = list(ENGINE.encrypt(terms, keys.public, records))
    questions, carried, asked = formulas('ret equals("x", $r)'), dict[bytes, bytes](), list[bytes]()

    def assist(request: bytes) -> bytes:
        asked.append(request)
        if request not in carried:
            carried[request] = ENGINE.assist(terms, keys.secret, request)
            raise OutsideError("Not carried yet.")
        return carried[request]

    needed = ENGINE.assist_schedule(terms, 1, 2).calls
    for _ in range(needed):
        with pytest.raises(OutsideError):
            list(PackedEngine(journal=tmp_path).evaluate(terms, keys.public, parcels, questions, assist))
    made = list(PackedEngine(journal=tmp_path).evaluate(terms, keys.public, parcels, questions, assist))
    assert asked == [request for request in carried for _ in range(2)]  # the same bytes again, and no others
    assert len(carried) == needed > 1
    assert not list(tmp_path.glob("*.call-*"))
    assert ENGINE.decrypt(terms, keys.secret, [one.parcel for one in made], 1, 2).tolist() == [[True, False]]
