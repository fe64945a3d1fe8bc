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
