"""Every experiment in one go, and the report of them all in Markdown and HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from blindlabel_lab.experiments import candidates as hard
from blindlabel_lab.experiments import costs as measured
from blindlabel_lab.experiments import describing
from blindlabel_lab.experiments import quality as labelling
from blindlabel_lab.experiments.datasets import PUBLISHED_PREPARATION
from blindlabel_lab.experiments.people import with_people, with_peoples_tokens
from blindlabel_lab.experiments.plots import plot
from blindlabel_lab.experiments.published import PUBLISHED
from blindlabel_lab.experiments.quality import Advance, Plan
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.strategies import STRATEGIES
from blindlabel_lab.experiments.tables import TABLES, TITLES, Document

LONGEST_NEEDLE = 16
"""Of the tokens' experiment, as published."""


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


@dataclass(frozen=True)
class Done:
    """A part with what came out."""

    part: Part
    document: Document
    pictures: Sequence[Path] = field(default=())


def run_all(
    plan: Plan, results: Results, advance: Advance, *, plots: bool, costs: bool
) -> tuple[dict[str, Any], list[Path]]:
    """Every experiment, its document and figures, and the report."""
    parts = _parts(plan, results, costs=costs)
    done: list[Done] = []
    written: list[Path] = []
    for place, part in enumerate(parts):
        document = part.work(_share_of(advance, part.name, place, len(parts)))
        prefix = "" if part.experiment == part.name else f"{part.name}-"
        pictures = plot(part.experiment, document, results.folder, prefix) if plots else []
        written += [results.document(part.name, document), *pictures]
        done.append(Done(part, document, [path for path in pictures if path.suffix == ".svg"]))
    for path, text in ((results.folder / "report.md", markdown(done)), (results.folder / "report.html", page(done))):
        results.write(path, text)
        written.append(path)
    return {one.part.name: one.document for one in done}, written


def _parts(plan: Plan, results: Results, *, costs: bool) -> list[Part]:
    """All experiments, in the order of the publication: the sets, labels, what is asked, costs; and ours behind."""
    fewer = replace(plan, samples=min(plan.samples, 5))
    long, raw = replace(fewer, needle_length=LONGEST_NEEDLE), replace(plan, preparation=PUBLISHED_PREPARATION)
    sets = "".join(f" --dataset {name}" for name in plan.names)
    columns = f" --attributes {','.join(plan.attributes)}" if plan.attributes else ""
    common = f"--data {plan.folder}{sets}{columns}"
    people = "".join(f" --people {folder}" for folder in plan.people)
    drawn, drawn_fewer = (f"{common} --samples {one.samples} --seed {one.seed}" for one in (plan, fewer))

    def shown(document: dict[str, Any], strategies: Sequence[str]) -> dict[str, Any]:
        return with_people(document, plan.people, strategies, plan.needle_length)

    parts = [
        Part("records", f"{common} --seed {plan.seed}", lambda to: describing.records(raw, to)),
        Part("missing", common, lambda to: describing.missing(plan, to)),
        Part("quality", drawn + people, lambda to: shown(labelling.quality(plan, results, to), ("suggested",))),
        Part(
            "quality-published",
            f"{drawn} --prepare published",
            lambda to: labelling.quality(raw, results, to),
            kind="quality",
        ),
        Part(
            "tokens",
            drawn_fewer + people,
            lambda to: with_peoples_tokens(describing.tokens(long, results, to), plan.people),
        ),
    ]
    if costs:
        parts.append(Part("communication", "", lambda to: measured.communication(results, to)))
        parts.append(Part("computation", "", lambda to: measured.computation(results, to)))
    parts.append(
        Part(
            "oracles",
            drawn_fewer + people,
            lambda to: shown(labelling.oracles(fewer, results, to), tuple(STRATEGIES)),
        )
    )
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


def _share_of(advance: Advance, name: str, place: int, parts: int) -> Advance:
    """Progress of one experiment as a part of all."""
    return lambda what, share: advance(f"{name}: {what}", (place + share) / parts)


_INTRODUCTION = (
    "Oracles are simulated unless it says people: they see one table only and ask what `blindlabel suggest` suggests."
    " Recall and F are over agreed pairs; the strict ones count a true pair without agreement as missed. What the"
    " publication says stands above each table, what differs from it and why in docs/deviations.md."
)


def _notes(document: Document) -> list[str]:
    notes = [f"Not run: the {one['engine']} engine: {one['reason']}" for one in document.get("not_run", [])]
    if "preparation" in document:
        notes.append(f"Text preparation: {', '.join(document['preparation'])}.")
    if "machine" in document:
        notes.append(f"Measured on: {document['machine']}; {document.get('clock', 'sizes in bytes')}.")
    return notes


def markdown(done: Sequence[Done]) -> str:
    """The report as Markdown."""
    parts = ["# Experiments\n", _INTRODUCTION + "\n"]
    for one in done:
        rows = TABLES[one.part.experiment](one.document)
        parts.append(f"## {TITLES[one.part.name]}\n\n    {one.part.command}\n\n{PUBLISHED[one.part.name]}\n")
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines.insert(1, "|" + "---|" * len(rows[0]))
        parts.append("\n".join(lines) + "\n")
        parts += [note + "\n" for note in _notes(one.document)]
        parts += [f"![{path.stem}]({path.name})\n" for path in one.pictures]
    return "\n".join(parts)


_STYLE = (
    "body{font-family:sans-serif;max-width:75em;margin:2em auto;padding:0 1em;line-height:1.4}"
    "table{border-collapse:collapse;display:block;overflow-x:auto;font-size:.9em}"
    "td,th{padding:.15em .6em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}"
    "td:first-child,th:first-child{text-align:left}"
    "img{max-width:100%;display:block;margin:1em 0}pre{background:#f4f4f4;padding:.5em;overflow-x:auto}"
)


def page(done: Sequence[Done]) -> str:
    """The report as one HTML page; figures are the SVG files beside it."""
    contents = "".join(f'<li><a href="#{one.part.name}">{TITLES[one.part.name]}</a></li>' for one in done)
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>blindlabel experiments</title>'
        f"<style>{_STYLE}</style><h1>Experiments</h1><p>{html.escape(_INTRODUCTION)}</p><ol>{contents}</ol>"
    ]
    for one in done:
        name, rows = one.part.name, TABLES[one.part.experiment](one.document)
        parts.append(f'<h2 id="{name}">{TITLES[name]}</h2><pre>{html.escape(one.part.command)}</pre>')
        parts.append(f"<p>{html.escape(PUBLISHED[name])}</p><table>")
        parts.append("<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0]) + "</tr>")
        parts += ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:]]
        parts.append("</table>")
        parts += [f"<p>{html.escape(note)}</p>" for note in _notes(one.document)]
        parts += [f'<img src="{html.escape(path.name)}" alt="{html.escape(path.stem)}">' for path in one.pictures]
    return "\n".join(parts) + "\n</html>\n"
