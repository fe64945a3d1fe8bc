"""Ground truth as a study ends with it: labelled pairs of row positions, and the pairs that were discarded. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LabelledPair:
    """Row i of the first table and row j of the second are a match or not, agreed in this round (from 1)."""

    i: int
    j: int
    label: bool
    round: int


@dataclass(frozen=True)
class GroundTruth:
    """What one party knows at the end. Ids are there for the sides whose table the party has; else a row is named by its position."""

    dataset_a: str
    dataset_b: str
    pairs: tuple[LabelledPair, ...]
    discarded: tuple[tuple[int, int], ...] = ()
    """Pairs that the owners never agreed on: neither match nor no match."""
    ids_a: Mapping[int, str] | None = None
    ids_b: Mapping[int, str] | None = None

    def __post_init__(self) -> None:
        named = [(pair.i, pair.j) for pair in self.pairs] + list(self.discarded)
        if len(set(named)) != len(named):
            raise ValueError("a pair is in the ground truth twice")
        for side, ids in ((0, self.ids_a), (1, self.ids_b)):
            if ids is not None and not {pair[side] for pair in named} <= ids.keys():
                raise ValueError("a row of the ground truth has no id")
        if self.dataset_a == self.dataset_b:
            raise ValueError("the two tables of a ground truth need different names")

    def name_a(self, i: int) -> str:
        """How row i of the first table is called: its id where known, else its position."""
        return str(i) if self.ids_a is None else self.ids_a[i]

    def name_b(self, j: int) -> str:
        """How row j of the second table is called."""
        return str(j) if self.ids_b is None else self.ids_b[j]

    def matches(self) -> list[LabelledPair]:
        """The pairs labelled as match."""
        return [pair for pair in self.pairs if pair.label]
