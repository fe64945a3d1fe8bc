"""How good labels are against the truth, where somebody knows it: over agreed pairs, and strict (over all true pairs of
the sample).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blindlabel.protocol.labels import Labels, is_agreed, is_match

Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Scores:
    """The state after a round. `recall` and `f` are over agreed pairs; the strict ones count a true pair that was never
    agreed as missed. `records_to_ask` are the records of both owners that stand on a pair without agreement."""

    precision: float
    recall: float
    f: float
    recall_strict: float
    f_strict: float
    agreement: float
    records_to_ask: float


def scores(labels: Labels, truth: Truth) -> Scores:
    """The scores of labels (as in `protocol.labels`) against the truth."""
    agreed, match = is_agreed(labels), is_match(labels)
    right = int(np.count_nonzero(match & truth))
    wrong = int(np.count_nonzero(match & ~truth))
    missed = int(np.count_nonzero(agreed & ~match & truth))
    true = int(np.count_nonzero(truth))
    precision, recall, strict = _share(right, right + wrong), _share(right, right + missed), _share(right, true)
    to_ask = int(np.count_nonzero((~agreed).any(axis=0))) + int(np.count_nonzero((~agreed).any(axis=1)))
    return Scores(
        precision,
        recall,
        _f(precision, recall),
        strict,
        _f(precision, strict),
        _share(int(np.count_nonzero(agreed)), agreed.size),
        to_ask,
    )


def _share(part: int, whole: int) -> float:
    """A share; of nothing, all: no label is no wrong label."""
    return part / whole if whole else 1.0


def _f(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
