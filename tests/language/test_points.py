"""Points questions say exactly what their formula says, and come back from the text they are written as."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.language import Limits, Question, format_question
from blindlabel.language.formatter import format_expression
from blindlabel.language.formula import Formula, evaluate
from blindlabel.language.points import PointsQuestion, points_of, points_written, text_of
from blindlabel.language.record import Record
from support.random_formulas import records as small_records
from support.random_questions import QuestionMaker, random_record

ATTRIBUTES = ("name", "year")


def formula(text: str) -> Formula:
    checked = Question(text, attributes=ATTRIBUTES)
    assert checked.formula is not None, checked.problems
    return checked.formula


def shape(points: PointsQuestion | None) -> tuple[list[int], int, int] | None:
    if points is None:
        return None
    return sorted((one.points for one in points.conditions), reverse=True), points.bar, len(points.exclusions)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('ret is_in("a", $r)', ([1], 1, 0)),
        ('ret is_in("a", $r) & is_in("b", $r)', ([1, 1], 2, 0)),
        ('ret is_in("a", $r) | is_in("b", $r)', ([1, 1], 1, 0)),
        ('ret is_in("a", $r) & (is_in("b", $r) | is_in("c", $r)) & !is_in("d", $r)', ([1, 1], 2, 1)),
        ('ret 3*is_in("a", $r) + 2*is_in("b", $r) + is_in("c", $r) >= 4', ([3, 2, 1], 4, 0)),
        ('ret is_in("z", $r) | 3*is_in("a", $r) + 2*is_in("b", $r) + is_in("c", $r) >= 4', ([4, 3, 2, 1], 4, 0)),
        ('ret is_in("z", $r) & 3*is_in("a", $r) + 2*is_in("b", $r) + is_in("c", $r) >= 4', ([3, 3, 2, 1], 7, 0)),
        ('ret 2*is_in("a", $r) + is_in("b", $r) + is_in("d", $r) + 9*!is_in("c", $r) >= 11', ([2, 1, 1], 2, 1)),
        ('ret !(is_in("a", $r) | is_in("b", $r))', ([], 0, 2)),
        ("ret false", ([], 1, 0)),
        ('ret 2*is_in("a", $r) + is_in("b", $r) + !is_in("c", $r) >= 2', None),
        ('ret is_in("a", $r) + is_in("b", $r) + is_in("c", $r) == 2', None),
    ],
)
def test_a_points_question_is_recognised_by_meaning(text: str, wanted: tuple[list[int], int, int] | None) -> None:
    assert shape(points_of(formula(text))) == wanted


def random_points(random: Random, records: list[Record]) -> str:
    """A question that is often a points question: a sum with a bar, perhaps with musts, exclusions, other shapes."""
    maker = QuestionMaker(random, records, ATTRIBUTES)
    if random.random() < 0.2:
        return format_question(maker.question())

    def call() -> str:
        return format_expression(maker.predicate(0))

    parts = []
    for _ in range(random.randint(1, 5)):
        part = call() if random.random() < 0.8 else f"({call()} | {call()})"
        parts.append(f"{random.randint(1, 4)}*{part}" if random.random() < 0.7 else part)
    text = f"{' + '.join(parts)} >= {random.randint(1, 9)}"
    for _ in range(random.randint(0, 2)):
        text += random.choice([f" & !{call()}", f" & {call()}", f" & !({call()} | {call()})"])
    return "ret " + (f"{call()} | {text}" if random.random() < 0.2 else text)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.lists(small_records, min_size=1, max_size=4))
def test_a_points_question_answers_as_its_formula_and_comes_back_from_its_text(seed: int, more: list[Record]) -> None:
    random = Random(seed)
    records = [random_record(random, ATTRIBUTES) for _ in range(4)] + more
    checked = Question(random_points(random, records), attributes=ATTRIBUTES)
    if checked.formula is None:
        return
    for points in (points_of(checked.formula), points_written(checked.tree, checked.formula, Limits())):
        if points is None:
            continue
        again = formula(text_of(points))
        for record in records:
            assert points.fits(record) == evaluate(checked.formula, record) == evaluate(again, record)


def test_points_and_bar_stay_as_a_person_wrote_them() -> None:
    text = (
        '$r = lower($r)\nret 4*is_in("a", $r) + 2*(has_word("b", $r.name) | has_word("c", $r)) >= 6 & !is_in("d", $r)\n'
    )
    checked = Question(text, attributes=ATTRIBUTES)
    assert checked.formula is not None
    assert shape(points_of(checked.formula)) == ([1, 1], 2, 1)
    written = points_written(checked.tree, checked.formula, Limits())
    assert written is not None
    assert shape(written) == ([4, 2], 6, 1)
    assert text_of(written) == text
