"""Ground truth as a study ends with it: labelled pairs of records, and the pairs that were discarded. In a study a
record is called by its place in its owner's sample; which row that is, its owner alone knows.

Pairs are sequences: tuples where somebody wrote them down, or views of a matrix of labels, which make a pair when it is
looked at. A study of 5,000 × 5,000 records has 25 million pairs; as objects they would fill gigabytes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from blindlabel.errors import InputError
from blindlabel.protocol.labels import UNSAID, is_agreed, is_discarded, is_match, label_and_round

if TYPE_CHECKING:
    from blindlabel.parties.coordinator import CoordinatorParty
    from blindlabel.storage.workspace import Workspace

_Pair = TypeVar("_Pair")
STUDY = 16
"""Of a study's hash, this many digits stand in exports."""


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Row i of the first table and row j of the second are a match or not, agreed in this round (from 1; 0: not
    said).
    """

    i: int
    j: int
    label: bool
    round: int


class _Cells(Sequence[_Pair], Generic[_Pair]):
    """Some cells of a matrix of labels (`protocol.labels` says what its values mean), row by row, as pairs of the rows'
    positions.
    """

    def __init__(self, matrix: npt.NDArray[np.uint8], positions: tuple[Sequence[int], Sequence[int]]) -> None:
        if matrix.shape != (len(positions[0]), len(positions[1])):
            raise ValueError("the matrix of labels has another size than the samples")
        if any(len(set(side)) != len(side) for side in positions):
            raise ValueError("a pair is in the ground truth twice")
        self.matrix, self.positions = matrix, positions
        counts = [np.count_nonzero(self._is_meant(row)) for row in matrix]
        self._before = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    @abstractmethod
    def _is_meant(self, row: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Which cells of a row are among them."""

    @abstractmethod
    def _pair(self, i: int, j: int, value: int) -> _Pair:
        """The pair of a cell."""

    def __len__(self) -> int:
        return int(self._before[-1])

    def __iter__(self) -> Iterator[_Pair]:
        for row in range(self.matrix.shape[0]):
            yield from self._of_row(row)

    @overload
    def __getitem__(self, place: int) -> _Pair: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[_Pair]: ...
    def __getitem__(self, place: int | slice) -> _Pair | Sequence[_Pair]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        row = int(np.searchsorted(self._before, place % len(self), side="right")) - 1
        return list(self._of_row(row))[place % len(self) - int(self._before[row])]

    def _of_row(self, row: int) -> Iterator[_Pair]:
        first, second = self.positions
        columns = np.flatnonzero(self._is_meant(self.matrix[row]))
        for column, value in zip(columns.tolist(), self.matrix[row, columns].tolist()):
            yield self._pair(first[row], second[column], value)


