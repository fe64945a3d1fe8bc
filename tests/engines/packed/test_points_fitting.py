"""Questions on the places of a profile mean what the interpreter says, shown in clear: the same algebra on real feature
vectors, with no encryption between.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import QuestionError, Terms, TermsError
from blindlabel.engines.packed.encoding.features import Tables, tables_of
from blindlabel.engines.packed.planning.fitting import Plan, compile_question
from blindlabel.engines.packed.planning.places import shape_of
from blindlabel.language import Limits, Question, Record
from blindlabel.language.formula import Formula, evaluate
from blindlabel.language.rewriting import rewritten
from support.points_in_clear import answer, missed
from support.random_questions import ATTRIBUTES, NoRecordLeft, QuestionMaker, random_record

MODULUS = 16580609
LIMITS = Limits(needle_length=4)
TERMS = Terms(ATTRIBUTES, record_length=100, attribute_length=24, functions=("is_in", "has_word"), limits=LIMITS)


def tables(terms: Terms = TERMS) -> Tables:
    return tables_of(terms, MODULUS)


def formula(source: str) -> Formula:
    found = Question(source).formula
    assert found is not None
    return found


def plan_of(source: str, terms: Terms = TERMS) -> Plan:
    return compile_question(terms, tables(terms), formula(source))


def check(terms: Terms, asked: Formula, plan: Plan, records: list[Record], random: Random) -> None:
    shape = shape_of(terms.profile)
    for record in records:
        # A no comes out as a yes by chance, with a probability of up to 1e-6; never again with other weights.
        said = all(answer(tables(terms), shape, plan, record, random) for _ in range(2))
        assert said == evaluate(asked, record)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_any_question_that_fits_means_what_it_means(seed: int) -> None:
    random = Random(seed)
    records = [random_record(random, longest=24) for _ in range(3)]
    maker = QuestionMaker(random, records, functions=TERMS.functions)
    try:
        asked = rewritten(maker.question(), LIMITS).formula
        plan = compile_question(TERMS, tables(), asked)
    except (NoRecordLeft, QuestionError):
        return
    check(TERMS, asked, plan, records, random)


def points_question(random: Random, records: list[Record], conditions: int, excluded: int) -> tuple[str, int]:
    """A question with this many conditions worth 1 to 4 points, about words and stretches of the records."""
    texts = [record.whole for record in records if record.whole.strip()] or ["canon"]
    needles: dict[str, int] = {}
    while len(needles) < conditions + excluded:
        text = random.choice(texts)
        start = random.randrange(len(text))
        needles[text[start : start + random.randint(1, 4)] or "a"] = random.randint(1, 4)
        if random.random() < 0.3:
            needles["".join(random.choices("abcxyz019", k=3))] = random.randint(1, 4)
    chosen = list(needles.items())[: conditions + excluded]
    quoted = [(_quoted(needle), points) for needle, points in chosen]
    total = sum(points for _, points in quoted[:conditions])
    bar = random.choice([1, total, random.randint(1, total)])
    source = " + ".join(f"{points}*is_in({needle}, $r)" for needle, points in quoted[:conditions])
    denied = "".join(f" & !is_in({needle}, $r)" for needle, _ in quoted[conditions:])
    return f"ret {source} >= {bar}{denied}", total


def _quoted(text: str) -> str:
    names = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    return '"' + "".join(names.get(character, character) for character in text) + '"'


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 2))
def test_points_of_up_to_eight_conditions_fit_the_default_profile(seed: int, conditions: int, excluded: int) -> None:
    random = Random(seed)
    records = [random_record(random, longest=24) for _ in range(4)]
    source, _ = points_question(random, records, conditions, excluded)
    asked = Question(source, limits=LIMITS)
    if asked.formula is None:  # a character that cannot be written in a question
        return
    try:
        plan = compile_question(TERMS, tables(), asked.formula)
    except QuestionError:
        weights = {points for points in source.split() if points[0].isdigit()}
        assert len(weights) > 4 or conditions > 6, source
        return
    check(TERMS, asked.formula, plan, records, random)


@pytest.mark.parametrize(
    "spellings",
    [
        (
            'ret is_in("a", $r) & is_in("b", $r) & (is_in("c", $r) | is_in("d", $r)) & !is_in("e", $r)',
            'ret is_in("a", $r) & is_in("b", $r) & is_in("c", $r) + is_in("d", $r) >= 1 & !is_in("e", $r)',
            'ret !(!is_in("a", $r) | !is_in("b", $r) | is_in("e", $r)) & !(!is_in("c", $r) & !is_in("d", $r))',
            'ret 2*(is_in("a", $r) & is_in("b", $r)) + is_in("c", $r) + is_in("d", $r) >= 3 & !is_in("e", $r)',
        ),
        (
            'ret is_in("a", $r) + is_in("b", $r) + is_in("c", $r) >= 2',
            'ret !(is_in("a", $r) + is_in("b", $r) + is_in("c", $r) < 2)',
            'ret (is_in("a", $r) & is_in("b", $r)) | (is_in("c", $r) & (is_in("a", $r) | is_in("b", $r)))',
        ),
    ],
)
def test_spellings_of_one_meaning_are_answered_alike(spellings: tuple[str, ...]) -> None:
    records = [Record.of({"name": text}) for text in ("", "a", "ab", "abc", "abd", "abcde", "bc", "cd", "abe", "ac")]
    for source in spellings:
        check(TERMS, formula(source), plan_of(source), records, Random(0))


@pytest.mark.parametrize(
    "source",
    [
        'ret (is_in("a", $r) | is_in("b", $r)) & (is_in("c", $r) | is_in("d", $r)) & (is_in("e", $r) | is_in("f", $r))',
        'ret 3*(is_in("a", $r) | is_in("b", $r)) + 2*is_in("c", $r) + is_in("d", $r) >= 4',
        'ret 2*(is_in("a", $r) + is_in("b", $r) + is_in("c", $r) >= 2) + is_in("d", $r) + is_in("e", $r) >= 3',
        'ret is_in("a", $r) + is_in("b", $r) >= 1 & 2*is_in("c", $r) + is_in("d", $r) + is_in("e", $r) >= 2',
        'ret is_in("a", $r) + is_in("b", $r) >= 2 | is_in("c", $r) + is_in("d", $r) + is_in("e", $r) >= 2',
        'ret 7*is_in("a", $r) + 5*is_in("b", $r) + 2*is_in("c", $r) + is_in("d", $r) >= 8',
        "ret true",
        "ret false",
        'ret !is_in("a", $r)',
        'ret is_in("a", $r) & !(is_in("b", $r) & is_in("c", $r)) & !is_in("d", $r)',
        'ret is_in("a", $r) + !is_in("b", $r) >= 2',
        'ret is_in("a", $r) + is_in("b", $r) <= 0',
    ],
)
def test_questions_beyond_plain_points_are_put_on_places(source: str) -> None:
    random = Random(7)
    records = [Record.of({"name": "".join(sorted(random.sample("abcdef", k=k)))}) for k in range(7) for _ in range(4)]
    check(TERMS, formula(source), plan_of(source), records, random)


XOR_OF_FOUR = "ret " + " + ".join(f'is_in("{letter}", $r)' for letter in "abcd")
XOR_OF_FOUR = f"{XOR_OF_FOUR} == 1 | {XOR_OF_FOUR.removeprefix('ret ')} == 3"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ('ret is_in("a", $r) & !(is_in("b", $r) | is_in("c", $r) | is_in("d", $r))', "room for 2"),
        ("ret " + " + ".join(f'is_in("{letter}", $r)' for letter in "abcde") + " == 2", "take a yes back"),
        ("ret " + " + ".join(f'is_in("{letter}", $r)' for letter in "abcd") + " == 1", "take a yes back"),
        (XOR_OF_FOUR, "levels below its points"),
        ("ret " + " + ".join(f'{k}*is_in("{k}x", $r)' for k in range(1, 10)) + " >= 21", "same points"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(source: str, says: str) -> None:
    with pytest.raises(QuestionError, match=says):
        plan_of(source)


def test_a_count_of_exactly_one_is_an_or_without_the_and() -> None:
    source = 'ret is_in("a", $r) + is_in("b", $r) == 1'
    records = [Record.of({"name": text}) for text in ("", "a", "b", "ab")]
    check(TERMS, formula(source), plan_of(source), records, Random(1))


def test_profiles_that_cannot_be_served_are_refused() -> None:
    for profile in ((), (1,) * 15, tuple(range(1, 14))):
        with pytest.raises(TermsError):
            shape_of(profile)


@pytest.mark.parametrize("bar", range(1, 20))
def test_every_bar_of_every_profile_counts_right(bar: int) -> None:
    """All bars of the default profile at which no condition is necessary: those are joined to the others."""
    shape = shape_of(TERMS.profile)
    units = [4, 3, 2, 1]
    source = " + ".join(
        f'{unit}*is_in("{unit}{number}", $r)' for unit, size in zip(units, shape.sizes) for number in range(size)
    )
    plan = plan_of(f"ret {source} >= {bar}")
    random = Random(bar)
    for _ in range(60):
        held = [random.random() < random.choice([0.2, 0.5, 0.9]) for _ in plan.places]
        points = 0
        places = []
        for leaf, holds in zip(plan.places, held):
            assert leaf is not None
            (probe,) = leaf
            points += int(probe.element[0]) if holds else 0
            places.append(0 if holds else random.randrange(1, MODULUS))
        assert (missed(shape, plan, places, MODULUS) == 0) == (points >= bar)


def test_conditions_that_take_several_places_count_right_at_every_bar() -> None:
    """More different points than the profile has classes: a condition stands on places that come to its points."""
    subsets = [[letter for place, letter in enumerate("abcde") if number >> place & 1] for number in range(32)]
    records = [Record.of({"name": "".join(letters)}) for letters in subsets]
    on_several = 0
    for bar in range(1, 16):
        source = " + ".join(f'{points}*is_in("{letter}", $r)' for points, letter in zip((5, 4, 3, 2, 1), "abcde"))
        plan = plan_of(f"ret {source} >= {bar}")
        check(TERMS, formula(f"ret {source} >= {bar}"), plan, records, Random(bar))
        used = [leaf for leaf in plan.places if leaf is not None]
        on_several += len(set(used)) < len(used)
    assert on_several >= 2, "the way of several places was not taken"
