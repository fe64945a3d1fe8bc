"""Needles go through the same preparation as the values they are asked of, in one place, before the formula."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blindlabel.engines.ask import ask
from blindlabel.engines.registry import engine_named
from blindlabel.language import Question, Record
from blindlabel.records.preparation import STEPS, Recipe
from blindlabel.records.types import TYPES, Conventions
from blindlabel_lab.experiments.datasets import PREPARATION
from support.publication import ANSWERED

TYPED = {"phone": "telephone", "date": "date", "price": "number", "model": "code", "year": "year", "name": "name"}
RECIPE = Recipe.of(("nfkc", "ascii", "strip_punctuation", "lower", "collapse_space"), TYPED, Conventions(country="1"))


@pytest.mark.parametrize(
    ("asked", "looked_for"),
    [
        ('!is_in("24-105", $r)', "24105"),
        ('is_in("24-70", $r.title)', "2470"),
        ('is_in("mobility,", $r.title)', "mobility"),
        ('equals("310/456-0488", $r.phone)', "+13104560488"),
        ('has_word("310-456-0488", $r.phone)', "13104560488"),
        ('is_in("310/456", $r.phone)', "310456"),
        ('equals("10/14/14", $r.date)', "2014-10-14"),
        ('is_in("1,299.00", $r.price)', "1299"),
        ('is_in("ATC 20", $r.model)', "atc20"),
        ('equals("Smith, John", $r.name)', "john smith"),
        ('is_in("Müller", $r)', "muller"),
        ('has_word("O\'Neil", $r)', "oneil"),
    ],
)
def test_a_needle_is_looked_for_as_it_stands_in_prepared_records(asked: str, looked_for: str) -> None:
    question = Question(f"ret true & {asked}", recipe=RECIPE)
    assert any(one.code == "prepared-needle" and looked_for in one.message for one in question.problems)
    assert question == Question(question.text, recipe=RECIPE) and looked_for in repr(question.formula)


@pytest.mark.parametrize("asked", ['is_in("-", $r.title)', '!is_in("--", $r)', '!is_in("310/456-0488", $r)'])
def test_a_needle_that_no_prepared_record_has_is_warned_of_also_an_excluded_one(asked: str) -> None:
    assert "impossible-needle" in [one.code for one in Question(f"ret {asked}", recipe=RECIPE).problems]


@pytest.mark.parametrize(
    "asked",
    [
        'is_in(" sony ", $r)',
        'is_in("2014-10", $r)',
        'is_in("79.5", $r)',
        'is_in("1999 | sony", $r)',
        'is_in(".5", $r.price)',
        'equals("", $r.date)',
        'is_in("CANON", upper($r))',
        'common_words("honey, i shrunk", $r) >= 2',
    ],
)
def test_what_prepared_records_can_have_is_left_alone(asked: str) -> None:
    assert Question(f'ret {asked} & is_in("x", $r)', recipe=RECIPE).problems == ()


def test_a_needle_in_a_variable_is_prepared_for_each_text_it_is_asked_of() -> None:
    source = '$n = "ATC-2000"\nret is_in($n, $r.model) & is_in($n, $r.title)'
    question = Question(source, recipe=Recipe((), (("model", "code"),)))
    assert question(Record.of({"model": "ATC2000", "title": "an ATC-2000"}))
    assert question.text.count("ATC-2000") == 1


def test_a_choice_of_needles_is_warned_of_where_one_cannot_be_found() -> None:
    source = 'ret is_in(choose(is_empty($r.year), "24-70", "x"), $r)'
    assert [one.code for one in Question(source, recipe=RECIPE).problems] == ["impossible-needle"]


@pytest.mark.parametrize("steps", [(), ("ascii",), PREPARATION.steps], ids=["none", "published", "experiment prepare"])
@pytest.mark.parametrize("engine", ["plain", "packed"])
def test_printed_annotations_keep_their_meaning_under_every_preparation(engine: str, steps: tuple[str, ...]) -> None:
    """Case study 2 turned from yes to no: the needle kept its hyphen, the record did not."""
    recipe = Recipe(steps)
    asked = list(dict.fromkeys(question for question, _, _ in ANSWERED))
    records = [recipe.record({"name": text}, ["name"]) for _, text, _ in ANSWERED]
    formulas = [Question(text, ["name"], recipe=recipe).usable() for text in asked]
    answers = ask(engine_named(engine), formulas, records, ["name"], lowered=recipe.lowered)
    for place, (question, _, answer) in enumerate(ANSWERED):
        assert answers[asked.index(question), place] == answer


@settings(max_examples=300, deadline=None)
@example("£", ["lower", "ascii"], 2, "code")
@given(
    st.text(alphabet="aB -/.,'0159\u0301É…", max_size=12) | st.text(max_size=10),
    st.permutations(list(STEPS)),
    st.integers(0, 5),
    st.sampled_from(list(TYPES)),
)
def test_a_prepared_value_is_found_when_it_is_asked_for(text: str, order: list[str], count: int, kind: str) -> None:
    recipe = Recipe(tuple(order[:count]), (("a", kind),))
    value = recipe.value("a", text)
    assert value in recipe.forms("a", value, "value") or not value.strip()
