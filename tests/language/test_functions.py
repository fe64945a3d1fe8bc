"""The meaning of every function at its edges, as docs/reference/language.md states it."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

import pytest

from blindlabel.language import FUNCTIONS, Limits, Question, Record, families, interpret
from blindlabel.language.formatter import quote
from blindlabel.language.functions import PREDICATES
from blindlabel.language.words import first_number, hundredths, words_of

CASES = [
    ('is_in("", $r)', "", True),
    ('is_in("a", $r)', "", False),
    ('is_in("an", $r)', "Canon", True),
    ('is_in("AN", $r)', "Canon", False),
    ('is_in("é", $r)', "cafe\u0301", False),  # a letter with a combining accent is two characters
    ('is_in("e", $r)', "cafe\u0301", True),
    ('starts_with("", $r)', "", True),
    ('starts_with("ca", $r)', "canon", True),
    ('starts_with("canon", $r)', "can", False),
    ('ends_with("", $r)', "x", True),
    ('ends_with("on", $r)', "canon", True),
    ('equals("", $r)', "", True),
    ('equals("a", $r)', "a ", False),
    ('has_word("24", $r)', "24-70mm", True),
    ('has_word("70", $r)', "24-70mm", False),
    ('has_word("70mm", $r)', "24-70mm", True),
    ('has_word("", $r)', "a b", False),
    ('has_word("a b", $r)', "a b", False),
    ('has_word("cafe\u0301", $r)', "le cafe\u0301.", True),
    ('has_word("a_b", $r)', "a_b", False),  # the underscore separates words
    ("is_empty($r)", "", True),
    ("is_empty($r)", " \t\u00a0", True),
    ("is_empty($r)", " |  | ", True),
    ("is_empty($r)", "-", False),
    ('sounds_like("catherine", $r)', "KATHRYN smith", True),
    ('sounds_like("smith", $r)', "Smyth", True),
    ('sounds_like("müller", $r)', "MULLER", True),
    ('sounds_like("123", $r)', "123", False),
    ('similar("smith", $r, 1)', "j. smit", True),
    ('similar("smith", $r, 1)', "smth", True),
    ('similar("smith", $r, 1)', "smithh", True),
    ('similar("smith", $r, 1)', "smihtt", False),
    ('similar("smith", $r, 2)', "smiht", True),
    ('similar("smith", $r, 1)', "Smith", True),
    ('similar("a", $r, 1)', "b", True),
    ('similar("a", $r, 1)', "", False),
    ('similar("abcdefghijklmnopq", $r, 1)', "abcdefghijklmnopx", False),  # 17 characters: only when equal
    ('similar("abcdefghijklmnopq", $r, 1)', "abcdefghijklmnopq", True),
    ("between($r, 24, 24)", "lens 24-70", True),
    ("between($r, -70, -1)", "24-70", False),
    ("between($r, -5, -5)", "at -5 degrees", True),
    ("between($r, 5, 5)", "abc-5", True),
    ("between($r, 3.25, 3.25)", "+3.2599 l", True),
    ("between($r, -3.26, -3.26)", "-3.2501", True),
    ("between($r, 0, 9)", "none", False),
    ("far_from(20, $r)", "20.00", False),
    ("far_from(20, $r)", "45.4", False),  # 20 lies in the band from 17.02; the third above it begins at 57.43
    ("far_from(20, $r)", "57.42", False),
    ("far_from(20, $r)", "57.43", True),
    ("far_from(20, $r)", "7.57", False),
    ("far_from(20, $r)", "7.56", True),
    ("far_from(20, $r)", "none", False),
    ("far_from(20, $r)", "-20", True),
    ("far_from(0, $r)", "0.5", False),  # all below 1 is one band
    ("far_from(1000000, $r)", "9" * 500, False),
    ("between($r, 0, 9)", "", False),
    ("between($r, 0, 9)", "٣", False),  # digits are 0 to 9
    ("between($r, 4294967295, 99999999999)", "9" * 500, True),
    ('common_words("a b a c", $r) == 2', "b a x a", True),
    ('common_words("", $r) == 0', "a", True),
    ('choose(is_empty($r), true, is_in("x", $r))', "", True),
    ('choose(is_in("x", $r), 2, 1) >= 2', "x", True),
    ('is_in(choose(is_in("x", $r), "a", "b"), $r)', "xa", True),
    ('is_in("A", upper($r))', "a", True),
    ('is_in("ß", lower($r))', "ẞ", False),
    ('is_in("SS", upper($r))', "ß", False),
    ('is_in("é", lower($r))', "É", True),
    ('2*is_in("a", $r) + is_in("b", $r) >= 2', "b", False),
    ('2*is_in("a", $r) + is_in("b", $r) >= 2', "a", True),
    ('0.5*is_in("a", $r) + 0.5*is_in("b", $r) == 1', "ab", True),
    ('1 >= is_in("a", $r) + is_in("b", $r)', "ab", False),
    ('!is_in("a", $r) + is_in("b", $r) >= 2', "b", True),
    ('is_in("a", $r) | is_in("b", $r) & is_in("c", $r)', "a", True),
    ('is_in("a", $r) == true', "a", True),
    ('same_telephone("310/456-0488", $r)', "+1 (310) 456 0488", True),
    ('same_telephone("+13104560488", $r)', "456-0488", True),
    ('same_telephone("310/456-0488", $r)', "1999 | 3104560489", False),
    ('same_telephone("0488", $r)', "3104560488", False),
    ('near_date("1980-05-17", $r)', "born 1980-05-17", True),
    ('near_date("1980-05-17", $r)', "1980-05-11", True),
    ('near_date("1980-05-17", $r)', "1908-05-17", False),
    ('near_date("1980-05-07", $r)', "1980-07-05", True),
    ('near_date("1980-05-17", $r)', "1999-09-09 1980-05-17", False),
    ('near_date("1980-05-17", $r)', "1980-02-30, 1980-05-17", True),
    ('near_date("1980-05-17", $r)', "11980-05-17", False),
    ('near_date("1980-02-30", $r)', "1980-02-20", False),
    ("near_year(1999, $r)", "vldb 2000", True),
    ("near_year(1999, $r)", "1998-01-01", True),
    ("near_year(1999, $r)", "1997 2001 19990", False),
    ("near_year(2999, $r)", "3000", False),
]


@pytest.mark.parametrize(("condition", "text", "answer"), CASES)
def test_meaning(condition: str, text: str, answer: bool) -> None:
    checked = Question("ret " + condition, limits=Limits(similar_distance=2))
    assert checked.ok, checked.problems
    assert interpret(checked.tree, Record.of({"only": text})) is answer


def test_attributes_are_read_by_either_spelling_and_missing_ones_are_empty() -> None:
    record = Record.of({"title": "Honey", "date of birth": "1999"})
    for source, answer in {
        'ret equals("Honey", $r.title)': True,
        'ret equals("1999", $r["date of birth"])': True,
        "ret is_empty($r.nothing)": True,
        'ret equals("Honey | 1999", $r)': True,
        '$r = lower($r)\nret equals("honey", $r.title)': True,
        'ret equals("honey", lower($r).title)': True,
        'ret equals("HONEY", upper(lower($r)).title)': True,
    }.items():
        assert interpret(Question(source).tree, record) is answer


def test_every_function_is_documented_with_an_example_that_reads() -> None:
    for function in FUNCTIONS.values():
        assert function.summary.endswith(".")
        assert function.details
        checked = Question(function.example + ("" if "ret " in function.example else '\nret is_in("a", $r)'))
        assert checked.ok, function.name


@pytest.mark.parametrize("text", ['a"b\\c\nd\te', "\0\x1f\x7f", "é🎉", "\u2028", "\ufeff", "\U000e0001"])
def test_any_text_can_be_quoted_and_read_back(text: str) -> None:
    checked = Question(f"ret equals({quote(text)}, $r)")
    assert interpret(checked.tree, Record.of({"only": text}))


def test_words_are_runs_of_letters_digits_and_marks() -> None:
    assert words_of("Canon 24-70mm, f/2.8") == {"Canon", "24", "70mm", "f", "2", "8"}
    assert words_of("naïve 日本語 e\u0301té") == {"naïve", "日本語", "e\u0301té"}
    assert words_of("🎉 - _") == frozenset()


def test_numbers_are_cut_to_hundredths_towards_minus_infinity_and_clamped() -> None:
    assert first_number("1.999") == 199
    assert first_number("-1.991") == -200
    assert first_number("-0.0000000000001") == -1
    assert first_number("x 10.5.7") == 1050
    assert hundredths(Fraction(10**20)) == 2**32 * 100 - 1
    assert hundredths(Fraction(-(10**20))) == -(2**32) * 100


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ('same_telephone("0488", $r)', "not-a-telephone"),
        ('near_date("1980-02-30", $r)', "not-a-date"),
        ("near_year(99, $r)", "bad-year"),
        ("near_year(1999.5, $r)", "bad-year"),
    ],
)
def test_what_is_no_telephone_date_or_year_is_said(call: str, code: str) -> None:
    assert code in {one.code for one in Question(f"ret {call}").problems}


def test_the_bound_of_near_dates_is_reached_and_never_passed() -> None:
    days = (date(1999, 1, 1) + timedelta(day) for day in range(1000))
    assert max(len(families.dates_near(day)) for day in days) == families.MOST_NEAR_DATES


def test_predicates_name_families_for_all_they_can_be_asked() -> None:
    from blindlabel.language.limits import Limits

    for predicate in PREDICATES.values():
        assert predicate.all_families(Limits())
