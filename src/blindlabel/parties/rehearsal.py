"""A whole study in this process, without parties: two experts, rounds by the protocol's rules, answers from any engine.

The rules are the protocol's own (`protocol.labels`): a pair once agreed keeps its label, only records in an open pair
are asked about again, and what is open after the last round is discarded. Nothing is protected, because both tables are
here; it is for trying questions on tables of your own, and for experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from blindlabel.engines.interface import AnswerMatrix
from blindlabel.language import Question, Record
from blindlabel.language.formula import Columns, Formula
from blindlabel.protocol.labels import Labels, no_labels, open_counts, settle

Expert = Callable[[Record, int], Question]
"""From a record and the round (counted from 1) to the question about the record's partner."""

Answering = Callable[[int, Sequence[Formula], Sequence[Record]], AnswerMatrix]
"""From who asks (0: the first owner, 1: the second), its questions, and the other's records to the answers, one row per
question.
"""


@dataclass(frozen=True)
class Rehearsed:
    """The result of a rehearsal: labels after each round, and all questions asked."""

    labels: tuple[Labels, ...]
    questions: tuple[Question, ...] = field(repr=False, default=())


def rehearse(
    records: tuple[Sequence[Record], Sequence[Record]],
    experts: tuple[Expert, Expert],
    answering: Answering,
    rounds: int = 3,
    most_yes: int | None = None,
) -> Rehearsed:
    """All rounds of a study on these records. It ends early if all pairs are agreed; later rounds then repeat the last
    state. `most_yes` is as in an agreement; None: no limit.
    """
    labels = no_labels(len(records[0]), len(records[1]))
    after: list[Labels] = []
    questions: list[Question] = []
    for number in range(1, rounds + 1):
        if (labels == 0).any():
            asked: list[list[int]] = []
            answers: list[AnswerMatrix] = []
            for side in (0, 1):
                again = [int(i) for i in np.flatnonzero(open_counts(labels, axis=side))]
                written = [experts[side](records[side][i], number) for i in again]
                asked.append(again)
                questions += written
                answers.append(answering(side, [one.usable() for one in written], records[1 - side]))
            first, second = answers[0][:, asked[1]].astype(np.uint8), answers[1][:, asked[0]].astype(np.uint8)
            loosest = labels.size if most_yes is None else most_yes
            labels = settle(labels, number, asked[0], first, asked[1], second, loosest).labels
        after.append(labels)
    return Rehearsed(tuple(after), tuple(questions))


def in_clear(_side: int, questions: Sequence[Formula], records: Sequence[Record]) -> AnswerMatrix:
    """All questions over all records, evaluated in clear, each different predicate once per record."""
    columns = Columns(records)
    answers = np.zeros((len(questions), len(records)), dtype=np.bool_)
    for row, question in enumerate(questions):
        answers[row] = columns.answers(question)
    return answers
