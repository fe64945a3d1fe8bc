"""A linkage's candidate pairs with scores: reading the list, cutting it into strata, drawing pairs to be labelled.

Above the line are the n₁ linked pairs, cut by score into n₁/2, n₁/4 and the rest; below it pieces of n₁/4, n₁/2, n₁, …;
never between equal scores. Of the pairs drawn, 40 % are from above in proportion to a stratum's size, the rest from
below in proportion to its root, three at least from each. Strata follow from the list alone, whatever the order of its
lines; so does its hash, which an agreement names before anything is drawn or labelled.

Records are named by their row numbers, from 0, or by id. Studies know only the row numbers.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from pathlib import Path

import numpy as np
import numpy.typing as npt

from blindlabel.errors import InputError
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.sampling import SHARE_ABOVE, Draw, choose
from blindlabel.records.table_files import read_columns

LEAST = 3
_NAMES = (("row_a", "row_b"), ("id_a", "id_b"))
_FIGURES = ("score", "linked")
_TRUTH = {"1": True, "true": True, "0": False, "false": False}

Pair = tuple[str, str]
"""The names of a record of the first table and of one of the second."""
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Candidates:
    """The list of candidate pairs, best score first."""

    pairs: tuple[Pair, ...]
    scores: Numbers
    linked: Flags
    drawn: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which pairs were drawn; empty if none were drawn from the list."""

    @cached_property
    def hash(self) -> str:
        """A hash of pairs, scores and what is linked: the same for every order and file format, and for every draw."""
        lines = zip(self.pairs, self.scores.tolist(), self.linked.tolist())
        return hashlib.sha256(repr(sorted(lines)).encode()).hexdigest()

    @cached_property
    def by_threshold(self) -> bool:
        """Whether exactly the pairs from some score on are linked."""
        return bool(self.scores[self.linked].min() > self.scores[~self.linked].max(initial=-np.inf))

    @cached_property
    def strata(self) -> tuple[Whole, ...]:
        """Places in the list, stratum by stratum: first those above the line, best first, then those below."""
        above, below = np.flatnonzero(self.linked), np.flatnonzero(~self.linked)
        quarter = len(above) / 4
        pieces = _cut(above, self.scores, [2 * quarter, quarter, 4 * quarter])
        return (*pieces, *_cut(below, self.scores, [quarter * 2**power for power in range(64)]))

    def allocation(self, pairs: int) -> list[int]:
        """How many pairs each stratum gives if this many are drawn."""
        above, below = ([len(part) for part in self.strata if self.linked[part[0]] == side] for side in (True, False))
        first = _shared(above, max(round(SHARE_ABOVE * pairs), pairs - sum(below)), 1.0)
        return first + _shared(below, pairs - sum(first), 0.5)

    def draw(self, pairs: int, draw: Draw = secrets.randbelow) -> Candidates:
        """The list with this many pairs drawn."""
        drawn = np.zeros(len(self.scores), dtype=np.bool_)
        for part, wanted in zip(self.strata, self.allocation(pairs)):
            drawn[choose(part.tolist(), wanted, draw)] = True
        return replace(self, drawn=drawn)

    def drawn_rows(self, agreement: Agreement, draw: Draw = secrets.randbelow) -> dict[str, tuple[int, ...]]:
        """Draw as many pairs as were agreed on: each owner's rows, pair by pair; none if rows are drawn instead."""
        wanted = agreement.sampling.records if agreement.sampling.by_list else 0
        if wanted and (least := sum(self.allocation(wanted))) > wanted:
            raise InputError(f"{wanted} pairs are too few for this list; {least} would do (sampling.records).")
        pairs = [self.pairs[place] for place in np.flatnonzero(self.draw(wanted, draw).drawn)] if wanted else []
        sides = zip(sorted(agreement.owners), zip(*pairs))
        return {owner: tuple(map(int, side)) for owner, side in sides}


