"""The questions printed in the publication are accepted and mean what it says."""

from __future__ import annotations

import pytest

from blindlabel.language import Question, Record, interpret
from support.publication import (
    ACM_1,
    ACM_2,
    ACM_RECORD,
    AMAZON,
    AMAZON_RECORD,
    DBLP_1,
    DBLP_2,
    DBLP_RECORD,
    GOOGLE_1,
    GOOGLE_RECORD,
    LENS,
)


@pytest.mark.parametrize(
    ("question", "record", "answer"),
    [
        (LENS, "Canon 24-70 f2.8", True),
        (LENS, "Canon 2470", True),
        (LENS, "Canon 24-105mm USM", False),
        (LENS, "Sony 24-70", False),
        (AMAZON, GOOGLE_RECORD, True),
        (GOOGLE_1, AMAZON_RECORD, False),
        (AMAZON, AMAZON_RECORD, True),
        (DBLP_1, ACM_RECORD, False),
        (DBLP_2, ACM_RECORD, True),
        (ACM_2, DBLP_RECORD, True),
    ],
)
def test_printed_questions_mean_what_the_publication_says(question: str, record: str, answer: bool) -> None:
    checked = Question(question)
    assert checked.problems == ()
    assert interpret(checked.tree, Record.of({"name": record})) is answer


def test_the_printed_annotation_without_ret_gets_its_error() -> None:
    checked = Question(ACM_1)
    assert [one.code for one in checked.problems if one.severity == "error"] == ["no-ret"]
