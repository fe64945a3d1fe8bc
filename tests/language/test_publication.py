"""The questions printed in the publication are accepted and mean what it says."""

from __future__ import annotations

import pytest

from blindlabel.language import Question, Record, interpret
from support.publication import ACM_1, ANSWERED


@pytest.mark.parametrize(("question", "record", "answer"), ANSWERED)
def test_printed_questions_mean_what_the_publication_says(question: str, record: str, answer: bool) -> None:
    checked = Question(question)
    assert checked.problems == ()
    assert interpret(checked.tree, Record.of({"name": record})) is answer


def test_the_printed_annotation_without_ret_gets_its_error() -> None:
    checked = Question(ACM_1)
    assert [one.code for one in checked.problems if one.severity == "error"] == ["no-ret"]
