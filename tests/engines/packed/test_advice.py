"""A question that an agreement has no room for is refused with the settings that would answer it, and they do."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed import PackedRules
from blindlabel.language import Question
from blindlabel.language.formula import Atom, Conjunction, Disjunction, Formula, Negation
from blindlabel.language.record import View
from blindlabel.protocol import agreement as agreements

DEFAULT = agreements.new("advice", ("a", "b"), ("name",)).terms()
RULES = PackedRules()


def needle(number: int) -> Formula:
    return Atom("is_in", (f"word{number}",), View())


def advised(refused: str) -> dict[str, Any]:
    """The settings that a refusal names."""
    found = re.search(r"An agreement with (.*) would answer it\.$", refused)
    assert found, refused
    pairs = (one.split(" = ", 1) for one in found[1].split(" and "))
    return {name: tuple(value) if isinstance(value := eval(text), list) else value for name, text in pairs}


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    """Up to 12 needles under AND and OR, nested as one likes, up to four of them denied."""
    count = draw(st.integers(2, 12))
    denied = draw(st.sets(st.integers(0, count - 1), max_size=4))
    parts: list[Formula] = [Negation(needle(n)) if n in denied else needle(n) for n in range(count)]
    while len(parts) > 1:
        size = draw(st.integers(2, len(parts)))
        start = draw(st.integers(0, len(parts) - size))
        some = tuple(parts[start : start + size])
        parts[start : start + size] = [Conjunction(some) if draw(st.booleans()) else Disjunction(some)]
    return parts[0]


@settings(max_examples=150)
@given(formulas())
def test_numbers_that_a_refusal_names_answer_the_question(question: Formula) -> None:
    refused = RULES.refuse(DEFAULT, question)
    if refused is not None and "An agreement with" in refused:
        assert RULES.refuse(replace(DEFAULT, **advised(refused)), question) is None


@pytest.mark.parametrize("count", [20, 32])
def test_default_agreement_answers_an_and_of_many_needles(count: int) -> None:
    assert RULES.refuse(DEFAULT, Conjunction(tuple(map(needle, range(count))))) is None


@pytest.mark.parametrize(
    ("source", "settings"),
    [
        ("a & !b & !c & !d", {"exclusions": 3}),
        ("a & (!b | c | d | e)", {"unless": 3}),
        ("a + b + c + d == 1", {"exclusions": 6, "profile": (1, 1, 1, 1)}),
        ("!a & !b & !c", {"exclusions": 3}),
        ("a & (!b & !c & !d | e | f | g)", {"exclusions": 3, "unless": 3}),
        ("a | b | c | d | e | f | g | h | i | j | k", {"profile": (1,) * 11}),
    ],
)
def test_a_refusal_names_the_least_that_would_answer(source: str, settings: dict[str, Any]) -> None:
    question = Question("ret " + re.sub(r"([a-k])", r'is_in("\1", $r)', source)).usable()
    refused = RULES.refuse(DEFAULT, question)
    assert refused is not None and advised(refused) == settings
    assert RULES.refuse(replace(DEFAULT, **settings), question) is None
    for name in settings:
        if name != "profile":
            less = settings | {name: settings[name] - 1}
            assert RULES.refuse(replace(DEFAULT, **less), question) is not None


@pytest.mark.parametrize("source", ["(a | !b) & !c", "a + b + c + d == 1 | a + b + c + d == 3"])
def test_what_no_room_answers_is_refused_without_numbers(source: str) -> None:
    refused = RULES.refuse(DEFAULT, Question("ret " + re.sub(r"([a-d])", r'is_in("\1", $r)', source)).usable())
    assert refused is not None and "levels below its points" in refused and "An agreement with" not in refused


def test_what_is_not_encoded_gets_no_advice() -> None:
    refused = RULES.refuse(replace(DEFAULT, functions=("equals",)), needle(1))
    assert refused == "This agreement does not encode is_in. It encodes equals."


ENCODED = Terms(("name",), encode_attributes=False, functions=("is_in", "similar", "between"))


@settings(max_examples=40, deadline=None)
@given(st.lists(formulas(), min_size=1, max_size=3))
def test_questions_that_are_known_beforehand_get_terms_that_answer_all_of_them(questions: list[Formula]) -> None:
    terms = RULES.least_terms(ENCODED, questions)
    wide = replace(ENCODED, profile=(1,) * 6, exclusions=8, unless=8)
    if all(RULES.refuse(wide, question) is None for question in questions):
        for question in questions:
            assert RULES.refuse(terms, question) is None


@pytest.mark.parametrize(
    ("sources", "profile", "exclusions", "unless"),
    [
        (['is_in("a", $r) & is_in("b", $r) & is_in("c", $r)', "true"], (1,), 0, 0),
        (['is_in("a", $r) & is_in("b", $r) & is_in("c", $r) & (is_in("d", $r) | is_in("e", $r))'], (1, 1), 0, 0),
        (['is_in("a", $r) & !is_in("b", $r)', 'is_in("c", $r) | is_in("d", $r)'], (1, 1), 1, 0),
        (['is_in("a", $r) + is_in("b", $r) + is_in("c", $r) + is_in("d", $r) >= 2'], (1,) * 4, 0, 0),
        (['2*is_in("a", $r) + is_in("b", $r) + is_in("c", $r) >= 2 & !is_in("d", $r) & !is_in("e", $r)'], (1, 1), 2, 0),
        (['is_in("a", $r) | !is_in("b", $r)', 'is_in("c", $r)'], (1,), 1, 1),
        (['(is_in("a", $r) & !is_in("b", $r)) | is_in("c", $r)'], (1, 1), 1, 1),
    ],
)
def test_questions_that_are_known_beforehand_get_no_more_room_than_they_take(
    sources: list[str], profile: tuple[int, ...], exclusions: int, unless: int
) -> None:
    questions = [found for found in (Question(f"ret {one}").formula for one in sources) if found is not None]
    found = RULES.least_terms(ENCODED, questions)
    assert (found.profile, found.exclusions, found.unless) == (profile, exclusions, unless)


def test_what_no_terms_can_answer_is_refused_with_its_reason() -> None:
    question = Question('ret has_word("a", $r)').formula
    assert question is not None
    assert RULES.least_terms(ENCODED, [question]) == ENCODED
    assert "does not encode has_word" in str(RULES.refuse(ENCODED, question))
