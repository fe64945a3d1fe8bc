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
    agreed as missed. `records` are those of both owners, `records_to_ask` the ones that stand on a pair without
    agreement. The other counts are of pairs: `false_negatives` are true ones agreed to be no match, `open_matches` true
    ones without agreement.
    """

    precision: float
    recall: float
    f: float
    recall_strict: float
    f_strict: float
    agreement: float
    records: float
    records_to_ask: float
    pairs: float
    agreed: float
    true_positives: float
    false_positives: float
    false_negatives: float
    open_matches: float


def scores(labels: Labels, truth: Truth) -> Scores:
    """The scores of labels (as in `protocol.labels`) against the truth."""
    agreed, match = is_agreed(labels), is_match(labels)
    right = int(np.count_nonzero(match & truth))
    wrong = int(np.count_nonzero(match & ~truth))
    missed = int(np.count_nonzero(agreed & ~match & truth))
    true = int(np.count_nonzero(truth))
    precision, recall, strict = _share(right, right + wrong), _share(right, right + missed), _share(right, true)
    to_ask = int(np.count_nonzero((~agreed).any(axis=0))) + int(np.count_nonzero((~agreed).any(axis=1)))
    settled = int(np.count_nonzero(agreed))
    return Scores(
        precision=precision,
        recall=recall,
        f=_f(precision, recall),
        recall_strict=strict,
        f_strict=_f(precision, strict),
        agreement=_share(settled, agreed.size),
        records=sum(labels.shape),
        records_to_ask=to_ask,
        pairs=agreed.size,
        agreed=settled,
        true_positives=right,
        false_positives=wrong,
        false_negatives=missed,
        open_matches=true - right - missed,
    )


def _share(part: int, whole: int) -> float:
    """A share; of nothing, all: no label is no wrong label."""
    return part / whole if whole else 1.0


def _f(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
