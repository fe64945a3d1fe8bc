"""Every experiment in one go, part by part, and the report of them all as Markdown, figures beside it: what the
publication shows, where ours is, then every experiment with its command, what is published, tables, notes and figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blindlabel_lab.bench.machine import processor_seconds
from blindlabel_lab.experiments import candidates as hard
from blindlabel_lab.experiments import costs as measured
from blindlabel_lab.experiments import describing, people
from blindlabel_lab.experiments import quality as labelling
from blindlabel_lab.experiments.datasets import PUBLISHED_PREPARATION
from blindlabel_lab.experiments.learning import learning, logs_in
from blindlabel_lab.experiments.plots import plot
from blindlabel_lab.experiments.published import IN_THE_PUBLICATION, PUBLISHED
from blindlabel_lab.experiments.quality import Advance, Plan
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.tables import TABLES, TITLES, Document, Table


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


@dataclass(frozen=True)
class Section:
    """A part with what came out, and what it took: seconds by the clock, processor seconds."""

    part: Part
    document: Document
    pictures: Sequence[Path]
    wall: float
    used: float


def run_all(
    plan: Plan, results: Results, advance: Advance, tell: Callable[[str], None], *, plots: bool, costs: bool
) -> tuple[dict[str, Any], list[Path]]:
    """Every experiment, its document and figures, and the report. `tell` is told of each part when it is done."""
    parts = _parts(plan, results, costs=costs)
    sections: list[Section] = []
    written: list[Path] = []
    for place, part in enumerate(parts):
        wall, used = time.monotonic(), sum(processor_seconds())
        document = part.work(_share_of(advance, part, place, len(parts)))
        prefix = "" if part.experiment == part.name else f"{part.name}-"
        pictures = plot(part.experiment, document, results.folder, prefix) if plots else []
        written += [results.document(part.name, document), *pictures]
        wall, used = time.monotonic() - wall, sum(processor_seconds()) - used
        shown = [path for path in pictures if path.suffix == ".svg"]
        sections.append(Section(part, document, shown, wall, used))
        tell(f"{place + 1} of {len(parts)}: {part.name} is done, {wall:.0f} s ({used:.0f} processor seconds)")
    path = results.folder / "report.md"
    results.write(path, markdown(sections))
    return {one.part.name: one.document for one in sections}, [*written, path]


def _parts(plan: Plan, results: Results, *, costs: bool) -> list[Part]:
    """All experiments, in the order of the publication: the sets, labels, what is asked, costs; and ours behind."""
    fewer, raw = replace(plan, samples=min(plan.samples, 5)), replace(plan, preparation=PUBLISHED_PREPARATION)
    sets = "".join(f" --dataset {name}" for name in plan.names)
    columns = f" --attributes {','.join(plan.attributes)}" if plan.attributes else ""
    common = f"--data {plan.folder}{sets}{columns}"
    drawn, drawn_fewer = (f"{common} --samples {one.samples} --seed {one.seed}" for one in (plan, fewer))
    written = "".join(f" --people {folder}" for folder in plan.people)
    published = f"{drawn} --prepare published"

    parts = [
        Part("records", f"{common} --seed {plan.seed}", lambda to: describing.records(raw, results, to)),
        Part("missing", common, lambda to: describing.missing(plan, results, to)),
        Part("quality", drawn, lambda to: labelling.quality(plan, results, to)),
        Part("quality-published", published, lambda to: labelling.quality(raw, results, to), kind="quality"),
        Part("tokens", drawn_fewer + written, lambda to: people.tokens(fewer, results, to)),
    ]
    logs = [folder for folder in plan.people if logs_in(folder) != [folder]]
    if logs:
        parts.append(Part("learning", " ".join(map(str, logs)), lambda _to: learning(logs)))
    if costs:
        parts.append(Part("communication", "", lambda to: measured.communication(results, to)))
        parts.append(Part("computation", "", lambda to: measured.computation(results, to)))
    parts.append(Part("oracles", drawn_fewer, lambda to: labelling.oracles(fewer, results, to)))
    if hard.names_in(hard.candidates_folder(plan.folder)):
        every = replace(plan, names=(), attributes=None)
        parts.append(Part("candidates", f"--data {plan.folder}", lambda to: hard.candidates(every, results, to)))
    return parts


def _share_of(advance: Advance, part: Part, place: int, parts: int) -> Advance:
    """Progress of one experiment as a part of all."""
    return lambda what, share: advance(f"{part.name}: {what}", (place + share) / parts)


# The page


def _where(sections: Sequence[Section]) -> Table:
    """What the publication shows, and where ours is."""
    rows = [["in the publication", "here"]]
    names = {section.part.name for section in sections}
    for what, part in IN_THE_PUBLICATION:
        here = TITLES[part] if part in names else _NOT_HERE.get(part, "not run") if part in TITLES else part
        rows.append([what, here])
    return rows


def _times(sections: Sequence[Section]) -> Table:
    """What this run took, part by part."""
    took = [(TITLES[one.part.name], one.wall, one.used) for one in sections]
    took.append(("all", sum(one.wall for one in sections), sum(one.used for one in sections)))
    rows = [[name, f"{wall:.0f}", f"{used:.0f}"] for name, wall, used in took]
    return [["part", "seconds by the clock", "processor seconds"], *rows]


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
        "learning": "Minutes a record by its position in round 1, and where the questions came from.",
    }
)
"""By figure; of several with one ending, the longest name that fits."""


def caption(name: str) -> str:
    """What a figure shows."""
    return CAPTIONS[max((known for known in CAPTIONS if f"-{name}".endswith(f"-{known}")), key=len)]


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
    width = max(map(len, rows))
    lines = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * width)
    return "\n".join(lines) + "\n"


def markdown(sections: Sequence[Section]) -> str:
    """The report as Markdown."""
    pages = ["# Experiments\n", INTRODUCTION + "\n", _markdown_table(_where(sections))]
    for one in sections:
        command = f"blindlabel experiment {one.part.experiment} {one.part.options}".rstrip()
        pages.append(f"## {TITLES[one.part.name]}\n\n    {command}\n\n{PUBLISHED[one.part.name]}\n")
        pages += map(_markdown_table, TABLES[one.part.experiment](one.document))
        pages += [note + "\n" for note in notes(one.document)]
        pages += [f"![{caption(path.stem)}]({path.name})\n\n*{caption(path.stem)}*\n" for path in one.pictures]
    pages.append(f"## What this run took\n\n{TIMES}\n\n{_markdown_table(_times(sections))}")
    return "\n".join(pages)
