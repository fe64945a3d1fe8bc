"""Labels of a pairing, and what a round of answers adds to them.

The labels of a pairing are a matrix of bytes, rows the first owner's sampled records, columns the second's: 0 is an
open pair, any other value v is an agreed pair with label v & 1, agreed in round v >> 1. Rules:

1. A pair once agreed keeps its label and round, whatever later answers say.
2. An open pair is agreed in the round in which both owners' answers for it are equal; the label is that answer.
3. A record is asked again when it stands on an open pair. A pair is therefore open only if both its records are asked
   again.
4. A pair that is open after the last round is discarded: it has no label, and is reported as discarded, never as "no
   match".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from blindlabel.engines.interface import Answers
from blindlabel.protocol.errors import NotFitting
from blindlabel.protocol.figures import Tally

Labels = npt.NDArray[np.uint8]

MOST_ROUNDS = 100
"""Rounds that an agreement may allow; a label's byte has room for 127."""

STRIPE = 1 << 20
"""Pairs that are settled at a time."""


def pairings(owners: Iterable[str]) -> list[tuple[str, str]]:
    """Every two owners, each pairing once, the name that sorts first in front."""
    return list(itertools.combinations(sorted(owners), 2))


def no_labels(first: int, second: int) -> Labels:
    """All pairs open."""
    return np.zeros((first, second), dtype=np.uint8)


def is_agreed(labels: Labels) -> npt.NDArray[np.bool_]:
    """Which pairs have a label."""
    agreed: npt.NDArray[np.bool_] = labels != 0
    return agreed


def is_match(labels: Labels) -> npt.NDArray[np.bool_]:
    """Which pairs are labelled as match."""
    match: npt.NDArray[np.bool_] = (labels & 1) == 1
    return match


def after_round(labels: Labels, round: int) -> Labels:
    """The labels as they were after an earlier round."""
    return np.where(labels >> 1 <= round, labels, np.uint8(0))


def settle(
    labels: Labels,
    round: int,
    first_asked: Sequence[int],
    first_answers: Answers,
    second_asked: Sequence[int],
    second_answers: Answers,
) -> tuple[Labels, Tally]:
    """The labels after a round, and how the open pairs of the round were answered.

    `first_answers` has a row for each of `first_asked` and a column for each record of the second owner;
    `second_answers` the other way round. Worked out in stripes of rows, so that a large study needs room for labels and
    answers and little more.
    """
    rows, columns = labels.shape
    if first_answers.shape != (len(first_asked), columns) or second_answers.shape != (len(second_asked), rows):
        raise NotFitting("The size of the answers is wrong for the questions and records of the round.")
    places = np.full(rows, -1, dtype=np.int64)
    places[np.asarray(first_asked, dtype=np.intp)] = np.arange(len(first_asked))
    second = np.asarray(second_asked, dtype=np.intp)
    known_second = np.zeros(columns, dtype=np.bool_)
    known_second[second] = True
    after, tally = np.empty_like(labels), Tally()
    height = max(1, STRIPE // max(1, columns))
    for start in range(0, rows, height):
        stripe = slice(start, min(start + height, rows))
        known_first = places[stripe] >= 0
        says_first = np.zeros((stripe.stop - start, columns), dtype=np.bool_)
        says_first[known_first] = first_answers[places[stripe][known_first]]
        says_second = np.zeros_like(says_first)
        says_second[:, second] = second_answers[:, stripe].T
        is_open = labels[stripe] == 0
        compared = is_open & known_first[:, None] & known_second
        if np.any(is_open & ~compared):
            raise NotFitting("A pair without agreement has a record that was not asked again.")
        tally += Tally(
            both=int(np.count_nonzero(compared & says_first & says_second)),
            first_only=int(np.count_nonzero(compared & says_first & ~says_second)),
            second_only=int(np.count_nonzero(compared & ~says_first & says_second)),
            neither=int(np.count_nonzero(compared & ~says_first & ~says_second)),
        )
        agreed = compared & (says_first == says_second)
        after[stripe] = np.where(agreed, np.uint8(2 * round) + says_first.astype(np.uint8), labels[stripe])
    return after, tally


def open_counts(labels: Labels, *, axis: int) -> npt.NDArray[np.int64]:
    """For each record of one side (axis 0: first owner, 1: second) on how many open pairs it stands."""
    counts: npt.NDArray[np.int64] = labels.shape[1 - axis] - np.count_nonzero(labels, axis=1 - axis).astype(np.int64)
    return counts


def agreed_pairs(labels: Labels) -> Iterator[tuple[int, int, bool, int]]:
    """Every agreed pair: index of the first owner's record, of the second's, label, round."""
    for i, row in enumerate(labels):
        columns = np.flatnonzero(row)
        for j, value in zip(columns.tolist(), row[columns].tolist()):
            yield i, j, bool(value & 1), value >> 1


def to_bytes(labels: Labels) -> bytes:
    """Row by row, one byte a pair."""
    return labels.tobytes()


def from_bytes(data: bytes, first: int, second: int) -> Labels:
    """The labels again; the size must be right and every round possible."""
    if len(data) != first * second:
        raise NotFitting("The size of the labels is wrong for the samples.")
    labels = np.frombuffer(data, dtype=np.uint8).reshape(first, second)
    if np.any(labels == 1) or np.any(labels > 2 * MOST_ROUNDS + 1):
        raise NotFitting("The labels hold a value that no round can give.")
    return labels
