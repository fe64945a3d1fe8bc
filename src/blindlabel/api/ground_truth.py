"""`blindlabel.GroundTruth`: the labelled pairs of a study, and what to do with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from blindlabel.errors import InputError, OutsideError
from blindlabel.export import formats, truth
from blindlabel.export.formats import ID, RECORD
from blindlabel.export.truth import AgreedPairs
from blindlabel.protocol.labels import Labels, after_round, byte_of, is_agreed, is_match, no_labels

KnownPairs = Iterable[tuple[object, object]]
"""True pairs: the id of a row of the first table and that of one of the second; positions where a table has no ids."""

NEED_ALL_LABELS = ("recall", "f", "agreement", "records_to_ask", "agreed", "false_negatives", "open_matches")
"""What cannot be told from matches alone."""


@dataclass(frozen=True)
class Scores:
    """How good labels are, measured against the truth, if somebody knows it. `recall` and `f` are over agreed pairs;
    the strict ones count a true pair that was never agreed as missed. `records` counts those of both owners,
    `records_to_ask` those in a pair without agreement. The other counts are of pairs: `false_negatives` are true pairs
    agreed to be no match, `open_matches` true pairs without agreement.
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


class GroundTruth(truth.AgreedTruth):
    """Labelled pairs of two tables, agreed between their owners, and the pairs that they never agreed on.

    `pairs` are the labelled ones (`i`, `j`: places in the sample, else rows, `label`, `round`), `discarded` the others;
    `matches()` those labelled as match; `name_a(i)` and `name_b(j)` are the rows' ids.
    """

    @classmethod
    def of(cls, found: truth.AgreedTruth) -> GroundTruth:
        """The same truth with the methods of this class."""
        return cls(**{field.name: getattr(found, field.name) for field in fields(truth.AgreedTruth)})

    def to_rows(self) -> Iterator[dict[str, Any]]:
        """One row per labelled pair, with the names that exports use: `record_anna` and `record_berta` (from 0),
        `id_anna` and `id_berta` if the ids are known, `label`, `round`. Discarded pairs have no label and no row. An
        owner who was given the matches alone is not told their rounds: None.
        """
        sides = [(self.dataset_a, self.ids_a), (self.dataset_b, self.ids_b)]
        for pair in self.pairs:
            rows = [(name, ids, row) for (name, ids), row in zip(sides, (pair.i, pair.j))]
            yield {
                **{f"{RECORD}{name}": row for name, _, row in rows},
                **{f"{ID}{name}": ids[row] for name, ids, row in rows if ids is not None},
                "label": pair.label,
                "round": None if self.only_matches else pair.round,
            }

    def to_pandas(self) -> Any:
        """The labelled pairs as a frame of pandas, with the columns of `to_rows`."""
        sides = [(self.dataset_a, self.ids_a), (self.dataset_b, self.ids_b)]
        columns = [
            *((f"{RECORD}{name}", pa.int64()) for name, _ in sides),
            *((f"{ID}{name}", pa.string()) for name, ids in sides if ids is not None),
            ("label", pa.bool_()),
            ("round", pa.int32()),
        ]
        try:
            return pa.Table.from_pylist(list(self.to_rows()), schema=pa.schema(columns)).to_pandas()
        except ImportError as error:
            raise OutsideError("pandas is not installed here; install it, or use to_rows().") from error

    def score(self, known: KnownPairs, *, round: int | None = None) -> Scores:
        """Precision, recall and F against the true pairs, at the end or as it was after a round. True pairs of rows
        that are not in the sample do not count. An owner who was given matches alone does not know which other pairs
        were agreed: what would need that is not a number (NaN), and rounds cannot be told apart.
        """
        if self.only_matches and round is not None:
            raise InputError("This owner was given matches alone, without rounds. The coordinator has all labels.")
        labels, (first, second) = self._matrix()
        if round is not None:
            if round < 1:
                raise InputError("Rounds count from 1.")
            labels = after_round(labels, round)
        rows = {self.name_a(i): place for place, i in enumerate(first)}
        columns = {self.name_b(j): place for place, j in enumerate(second)}
        true = np.zeros(labels.shape, dtype=np.bool_)
        for a, b in known:
            if str(a) in rows and str(b) in columns:
                true[rows[str(a)], columns[str(b)]] = True
        found = scores(labels, true)
        return replace(found, **dict.fromkeys(NEED_ALL_LABELS, math.nan)) if self.only_matches else found

    def export(self, format: str, folder: Path | str) -> list[Path]:
        """Write the truth for another tool into a folder; `blindlabel export --help` names the formats. Returns the
        files: the truth, and the discarded pairs beside it.
        """
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutsideError(f"The folder {folder} cannot be made: {error.strerror}.") from error
        return formats.write(self, format, Path(folder))

    def _matrix(self) -> tuple[Labels, tuple[list[int], list[int]]]:
        """The labels as a matrix, and the positions of its rows and columns."""
        if isinstance(self.pairs, AgreedPairs):
            first, second = self.pairs.positions
            return self.pairs.matrix, (list(first), list(second))
        cells = [*((pair.i, pair.j) for pair in self.pairs), *self.discarded]
        first, second = (sorted({cell[side] for cell in cells}) for side in (0, 1))
        rows, columns = ({own: place for place, own in enumerate(side)} for side in (first, second))
        labels: npt.NDArray[np.uint8] = no_labels(len(first), len(second))
        for pair in self.pairs:
            labels[rows[pair.i], columns[pair.j]] = byte_of(pair.label, pair.round)
        return labels, (first, second)


def scores(labels: Labels, true: npt.NDArray[np.bool_]) -> Scores:
    """The scores of labels (as in `protocol.labels`) against the truth."""
    agreed, match = is_agreed(labels), is_match(labels)
    right = int(np.count_nonzero(match & true))
    wrong = int(np.count_nonzero(match & ~true))
    missed = int(np.count_nonzero(agreed & ~match & true))
    matches = int(np.count_nonzero(true))
    precision, recall, strict = _share(right, right + wrong), _share(right, right + missed), _share(right, matches)
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
        open_matches=matches - right - missed,
    )


def _share(part: int, whole: int) -> float:
    """A share; all of nothing is 1, since no label is no wrong label."""
    return part / whole if whole else 1.0


def _f(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