def agreed_list(path: Path | str, agreement: Agreement) -> Candidates:
    """The list that an agreement is about. In the file, the first table is that of the owner whom the agreement names
    first; here, as in labels, it is that of the owner whose name sorts first.
    """
    sampling, (first, second) = agreement.sampling, agreement.owners
    if not sampling.by_row:
        raise InputError(
            "Under this agreement the coordinator does not know which rows are sampled, and cannot join labels with a"
            ' list. method = "candidates", or "uniform" with estimates = true, under [sampling] would do.'
        )
    sizes = sampling.tables[first], sampling.tables[second]
    found = read_candidates(path, threshold=sampling.threshold, rows=sizes, numbers=True)
    if found.hash != sampling.candidates:
        raise InputError(f"{Path(path).name} is not the list that was agreed on: its hash is {found.hash}.")
    return found if first < second else replace(found, pairs=tuple((a, b) for b, a in found.pairs))


def read_candidates(
    path: Path | str, *, threshold: float | None = None, rows: tuple[int, int] | None = None, numbers: bool = False
) -> Candidates:
    """Read a list with the columns row_a, row_b (numbers from 0) or, without `numbers`, id_a, id_b; then score and,
    unless there is a threshold, linked (1 or 0). `rows` are the sizes of the two tables: other rows are refused.
    """
    path = Path(path)
    columns, lines = read_columns(path, None, {*_NAMES[0], *_NAMES[1], *_FIGURES})
    named = _NAMES["row_a" not in columns and not numbers]
    for name in (*named, "score"):
        if name not in columns:
            raise InputError(
                f"{path.name} has no column {name!r}; it needs row_a and row_b"
                f"{'' if numbers else ', or id_a and id_b'}, and score."
            )
    if ("linked" in columns) == (threshold is not None):
        raise InputError(f"What is linked is said by a threshold or by a column linked of {path.name}: by one of them.")
    places = [columns.index(name) if name in columns else -1 for name in (*named, *_FIGURES)]
    found: dict[Pair, tuple[float, bool]] = {}
    for number, line in enumerate(lines, start=1):
        values = [line[place].strip() if place >= 0 else "0" for place in places]
        pair = (values[0], values[1])
        wrong = _wrong(values, rows, numbers=named is _NAMES[0]) or ("it is in the list twice" if pair in found else "")
        if wrong:
            raise InputError(f"{path.name}, pair {number}: {wrong}.")
        score, linked = float(values[2]) + 0.0, _TRUTH[values[3].lower()]
        found[pair] = score, linked if threshold is None else score >= threshold
    order = sorted(found, key=lambda pair: (-found[pair][0], pair))
    scores, linked_ = (np.array([found[pair][part] for pair in order]) for part in range(2))
    if not linked_.any():
        raise InputError(f"{path.name} has no pair that is linked.")
    return Candidates(tuple(order), scores, linked_)


def _wrong(values: Sequence[str], rows: tuple[int, int] | None, *, numbers: bool) -> str:
    """What is wrong with a line of the list, or empty if nothing is."""
    for side, text in enumerate(values[:2]):
        if not text or (numbers and not (text.isascii() and text.isdigit() and str(int(text)) == text)):
            return f"{text!r} is no {'row: rows are whole numbers, counted from 0' if numbers else 'id'}"
        if numbers and rows is not None and int(text) >= rows[side]:
            return f"row {text} is not in the {('first', 'second')[side]} table, which has {rows[side]:,}"
    number = re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", values[2], re.ASCII)
    if not number or not isfinite(float(values[2])):
        return f"the score {values[2]!r} is not a finite number"
    return next((f"{text!r} is not 1 or 0" for text in values[3:] if text.lower() not in _TRUTH), "")


def _cut(order: Whole, scores: Numbers, sizes: Sequence[float]) -> list[Whole]:
    """Consecutive pieces of about these sizes. If what is left after a piece is less than half of it, it joins the
    piece.
    """
    pieces, start = [], 0
    for size in sizes:
        end = min(len(order), start + max(1, round(size)))
        while 0 < end < len(order) and scores[order[end]] == scores[order[end - 1]]:
            end += 1
        end = len(order) if len(order) - end < size / 2 else end
        pieces += [order[start:end]] if end > start else []
        start = end
    return pieces


def _shared(sizes: Sequence[int], wanted: int, power: float) -> list[int]:
    """This many pairs over strata of these sizes: the least first, then one by one to the one furthest from its due."""
    given = [min(size, LEAST) for size in sizes]
    while sum(given) < min(wanted, sum(sizes)):
        due = [size**power / (has + 0.5) if has < size else -1.0 for size, has in zip(sizes, given)]
        given[due.index(max(due))] += 1
    return given
