"""Whether suggested questions hold where matches are rare, and whatever a table looks like.

`prevalence` labels uniform samples, in which one pair in thousands is a match and the rest holds look-alikes, and the
publication's kind of sample beside them: how often a "match" label is right, by round, and how many true pairs are
found. `invariance` labels candidate pairs with rows in other orders, with columns renamed and reordered, and with every
tenth row twice: what a table says is the same each time, so labels should be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from blindlabel.language.record import Record
from blindlabel.protocol.labels import is_match
from blindlabel_lab.experiments.candidates import (
    Candidates,
    Study,
    candidates_folder,
    chosen_sets,
    figures,
    read_candidates,
    suggester,
)
from blindlabel_lab.experiments.datasets import Dataset
from blindlabel_lab.experiments.quality import Advance, Plan, of_each, oracles_of, run_sample
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.simulation import draw, sample_of

ROUNDS = 3
PUBLISHED_SIZE = 50
ORDERS = 5
"""Orders of the rows that are tried."""


def prevalence(plan: Plan, results: Results, advance: Advance) -> dict[str, Any]:
    """Every set's labels on uniform samples of this many records a side, beside samples of the published kind."""
    drawn = (plan.records, plan.samples, plan.seed)

    def of(name: str) -> Any:
        dataset = plan.read(name)
        return results.once("prevalence", [dataset.fingerprint, *drawn], partial(_rare, dataset, *drawn))

    return dict(zip(("records", "samples", "seed"), drawn)) | {"datasets": of_each(plan.sets, advance, of)}


def _rare(dataset: Dataset, records: int, samples: int, seed: int) -> dict[str, Any]:
    true, labelled, right = 0, np.zeros(ROUNDS, dtype=np.int64), np.zeros(ROUNDS, dtype=np.int64)
    sizes = [min(records, len(side)) for side in dataset.records]
    oracles = oracles_of(dataset, "suggested")
    around = oracles_of(dataset, "suggested", matching=1 / (1 + PUBLISHED_SIZE))
    published = []
    for number in range(seed, seed + samples):
        chance = Random(number)  # noqa: S311 (nothing secret)
        rows = [sorted(chance.sample(range(len(side)), size)) for side, size in zip(dataset.records, sizes)]
        sample = sample_of(dataset, rows[0], rows[1])
        run = run_sample(dataset, sample, oracles, "plain", ROUNDS)
        true += int(sample.truth.sum())
        for number_of, labels in enumerate(run.labels):
            labelled[number_of] += int(is_match(labels).sum())
            right[number_of] += int((is_match(labels) & sample.truth).sum())
        published.append(run_sample(dataset, draw(dataset, number, PUBLISHED_SIZE), around, "plain", ROUNDS).rounds[-1])
    by_round = [(right[0], labelled[0]), *zip(np.diff(right), np.diff(labelled), strict=True)]
    return {
        "pairs": samples * sizes[0] * sizes[1],
        "matches": true,
        "right": _share(right[-1], labelled[-1]),
        "found": _share(right[-1], true),
        "by_round": [{"labelled": int(of), "right": int(part)} for part, of in by_round],
        "published": {
            name: fmean(getattr(one, name) for one in published) for name in ("precision", "recall_strict", "f_strict")
        },
    }


def _share(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None


Table = Sequence[Record]
Changed = Callable[[Table, Sequence[str]], tuple[list[Record], dict[str, str]]]
"""From a table and its attributes to the same table written otherwise, and what its attributes are called there."""


def _in_order(number: int, table: Table, attributes: Sequence[str]) -> tuple[list[Record], dict[str, str]]:
    rows = list(table)
    Random(number).shuffle(rows)  # noqa: S311 (nothing secret)
    return rows, {name: name for name in attributes}


def _renamed(table: Table, attributes: Sequence[str]) -> tuple[list[Record], dict[str, str]]:
    names = {name: f"column{len(attributes) - place}" for place, name in enumerate(attributes)}
    swapped = list(reversed(attributes))
    return [Record.of({names[name]: row.attributes[name] for name in swapped}) for row in table], names


def _doubled(table: Table, attributes: Sequence[str]) -> tuple[list[Record], dict[str, str]]:
    return [*table, *table[::10]], {name: name for name in attributes}


def variants() -> Iterator[tuple[str, Changed]]:
    """The same table, written otherwise."""
    yield from ((f"order {number}", partial(_in_order, number)) for number in range(1, ORDERS + 1))
    yield "columns renamed and reordered", _renamed
    yield "every tenth row twice", _doubled


def invariance(plan: Plan, results: Results, advance: Advance) -> dict[str, Any]:
    """F1 of every candidate set after three rounds, as it is and written otherwise."""
    folder = candidates_folder(plan.folder)

    def of(name: str) -> dict[str, Any]:
        given = read_candidates(folder, name, None, plan.preparation)
        found = {
            said: results.once("invariance", [given.dataset.fingerprint, said], partial(_f1, given, change))
            for said, change in [("as it is", None), *variants()]
        }
        return {"f1": found, "moved": max(found.values()) - min(found.values())}

    return {"datasets": of_each(chosen_sets(folder, plan.names), advance, of)}


def _f1(given: Candidates, change: Changed | None = None) -> float:
    if change is None:
        study = Study(given)
    else:
        plain = given.dataset
        (first, names), (second, _) = (change(table, plain.attributes) for table in plain.records)
        attributes = tuple(sorted(names.values())) if list(names) != list(names.values()) else plain.attributes
        a, b = (
            tuple(Record.of({names[name]: row.attributes[name] for name in plain.attributes}) for row in table)
            for table in plain.records
        )
        given = replace(given, dataset=replace(plain, attributes=attributes, records=(a, b)))
        study = Study(given, (suggester(given, first), suggester(given, second)))
    return figures(study.rounds(ROUNDS)[-1], given.truth).f1
