"""Every experiment in one go, part by part, and the report of them all as Markdown, figures beside it: what the
publication shows, where ours is, then every experiment with its command, what is published, tables, notes and figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from blindlabel_lab.experiments.people import with_peoples_tokens
from blindlabel_lab.experiments.plots import plot
from blindlabel_lab.experiments.published import IN_THE_PUBLICATION, PUBLISHED
from blindlabel_lab.experiments.quality import Advance, Plan
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.tables import TABLES, TITLES, Document, Table

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


# The page


@dataclass(frozen=True)
class Section:
    """One experiment with what came out."""

    name: str
    """Of its document; also what is published about it, and its title."""
    experiment: str
    command: str
    document: Document
    pictures: Sequence[Path] = field(default=())

    def tables(self) -> list[Table]:
        """Its tables: an empty row stands between two."""
        found: list[Table] = [[]]
        for row in TABLES[self.experiment](self.document):
            if any(row):
                found[-1].append(row)
            else:
                found.append([])
        return found


@dataclass(frozen=True)
class Report:
    """All sections, and what the run took: part, seconds by the clock, processor seconds."""

    sections: Sequence[Section]
    took: Sequence[tuple[str, float, float]]

    def where(self) -> Table:
        """What the publication shows, and where ours is."""
        rows = [["in the publication", "here"]]
        names = {section.name for section in self.sections}
        for what, part in IN_THE_PUBLICATION:
            here = TITLES[part] if part in names else _NOT_HERE.get(part, "not run") if part in TITLES else part
            rows.append([what, here])
        return rows

    def times(self) -> Table:
        """What this run took, part by part."""
        rows = [["part", "seconds by the clock", "processor seconds"]]
        rows += [[TITLES[name], f"{wall:.0f}", f"{used:.0f}"] for name, wall, used in self.took]
        walls, used = sum(wall for _, wall, _ in self.took), sum(used for _, _, used in self.took)
        return [*rows, ["all", f"{walls:.0f}", f"{used:.0f}"]]


_NOT_HERE = {"learning": "needs people: `blindlabel experiment prepare`, then `all --people FOLDER`"}
INTRODUCTION = (
    "Oracles are simulated unless it says people: they see one table only and ask what `blindlabel suggest` suggests."
    " Recall and F are over agreed pairs; the strict ones count a true pair without agreement as missed. What the"
    " publication says stands above each table, what differs from it and why in docs/laboratory/deviations.md."
)
TIMES = (
    "Processor seconds include the processes that were started. What an earlier run had finished was kept and not done"
    " again, so it counts as nothing here."
)
CAPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "records": (
            "How long records are: share of the records of both tables in each step of 15 characters. Dotted lines are"
            " the averages of both tables. The publication shows numbers of records over the same steps."
        ),
        "missing": "Share of records without a value, for sets that lack any; febrl with the published shares.",
        "quality": (
            "Scores after each round, mean of all samples. The publication shows precision, recall and F; the dotted"
            " line is the 0.9 that its F is above, but on Amazon-Google."
        ),
        "agreement": (
            "Pairs on which both owners agree after each round, below all pairs (left axis, which does not begin at"
            " 0), and records of both owners to annotate in that round (bars, right axis), as in the publication."
        ),
        "tokens": (
            "How long the strings are that questions look for; dashed lines are the averages. Longer than 16 are whole"
            " values that an attribute is compared with."
        ),
        "rarity": (
            "Words by how many rows of both tables have them: share of all words in the tables, and share of the words"
            " asked for. Where the second is higher on the left, rare words are asked for more."
        ),
        "importance": (
            "Every token by its rank, the most frequent first: how often it stands in both tables (line), and how often"
            " it was asked for (dots). Both axes are logarithmic. The publication shows the same counts by token."
        ),
        "communication": "Bytes of one record by its length; the vertical axis is logarithmic.",
        "computation": (
            "Seconds of 2,500 comparisons by the length of records; the vertical axis is logarithmic. Published seconds"
            " are of serial mode, and of one needle; parallel mode is more than three times as fast, so it lies below"
            " its line."
        ),
        "oracles": "Strict F after the last round, by strategy.",
        "candidates": "Scores after each round in percent, and the F1 of systems that learned from labelled pairs.",
        "verdicts": "How often partners were really found, by what the verdict said, with 95 % intervals.",
        "learning": "Minutes a record by its position in round 1, and where the questions came from.",
    }
)
"""By figure; of several with one ending, the longest name that fits."""


def caption(name: str) -> str:
    """What a figure shows."""
    fitting = [known for known in CAPTIONS if name == known or name.endswith(f"-{known}")]
    return CAPTIONS[max(fitting, key=len)] if fitting else name


def notes(document: Document) -> list[str]:
    """What has to be known of an experiment's figures."""
    found = [f"Not run: the {one['engine']} engine: {one['reason']}" for one in document.get("not_run", [])]
    if "samples" in document:
        first, count = document["seed"], document["samples"]
        seeds = f"seed {first}" if count == 1 else f"seeds {first} to {first + count - 1}"
        with_spread = any("deviation" in one for one in document.get("datasets", {}).values())
        spread = " Rows with ± are standard deviations between samples." if with_spread else ""
        found.append(f"Samples of each set: {count} ({seeds}), of {document['matches']} matches.{spread}")
    if "preparation" in document:
        found.append(f"Text preparation: {', '.join(document['preparation'])}.")
    if "machine" in document:
        found.append(f"Measured on: {document['machine']}; {document.get('clock', 'sizes in bytes')}.")
    return found


def _markdown_table(rows: Table) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines) + "\n"


def markdown(report: Report) -> str:
    """The report as Markdown."""
    parts = ["# Experiments\n", INTRODUCTION + "\n", _markdown_table(report.where())]
    for one in report.sections:
        parts.append(f"## {TITLES[one.name]}\n\n    {one.command}\n\n{PUBLISHED[one.name]}\n")
        parts += [_markdown_table(_trimmed(rows)) for rows in one.tables()]
        parts += [note + "\n" for note in notes(one.document)]
        parts += [f"![{caption(path.stem)}]({path.name})\n\n*{caption(path.stem)}*\n" for path in one.pictures]
    parts.append(f"## What this run took\n\n{TIMES}\n\n{_markdown_table(report.times())}")
    return "\n".join(parts)


def _trimmed(rows: Table) -> Table:
    """Without columns at the end that are empty in every row."""
    width = max(place + 1 for row in rows for place, cell in enumerate(row) if cell)
    return [row[:width] for row in rows]
