"""A whole study in this process, without parties: two oracles, rounds by the protocol's rules, answers as one likes.

The rules are the protocol's own (`protocol.labels`): a pair once agreed keeps its label, only records on an open pair
are asked again, and what is open after the last round is discarded. Nothing is protected here, since both tables are;
it is for trying questions on tables of one's own, and for experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from blindlabel.engines.interface import AnswerMatrix
from blindlabel.language import Question, Record
from blindlabel.language.formula import Columns, Formula
from blindlabel.protocol.labels import Labels, no_labels, open_counts, settle

Oracle = Callable[[Record, int], Question]
"""(an own record, the round counted from 1) to the question about its partner."""

Answering = Callable[[int, Sequence[Formula], Sequence[Record]], AnswerMatrix]
"""(0: the first owner asks, 1: the second; its questions; the other's records) to the answers, one row a question."""


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal left: labels after each round, and all questions asked."""

    labels: tuple[Labels, ...]
    questions: tuple[Question, ...] = field(repr=False, default=())


def rehearse(
    records: tuple[Sequence[Record], Sequence[Record]],
    oracles: tuple[Oracle, Oracle],
    answering: Answering,
    rounds: int = 3,
    most_yes: int | None = None,
) -> Rehearsed:
    """All rounds of a study on these records. Ends early where all pairs are agreed; later rounds then repeat the last
    state. `most_yes` as in an agreement; None: as many as one likes.
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
                written = [oracles[side](records[side][i], number) for i in again]
                asked.append(again)
                questions += written
                answers.append(answering(side, [one.usable() for one in written], records[1 - side]))
            first, second = answers[0][:, asked[1]].astype(np.uint8), answers[1][:, asked[0]].astype(np.uint8)
            loosest = labels.size if most_yes is None else most_yes
            labels = settle(labels, number, asked[0], first, asked[1], second, loosest).labels
        after.append(labels)
    return Rehearsed(tuple(after), tuple(questions))


def in_clear(_side: int, questions: Sequence[Formula], records: Sequence[Record]) -> AnswerMatrix:
    """All questions over all records by clear evaluation, each different predicate once a record."""
    columns = Columns(records)
    answers = np.zeros((len(questions), len(records)), dtype=np.bool_)
    for row, question in enumerate(questions):
        answers[row] = columns.answers(question)
    return answers
