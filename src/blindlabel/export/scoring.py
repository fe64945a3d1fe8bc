"""How well a linkage did, against the labels of a study: for whoever runs the study, who has all of them.

A file of predicted pairs has two columns, named after the two owners, with the positions of the rows (from 0) that
belong together. What the owners never agreed on says nothing about a linkage and is left out, and so are pairs of rows
that are not in the sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from blindlabel.errors import InputError
from blindlabel.export.truth import GroundTruth
from blindlabel.records.tables import EmptyTableError, read_table


@dataclass(frozen=True)
class LinkageScore:
    """Of one pairing."""

    precision: float
    recall: float
    f: float
    right: int
    predicted: int
    """Predicted pairs that have a label."""
    matches: int
    discarded: int
    """Predicted pairs that the owners never agreed on."""
    not_sampled: int
    """Predicted pairs of rows that are not in the sample."""

    def to_json(self) -> dict[str, Any]:
        """As the command prints it."""
        return asdict(self)


Pairing = tuple[str, str]


def read_pairs(path: Path, pairings: Iterable[Pairing]) -> dict[Pairing, set[tuple[int, int]]]:
    """Predicted pairs of the pairings whose two columns the file has."""
    named = list(pairings)
    try:
        table = read_table(path)
    except EmptyTableError:
        return {pairing: set() for pairing in named}
    found: dict[Pairing, set[tuple[int, int]]] = {}
    for first, second in named:
        if first in table.attributes and second in table.attributes:
            cells = [(table.row(place)[first], table.row(place)[second]) for place in range(len(table))]
            if not all(i.isdecimal() and j.isdecimal() for i, j in cells):
                raise InputError(f"{path.name}: rows are named by their positions, 0 and up.")
            found[first, second] = {(int(i), int(j)) for i, j in cells}
    if not found:
        wanted = " or ".join(f"{first} and {second}" for first, second in named)
        raise InputError(f"{path.name} needs two columns of row positions, named after two owners: {wanted}.")
    return found


def within(predicted: set[tuple[int, int]], positions: tuple[Sequence[int], Sequence[int]]) -> npt.NDArray[np.bool_]:
    """The predicted pairs of sampled rows, in the shape of the labels."""
    places = [{position: place for place, position in enumerate(side)} for side in positions]
    found = np.zeros((len(positions[0]), len(positions[1])), dtype=np.bool_)
    for i, j in predicted:
        if i in places[0] and j in places[1]:
            found[places[0][i], places[1][j]] = True
    return found


def of_counts(predicted: set[tuple[int, int]], sampled: int, right: int, labelled: int, matches: int) -> LinkageScore:
    """A score from the counts that an owner is told; `sampled` of the predicted pairs are of sampled rows."""
    return LinkageScore(
        precision=right / labelled if labelled else 0.0,
        recall=right / matches if matches else 0.0,
        f=2 * right / (labelled + matches) if labelled or matches else 0.0,
        right=right,
        predicted=labelled,
        matches=matches,
        discarded=sampled - labelled,
        not_sampled=len(predicted) - sampled,
    )


def score(truth: GroundTruth, predicted: set[tuple[int, int]]) -> LinkageScore:
    """Precision, recall and F of predicted pairs against all labels."""
    labelled = {(pair.i, pair.j): pair.label for pair in truth.pairs if pair.label or (pair.i, pair.j) in predicted}
    known = {cell for cell in predicted if cell in labelled}
    sampled = len(known) + len(predicted & set(truth.discarded))
    return of_counts(predicted, sampled, sum(labelled[cell] for cell in known), len(known), sum(labelled.values()))
