"""Labelling quality: many random samples of a set, t rounds each, with simulated oracles. The publication's figures on
performance and agreement; and the same for several strategies side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from blindlabel.api.ground_truth import Scores
from blindlabel.engines.registry import engine_named
from blindlabel.errors import InputError
from blindlabel.parties.rehearsal import Answering, in_clear
from blindlabel.protocol.agreement import Agreement
from blindlabel_lab.experiments.datasets import PREPARATION, ChosenPreparation, Dataset, names_in, read_dataset
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.simulation import (
    NEEDLE_LENGTH,
    Oracle,
    Run,
    Sample,
    ThroughEngine,
    Wording,
    check_engine,
    draw,
    needles_of,
    simulate,
    terms_for,
)
from blindlabel_lab.experiments.strategies import STRATEGIES

Advance = Callable[[str, float], None]
"""Called with what is being done and the share of all that is done."""


def of_each(names: Sequence[str], advance: Advance, work: Callable[[str], Any]) -> dict[str, Any]:
    """What this work gives for every set."""
    found = {}
    for place, name in enumerate(names):
        advance(name, place / len(names))
        found[name] = work(name)
    return found


@dataclass(frozen=True)
class Plan:
    """What an experiment runs; each takes from it what it needs."""

    folder: Path
    names: tuple[str, ...] = ()
    """The sets; none: all in the folder."""
    attributes: tuple[str, ...] | None = None
    samples: int = 10
    seed: int = 0
    size: int = 50
    rounds: int = 3
    engine: str = "plain"
    preparation: ChosenPreparation = PREPARATION
    needle_length: int = NEEDLE_LENGTH
    people: tuple[Path, ...] = ()
    """Prepared folders with people's questions, to be shown beside."""
    records: int = 60
    """Sampled records of each side, where no matches are drawn."""
    draws: int = 300
    blind: bool = False
    """Whether labels by suggested questions are measured as well."""

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets by name."""
        found = self.names or tuple(names_in(self.folder))
        if not found:
            raise InputError(f"There is no set in {self.folder}.")
        return found

    def read(self, name: str) -> Dataset:
        """The set of this name."""
        return read_dataset(self.folder, name, self.attributes, self.preparation)


def run_sample(
    dataset: Dataset,
    sample: Sample,
    oracles: tuple[Oracle, Oracle],
    engine: str,
    rounds: int,
    needle_length: int = NEEDLE_LENGTH,
    agreement: Agreement | None = None,
) -> Run:
    """One simulated study, under an agreement where there is one."""
    records = ([dataset.records[0][i] for i in sample.a], [dataset.records[1][j] for j in sample.b])
    answering: Answering = in_clear
    if engine != "plain":
        wording, functions = Wording(dataset.lowered, needle_length), ("is_in", "equals", "has_word")
        fitting = terms_for([*records[0], *records[1]], dataset.attributes, functions, wording)
        terms = agreement.terms() if agreement else fitting
        answering = ThroughEngine(engine_named(engine), records, terms)
    return simulate(
        records,
        sample.truth,
        oracles,
        answering,
        attributes=dataset.attributes,
        rounds=rounds,
        recipe=dataset.recipe,
        most_yes=agreement.budget.most_yes if agreement else None,
    )


def oracles_of(
    dataset: Dataset, strategy: str, needle_length: int = NEEDLE_LENGTH, matching: float | None = None
) -> tuple[Oracle, Oracle]:
    """Both owners' oracles of a strategy, each built from its own table. `matching` is the share of pairs that they
    expect to match: a sample of this many matches, and nothing else, has one for each record.
    """
    make, wording = STRATEGIES[strategy], Wording(dataset.lowered, needle_length, matching)
    return (
        make(dataset.records[0], dataset.attributes, wording),
        make(dataset.records[1], dataset.attributes, wording),
    )


class Bench:
    """Sets and oracles, read and built when first needed, and results kept."""

    def __init__(self, plan: Plan, results: Results) -> None:
        check_engine(plan.engine)
        self.plan = plan
        self.results = results
        self.dataset = cache(plan.read)
        self._oracles = cache(self._oracles_of)

    def _oracles_of(self, name: str, strategy: str) -> tuple[Oracle, Oracle]:
        return oracles_of(self.dataset(name), strategy, self.plan.needle_length, 1 / (1 + self.plan.size))

    def sample(self, name: str, strategy: str, seed: int) -> dict[str, Any]:
        """The scores of one sample after each round, and every needle that was asked; from the results folder where it
        was run before.
        """
        plan = self.plan
        key = [self.dataset(name).fingerprint, strategy, seed, plan.size, plan.rounds, plan.engine, plan.needle_length]
        found: dict[str, Any] = self.results.once("samples", key, lambda: self._run(name, strategy, seed))
        return found

    def _run(self, name: str, strategy: str, seed: int) -> dict[str, Any]:
        dataset, plan = self.dataset(name), self.plan
        sample, oracles = draw(dataset, seed, plan.size), self._oracles(name, strategy)
        run = run_sample(dataset, sample, oracles, plan.engine, plan.rounds, plan.needle_length)
        rounds = [asdict(one) for one in run.rounds]
        return {"rounds": rounds, "needles": needles_of(run.questions, dataset)}


def drawn(plan: Plan) -> dict[str, Any]:
    """What a document says about its samples."""
    return {"samples": plan.samples, "seed": plan.seed, "matches": plan.size, "preparation": plan.preparation.words}


def quality(plan: Plan, results: Results, advance: Advance) -> dict[str, Any]:
    """Every set's figures by round and at the end, mean and deviation over samples."""
    bench = Bench(plan, results)
    share = 1 / len(plan.sets)
    return drawn(plan) | {
        "datasets": {
            name: _figures(bench, name, "suggested", advance, place * share, share)
            for place, name in enumerate(plan.sets)
        }
    }


