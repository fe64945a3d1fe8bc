"""How good a linkage is, from labels of drawn pairs: precision, recall and F with 95 % intervals, and by threshold.

Labels are wrong more often than samples mislead, so there are two honest forms. From labels alone a *band*, with no
value in it: what was agreed in round 1 counts as it is; every other drawn pair (agreed later, or never) counts once as
would be worst for the linkage and once as would be best. With *checked pairs*, settled by both owners in clear, a value
and its interval: drawn pairs are of six classes (linked or not; match, no match, not certain), the checked ones of a
class say how many of its others match, and their own limits move the result as well. If no pair of a class was checked,
the band stays.

A sample is either drawn from the list (`candidate_pairs`), or rows of both tables drawn uniformly. The latter is one
stratum, every pair of the two tables, and the only kind that knows of matches that are not in the list. Rows of an
enriched sample that were chosen by keys are left out, and no recall is given: pairs without a rare key are linked less
often.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import hypot, sqrt
from pathlib import Path

import numpy as np

from blindlabel.errors import InputError
from blindlabel.estimates.candidate_pairs import Candidates, Flags, Numbers, Pair, Whole
from blindlabel.estimates.intervals import Bounds, Piece, exact, measures, total
from blindlabel.export.truth import AgreedTruth
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.sampling import Draw, choose

LEAST_LABELLED, LEAST_LINKED, LEAST_MATCHES, WIDEST = 50, 10, 10, 0.5
"""With less than that nothing is said: labelled pairs in all, linked ones for precision, matches for recall; and where
limits are further apart.
"""
ANYTHING: Bounds = (0.0, 0.0, 1.0)
POINTS = 50
"""Points of the curve, at most."""
BAND = (
    "A band, not an interval: it holds as far as labels agreed in round 1 are right. Checked pairs of every class would"
    " give values."
)
TOLD = (
    "The three figures tell whoever gets them how many of the drawn pairs match; unless all or none do, of no pair"
    " whether it does. The curve tells more: from one step to the next, the label of a single pair whose score is the"
    " step's. Give owners the figures; keep the curve where the scores are known anyway."
)
_LATER, _NEVER = 2, 3
"""Kinds of labels besides 0 (no match) and 1 (match), which were agreed in round 1."""


@dataclass(frozen=True)
class Figure:
    """One measure: its limits, and its value if more than a band is known; or why nothing can be said."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    cannot_say: str = ""

    def __str__(self) -> str:
        value = "band" if self.value is None else f"{self.value:.3f},"
        return f"cannot say: {self.cannot_say}" if self.cannot_say else f"{value} {self.low:.3f} to {self.high:.3f}"


@dataclass(frozen=True)
class AtThreshold:
    """The figures with this threshold."""

    threshold: float
    linked: int
    precision: Figure
    recall: Figure
    f: Figure


