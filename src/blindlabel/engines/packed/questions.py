"""A study's questions: refused where the agreement or its way has no room for them, and compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from blindlabel.engines.allowed import refuse_question
from blindlabel.engines.interface import QuestionError
from blindlabel.engines.packed.ways.interface import AnyWay
from blindlabel.language.formula import Formula


@lru_cache(maxsize=1 << 14)  # a formula is itself alone: whoever checks a question and then asks it compiles it once
def plan_of(way: AnyWay, question: Formula) -> Any:
    """The plan of a question; `QuestionError` with a sentence where there is none."""
    refused = refuse_question(way.terms, question)
    if refused is not None:
        raise QuestionError(refused)
    return way.plan(question)


def plans_of(way: AnyWay, questions: Sequence[Formula]) -> list[Any]:
    """The plans of all questions; an error says which question it is about."""
    plans = []
    for number, question in enumerate(questions, start=1):
        try:
            plans.append(plan_of(way, question))
        except QuestionError as problem:
            raise QuestionError(f"Question {number}: {problem}") from problem
    return plans
