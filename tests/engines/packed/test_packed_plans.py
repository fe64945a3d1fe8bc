"""Predicates become probes that mean what the interpreter says; questions are refused by what an agreement encodes,
and compiled once.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.engines.packed.encoding.features import tables_of
from blindlabel.engines.packed.planning.fitting import Probe, probes_of
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.engines.packed.rings import RINGS
from blindlabel.engines.packed.rules import PackedRules
from blindlabel.language import Limits, Question, Record, View, words
from blindlabel.language.formula import Atom, evaluate
from blindlabel.language.functions import PREDICATES
from support.random_questions import random_text

MODULUS = RINGS[0].modulus
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
    "same_telephone",
    "near_date",
    "near_year",
)
LIMITS = Limits(similar_distance=1)


def _terms(**other: Any) -> Terms:
    return Terms(("a",), **other)


def _holds(probe: Probe, record: Record) -> bool:
    return probe.element in probe.table.family.elements(record.text(probe.table.view))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(WIDE), st.sampled_from(["exact", "lower", "upper"]))
def test_every_function_is_asked_right_in_every_case(seed: int, function: str, shown: str) -> None:
    random = Random(seed)
    text = random_text(random)
    # Needles that are often right up to case, for the upper-case view rests on the lower-case one.
    source = random.choice([text, words.upper(text), words.lower(text), random_text(random)])
    start = random.randint(0, len(source))
    needle = source[start : start + random.randint(1, 8)] or "x"
    arguments = {
        "is_empty": (),
        "similar": (needle, 1),
        "between": (1, 1000),
        "far_from": (20,),
        "same_telephone": ("+49 310 4560488",),
        "near_date": (random.choice(["1980-05-17", "2001-02-03"]),),
        "near_year": (1999,),
    }.get(function, (needle,))
    if PREDICATES[function].always(arguments) is not None:
        return
    lowered = random.random() < 0.3
    terms = Terms((), functions=WIDE, limits=LIMITS, record_length=40, case="lower" if lowered else "both")
    text = words.lower(text) if lowered else text
    atom = Atom(function, arguments, View(None, shown))  # type: ignore[arg-type]  # drawn from the literals
    record = Record({}, text)
    probes = probes_of(terms, tables_of(terms, MODULUS), atom)
    assert any(_holds(probe, record) for probe in probes) == evaluate(atom, record)


@pytest.mark.parametrize(
    ("source", "terms", "word"),
    [
        ('ret is_in("abcdefghi", $r)', _terms(limits=Limits(needle_length=8)), "allows at most 8"),
        ('ret similar("jonson", $r, 1)', _terms(), "does not encode similar"),
        ('ret is_in("a", $r.a)', _terms(encode_attributes=False), "single attributes"),
        ('ret is_in("a", $r)', _terms(encode_whole=False), "whole records"),
        ('ret is_in("a", $r.b)', _terms(), "no attribute 'b'"),
        ("ret " + " | ".join(f'is_in("{c}", $r)' for c in "abcdefg"), _terms(profile=(1,) * 6), "fit the agreement's"),
    ],
)
def test_what_goes_beyond_the_agreement_is_refused_with_a_sentence(source: str, terms: Terms, word: str) -> None:
    formula = Question(source).formula
    assert formula is not None
    with pytest.raises(QuestionError, match=word):
        room_of(terms).plan(formula)


def test_a_question_that_was_checked_is_not_compiled_again_to_be_asked() -> None:
    question, terms = Question('ret is_in("a", $r)').usable(), _terms()
    assert PackedRules().refuse(terms, question) is None
    room = room_of(terms)
    before = room.plan.cache_info()
    assert room.plan(question) is room.plan(question)
    after = room.plan.cache_info()
    assert (after.misses, after.hits) == (before.misses, before.hits + 2)
