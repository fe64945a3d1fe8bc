"""Every experiment in one go, part by part, and the report of them all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blindlabel_lab.bench.compare import processor_seconds
from blindlabel_lab.experiments import candidates as hard
from blindlabel_lab.experiments import costs as measured
from blindlabel_lab.experiments import describing
from blindlabel_lab.experiments import quality as labelling
from blindlabel_lab.experiments.datasets import PUBLISHED_PREPARATION
from blindlabel_lab.experiments.learning import learning, logs_in
from blindlabel_lab.experiments.page import Report, Section, markdown
from blindlabel_lab.experiments.people import with_peoples_tokens
from blindlabel_lab.experiments.plots import plot
from blindlabel_lab.experiments.quality import Advance, Plan
from blindlabel_lab.experiments.results import Results

USUAL_SECONDS: Mapping[str, float] = MappingProxyType(
    {
        "records": 2,
        "missing": 2,
        "quality": 45,
        "quality-published": 45,
        "tokens": 25,
        "learning": 1,
        "communication": 60,
        "computation": 300,
        "oracles": 80,
        "candidates": 60,
    }
)
"""Processor seconds of each part on the five sets, so that what is shown as done is done."""
Finished = Callable[[str, int, int, float, float], None]
"""Called with a part's name, its place among this many, its seconds by the clock and its processor seconds."""


@dataclass(frozen=True)
class Part:
    """One experiment of the report."""

    name: str
    """Of its document; also what is published about it, and its title."""
    options: str
    """Of its command, after `blindlabel experiment …`."""
    work: Callable[[Advance], dict[str, Any]]
    kind: str = ""
    """The experiment, where its name is another."""

    @property
    def experiment(self) -> str:
        """Which experiment it is."""
        return self.kind or self.name

    @property
    def command(self) -> str:
        """How to repeat it."""
        return f"blindlabel experiment {self.experiment} {self.options}".rstrip()


def run_all(
    plan: Plan, results: Results, advance: Advance, finished: Finished, *, plots: bool, costs: bool
) -> tuple[dict[str, Any], list[Path]]:
    """Every experiment, its document and figures, and the report. `finished` is told of each part when it is done."""
    parts = _parts(plan, results, costs=costs)
    sections: list[Section] = []
    took: list[tuple[str, float, float]] = []
    written: list[Path] = []
    for place, part in enumerate(parts):
        wall, used = time.monotonic(), processor_seconds()
        document = part.work(_share_of(advance, parts, place))
        prefix = "" if part.experiment == part.name else f"{part.name}-"
        pictures = plot(part.experiment, document, results.folder, prefix) if plots else []
        written += [results.document(part.name, document), *pictures]
        shown = [path for path in pictures if path.suffix == ".svg"]
        sections.append(Section(part.name, part.experiment, part.command, document, shown))
        took.append((part.name, time.monotonic() - wall, processor_seconds() - used))
        finished(part.name, place + 1, len(parts), *took[-1][1:])
    path = results.folder / "report.md"
    results.write(path, markdown(Report(sections, took)))
    written.append(path)
    return {one.name: one.document for one in sections}, written


def _parts(plan: Plan, results: Results, *, costs: bool) -> list[Part]:
    """All experiments, in the order of the publication: the sets, labels, what is asked, costs; and ours behind."""
    fewer = replace(plan, samples=min(plan.samples, 5))
    raw = replace(plan, preparation=PUBLISHED_PREPARATION)
    sets = "".join(f" --dataset {name}" for name in plan.names)
    columns = f" --attributes {','.join(plan.attributes)}" if plan.attributes else ""
    common = f"--data {plan.folder}{sets}{columns}"
    people = "".join(f" --people {folder}" for folder in plan.people)
    drawn, drawn_fewer = (f"{common} --samples {one.samples} --seed {one.seed}" for one in (plan, fewer))

    parts = [
        Part("records", f"{common} --seed {plan.seed}", lambda to: describing.records(raw, to)),
        Part("missing", common, lambda to: describing.missing(plan, to)),
        Part("quality", drawn, lambda to: labelling.quality(plan, results, to)),
        Part(
            "quality-published",
            f"{drawn} --prepare published",
            lambda to: labelling.quality(raw, results, to),
            kind="quality",
        ),
        Part(
            "tokens",
            drawn_fewer + people,
            lambda to: with_peoples_tokens(describing.tokens(fewer, results, to), plan.people),
        ),
    ]
    logs = [folder for folder in plan.people if logs_in(folder) != [folder]]
    if logs:
        parts.append(Part("learning", " ".join(map(str, logs)), lambda _to: learning(logs)))
    if costs:
        parts.append(Part("communication", "", lambda to: measured.communication(results, to)))
        parts.append(Part("computation", "", lambda to: measured.computation(results, to)))
    parts.append(Part("oracles", drawn_fewer, lambda to: labelling.oracles(fewer, results, to)))
    folder = hard.candidates_folder(plan.folder)
    candidate_sets = hard.names_in(folder)
    if candidate_sets:
        parts.append(
            Part(
                "candidates",
                f"--data {plan.folder}",
                lambda to: hard.candidates(folder, candidate_sets, None, plan.rounds, to, results),
            )
        )
    return parts


def _share_of(advance: Advance, parts: Sequence[Part], place: int) -> Advance:
    """Progress of one experiment as a part of all, by what parts usually take."""
    usual = [USUAL_SECONDS[part.name] for part in parts]
    before, whole, name = sum(usual[:place]), sum(usual), parts[place].name
    return lambda what, share: advance(f"{name}: {what}", (before + share * usual[place]) / whole)
