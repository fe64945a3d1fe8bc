"""Every diagnostic: its code, its place, and a sentence that helps."""

from __future__ import annotations

import pytest

from blindlabel.language import Limits, Question, render
from blindlabel.records.preparation import Recipe

ATTRIBUTES = ("title", "year", "date of birth")

CASES = [
    # source, code, severity, the marked text, a part of message or hint
    ("ret is_in('a', $r)", "syntax", "error", "'", "double quotes"),
    ('ret is_in("a", $r', "syntax", "error", "(", "never closed"),
    ('ret is_in("a" $r)', "syntax", "error", "$r", "comma"),
    ('ret is_in("a", $r) and is_in("b", $r)', "syntax", "error", "and", "Write & for and"),
    ('ret is_in("a", $r) && is_in("b", $r)', "syntax", "error", "&", "single &"),
    ("ret $r != 3", "syntax", "error", "!", "!="),
    ("ret 1 < 2 < 3", "syntax", "error", "<", "chained"),
    ("ret (true))", "syntax", "error", ")", "no ( before"),
    ("ret r", "syntax", "error", "r", "$r"),
    ("ret lower", "syntax", "error", "lower", "lower(text)"),
    ("return true", "syntax", "error", "return", "ret"),
    ("ret", "syntax", "error", "ret", "needs the answer"),
    ("ret true &", "syntax", "error", "&", "value is missing"),
    ("ret 3 - 2 > 0", "syntax", "error", "-", "subtraction"),
    ('ret is_in("a, $r)', "unclosed-text", "error", '"a, $r)', "closing"),
    (r'ret is_in("a\d", $r)', "bad-escape", "error", r"\d", "means nothing"),
    (r'ret is_in("\ud83d", $r)', "bad-escape", "error", r"\ud83d", "half a character"),
    ("ret $x", "unknown-variable", "error", "$x", "no variable $x"),
    ("ret $year", "unknown-variable", "error", "$year", "$r.year"),
    ('$brand = is_in("a", $r)\nret $brnad', "unknown-variable", "error", "$brnad", "$brand"),
    ('ret is_inn("a", $r)', "unknown-function", "error", "is_inn", "is_in(part, text)"),
    ('ret contains("a", $r)', "unknown-function", "error", "contains", "Did you mean is_in(part, text)?"),
    ('ret is_in("a", $r.titel)', "unknown-attribute", "error", "titel", "Did you mean title?"),
    ('ret is_in("a", $r["titel"])', "unknown-attribute", "error", '"titel"', "Did you mean title?"),
    ('ret is_in("a")', "wrong-number-of-arguments", "error", 'is_in("a")', "2 arguments"),
    ("ret lower() & true", "wrong-number-of-arguments", "error", "lower()", "1 argument"),
    ('ret $r & is_in("a", $r)', "wrong-type", "error", "$r", "joins Booleans"),
    ("ret !$r.title", "wrong-type", "error", "$r.title", "Boolean"),
    ('ret "a" == 3', "wrong-type", "error", '"a"', "equals"),
    ("ret is_in(3, $r)", "wrong-type", "error", "3", "double quotes"),
    ('ret is_in("a", $r.title.year)', "wrong-type", "error", "$r.title", "no attributes"),
    ('ret choose(is_empty($r), "a", 3) & true', "wrong-type", "error", 'choose(is_empty($r), "a", 3)', "cannot mix"),
    ('ret choose("a", true, false)', "wrong-type", "error", '"a"', "condition"),
    ("ret is_in($r.title, $r)", "needle-from-record", "error", "$r.title", "cannot see"),
    ('ret between($r.year, 1 + is_in("a", $r), 3)', "not-a-constant", "error", '1 + is_in("a", $r)', "plain number"),
    ('ret is_in("a", $r) * is_in("b", $r) > 0', "not-a-constant", "error", 'is_in("a", $r) * is_in("b", $r)', "&"),
    (
        'ret is_in("a", $r) == is_in("b", $r)',
        "not-a-constant",
        "error",
        'is_in("a", $r) == is_in("b", $r)',
        "plain number",
    ),
    ('ret is_in("abcdefghijklmnopq", $r)', "needle-too-long", "error", '"abcdefghijklmnopq"', "17 characters"),
    ('ret similar("a", $r, 3)', "bad-distance", "error", "3", "1"),
    ("ret between($r.year, 1.001, 2)", "too-precise", "error", "1.001", "decimals"),
    ("ret 1234567890123456 > 1", "number-too-long", "error", "1234567890123456", "15 digits"),
    ("ret $r.title", "ret-not-boolean", "error", "$r.title", "Boolean"),
    ("ret 3", "ret-not-boolean", "error", "3", "Compare"),
    ('$a = is_in("a", $r)', "no-ret", "error", '$a = is_in("a", $r)', "no ret"),
    ("", "no-ret", "error", "", "no ret"),
    ("# nothing yet", "no-ret", "error", "", "no ret"),
    (
        'ret 7*is_in("a", $r) + 70*is_in("b", $r) + 3*is_in("c", $r) > 11',
        "weights-too-large",
        "error",
        None,
        "add up to 80",
    ),
    ('ret is_in("a", $r)\nret is_in("b", $r)', "unreachable", "warning", 'ret is_in("b", $r)', "never reached"),
    ('$a = 3\nret is_in("a", $r)', "unused-variable", "warning", "$a", "never used"),
    ('$a = is_in("a", $r)\n$a = is_in("b", $r)\nret $a', "unused-variable", "warning", "$a", "never used"),
    ('ret is_in("Canon", lower($r)) | is_in("x", $r)', "impossible-needle", "warning", '"Canon"', 'Write "canon"'),
    (
        '$r = upper($r)\nret starts_with("usm", $r) | is_in("X", $r)',
        "impossible-needle",
        "warning",
        '"usm"',
        'Write "USM"',
    ),
    ('ret has_word("new york", $r) | is_in("x", $r)', "not-a-word", "warning", '"new york"', "is_in"),
    (
        'ret is_in("a", $r) | !is_in("a", $r)',
        "constant",
        "warning",
        'ret is_in("a", $r) | !is_in("a", $r)',
        "always yes",
    ),
    ('ret is_in("", $r)', "constant", "warning", 'ret is_in("", $r)', "always yes"),
    ('ret is_in("a", $r) + is_in("b", $r) > 2', "constant", "warning", None, "always no"),
    ("ret between($r.year, 5, 3)", "constant", "warning", None, "always no"),
]


