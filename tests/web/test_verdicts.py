"""The verdict about a question, its evidence, and editing a question as points; no browser."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from blindlabel.language import Record, interpret
from blindlabel.language.chain import Chain, Condition, text_of
from blindlabel.language.formula import Atom, atoms_of
from blindlabel.language.record import View
from blindlabel.language.suggestions import Verdict
from blindlabel.language.suggestions.judgement import OwnRows
from blindlabel.parties.questions import check_question
from blindlabel.storage.workspace import Workspace
from blindlabel.web import points_pane as editing
from blindlabel.web.choices import best_of
from blindlabel.web.judging import Judging
from blindlabel.web.local_study import Rehearsal, Wanted
from blindlabel.web.question_pane import imagined_of
from blindlabel.web.record_pane import marked, marked_apart


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    study = Rehearsal(tmp_path_factory.mktemp("verdicts"), Wanted(records=20))
    study.begin()
    return study.workspace("anna")


@pytest.fixture(scope="module")
def judging(workspace: Workspace) -> Judging:
    made = Judging(workspace)
    made.warm_up()
    return made


def judged(judging: Judging, workspace: Workspace, text: str, record: int = 0) -> tuple[str, str, int]:
    formula = check_question(workspace.agreement, text).formula
    assert formula is not None, text
    verdict = judging.verdict(workspace.records()[record], text)
    assert verdict.headline and verdict.detail and verdict.brief
    return verdict.kind, verdict.level, verdict.others


def test_every_kind_of_question_gets_its_verdict(workspace: Workspace, judging: Judging) -> None:
    phones = {own.record: own.prepared.attributes["phone_number"].split()[-1:] for own in workspace.records()}
    found = [judged(judging, workspace, f'ret is_in("{one[0]}", $r)', record) for record, one in phones.items() if one]
    assert ("good", "good", 0) in found, "a telephone number that no imagined relative shares"
    assert judged(judging, workspace, "ret true")[:2] == ("always", "bad")
    assert judged(judging, workspace, "ret false")[:2] == ("never", "bad")
    assert judged(judging, workspace, 'ret is_in("qqqq", $r)') == ("not-itself", "bad", 0)
    kind, level, others = judged(judging, workspace, 'ret !is_in("qqqq", $r)')
    assert (kind, level, others) == ("loose", "bad", 19)


def test_others_are_exactly_the_other_rows_that_the_interpreter_fits(workspace: Workspace, judging: Judging) -> None:
    records = workspace.records()
    for word in ("a", "street", "0", "m"):
        text = f'ret is_in("{word}", $r)'
        question = check_question(workspace.agreement, text).tree
        fits = [interpret(question, own.prepared) for own in records]
        for own in records[:5]:
            assert judged(judging, workspace, text, own.record)[2] == sum(fits) - fits[own.record]


def test_evidence_marks_what_a_question_found(workspace: Workspace) -> None:
    record = Record.of({"name": "Ann Hannah", "town": "Annaberg"})
    formula = check_question(workspace.agreement, 'ret has_word("ann", lower($r)) | is_in("berg", $r)').formula
    assert formula is not None
    parts = {one["name"]: one["parts"] for one in marked(record, atoms_of(formula))}
    assert parts["name"] == [{"text": "Ann", "hit": True}, {"text": " Hannah", "hit": False}]
    assert parts["town"] == [{"text": "Anna", "hit": False}, {"text": "berg", "hit": True}]


def test_imagined_records_are_shown_with_what_differs_marked(workspace: Workspace, judging: Judging) -> None:
    own = Record.of({"name": "anna evans", "town": "berg", "phone": "61618"})
    other = Record.of({"name": "anna evens", "town": "", "phone": "61618"})
    shown = {one["name"]: one["parts"] for one in marked_apart(own, other)}
    assert shown["name"] == [
        {"text": "anna ", "hit": False},
        {"text": "evens", "hit": True},
        {"text": " (without evans)", "hit": True},
    ]
    assert shown["town"] == [{"text": "missing", "hit": True}]
    assert shown["phone"] == [{"text": "61618", "hit": False}]
    record = workspace.records()[0]
    every = " & ".join(f'equals("{value}", $r.{name})' for name, value in record.prepared.attributes.items() if value)
    strict = judging.verdict(record, f"ret {every}")
    shown_ids = [one["id"] for one in imagined_of(strict, record.prepared)]
    assert shown_ids[:2] == ["Partner 1: missed", "Partner 2: missed"]
    assert imagined_of(judging.verdict(record, 'ret !is_in("qqqq", $r)'), record.prepared) == []


def word(text: str, points: int = 1) -> Condition:
    return Condition(((Atom("is_in", (text,), View()),),), points)


def test_editing_points_keeps_the_question_answerable() -> None:
    points = Chain((word("a", 4), word("b", 2), word("c")), 5)
    view = lambda field: View(field or None)  # noqa: E731
    assert editing.edited(points, {"kind": "bar", "value": 99}, view).bar == 7
    assert editing.edited(points, {"kind": "bar", "value": 0}, view).bar == 1
    assert editing.edited(points, {"kind": "remove", "place": 0}, view).bar == 3, (
        "the bar follows the points that are left"
    )
    assert editing.edited(points, {"kind": "points", "place": 2, "value": 3}, view).conditions[2].points == 3
    edit = {"kind": "change", "place": 1, "function": "has_word", "words": "bb", "field": "name"}
    changed = editing.edited(points, edit, view).conditions[1].any_of[0][0]
    assert (changed.function, changed.arguments, changed.view.attribute) == ("has_word", ("bb",), "name")
    excluded = replace(points, exclusions=((Atom("is_in", ("x",), View()),),))
    assert editing.edited(excluded, {"kind": "include-not", "place": 0}, view) == points
    excepted = replace(excluded, unless=((Atom("is_in", ("y",), View()),),))
    assert editing.edited(excepted, {"kind": "drop-unless", "place": 0}, view) == excluded
    assert editing.edited(excepted, {"kind": "include-not", "place": 0}, view) == points, "nothing is left to except"
    assert editing.edited(points, {"kind": "remove", "place": 9}, view) == points


def test_text_and_points_are_one_question(workspace: Workspace) -> None:
    text = 'ret 4*is_in("vm400s", $r) + 2*is_in("sanus", $r) + is_in("mount", $r) >= 5 & !is_in("tv", $r)\n'
    checked = check_question(workspace.agreement, text)
    assert checked.formula is not None
    points = checked.chain
    assert points is not None and text_of(points, lowered=True) == text
    assert editing.summary(points) == '4 for "vm400s", 2 for "sanus", 1 for "mount": 5 points are enough; not "tv"'
    sounds = Chain((Condition(((Atom("sounds_like", ("smith",), View("surname")),),), 12), word("cup 1")), 12)
    assert editing.summary(sounds) == (
        '12 for what sounds like "smith" in surname, 1 for "cup 1": 12 points are enough'
    ), "how it is asked for is said, and points are apart from words"
    excepted = check_question(workspace.agreement, 'ret is_in("sanus", $r) & (!is_in("tv", $r) | is_in("wall", $r))\n')
    assert excepted.chain is not None
    assert editing.summary(excepted.chain) == '1 for "sanus": 1 point is enough; not "tv"; unless "wall"'


def test_a_price_that_is_excluded_is_shown_in_words() -> None:
    far = Chain((word("camera", 1),), 1, ((Atom("far_from", (Fraction("79.99"),), View("price")),),))
    assert editing.summary(far) == '1 for "camera": 1 point is enough; not far from 79.99 in price'
    assert editing.view_of(far, lambda _: 3)["exclusions"][0]["summary"] == "far from 79.99 in price"


def test_bar_of_clicked_words_is_above_every_other_row_and_at_least_half() -> None:
    points = Chain((word("a", 3), word("b", 3), word("c", 1)), 1)
    assert editing.sensible_bar(points, 0) == 4
    assert editing.sensible_bar(points, 5) == 6
    assert editing.sensible_bar(points, 7) == 7, "never more than all points"


def test_difference_between_two_questions_is_said_in_words() -> None:
    before = Chain((word("a", 4), word("b")), 5)
    after = Chain((word("a", 3), word("c", 2)), 4)
    assert editing.difference(before, after) == editing.summary(after), "the whole, where that is shorter"
    assert editing.difference(before, replace(before, bar=4)) == "enough: 5 → 4"
    assert editing.difference(replace(before, bar=4), after) == 'without "b"; with "c" (2)' + '; "a" 4 → 3'
    barred = replace(before, exclusions=((Atom("is_in", ("x",), View()),),))
    assert (
        editing.difference(before, barred) == 'not: "x"' and editing.difference(barred, before) == 'no longer not: "x"'
    )
    assert editing.difference(before, before) == "the same"
    as_word = Condition(((Atom("has_word", ("b",), View()),),), 1)
    assert editing.difference(before, replace(before, conditions=(word("a", 4), as_word))) == "written differently"


def test_the_best_version_is_likely_found_and_lets_nobody_pass() -> None:
    own = OwnRows(100, 0, True)
    good, strict = Verdict("good", own, 0.9, 0.0, 0.1), Verdict("strict", own, 0.5, 0.0, 0.0)
    safer = replace(good, risk=0.05)
    bad = Verdict("loose", replace(own, others=40), 1.0, 1.0, 40.0)
    assert best_of([strict, good, bad]) == 1
    assert best_of([good, safer]) == 1
    assert best_of([bad, strict]) == 1
    assert best_of([good, good]) is None and best_of([good]) is None and best_of([]) is None, "nothing is worse"


def test_a_table_that_changed_is_said_and_the_sample_takes_its_place(workspace: Workspace, judging: Judging) -> None:
    judging.warm_up()
    assert judging.problem == ""
    table = Path(workspace.settings["table"])
    table.write_text("\n".join(table.read_text().splitlines()[:-1]) + "\n")
    changed = Judging(workspace)
    changed.warm_up()
    assert "is another table now" in changed.problem
    assert changed.problem.endswith(f"know your {len(workspace.records())} sampled records alone.")
    assert len(changed.rows[0]) == len(workspace.records())
