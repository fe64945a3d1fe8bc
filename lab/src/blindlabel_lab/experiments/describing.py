"""What the sets are like and what is asked: sizes, lengths of records and needles, rare words against common ones, and
missing values by attribute.

The publication's data table, its figures on record length, feature length and feature importance, and its table of
missing values.
"""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import Any

from blindlabel.language.record import SEPARATOR
from blindlabel.records.table_files import write_csv
from blindlabel_lab.experiments.datasets import Dataset
from blindlabel_lab.experiments.quality import Advance, Bench, Plan, drawn, of_each
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.simulation import draw

BANDS = ((1, 1), (2, 5), (6, 20), (21, 100), (101, None))
"""Rows that have a word, in bands from rare to common."""


def tokens(plan: Plan, results: Results, advance: Advance) -> dict[str, Any]:
    """For each set: how long needles are, and how often words are asked by how many rows have them."""
    bench = Bench(plan, results)

    def of(name: str) -> dict[str, Any]:
        asked: Counter[str] = Counter()
        for number in range(plan.samples):
            asked.update(bench.sample(name, "suggested", plan.seed + number)["needles"])
        results.folder.mkdir(parents=True, exist_ok=True)
        rows = ((token, count, asked[token]) for token, count in tokens_of(bench.dataset(name)))
        write_csv(results.folder / f"tokens-{name}.csv", ("token", "occurrences", "asked"), rows)
        return described(bench.dataset(name), asked)

    return drawn(plan) | {"datasets": of_each(plan.sets, advance, of)}


def tokens_of(dataset: Dataset) -> list[tuple[str, int]]:
    """Tokens between white space, as the publication has them, and how often they stand in both tables; the most
    frequent first.
    """
    records = (record for side in dataset.records for record in side)
    found = Counter(token for record in records for token in record.whole.split() if token != SEPARATOR.strip())
    return sorted(found.items(), key=lambda one: (-one[1], one[0]))


def _importance(ordered: list[tuple[str, int]], asked: Counter[str]) -> dict[str, Any]:
    """Occurrences by rank, at some ranks, and for every asked token its rank and how often it was asked. What is asked
    and stands in no record is left out, as published.
    """
    ranks = {token: rank for rank, (token, _) in enumerate(ordered, start=1)}
    shown = sorted({min(len(ordered), round(1.1**step)) for step in range(140)}) if ordered else []
    return {
        "tokens": len(ordered),
        "occurrences": [[rank, ordered[rank - 1][1]] for rank in shown],
        "asked": sorted([ranks[token], count] for token, count in asked.items() if token in ranks),
    }


def described(dataset: Dataset, asked: Counter[str]) -> dict[str, Any]:
    """How long what is asked is, and how many rows have it."""
    lengths: Counter[int] = Counter()
    for needle, count in asked.items():
        lengths[len(needle)] += count
    rows: Counter[str] = Counter()
    for side in dataset.records:
        for record in side:
            rows.update(set(record.whole.replace("|", " ").split()))
    bands = []
    for low, high in BANDS:
        words = {word for word, count in rows.items() if low <= count and (high is None or count <= high)}
        bands.append(
            {
                "rows": f"{low}" if low == high else f"{low} and more" if high is None else f"{low} to {high}",
                "asked": sum(count for word, count in asked.items() if word in words),
            }
        )
    total = sum(asked.values())
    whole = sum(count for word, count in asked.items() if word in rows)
    return {
        "lengths": {str(length): lengths[length] for length in sorted(lengths)},
        "mean_length": sum(length * count for length, count in lengths.items()) / total if total else 0.0,
        "asked": total,
        "asked_as_whole_words": whole,
        "bands": bands,
        "importance": _importance(tokens_of(dataset), asked),
    }


STEP, LAST = 15, 300
"""Lengths of records are counted in steps, as published; what is longer than the last goes into one more."""


def records(plan: Plan, _: Results, advance: Advance) -> dict[str, Any]:
    """For each set: entities, matches, a selected sample, and how long records are."""

    def of(name: str) -> dict[str, Any]:
        dataset = plan.read(name)
        sample = draw(dataset, plan.seed, plan.size)
        lengths = [len(record.whole) for side in dataset.records for record in side]
        steps = Counter(min((length - 1) // STEP, LAST // STEP) for length in lengths if length)
        return {
            "entities": [len(side) for side in dataset.records],
            "matches": len(dataset.matches),
            "attributes": list(dataset.attributes),
            "selected": {
                "entities": [len(sample.a), len(sample.b)],
                "matches": plan.size,
                "pairs": int(sample.truth.size),
                "true_pairs": int(sample.truth.sum()),
            },
            "average_length": [fmean(len(record.whole) for record in side) for side in dataset.records],
            "average_length_of_both": fmean(lengths),
            "lengths": {str(STEP * step + 1): steps[step] for step in range(LAST // STEP + 1)},
        }

    sets = of_each(plan.sets, advance, of)
    return {"preparation": plan.preparation.words, "step": STEP, "datasets": sets}


def missing(plan: Plan, _: Results, advance: Advance) -> dict[str, Any]:
    """For each set and attribute, the share of rows without a value, in percent."""

    def of(name: str) -> dict[str, Any]:
        dataset = plan.read(name)
        first, second = dataset.records
        return {
            attribute: {
                side: 100 * fmean(not record.attributes[attribute] for record in rows)
                for side, rows in (("a", first), ("b", second), ("both", (*first, *second)))
            }
            for attribute in dataset.attributes
        }

    return {"datasets": of_each(plan.sets, advance, of)}
