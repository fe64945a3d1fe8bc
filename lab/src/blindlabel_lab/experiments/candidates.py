"""Hard pairs: candidate pairs that blocking left over, labelled with suggested questions, beside systems that learn.

A set is a folder with a.csv, b.csv and pairs.csv (id_a, id_b, label; 1 is a match), as the benchmark of DeepMatcher and
Ditto is kept here. Both owners' suggested questions are asked of the pairs alone, round by round, by the protocol's
rule: the first round on which both sides agree labels a pair, and what is never agreed counts as no match. Each side
sees its own table and nothing else. Beside quality, how readable the questions are.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from types import MappingProxyType
from typing import Any

from blindlabel.errors import InputError
from blindlabel.language.record import Record
from blindlabel.language.suggestions import Suggester, Suggestion
from blindlabel.records.tables import read_table
from blindlabel_lab.experiments import datasets
from blindlabel_lab.experiments.datasets import PREPARATION, ChosenPreparation, Dataset, files_of, read_sides
from blindlabel_lab.experiments.quality import Advance, Plan, of_each
from blindlabel_lab.experiments.results import Results

SUBFOLDER = "candidates"
"""Where these sets lie in a folder of sets."""
STEMS = ("a", "b", "pairs")
HOW_TO_PLACE = "A set of candidate pairs is a folder with a.csv, b.csv and pairs.csv (id_a, id_b, label)."

MATCHING = 0.1
"""The share of candidate pairs that both owners expect to match."""
PUBLISHED: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "abt-buy": {"Magellan": 43.6, "DeepMatcher": 62.8, "Ditto": 89.3},
        "amazon-google": {"Magellan": 49.1, "DeepMatcher": 69.3, "Ditto": 75.6},
        "walmart-amazon": {"Magellan": 71.9, "DeepMatcher": 66.9, "Ditto": 86.8},
        "dblp-acm": {"Magellan": 98.4, "DeepMatcher": 98.4, "Ditto": 99.0},
        "dblp-scholar": {"Magellan": 92.3, "DeepMatcher": 94.7, "Ditto": 95.6},
    }
)
"""F1 on the test split of the same sets, to one decimal (Ditto states 89.33 on abt-buy, 75.58 on amazon-google)."""
SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "Magellan": (
            "Konda et al., Magellan: Toward Building Entity Matching Management Systems, PVLDB 9(12), 2016; figures as"
            " reported by Mudgal et al. 2018"
        ),
        "DeepMatcher": (
            "Mudgal et al., Deep Learning for Entity Matching: A Design Space Exploration, SIGMOD 2018,"
            " doi:10.1145/3183713.3196926"
        ),
        "Ditto": (
            "Li et al., Deep Entity Matching with Pre-Trained Language Models, PVLDB 14(1), 2020,"
            " doi:10.14778/3421424.3421431"
        ),
    }
)
GIVEN = (
    "They saw both records of a pair and learned from the labelled pairs of the training split, three fifths of all"
    " (5,743 to 17,223 pairs); Ditto also starts from a language model trained on outside text. The questions here are"
    " written from one table alone, without labels."
)


@dataclass(frozen=True)
class Candidates:
    """One set as read, and its pairs of positions with their label."""

    dataset: Dataset
    pairs: tuple[tuple[int, int], ...]
    truth: tuple[bool, ...]


def candidates_folder(folder: Path) -> Path:
    """The folder of candidate sets: this one, or its subfolder of that name."""
    inner = folder / SUBFOLDER
    return inner if inner.is_dir() and names_in(inner) else folder


def names_in(folder: Path) -> list[str]:
    """The candidate sets in a folder: those with published figures first, then the others by name."""
    return datasets.names_in(folder, STEMS, PUBLISHED)


def chosen_sets(folder: Path, names: Sequence[str]) -> list[str]:
    """The sets to run: as named, else all."""
    chosen = list(names) or names_in(folder)
    if not chosen:
        raise InputError(f"There is no set of candidate pairs in {folder}. {HOW_TO_PLACE}")
    return chosen


def read_candidates(
    folder: Path, name: str, attributes: Sequence[str] | None = None, preparation: ChosenPreparation = PREPARATION
) -> Candidates:
    """Read and prepare a set. Attributes: as named, else all columns that both tables have, but the id."""
    paths = files_of(folder, name, STEMS, HOW_TO_PLACE)
    made = read_sides(paths, name, attributes, preparation)
    listed = read_table(paths[2], attributes=("id_a", "id_b", "label"), name=f"{name}/pairs")
    wrong = next((row for row in listed.rows if row[2] not in ("0", "1")), None)
    if wrong is not None:
        raise InputError(f"A label in {paths[2]} is {wrong[2]!r}; labels are 0 and 1.")
    pairs, truth = tuple(map(made.places, listed.rows)), tuple(row[2] == "1" for row in listed.rows)
    return Candidates(replace(made, matches=tuple(itertools.compress(pairs, truth))), pairs, truth)


@dataclass(frozen=True)
class Figures:
    """How good labels are after a round."""

    precision: float
    recall: float
    f1: float
    discarded: int
    """Pairs without agreement so far."""


def figures(labels: Sequence[bool | None], truth: Sequence[bool]) -> Figures:
    """The figures of labels; None is a pair without agreement, and counts as no match."""
    right = sum(label is True and true for label, true in zip(labels, truth, strict=True))
    said, true = sum(label is True for label in labels), sum(truth)
    precision, recall = right / said if said else 1.0, right / true if true else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return Figures(precision, recall, f1, sum(label is None for label in labels))


def suggester(given: Candidates, rows: Sequence[Record]) -> Suggester:
    """What an owner of these rows of a set is told by."""
    return Suggester(rows, given.dataset.attributes, lowered=given.dataset.lowered, matching=MATCHING)


class Study:
    """Both owners of one set, and the questions they asked."""

    def __init__(self, given: Candidates, suggesters: tuple[Suggester, Suggester] | None = None) -> None:
        self.given, self._records = given, given.dataset.records
        self._suggesters = suggesters or (suggester(given, self._records[0]), suggester(given, self._records[1]))
        self.asked: dict[tuple[int, int, int], Suggestion] = {}
        """By owner, row and round."""

    def answer(self, side: int, own: int, other: int, round: int) -> bool:
        """What an owner's question about its own row says of a row of the other."""
        key = (side, own, round)
        if key not in self.asked:
            self.asked[key] = self._suggesters[side].suggest(self._records[side][own], round)
        return self.asked[key].chain.fits(self._records[1 - side][other])

    def rounds(self, rounds: int) -> list[list[bool | None]]:
        """The labels after each round: the first agreement of both sides labels a pair."""
        labels: list[bool | None] = [None] * len(self.given.pairs)
        after: list[list[bool | None]] = []
        for number in range(1, rounds + 1):
            for place, (a, b) in enumerate(self.given.pairs):
                if labels[place] is None:
                    first, second = self.answer(0, a, b, number), self.answer(1, b, a, number)
                    labels[place] = first if first == second else None
            after.append(list(labels))
        return after

    def readability(self, side: int) -> dict[str, float]:
        """What one owner's questions of the first round are like to read."""
        asked = [one for (owner, _, number), one in self.asked.items() if owner == side and number == 1 and one.reasons]
        if not asked:
            return {}
        conditions = [reason for one in asked for reason in one.reasons if reason.points]
        counted = [len(one.chain.conditions) for one in asked]
        return {
            "questions": len(asked),
            "conditions_median": median(counted),
            "conditions_most": max(counted),
            "whole_words_or_values": fmean(reason.kind != "piece" for reason in conditions),
            "points_most": max(reason.points for reason in conditions),
            "largest_share": fmean(max(c.points for c in one.chain.conditions) / one.chain.total for one in asked),
            "one_is_enough": fmean(any(reason.alone for reason in one.reasons) for one in asked),
            "exclusions": fmean(len(one.chain.exclusions) for one in asked),
            "other_own_rows": fmean(one.own.others for one in asked),
        }


def candidates(plan: Plan, results: Results, advance: Advance) -> dict[str, Any]:
    """Every set's figures by round, readability, and the published figures beside them."""
    folder = candidates_folder(plan.folder)

    def of(name: str) -> dict[str, Any]:
        given = read_candidates(folder, name, plan.attributes, plan.preparation)
        key = [given.dataset.fingerprint, plan.rounds]
        labelled: dict[str, Any] = results.once("candidates", key, partial(_labelled, given, plan.rounds))
        return labelled | {"published": dict(PUBLISHED.get(name, {}))}

    return {
        "datasets": of_each(chosen_sets(folder, plan.names), advance, of),
        "published": {"sources": dict(SOURCES), "given": GIVEN},
        "preparation": plan.preparation.words,
    }


def _labelled(given: Candidates, rounds: int) -> dict[str, Any]:
    study = Study(given)
    after = study.rounds(rounds)
    return {
        "pairs": len(given.pairs),
        "matches": sum(given.truth),
        "attributes": list(given.dataset.attributes),
        "rounds": [asdict(figures(labels, given.truth)) for labels in after],
        "readability": {"a": study.readability(0), "b": study.readability(1)},
    }