@dataclass(frozen=True)
class Estimate(AtThreshold):
    """What the labels say about a linkage."""

    curve: tuple[AtThreshold, ...]
    """Points at scores of drawn pairs, best first."""
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Drawing:
    """The pairs that were drawn and what is known about them, with the list that they are from."""

    candidates: Candidates
    outside: int
    """The number of pairs of the two tables that are not in the list, if rows were drawn uniformly; else 0."""
    places: Whole
    """Places of the drawn pairs in the list; -1 outside it."""
    kinds: Whole
    checked: Numbers
    """1: a match, 0: no match, NaN: not checked."""
    names: Sequence[Pair] = ()
    """The names of the drawn pairs."""

    @cached_property
    def strata(self) -> Whole:
        """The stratum of every candidate; only one if rows were drawn uniformly."""
        found = np.zeros(len(self.candidates.scores), dtype=np.int64)
        for number, places in enumerate(() if self.outside else self.candidates.strata):
            found[places] = number
        return found

    @cached_property
    def known(self) -> Flags:
        """Which of the drawn pairs were checked."""
        return ~np.isnan(self.checked)

    @cached_property
    def labels(self) -> Numbers:
        """1: a match, 0: no match, more: not certain."""
        return np.where(self.known, self.checked, self.kinds)

    @cached_property
    def classes(self) -> list[Whole]:
        """The drawn pairs by class, for classes that have any."""
        linked, kinds = self.are(self.candidates.linked), np.minimum(self.kinds, _LATER)
        found = [np.flatnonzero((linked == side) & (kinds == kind)) for side in (True, False) for kind in range(3)]
        return [members for members in found if len(members)]

    @property
    def valued(self) -> bool:
        """Whether checked pairs give more than a band."""
        return all(self.known[members].any() for members in self.classes)

    def are(self, chosen: Flags) -> Flags:
        """Which of the drawn pairs are among these candidates."""
        return (self.places >= 0) & chosen[self.places]

    def to_check(self, number: int, draw: Draw = secrets.randbelow) -> list[int]:
        """This many pairs of every class, class by class, for both owners to settle in clear."""
        return [place for members in self.classes for place in choose(members.tolist(), number, draw)]

    def at(self, chosen: Flags) -> tuple[Bounds, ...] | None:
        """Precision, recall and F if these candidates were linked, or None if a piece has no drawn pair. Of a band,
        only the limits mean something.
        """
        drawn, strata = self.are(chosen), np.where(self.places < 0, 0, self.strata[self.places])
        pieces: dict[bool, list[tuple[int, Whole]]] = {True: [], False: []}
        weights = np.zeros(len(drawn))
        for side, number in product(pieces, range(int(self.strata.max()) + 1)):
            size = int(np.count_nonzero((self.strata == number) & (chosen == side))) + (0 if side else self.outside)
            members = np.flatnonzero((strata == number) & (drawn == side))
            if size and not len(members):
                return None
            if size:
                weights[members] = size / len(members)
                pieces[side].append((size, members))

        def measured(matches: Numbers, further: Mapping[bool, tuple[float, float]]) -> tuple[Bounds, ...]:
            totals = [
                total([Piece(size, len(m), float(matches[m].sum())) for size, m in part], not side, further[side])
                for side, part in pieces.items()
            ]
            return measures(totals[0], totals[1], int(np.count_nonzero(chosen)))

        further = {True: (0.0, 0.0), False: (0.0, 0.0)}
        if not self.valued:
            cases = (np.where(self.labels > 1, drawn == side, self.labels) for side in (False, True))
            worst, best = (measured(matches, further) for matches in cases)
            return tuple((low[0], low[1], high[2]) for low, high in zip(worst, best))
        matches = self.checked.copy()
        for members in self.classes:
            seen, rest = members[self.known[members]], members[~self.known[members]]
            weight = weights[seen].sum()
            share, size = weights[seen] @ self.checked[seen] / weight, weight**2 / (weights[seen] ** 2).sum()
            low, high = exact(share * size, size)
            matches[rest] = share
            for side, (down, up) in further.items():
                spread = sqrt(weights[members] @ (drawn[members] == side) * (weights[rest] @ (drawn[rest] == side)))
                further[side] = hypot(down, spread * (share - low)), hypot(up, spread * (high - share))
        return measured(matches, further)

    def curve(self) -> Iterator[tuple[float, Flags]]:
        """Thresholds at scores of drawn pairs, best first, with the pairs that each would link."""
        may, scores = self.candidates.linked | self.candidates.by_threshold, self.candidates.scores
        drawn = np.unique(scores[self.places[self.are(may)]])[::-1]
        for place in sorted({len(drawn) * step // POINTS for step in range(POINTS)}) if len(drawn) else ():
            yield float(drawn[place]), may & (scores >= drawn[place])

    def said(self, bounds: tuple[Bounds, ...], *, enriched: bool, widest: float) -> tuple[Figure, ...]:
        """These measures, or why nothing can be said and what would help."""
        linked, least = (int(which.sum()) for which in (self.are(self.candidates.linked), self.candidates.linked))
        labelled, drawn = int(((self.kinds < _NEVER) | self.known).sum()), len(self.kinds)
        matches, unsure = int((self.labels == 1).sum()), int((self.labels > 1).sum())
        all_, first, second = "", "", ""
        if labelled < min(LEAST_LABELLED, len(self.strata)):
            all_ = f"{labelled} of {drawn} drawn pairs have a label; {LEAST_LABELLED} would do."
        if linked < min(LEAST_LINKED, least):
            first = f"linked pairs among those drawn: {linked}; {LEAST_LINKED} would do."
        if matches < LEAST_MATCHES:
            second = f"certain matches among the drawn pairs: {matches}; {LEAST_MATCHES} would do."
        if enriched:
            second = "rows chosen by keys have other matches than the tables; pairs drawn from the list would do."
        found = []
        for why, (value, low, high) in zip((first, second, first or second), bounds):
            wide = f"{low:.2f} to {high:.2f} is too wide; {4 * drawn} drawn pairs would halve what chance adds"
            wide += f", checked pairs settle {unsure} that are not certain." if unsure else "."
            reason = all_ or why or (wide if high - low > widest else "")
            shown = Figure(value if self.valued else None, low, high)
            found.append(Figure(cannot_say=reason) if reason else shown)
        return tuple(found)

    def missed(self) -> str:
        """What is known about matches that are not in the list."""
        apart = self.places < 0
        if not apart.any():
            return "Recall is within the list: of matches that it does not have, nothing is known."
        most = exact(int((self.labels[apart] > 0).sum()), int(apart.sum()), 0.05)[1] * self.outside
        return f"The list lacks {most:,.0f} matches at most (95 %), by {apart.sum():,} pairs that it does not have."


def drawing_of(
    candidates: Candidates, truth: AgreedTruth, rows: tuple[int, int] | None, checked: Mapping[Pair, bool]
) -> Drawing:
    """Join list, labels and checked pairs."""
    if truth.only_matches:
        raise InputError("These are matches alone. An estimate needs all labels: take the coordinator's export.")
    numbers = {(one.i, one.j): int(one.label) if one.round == 1 else _LATER for one in truth.pairs}
    numbers |= dict.fromkeys(truth.discarded, _NEVER)
    kinds = {(truth.name_a(i), truth.name_b(j)): kind for (i, j), kind in numbers.items()}
    listed = {pair: place for place, pair in enumerate(candidates.pairs)}
    outside, pairs = 0, [pair for pair, drawn in zip(candidates.pairs, candidates.drawn) if drawn]
    if not pairs:
        if rows is None:
            raise InputError("No pair of the list was drawn. Where rows were drawn uniformly, say how many there are.")
        outside, by_keys = rows[0] * rows[1] - len(listed), truth.by_keys
        uniform = [i not in by_keys[0] and j not in by_keys[1] for i, j in numbers]
        pairs = [pair for pair, meant in zip(kinds, uniform) if meant]
    for wrong, what in (
        ([pair for pair in pairs if pair not in kinds], "were drawn, and have no label"),
        ([1 for i, j in numbers if rows and (i >= rows[0] or j >= rows[1])], "are of rows that are not in the tables"),
        (checked.keys() - set(pairs), "were checked, and not drawn"),
        ([0] * -outside, "of the list are too many for such tables"),
    ):
        if wrong:
            raise InputError(f"{len(wrong):,} pairs {what}: these files do not belong together.")
    found = np.array([(listed.get(pair, -1), kinds[pair]) for pair in pairs], dtype=np.int64).reshape(-1, 2)
    settled = np.array([float(checked.get(pair, np.nan)) for pair in pairs])
    return Drawing(candidates, outside, found[:, 0], found[:, 1], settled, pairs)


def estimate(
    candidates: Candidates,
    truth: AgreedTruth,
    *,
    rows: tuple[int, int] | None = None,
    checked: Mapping[Pair, bool] | None = None,
) -> Estimate:
    """Precision, recall and F of a linkage from its candidate pairs and the labels of those that were drawn. If none
    were drawn, the labels are those of uniformly drawn rows of tables with this many `rows`. `checked` has pairs that
    both owners settled in clear, drawn at random from each class, and whether they match.
    """
    found, enriched = drawing_of(candidates, truth, rows, checked or {}), any(truth.by_keys)
    points = [
        AtThreshold(score, int(chosen.sum()), *found.said(bounds, enriched=enriched, widest=1.0))
        for score, chosen in found.curve()
        if (bounds := found.at(chosen)) is not None
    ]
    bounds = found.at(candidates.linked) or (ANYTHING,) * 3
    precision, recall, f = found.said(bounds, enriched=enriched, widest=WIDEST)
    said = not (precision.cannot_say and recall.cannot_say)
    notes = (*(() if found.valued or not said else (BAND,)), found.missed())
    least, count = float(candidates.scores[candidates.linked].min()), int(candidates.linked.sum())
    return Estimate(least, count, precision, recall, f, tuple(points), notes)


def of_study(
    candidates: Candidates, agreement: Agreement, drawn: Mapping[str, Sequence[int]]
) -> tuple[Candidates, tuple[int, int] | None]:
    """A study's list with the pairs that were drawn from it, whose rows by owner are `drawn`; or, if rows were drawn,
    how many the tables have.
    """
    first, second = sorted(agreement.owners)
    if not drawn:
        return candidates, (agreement.sampling.tables[first], agreement.sampling.tables[second])
    pairs = {(str(a), str(b)) for a, b in zip(drawn[first], drawn[second])}
    return replace(candidates, drawn=np.array([pair in pairs for pair in candidates.pairs])), None


# The curve as a picture

_WIDTH, _HEIGHT, _EDGE = 640, 360, 48
_STYLE = "text{font:13px sans-serif;fill:#555}.p{fill:#0b6e6e;stroke:#0b6e6e}.r{fill:#b3590a;stroke:#b3590a}"


def write_plot(path: Path, curve: Sequence[AtThreshold]) -> None:
    """The curve of an estimate as a picture (SVG): bands between the limits, lines where values are known."""
    scores = [point.threshold for point in curve] or [0.0]
    least, range_ = min(scores), (max(scores) - min(scores)) or 1.0

    def place(score: float, share: float) -> str:
        x = _EDGE + (score - least) / range_ * (_WIDTH - 2 * _EDGE)
        return f"{x:.1f},{_HEIGHT - _EDGE - share * (_HEIGHT - 2 * _EDGE):.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"><style>{_STYLE}</style>']
    for kind, name, x in (("p", "precision", _EDGE), ("r", "recall", _EDGE + 120)):
        figures: list[tuple[float, Figure]] = [(point.threshold, getattr(point, name)) for point in curve]
        said = [(score, one.low, one.high, one.value) for score, one in figures if one.low is not None]
        edge = [place(score, high or 0.0) for score, _, high, _ in said]
        edge += [place(score, low) for score, low, _, _ in reversed(said)]
        parts.append(f'<polygon class="{kind}" points="{" ".join(edge)}" fill-opacity="0.25" stroke-opacity="0.4"/>')
        line = " ".join(place(score, value) for score, _, _, value in said if value is not None)
        parts.append(f'<polyline class="{kind}" points="{line}" style="fill:none"/>')
        parts.append(f'<text x="{x}" y="20"><tspan class="{kind}" stroke="none">■</tspan> {name}</text>')
    for share in (0.0, 0.5, 1.0):
        parts.append(f'<text x="16" y="{place(least, share).split(",")[1]}">{share:g}</text>')
    parts += [f'<text x="{_EDGE}" y="{_HEIGHT - 16}">threshold from {least:g} to {max(scores):g}</text></svg>']
    path.write_text("".join(parts), encoding="utf-8")
