"""Asking a set family gives the plain meaning, and its size never passes its public bound."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.language import families, words
from blindlabel.language.functions import PREDICATES
from blindlabel.language.limits import Limits
from blindlabel.language.signatures import CaseRule, Clear
from blindlabel.language.words import first_date, first_number, hundredths, telephone_endings, words_of, years_of
from support.random_questions import random_text

LIMITS = Limits(similar_distance=2)


def clear_arguments(random: Random, name: str, text: str) -> tuple[Clear, ...]:
    if name == "is_empty":
        return ()
    if name == "between":
        low = Fraction(
            random.choice([random.randint(-1000, 1000), random.randint(-(10**12), 10**12), 199900, 500]), 100
        )
        return low, low + Fraction(random.choice([0, 1, 99, 100, 12345, 10**9, -1]), 100)
    if name == "far_from":
        own = first_number(text) or 0
        near = random.choice([own, own * 2 + 30, own * 3, own // 3, -own, random.randint(-(10**12), 10**12)])
        return (Fraction(near, 100),)
    if name == "near_year":
        return (random.choice([*years_of(text), 1999]) + random.randint(-2, 2),)
    if name == "near_date":
        slips = sorted(families.dates_near(first_date(text) or date(2001, 2, 3)))
        return (random.choice([*slips, "1980-05-17", "1980-02-30", text[:10]]),)
    if name == "same_telephone":
        return (random.choice(["+1", "0", "7-", ""]) + random.choice([*telephone_endings(text), "3456789", text]),)
    start = random.randint(0, len(text))
    needle = text[start : start + random.randint(0, 8)] or random_text(random, 8)
    if name in ("has_word", "sounds_like", "similar") and words_of(text):
        needle = random.choice(sorted(words_of(text)))[:18]
        place = random.randint(0, len(needle))
        needle = random.choice(
            [
                needle,
                needle[:place] + needle[place + 1 :],
                needle[:place] + "x" + needle[place:],
                needle[:place] + "y" + needle[place + 1 :],
            ]
        )
    if name == "equals":
        needle = random.choice([needle, text])
    return (needle, Fraction(random.randint(1, 2))) if name == "similar" else (needle,)


@settings(max_examples=1500, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(PREDICATES)))
def test_asking_the_family_is_the_plain_meaning(random: Random, name: str) -> None:
    predicate = PREDICATES[name]
    text = random_text(random, 60) + random.choice(["", "", f" {random.randint(-5000, 5000) / 100}"])
    arguments = clear_arguments(random, name, text)
    meaning = predicate.meaning(text, arguments)
    decided = predicate.always(arguments)
    if decided is not None:
        assert meaning is decided
        return
    family = predicate.family_of(arguments, LIMITS)
    elements = family.elements(text)
    assert meaning is any(element in elements for element in predicate.asked(arguments))
    assert len(elements) <= family.bound(len(text))
    assert family.name in {one.name for one in predicate.all_families(LIMITS)}


@settings(max_examples=1500, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(PREDICATES)))
def test_upper_and_lower_case_do_what_the_case_rule_says(random: Random, name: str) -> None:
    predicate = PREDICATES[name]
    text = random_text(random, 40)
    arguments = clear_arguments(random, name, random.choice([text, words.lower(text), words.upper(text)]))
    if predicate.always(arguments) is not None:
        return
    lower, upper = words.lower(text), words.upper(text)
    if predicate.case_rule is CaseRule.IGNORED:
        assert predicate.meaning(text, arguments) == predicate.meaning(lower, arguments)
        assert predicate.meaning(text, arguments) == predicate.meaning(upper, arguments)
        return
    if predicate.case_rule is CaseRule.NEEDLES:
        needle = str(arguments[0])
        if words.has_paired_upper(needle):
            assert not predicate.meaning(lower, arguments)
        if words.has_paired_lower(needle):
            assert not predicate.meaning(upper, arguments)
        else:
            assert predicate.meaning(upper, arguments) == predicate.meaning(
                lower, (words.lower(needle), *arguments[1:])
            )
    if predicate.case_rule in (CaseRule.NEEDLES, CaseRule.ELEMENTS):
        family = predicate.family_of(arguments, LIMITS)
        assert not any(map(words.has_paired_lower, family.elements(upper)))
        assert {words.lower(element) for element in family.elements(upper)} == family.elements(lower)


@settings(max_examples=1500, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(PREDICATES)))
def test_no_call_asks_for_more_elements_than_the_widest(random: Random, name: str) -> None:
    predicate = PREDICATES[name]
    arguments = clear_arguments(random, name, random_text(random, 40))
    if predicate.problem(arguments, LIMITS) is None:
        assert len(predicate.asked(arguments)) <= predicate.widest(LIMITS)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 20), max_size=12))
def test_the_bound_of_edits_holds_for_the_fullest_texts(lengths: list[int]) -> None:
    letters = iter(chr(0x4E00 + i) for i in range(400))
    text = " ".join("".join(next(letters) for _ in range(length)) for length in lengths)
    for distance in (1, 2):
        family = families.edited(distance)
        assert len(family.elements(text)) <= family.bound(len(text))


@settings(max_examples=500, deadline=None)
@given(st.integers(-(2**40), 2**40), st.integers(0, 10**7), st.integers(-3, 10**7 + 3))
def test_ranges_are_few_disjoint_intervals_that_hold_exactly_the_range(low: int, width: int, offset: int) -> None:
    low, high = hundredths(Fraction(low, 100)), hundredths(Fraction(low + width, 100))
    value = hundredths(Fraction(low + offset, 100))
    asked = families.intervals_within(low, high)
    assert len(asked) <= families.MOST_INTERVALS
    sign = "-" if value < 0 else ""
    elements = families.INTERVALS.elements(f"{sign}{abs(value) // 100}.{abs(value) % 100:02d}")
    assert sum(element in elements for element in asked) == (low <= value <= high)
