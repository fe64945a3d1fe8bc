"""Whether estimates of a linkage hold what they promise: how often the 95 % intervals hold the truth, for every set.

The linkage is a typical one: cosine of rare words (tf-idf), ten partners at most of each row of the first table, linked
from the score on that has the best F, and a list five times as long as what is linked. Samples are drawn again and
again, as the product draws them, and labelled truly; or, where asked for, by suggested questions, as bands and with
checked pairs. Of pairs drawn from the list recall is within the list, of uniformly drawn rows it is that of the tables.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from blindlabel.estimates import Candidates
from blindlabel.estimates.candidate_pairs import Flags, Whole
from blindlabel.estimates.estimating import Drawing
from blindlabel_lab.experiments import candidates as hard
from blindlabel_lab.experiments.datasets import Dataset
from blindlabel_lab.experiments.quality import Advance, Plan, of_each
from blindlabel_lab.experiments.results import Results

PARTNERS, TIMES, COMMON = 10, 5, 1000
"""Partners of a row, length of the list by what is linked, and how frequent a word may be to be looked up."""
PAIRS, ROWS, CHECKED = (100, 200, 400), 400, 20
_Draw = Callable[[random.Random], Drawing]


def similarities(dataset: Dataset) -> list[tuple[float, int, int]]:
    """The most similar pairs of rows, best first."""
    words = [[set(record.whole.lower().split()) for record in side] for side in dataset.records]
    often = Counter(word for side in words for row in side for word in row)
    rows = len(words[0]) + len(words[1])
    telling = {word: math.log(rows / count) for word, count in often.items()}
    long = [[math.sqrt(sum(telling[word] ** 2 for word in row)) or 1.0 for row in side] for side in words]
    having: dict[str, list[int]] = defaultdict(list)
    for j, row in enumerate(words[1]):
        for word in row:
            having[word].append(j)
    found = []
    for i, row in enumerate(words[0]):
        scores: dict[int, float] = defaultdict(float)
        for word in row:
            for j in having[word] if len(having[word]) < COMMON else ():
                scores[j] += telling[word] ** 2
        near = sorted(((round(one / long[0][i] / long[1][j], 6), i, j) for j, one in scores.items()), reverse=True)
        found += near[:PARTNERS]
    return sorted(found, key=lambda one: (-one[0], one[1:]))


class Linkage:
    """The list of a set, and the truth about it."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset, scored, true = dataset, similarities(dataset), set(dataset.matches)
        scores, hits = np.array([one[0] for one in scored]), np.cumsum([one[1:] in true for one in scored])
        ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))  # linked is every pair of one score, or none
        linked = int(ends[np.argmax(2 * hits[ends] / (ends + 1 + len(true)))]) + 1
        self.cells = [one[1:] for one in scored[: TIMES * linked]]
        count = len(self.cells)
        pairs = tuple((str(i), str(j)) for i, j in self.cells)
        self.candidates = Candidates(pairs, scores[:count], np.arange(count) < linked)
        self.matches: Flags = np.array([cell in true for cell in self.cells])
        self.outside = sorted(true - set(self.cells))

    def truth(self, lacking: int) -> list[float]:
        """Precision, recall and F, with this many matches that the list does not have."""
        linked = self.candidates.linked
        right, every = int((self.matches & linked).sum()), int(self.matches.sum()) + lacking
        return [right / int(linked.sum()), right / every, 2 * right / (int(linked.sum()) + every)]

    def drawn(self, pairs: int, chance: random.Random, kinds: Whole | None = None, checked: int = 0) -> Drawing:
        """Pairs drawn from the list, labelled truly; or by these kinds of labels, this many of a class checked."""
        places = np.flatnonzero(self.candidates.draw(pairs, chance.randrange).drawn)
        true = self.matches[places].astype(np.float64)
        if kinds is None:
            return Drawing(self.candidates, 0, places, true.astype(np.int64), true)
        settled = np.full(len(places), np.nan)
        found = Drawing(self.candidates, 0, places, kinds[places], settled)
        known = found.to_check(checked, chance.randrange)
        settled[known] = true[known]
        return Drawing(self.candidates, 0, places, kinds[places], settled)

    def uniform(self, rows: int, chance: random.Random) -> Drawing:
        """Uniformly drawn rows of both tables, all their pairs labelled truly."""
        sizes = [len(side) for side in self.dataset.records]
        first, second = (set(chance.sample(range(size), min(rows, size))) for size in sizes)
        inside = [place for place, (i, j) in enumerate(self.cells) if i in first and j in second]
        lacking = sum(i in first and j in second for i, j in self.outside)
        rest = len(first) * len(second) - len(inside)
        true = np.concatenate([self.matches[inside], np.arange(rest) < lacking]).astype(np.float64)
        places = np.concatenate([inside, np.full(rest, -1)]).astype(np.int64)
        outside = sizes[0] * sizes[1] - len(self.cells)
        return Drawing(self.candidates, outside, places, true.astype(np.int64), true)

    def blind(self) -> Whole:
        """Kinds of labels by suggested questions: 1 and 0 agreed in round 1, 2 later, 3 never."""
        given = hard.Candidates(self.dataset, tuple(self.cells), tuple(self.matches.tolist()))
        first, *_, last = hard.Study(given).rounds(3)
        kinds = [int(one) if one is not None else 3 if end is None else 2 for one, end in zip(first, last)]
        return np.array(kinds, dtype=np.int64)


