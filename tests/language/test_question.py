"""A question carries its text, tree, problems and formula, and can be called, explained and refused."""

from __future__ import annotations

import pytest

from blindlabel.errors import InputError
from blindlabel.language import Question, Record
from blindlabel.language.diagnostics import error
from blindlabel.language.tree import NOWHERE

POINTS = 'ret 2*is_in("sanus", lower($r)) + has_word("mount", $r.name) + is_in("vm", $r) >= 3 & !is_in("tv", $r)'


def test_a_question_is_called_on_a_record_or_on_attributes_by_name() -> None:
    question = Question('ret is_in("canon", lower($r.name)) & is_empty($r.year)')
    assert question({"name": "Canon EOS", "year": ""})
    assert not question(Record.of({"name": "Canon EOS", "year": "1999"}))
    assert str(question) == question.text == 'ret is_in("canon", lower($r.name)) & is_empty($r.year)'


def test_a_question_with_an_error_is_made_but_cannot_be_used() -> None:
    question = Question('ret is_inn("canon", $r)')
    assert not question.ok
    assert [one.code for one in question.problems] == ["unknown-function"]
    for use in (lambda: question({"name": "x"}), question.explain):
        with pytest.raises(InputError, match="There is no function is_inn"):
            use()


def test_a_question_refused_for_another_reason_keeps_its_text_and_tree() -> None:
    question = Question('ret is_in("canon", $r) & true')
    refused = question.refused(error("not-encoded", "This agreement does not encode it.", NOWHERE))
    assert question.ok and not refused.ok
    assert (refused.text, refused.tree) == (question.text, question.tree)
    assert refused.problems[-1].code == "not-encoded"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            POINTS,
            'at least 3 of these 4 points:\n  2 points: is_in("sanus", lower($r))\n'
            '  1 point: has_word("mount", $r.name)\n'
            '  1 point: is_in("vm", $r)\nbut not if:\n  is_in("tv", $r)',
        ),
        ('ret is_in("a", $r) & is_in("b", $r)', 'all of:\n  is_in("a", $r)\n  is_in("b", $r)'),
        ('ret is_in("a", $r) | is_in("b", $r)', 'any of:\n  is_in("a", $r)\n  is_in("b", $r)'),
        ('ret is_in("a", $r)', 'is_in("a", $r)'),
        ("ret true", "always"),
        (
            'ret is_in("a", $r) + is_in("b", $r) == 1 | !is_in("c", $r)',
            'ret is_in("a", $r) + is_in("b", $r) == 1 | !is_in("c", $r)\n',
        ),
        (
            'ret !(is_in("a", $r) + is_in("b", $r) + is_in("c", $r) == 2)',
            'always\nbut not if:\n  is_in("a", $r) & is_in("b", $r)\n  is_in("a", $r) & is_in("c", $r)\n'
            '  is_in("b", $r) & is_in("c", $r)\nunless:\n  is_in("a", $r) & is_in("b", $r) & is_in("c", $r)',
        ),
    ],
)
def test_a_question_explains_itself_line_by_line(source: str, said: str) -> None:
    assert Question(source).explain() == said
