"""How many pairs or rows give which width, before anything is labelled: the estimator itself, applied to expected
counts.

Precision and recall are assumed. Matches below the line are assumed to become four times rarer from one stratum to the
next, which gave widths within 30 % of the true ones on lists of every shape that was tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from blindlabel.estimates.candidate_pairs import Candidates
from blindlabel.estimates.intervals import Piece, measures, total


@dataclass(frozen=True)
class Planned:
    """One way to sample, and the half widths to expect."""

    sampling: str
    pairs: int
    records: int
    """Records of each owner, at most."""
    matches: float
    precision_width: float
    recall_width: float


def list_of(linked: int, listed: int) -> Candidates:
    """A list of this length about which nothing else is known."""
    ranks = np.arange(listed)
    return Candidates((), -ranks.astype(np.float64), ranks < linked)


def from_list(candidates: Candidates, pairs: int, precision: float, recall: float) -> Planned:
    """This many pairs of a list."""
    given = list(zip(map(len, candidates.strata), candidates.allocation(pairs)))
    first = sum(bool(candidates.linked[part[0]]) for part in candidates.strata)
    above = [Piece(size, drawn, drawn * precision) for size, drawn in given[:first]]
    missed = sum(piece.size for piece in above) * precision * (1 / recall - 1)
    shares = [missed * 0.75 * 0.25**place / size for place, (size, _) in enumerate(given[first:])]
    below = [Piece(size, drawn, drawn * min(1.0, share)) for (size, drawn), share in zip(given[first:], shares)]
    return _planned("candidates", above, below, sum(drawn for _, drawn in given))


def from_rows(rows: Sequence[int], linked: int, records: int, precision: float, recall: float) -> Planned:
    """This many uniformly drawn rows of each table."""
    whole, drawn = rows[0] * rows[1], min(records, rows[0]) * min(records, rows[1])
    share, missed = drawn / whole, linked * precision * (1 / recall - 1)
    above = [Piece(linked, linked * share, linked * share * precision)]
    return _planned("uniform", above, [Piece(whole - linked, drawn - linked * share, missed * share)], records)


def _planned(sampling: str, above: Sequence[Piece], below: Sequence[Piece], records: int) -> Planned:
    found = measures(total(above, False), total(below, True), sum(piece.size for piece in above))
    pairs, matches = (sum(getattr(piece, name) for piece in (*above, *below)) for name in ("drawn", "matches"))
    return Planned(sampling, round(pairs), records, matches, *((high - low) / 2 for _, low, high in found[:2]))


def plans(
    candidates: Candidates, rows: Sequence[int], width: float, precision: float = 0.9, recall: float = 0.9
) -> list[Planned]:
    """The smallest sample of each kind whose half widths are at most this, or the largest if none is."""
    linked, found = int(candidates.linked.sum()), []
    from_candidates = partial(from_list, candidates, precision=precision, recall=recall)
    from_tables = partial(from_rows, rows, linked, precision=precision, recall=recall)
    for most, plan in ((len(candidates.linked), from_candidates), (max(rows), from_tables)):
        size = 20
        while size < most and max((tried := plan(size)).precision_width, tried.recall_width) > width:
            size += 1 + size // 20
        found.append(plan(min(size, most)))
    return found