def repeated(draw: _Draw, truth: Sequence[float], draws: int, seed: str) -> dict[str, list[float] | int]:
    """How often limits hold the truth, how far values are off, and half widths: of precision, recall, F, on average."""
    chance, found = random.Random(seed), []  # noqa: S311 (no secret)
    for _ in range(draws):
        one = draw(chance)
        bounds = one.at(one.candidates.linked)
        if bounds is not None:  # else no linked pair is in the sample, and nothing is said
            found.append(bounds)
    if not found:
        return {"said": 0, "held": [], "bias": [], "half_width": []}
    value, low, high = np.array(found).transpose(2, 0, 1)
    held = (low <= np.array(truth) + 1e-9) & (np.array(truth) <= high + 1e-9)
    means = {"held": held, "bias": value - np.array(truth), "half_width": (high - low) / 2}
    return {"said": len(found)} | {name: part.mean(axis=0).round(3).tolist() for name, part in means.items()}


def _of_set(dataset: Dataset, draws: int, blind: bool) -> dict[str, Any]:
    linkage = Linkage(dataset)
    within, whole = linkage.truth(0), linkage.truth(len(linkage.outside))
    cells: dict[str, tuple[_Draw, Sequence[float]]] = {
        f"{pairs} pairs": (partial(linkage.drawn, pairs), within) for pairs in PAIRS
    }
    cells[f"{ROWS} rows"] = (partial(linkage.uniform, ROWS), whole)
    if blind:
        kinds = linkage.blind()
        cells["200 pairs, blind, band"] = (partial(linkage.drawn, 200, kinds=kinds), within)
        cells["200 pairs, blind, checked"] = (partial(linkage.drawn, 200, kinds=kinds, checked=CHECKED), within)
    return {
        "linked": int(linkage.candidates.linked.sum()),
        "listed": len(linkage.cells),
        "lacking": len(linkage.outside),
        "truth": [round(one, 3) for one in within],
        "cells": {
            name: repeated(draw, truth, draws, f"{dataset.name} {name}") for name, (draw, truth) in cells.items()
        },
    }


def estimates(plan: Plan, results: Results, advance: Advance) -> dict[str, Any]:
    """The document: every set with its list, and every way to sample with its figures."""

    def of(name: str) -> Any:
        dataset = plan.read(name)
        key = [dataset.fingerprint, plan.draws, plan.blind]
        return results.once("estimates", key, partial(_of_set, dataset, plan.draws, plan.blind))

    words = plan.preparation.words
    return {"draws": plan.draws, "preparation": words, "datasets": of_each(plan.sets, advance, of)}
