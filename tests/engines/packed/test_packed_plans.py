"""Questions compiled for the packed engine mean what the interpreter says, shown in clear: probes answered from the
sets themselves.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from blindlabel.engines.packed.planning.probing import Probe, probes_of
from blindlabel.engines.packed.questions import plan_of, plans_of
from blindlabel.engines.packed.ways.assisted import plans
from blindlabel.engines.packed.ways.choosing import way_of
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.engines.packed import PackedEngine
from blindlabel.engines.packed.encoding.tables import tables_of
from blindlabel.language import Limits, Question, Record, View, interpret, words
from blindlabel.language.formula import Atom, Formula, evaluate
from blindlabel.language.functions import PREDICATES
from blindlabel.language.rewriting import formula_of
from support.random_questions import ATTRIBUTES, NoRecordLeft, QuestionMaker, random_record, random_text

MODULUS = 268369921
WIDE = (
    "is_in",
    "starts_with",
    "ends_with",
    "equals",
    "has_word",
    "is_empty",
    "sounds_like",
    "similar",
    "between",
    "far_from",
)
LIMITS = Limits(similar_distance=1)


def _any(**other: Any) -> Terms:
    """Terms of an agreement where anything may be asked."""
    return Terms(("a",), questions="any", **other)


def _holds(probe: Probe, record: Record) -> bool:
    return probe.element in probe.table.family.elements(record.text(probe.table.view))


def _random_case(seed: int) -> tuple[QuestionMaker, list[Record]]:
    random = Random(seed)
    records = [random_record(random) for _ in range(5)]
    return QuestionMaker(random, records, similar_distance=1), records


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32))
def test_a_plan_of_gates_means_what_the_question_means(seed: int) -> None:
    maker, records = _random_case(seed)
    try:
        question = maker.question()
    except NoRecordLeft:
        return
    terms = Terms(ATTRIBUTES, questions="any", functions=WIDE, limits=LIMITS, probes=64, inner_gates=8, inner_levels=3)
    tables = tables_of(terms, MODULUS)
    try:
        plan = plans.compile_question(terms, tables, formula_of(question, LIMITS))
    except QuestionError:
        return
    room = plans.Room.of(terms)
    assert len(plan.probes) <= room.probes
    assert all(
        len(level) <= room.inner_gates and all(gate.total <= room.inner_weight for gate in level)
        for level in plan.levels
    )
    assert plan.final.total <= room.final_weight
    for record in records:
        found = [_holds(probe, record) for probe in plan.probes]
        assert plans.holds(plan, room, found) == interpret(question, record)


def test_most_random_questions_fit_the_default_room() -> None:
    terms = Terms(ATTRIBUTES, questions="any")
    tables = tables_of(terms, MODULUS)
    fitting = 0
    for seed in range(300):
        random = Random(seed)
        records = [random_record(random) for _ in range(5)]
        try:
            question = QuestionMaker(random, records, functions=terms.functions).question()
        except NoRecordLeft:
            continue
        try:
            plans.compile_question(terms, tables, formula_of(question, Limits()))
            fitting += 1
        except QuestionError as problem:
            assert "agree" in str(problem)
    assert fitting > 240


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(WIDE), st.sampled_from(["exact", "lower", "upper"]))
def test_every_function_is_asked_right_in_every_case(seed: int, function: str, shown: str) -> None:
    random = Random(seed)
    text = random_text(random)
    # Needles that are often right up to case, for the upper-case view rests on the lower-case one.
    source = random.choice([text, words.upper(text), words.lower(text), random_text(random)])
    start = random.randint(0, len(source))
    needle = source[start : start + random.randint(1, 8)] or "x"
    arguments = {"is_empty": (), "similar": (needle, 1), "between": (1, 1000), "far_from": (20,)}.get(
        function, (needle,)
    )
    if PREDICATES[function].always(arguments) is not None:
        return
    lowered = random.random() < 0.3
    terms = Terms(
        (), questions="any", functions=WIDE, limits=LIMITS, record_length=40, case="lower" if lowered else "both"
    )
    text = words.lower(text) if lowered else text
    atom = Atom(function, arguments, View(None, shown))  # type: ignore[arg-type]  # drawn from the literals
    record = Record({}, text)
    probes = probes_of(terms, tables_of(terms, MODULUS), atom)
    assert any(_holds(probe, record) for probe in probes) == evaluate(atom, record)


@pytest.mark.parametrize(
    ("source", "terms", "word"),
    [
        ('ret is_in("abcdefghi", $r)', _any(limits=Limits(needle_length=8)), "needles of at most 8"),
        ('ret similar("jonson", $r, 1)', _any(), "does not encode similar"),
        ('ret is_in("a", $r.a)', _any(encode_attributes=False), "single attributes"),
        ('ret is_in("a", $r)', _any(encode_whole=False), "whole records"),
        ('ret is_in("a", $r.b)', _any(), "no attribute 'b'"),
        ("ret " + " | ".join(f'is_in("{c}", $r)' for c in "abcdefg"), _any(probes=6), "more probes"),
    ],
)
def test_what_goes_beyond_the_agreement_is_refused_with_a_sentence(source: str, terms: Terms, word: str) -> None:
    formula = Question(source).formula
    assert formula is not None
    with pytest.raises(QuestionError, match=word):
        plan_of(way_of(terms), formula)


def test_a_question_that_was_checked_is_not_compiled_again_to_be_asked() -> None:
    formula = Question('ret is_in("a", $r)').formula
    assert formula is not None
    terms = _any()
    assert PackedEngine().refuse(terms, formula) is None
    before = plan_of.cache_info()
    assert plans_of(way_of(terms), [formula]) == [plan_of(way_of(terms), formula)]
    after = plan_of.cache_info()
    assert (after.misses, after.hits) == (before.misses, before.hits + 2)


def test_any_function_of_six_needles_is_one_gate() -> None:
    names = "abcdef"
    needles = [f'is_in("{c}", $r)' for c in names]
    source = (
        f"ret ({needles[0]} & !{needles[1]} | {needles[2]}) & !({needles[3]} | {needles[4]} & !({needles[5]} |"
        f" {needles[0]}))"
    )
    formula = Question(source).formula
    assert formula is not None
    terms = _any(inner_gates=0)
    plan = plans.compile_question(terms, tables_of(terms, MODULUS), formula)
    assert plan.levels == ()
    assert plan.final.total <= 63


def test_a_nested_count_becomes_an_inner_gate_where_the_sum_would_grow_too_large() -> None:
    formula: Formula | None = Question(
        "ret ("
        + " + ".join(f'is_in("{c}", $r)' for c in "abcdefghij")
        + " >= 4) & ("
        + " + ".join(f'{i % 3 + 1}*is_in("{c}z", $r)' for i, c in enumerate("abcdef"))
        + " >= 5)"
    ).formula
    assert formula is not None
    terms = _any()
    plan = plans.compile_question(terms, tables_of(terms, MODULUS), formula)
    assert sum(map(len, plan.levels)) >= 1
