"""Every experiment in one go, and the report of them all in Markdown and HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blindlabel_lab.experiments import candidates as hard
from blindlabel_lab.experiments import costs as measured
from blindlabel_lab.experiments import describing
from blindlabel_lab.experiments import quality as labelling
from blindlabel_lab.experiments.datasets import PREPARATION
from blindlabel_lab.experiments.plots import plot
from blindlabel_lab.experiments.quality import Advance, Plan
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.tables import PUBLISHED, TABLES, TITLES, Document


def run_all(
    plan: Plan, results: Results, advance: Advance, *, plots: bool, costs: bool
) -> tuple[dict[str, Any], list[Path]]:
    """Every experiment, its document and figures, and the report."""
    fewer = Plan(plan.folder, plan.names, plan.attributes, min(plan.samples, 5), plan.seed, plan.size, plan.rounds)
    work: dict[str, Callable[[Advance], dict[str, Any]]] = {
        "quality": lambda to: labelling.quality(plan, results, to),
        "oracles": lambda to: labelling.oracles(fewer, results, to),
        "tokens": lambda to: describing.tokens(fewer, results, to),
        "missing": lambda to: describing.missing(plan, to),
    }
    folder = hard.candidates_folder(plan.folder)
    candidate_sets = hard.names_in(folder)
    if candidate_sets:
        work["candidates"] = lambda to: hard.candidates(folder, candidate_sets, None, plan.rounds, to)
    if costs:
        work |= {
            "communication": lambda to: measured.communication(results, to),
            "computation": lambda to: measured.computation(results, to),
        }
    documents: dict[str, Any] = {}
    figures: dict[str, list[Path]] = {}
    written: list[Path] = []
    for place, (name, run) in enumerate(work.items()):
        documents[name] = run(_part(advance, name, place, len(work)))
        written.append(results.document(name, documents[name]))
        figures[name] = plot(name, documents[name], results.folder) if plots else []
        written += figures[name]
    pictures = {name: [path.name for path in paths if path.suffix == ".svg"] for name, paths in figures.items()}
    commands = _commands(plan, fewer, costs)
    for path, text in (
        (results.folder / "report.md", markdown(documents, pictures, commands)),
        (results.folder / "report.html", page(documents, pictures, commands)),
    ):
        results.write(path, text)
        written.append(path)
    return documents, written


def _part(advance: Advance, name: str, place: int, parts: int) -> Advance:
    """Progress of one experiment as a part of all."""
    return lambda what, share: advance(f"{name}: {what}", (place + share) / parts)


def _commands(plan: Plan, fewer: Plan, costs: bool) -> dict[str, str]:
    chosen = "".join(f" --dataset {name}" for name in plan.names) + (
        f" --attributes {','.join(plan.attributes)}" if plan.attributes else ""
    )
    common = f"--data {plan.folder}{chosen}"
    commands = {
        "quality": f"blindlabel experiment quality {common} --samples {plan.samples} --seed {plan.seed}",
        "oracles": f"blindlabel experiment oracles {common} --samples {fewer.samples} --seed {plan.seed}",
        "tokens": f"blindlabel experiment tokens {common} --samples {fewer.samples} --seed {plan.seed}",
        "missing": f"blindlabel experiment missing {common}",
        "candidates": f"blindlabel experiment candidates --data {plan.folder}",
    }
    if costs:
        commands |= {name: f"blindlabel experiment {name}" for name in ("communication", "computation")}
    return commands


_INTRODUCTION = (
    "Oracles are simulated: they see one table only and ask what `blindlabel suggest` suggests. Recall and F are over"
    " agreed pairs, as published; the strict ones count a true pair without agreement as missed. Text preparation of"
    " all sets: " + ", ".join(PREPARATION) + "."
)


def _notes(document: Document) -> list[str]:
    return [f"Not run: the {one['engine']} engine: {one['reason']}" for one in document.get("not_run", [])]


def markdown(
    documents: Mapping[str, Document], pictures: Mapping[str, Sequence[str]], commands: Mapping[str, str]
) -> str:
    """The report as Markdown."""
    parts = ["# Experiments\n", _INTRODUCTION + "\n"]
    for name, document in documents.items():
        rows = TABLES[name](document)
        parts.append(f"## {TITLES[name]}\n\n    {commands[name]}\n\n{PUBLISHED[name]}\n")
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines.insert(1, "|" + "---|" * len(rows[0]))
        parts.append("\n".join(lines) + "\n")
        parts += [note + "\n" for note in _notes(document)]
        parts += [f"![{picture}]({picture})\n" for picture in pictures.get(name, [])]
    return "\n".join(parts)


def page(documents: Mapping[str, Document], pictures: Mapping[str, Sequence[str]], commands: Mapping[str, str]) -> str:
    """The report as one HTML page; figures are the SVG files beside it."""
    style = (
        "body{font-family:sans-serif;max-width:70em;margin:2em auto}td,th{padding:.2em"
        " .6em;text-align:right}img{max-width:100%}"
    )
    parts = [
        (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>blindlabel'
            f" experiments</title><style>{style}</style>"
        ),
        f"<h1>Experiments</h1><p>{html.escape(_INTRODUCTION)}</p>",
    ]
    for name, document in documents.items():
        rows = TABLES[name](document)
        parts.append(
            f"<h2>{TITLES[name]}</h2><pre>{html.escape(commands[name])}</pre><p>{html.escape(PUBLISHED[name])}</p><table>"
        )
        parts.append("<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0]) + "</tr>")
        parts += ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:]]
        parts.append("</table>")
        parts += [f"<p>{html.escape(note)}</p>" for note in _notes(document)]
        parts += [
            f'<img src="{html.escape(picture)}" alt="{html.escape(picture)}">' for picture in pictures.get(name, [])
        ]
    return "\n".join(parts) + "\n</html>\n"