class AgreedPairs(_Cells[LabelledPair]):
    """The pairs with a label."""

    def _is_meant(self, row: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        return is_agreed(row)

    def _pair(self, i: int, j: int, value: int) -> LabelledPair:
        label, number = label_and_round(value)
        return LabelledPair(i, j, label, 0 if number == UNSAID else number)

    def matches(self) -> list[LabelledPair]:
        """Those labelled as match, without looking at the others one by one."""
        first, second = self.positions
        rows, columns = np.nonzero(is_match(self.matrix))
        values = self.matrix[rows, columns].tolist()
        return [self._pair(first[i], second[j], value) for i, j, value in zip(rows.tolist(), columns.tolist(), values)]


class DiscardedPairs(_Cells[tuple[int, int]]):
    """The pairs without a label."""

    def _is_meant(self, row: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        return is_discarded(row)

    def _pair(self, i: int, j: int, value: int) -> tuple[int, int]:  # noqa: ARG002
        return i, j


@dataclass(frozen=True)
class AgreedTruth:
    """What one party knows at the end. Ids are there for the sides whose table the party has; else a row is named by
    its position.
    """

    dataset_a: str
    dataset_b: str
    pairs: Sequence[LabelledPair]
    discarded: Sequence[tuple[int, int]] = ()
    """Pairs that the owners never agreed on: neither match nor no match."""
    ids_a: Mapping[int, str] | None = None
    ids_b: Mapping[int, str] | None = None
    only_matches: bool = False
    """Whether this party was given the matches alone: every other pair is no match, or was discarded."""
    by_keys: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    """Rows of either side that were sampled by blocking keys; the others uniformly, or as agreed."""
    study: str = ""
    """The beginning of the study's hash, or empty if labels are not of a study."""

    def __post_init__(self) -> None:
        for side, ids in ((0, self.ids_a), (1, self.ids_b)):
            if ids is not None and not self._named(side) <= ids.keys():
                raise ValueError("a row of the ground truth has no id")
        if self.dataset_a == self.dataset_b:
            raise ValueError("the two tables of a ground truth need different names")
        if not isinstance(self.pairs, AgreedPairs):  # a matrix has no cell twice
            cells = [(pair.i, pair.j) for pair in self.pairs] + list(self.discarded)
            if len(set(cells)) != len(cells):
                raise ValueError("a pair is in the ground truth twice")

    def _named(self, side: int) -> set[int]:
        """The rows of one side that pairs name."""
        if isinstance(self.pairs, AgreedPairs):
            return set(self.pairs.positions[side])
        return {(pair.i, pair.j)[side] for pair in self.pairs} | {pair[side] for pair in self.discarded}

    @classmethod
    def of_matrix(
        cls,
        names: tuple[str, str],
        matrix: npt.NDArray[np.uint8],
        positions: tuple[Sequence[int], Sequence[int]],
        ids: tuple[Mapping[int, str] | None, Mapping[int, str] | None] = (None, None),
        *,
        only_matches: bool = False,
        by_keys: tuple[Iterable[int], Iterable[int]] = ((), ()),
        study: str = "",
    ) -> Self:
        """One pairing from its labels; `positions` are the numbers of its records: in a study their places in the
        owners' samples, else their rows.
        """
        discarded = () if only_matches else DiscardedPairs(matrix, positions)
        parts = (frozenset(by_keys[0]), frozenset(by_keys[1]))
        return cls(*names, AgreedPairs(matrix, positions), discarded, *ids, only_matches, parts, study[:STUDY])

    def name_a(self, i: int) -> str:
        """How row i of the first table is called: its id where known, else its position."""
        return str(i) if self.ids_a is None else self.ids_a[i]

    def name_b(self, j: int) -> str:
        """How row j of the second table is called."""
        return str(j) if self.ids_b is None else self.ids_b[j]

    def matches(self) -> list[LabelledPair]:
        """The pairs labelled as match."""
        known = self.pairs
        return known.matches() if isinstance(known, AgreedPairs) else [pair for pair in known if pair.label]


def truths_of_owner(workspace: Workspace) -> dict[str, AgreedTruth]:
    """After the end: the ground truth with every other owner, ids on its own side. The owner whose name sorts first
    is side a.
    """
    state, found = workspace.state(), {}
    if workspace.agreement.release == "none":
        raise InputError('This study releases nothing to owners (release = "none"): the coordinator has the labels.')
    labels, only = workspace.labels(), workspace.agreement.release == "matches"
    assert state.truth is not None and state.sample is not None
    ids = own_ids(workspace)
    own = range(len(ids))
    drawn = set(state.sampling.chosen.uniform if state.sampling.chosen else state.sample.positions)
    by_keys = [place for place in own if state.sample.positions[place] not in drawn]
    for pairing in state.truth.pairings:
        matrix, other = labels[pairing.peer], range(state.sample.others[pairing.peer])
        first = workspace.name < pairing.peer
        found[pairing.peer] = AgreedTruth.of_matrix(
            (workspace.name, pairing.peer) if first else (pairing.peer, workspace.name),
            matrix if first else matrix.T,
            (own, other) if first else (other, own),
            (ids, None) if first else (None, ids),
            only_matches=only,
            by_keys=(by_keys, pairing.enriched) if first else (pairing.enriched, by_keys),
            study=workspace.agreement.hash,
        )
    return found


def with_ids(truth: AgreedTruth, first: Workspace, second: Workspace) -> AgreedTruth:
    """The same with the ids of both owners: for whoever has both workspaces."""
    return replace(truth, ids_a=own_ids(first), ids_b=own_ids(second))


def own_ids(workspace: Workspace) -> dict[int, str]:
    """The ids of the owner's sampled records, by their places in its sample."""
    return {record.record: record.id for record in workspace.records()}


def truths_of_coordinator(coordinator: CoordinatorParty, study: str) -> dict[tuple[str, str], AgreedTruth]:
    """The labels as they stand, by pairing. The coordinator knows of records their places in the samples alone; where
    it drew rows by number, these are their ids.
    """
    state, known = coordinator.load(study).state, coordinator.agreement(study).sampling.by_row
    rows = {owner: {place: str(row) for place, row in enumerate(drawn)} for owner, drawn in state.samples.items()}
    return {
        (first, second): AgreedTruth.of_matrix(
            (first, second),
            labels,
            (range(len(state.samples[first])), range(len(state.samples[second]))),
            (rows[first], rows[second]) if known else (None, None),
            by_keys=(state.enriched(first), state.enriched(second)),
            study=study,
        )
        for (first, second), labels in coordinator.labels(study).items()
    }