@pytest.mark.parametrize(("source", "code", "severity", "marked", "said"), CASES)
def test_finding(source: str, code: str, severity: str, marked: str | None, said: str) -> None:
    checked = Question(source, attributes=ATTRIBUTES)
    found = [one for one in checked.problems if one.code == code]
    assert found, [one.code for one in checked.problems]
    one = found[0]
    assert one.severity == severity
    assert said in f"{one.message} {one.hint}"
    if marked is not None:
        assert source[one.span.start : one.span.end] == marked
    assert checked.ok == (severity == "warning")
    if severity == "error":
        assert [other.code for other in checked.problems if other.severity == "error"] == [code]


def test_every_code_has_a_case() -> None:
    properties = {"too-large", "too-deep", "too-many-predicates"}  # in test_meaning_properties
    listed = {case[1] for case in CASES} | properties
    assert listed == {
        "syntax", "unclosed-text", "bad-escape", "unknown-variable", "unknown-function", "unknown-attribute",
        "wrong-number-of-arguments",
        "wrong-type", "needle-from-record", "not-a-constant", "needle-too-long", "bad-distance", "too-precise",
        "number-too-long",
        "ret-not-boolean", "no-ret", "weights-too-large", "too-large", "too-deep", "too-many-predicates",
        "unreachable", "unused-variable",
        "impossible-needle", "not-a-word", "constant",
    }  # fmt: skip


def test_several_mistakes_are_reported_at_once() -> None:
    source = '$a = is_in(\'x\', $r)\n$b = is_inn("y", $r)\n$c = is_in("z", $r.titel)\nret $a & $b & $c &'
    codes = [
        (one.code, one.span.line) for one in Question(source, attributes=ATTRIBUTES).problems if one.severity == "error"
    ]
    assert codes == [("syntax", 1), ("unknown-function", 2), ("unknown-attribute", 3), ("syntax", 4)]


def test_a_variable_that_could_not_be_read_causes_no_second_error() -> None:
    assert len(Question('$a = is_in("x" $r)\nret $a').problems) == 1


def test_carets_stand_under_the_place_also_behind_wide_and_long_text() -> None:
    source = '$a = "🎉é"\nret is_in($a, $r.titel)'
    one = Question(source, attributes=ATTRIBUTES).problems[0]
    lines = render(one, source, "lens.question").split("\n")
    assert lines[0].startswith("lens.question:2:18: error: Records have no attribute titel.")
    assert lines[1] == "2 | ret is_in($a, $r.titel)"
    assert lines[2] == "  |                  ^^^^^"
    long = 'ret is_in("a", $r) & ' * 1 + " " * 500 + "$nowhere"
    shown = render(Question(long).problems[0], long).split("\n")
    assert len(shown[1]) < 140
    assert shown[1][shown[2].index("^") : shown[2].rindex("^") + 1] == "$nowhere"


def test_with_lowered_records_a_capital_needle_is_looked_for_in_small_letters() -> None:
    source = 'ret is_in("Canon", $r) | is_in("x", $r)'
    assert [one.code for one in Question(source, recipe=Recipe(("lower",))).problems] == ["prepared-needle"]
    assert Question(source).problems == ()


def test_a_distance_the_agreement_does_not_encode_is_refused() -> None:
    source = 'ret similar("smith", $r, 2)'
    assert Question(source, limits=Limits(similar_distance=2)).ok
    assert [one.code for one in Question(source, limits=Limits(similar_distance=1)).problems] == ["bad-distance"]
