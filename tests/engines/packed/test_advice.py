"""A question that an agreement has no room for is refused with the settings that would answer it, and they do."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed import PackedEngine
from blindlabel.language import Question
from blindlabel.language.formula import Atom, Conjunction, Disjunction, Formula, Negation
from blindlabel.language.record import View
from blindlabel.protocol import agreement as agreements

DEFAULT = agreements.new("advice", ("a", "b"), ("name",)).terms()
ENGINE = PackedEngine()


def needle(number: int) -> Formula:
    return Atom("is_in", (f"word{number}",), View())


def advised(refused: str) -> dict[str, Any]:
    """The settings that a refusal names."""
    found = re.search(r"An agreement with (.*) would answer it\.$", refused)
    assert found, refused
    pairs = (one.split(" = ", 1) for one in found[1].split(" and "))
    return {name: tuple(value) if isinstance(value := eval(text), list) else value for name, text in pairs}


def under(terms: Terms, given: dict[str, Any]) -> Terms:
    changed = replace(terms, **given)
    return replace(changed, key_bits=0) if changed.keys == "coordinator" else changed


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    """Up to 32 needles under AND and OR, nested as one likes, up to two of them denied."""
    count = draw(st.integers(2, 32))
    denied = draw(st.sets(st.integers(0, count - 1), max_size=2))
    parts: list[Formula] = [Negation(needle(n)) if n in denied else needle(n) for n in range(count)]
    while len(parts) > 1:
        size = draw(st.integers(2, len(parts)))
        start = draw(st.integers(0, len(parts) - size))
        some = tuple(parts[start : start + size])
        parts[start : start + size] = [Conjunction(some) if draw(st.booleans()) else Disjunction(some)]
    return parts[0]


@settings(max_examples=60, deadline=None)
@given(formulas())
def test_what_the_publications_language_allows_is_answered_or_the_sentence_says_what_to_set(question: Formula) -> None:
    refused = ENGINE.refuse(DEFAULT, question)
    if refused is not None:
        assert ENGINE.refuse(under(DEFAULT, advised(refused)), question) is None


@pytest.mark.parametrize("count", [20, 32])
def test_default_agreement_answers_an_and_of_many_needles(count: int) -> None:
    assert ENGINE.refuse(DEFAULT, Conjunction(tuple(map(needle, range(count))))) is None


def test_six_alternatives_need_the_settings_that_are_named() -> None:
    six = Conjunction(tuple(Disjunction((needle(2 * n), needle(2 * n + 1))) for n in range(6)))
    refused = ENGINE.refuse(DEFAULT, six)
    assert refused is not None
    assert advised(refused) == {"questions": "any", "keys": "coordinator", "inner_gates": 6}


def test_more_exclusions_are_advised_before_any_help() -> None:
    three = Conjunction((needle(0), *(Negation(needle(n)) for n in (1, 2, 3))))
    refused = ENGINE.refuse(DEFAULT, three)
    assert refused is not None and advised(refused) == {"profile": (1, 1, 1, 1), "exclusions": 3}


def test_what_is_not_encoded_gets_no_advice() -> None:
    refused = ENGINE.refuse(replace(DEFAULT, functions=("equals",)), needle(1))
    assert refused == "This agreement does not encode is_in. It encodes equals."


ENCODED = Terms(("name",), encode_attributes=False, functions=("is_in", "similar", "between"))


@settings(max_examples=40, deadline=None)
@given(st.lists(formulas(), min_size=1, max_size=3))
def test_questions_that_are_known_beforehand_get_terms_that_answer_all_of_them(questions: list[Formula]) -> None:
    terms = ENGINE.least_terms(ENCODED, questions)
    for question in questions:
        assert ENGINE.refuse(terms, question) is None


@pytest.mark.parametrize(
    ("sources", "profile", "exclusions"),
    [
        (['is_in("a", $r) & is_in("b", $r) & is_in("c", $r)', "true"], (1,), 0),
        (['is_in("a", $r) & is_in("b", $r) & is_in("c", $r) & (is_in("d", $r) | is_in("e", $r))'], (1, 1), 0),
        (['is_in("a", $r) & !is_in("b", $r)', 'is_in("c", $r) | is_in("d", $r)'], (1, 1), 1),
        (['is_in("a", $r) + is_in("b", $r) + is_in("c", $r) + is_in("d", $r) >= 2'], (1,) * 4, 0),
        (['2*is_in("a", $r) + is_in("b", $r) + is_in("c", $r) >= 2 & !is_in("d", $r) & !is_in("e", $r)'], (1, 1), 2),
    ],
)
def test_questions_that_are_known_beforehand_get_no_more_room_than_they_take(
    sources: list[str], profile: tuple[int, ...], exclusions: int
) -> None:
    questions = [found for found in (Question(f"ret {one}").formula for one in sources) if found is not None]
    found = ENGINE.least_terms(ENCODED, questions)
    assert (found.questions, found.profile, found.exclusions) == ("points", profile, exclusions)


@pytest.mark.parametrize(
    "source",
    [
        'is_in("a", $r) | !is_in("b", $r)',  # a denial that is no exclusion
        '(is_in("a", $r) & !is_in("b", $r)) | is_in("c", $r)',
        'similar("johnson", $r, 2)',  # more alternatives than there are places
    ],
)
def test_help_is_taken_only_where_points_do_not_do(source: str) -> None:
    question = Question(f"ret {source}").formula
    assert question is not None
    found = ENGINE.least_terms(ENCODED, [question])
    assert found.questions == "any"
    assert ENGINE.refuse(found, question) is None


def test_what_no_terms_can_answer_is_refused_with_its_reason() -> None:
    question = Question('ret has_word("a", $r)').formula
    assert question is not None
    assert ENGINE.least_terms(ENCODED, [question]) == ENCODED
    assert "does not encode has_word" in str(ENGINE.refuse(ENCODED, question))