def oracles(plan: Plan, results: Results, advance: Advance) -> dict[str, Any]:
    """The same for every strategy: final figures only, and the deviation of strict F (`spread`)."""
    bench = Bench(plan, results)
    document: dict[str, Any] = drawn(plan) | {"strategies": {strategy: {} for strategy in STRATEGIES}}
    cells = [(name, strategy) for name in plan.sets for strategy in STRATEGIES]
    for place, (name, strategy) in enumerate(cells):
        made = _figures(bench, name, strategy, advance, place / len(cells), 1 / len(cells))
        document["strategies"][strategy][name] = made["final"] | {"spread": made["deviation"]["f_strict"]}
    return document


def _figures(bench: Bench, name: str, strategy: str, advance: Advance, done: float, share: float) -> dict[str, Any]:
    plan = bench.plan
    samples: list[Sequence[Scores]] = []
    for number in range(plan.samples):
        advance(
            f"{name}, sample {number + 1} of {plan.samples}" + ("" if strategy == "suggested" else f", {strategy}"),
            done,
        )
        kept = bench.sample(name, strategy, plan.seed + number)
        samples.append([Scores(**one) for one in kept["rounds"]])
        done += share / plan.samples
    by_round = [[sample[r] for sample in samples] for r in range(plan.rounds)]
    return {
        "rounds": [mean(one) for one in by_round],
        "final": mean(by_round[-1]),
        "deviations": [deviation(one) for one in by_round],
        "deviation": deviation(by_round[-1]),
        "samples": plan.samples,
    }


def mean(samples: Sequence[Scores]) -> dict[str, float]:
    """Each figure's mean over samples."""
    return {field.name: fmean(getattr(one, field.name) for one in samples) for field in fields(Scores)}


def deviation(samples: Sequence[Scores]) -> dict[str, float]:
    """Each figure's standard deviation over samples, that of a sample; none if there is only one."""
    values = {field.name: [getattr(one, field.name) for one in samples] for field in fields(Scores)}
    return {name: stdev(found) if len(found) > 1 else 0.0 for name, found in values.items()}
