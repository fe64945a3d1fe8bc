"""Tables of the experiments for the terminal and the report, and the report itself in Markdown and HTML, with the
published figures.
"""

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

Document = Mapping[str, Any]
Table = list[list[str]]

PUBLISHED_MISSING = {
    "given_name": 1.8,
    "surname": 1.3,
    "sex": 21.2,
    "age": 19.6,
    "title": 57.5,
    "address_1": 5.7,
    "phone_number": 5.6,
}
PUBLISHED_TOKEN_LENGTH = {"abt-buy": 6.65, "amazon-google": 6.28, "dblp-scholar": 5.60, "dblp-acm": 6.61}
PUBLISHED = {
    "quality": (
        "Published: mean F above 0.9; above 0.9 on Abt-Buy, DBLP-Scholar and DBLP-ACM, lower on Amazon-Google (a plot,"
        " no numbers)."
    ),
    "candidates": (
        "Not in the publication. F1 of Magellan, DeepMatcher and Ditto is on the test split of the same sets. "
        + hard.GIVEN
        + " "
        + "; ".join(f"{system}: {source}" for system, source in hard.SOURCES.items())
        + "."
    ),
    "oracles": "Not in the publication; its annotators wrote conjunctions and disjunctions of is_in.",
    "tokens": (
        "Published: needles of 1 to 16 characters, 2 to 9 mostly, about 6 on average; rare words are asked more than"
        " common ones."
    ),
    "missing": "Published: the percentages of its own Febrl selection, beside ours.",
    "communication": "Published: 32 KB a character, so 156.25 MB for 50 records of 100 characters.",
    "computation": (
        "Published: 4.6e5, 5.4e5, 1.28e6, 1.6e6 s for a needle of 6 in 46, 53, 118, 148 characters, 2,500 pairs, eight"
        " cores."
    ),
}
"""What the publication says, experiment by experiment."""


def _quality(document: Document) -> Table:
    rows = [["set", "round", "precision", "recall", "F", "strict recall", "strict F", "agreed", "to ask again"]]
    for name, figures in document["datasets"].items():
        for number, one in enumerate(figures["rounds"], start=1):
            rows.append([name if number == 1 else "", str(number), *_scores(one)])
        rows.append(["", "±", *_scores(figures["deviation"])])
    return rows


def _candidates(document: Document) -> Table:
    systems = list(hard.SOURCES)
    rows = [["set", "round", "precision", "recall", "F1", "discarded", *systems]]
    for name, one in document["datasets"].items():
        for number, after in enumerate(one["rounds"], start=1):
            scores = [f"{100 * after[key]:.1f}" for key in ("precision", "recall", "f1")]
            known = [f"{one['published'][system]:.1f}" if system in one["published"] else "" for system in systems]
            first = number == 1
            rows.append(
                [
                    name if first else "",
                    str(number),
                    *scores,
                    str(after["discarded"]),
                    *(known if first else ["", "", ""]),
                ]
            )
    rows.append([""] * len(rows[0]))
    heads = ["conditions, median (most)", "whole words or values", "largest share", "one is enough", "but not"]
    rows.append(["readability", "table", *heads, "other own rows", ""])
    for name, one in document["datasets"].items():
        for side, read in one["readability"].items():
            if read:
                rows.append([name, side, *_readability(read), ""])
    return rows


def _readability(read: Mapping[str, float]) -> list[str]:
    return [
        f"{read['conditions_median']:g} ({read['conditions_most']:g})",
        f"{100 * read['whole_words_or_values']:.1f} %",
        f"{100 * read['largest_share']:.0f} %",
        f"{100 * read['one_is_enough']:.0f} %",
        f"{read['exclusions']:.2f}",
        f"{read['other_own_rows']:.2f}",
    ]


def _scores(one: Mapping[str, float]) -> list[str]:
    shares = [f"{one[key]:.3f}" for key in ("precision", "recall", "f", "recall_strict", "f_strict")]
    return [*shares, f"{one['agreement']:.4f}", f"{one['records_to_ask']:.1f}"]


def _oracles(document: Document) -> Table:
    names = list(next(iter(document["strategies"].values())))
    rows = [["strategy", *(f"{name} F / strict" for name in names)]]
    for strategy, sets in document["strategies"].items():
        rows.append([strategy, *(f"{sets[name]['f']:.3f} / {sets[name]['f_strict']:.3f}" for name in names)])
    return rows


def _tokens(document: Document) -> Table:
    first = next(iter(document["datasets"].values()))
    rows = [
        [
            "set",
            "mean length",
            "published",
            "needles",
            "whole words",
            *(f"in {band['rows']} rows" for band in first["bands"]),
        ]
    ]
    for name, figures in document["datasets"].items():
        total = sum(band["asked"] for band in figures["bands"]) or 1
        published = PUBLISHED_TOKEN_LENGTH.get(name)
        rows.append(
            [
                name,
                f"{figures['mean_length']:.2f}",
                "" if published is None else f"{published:.2f}",
                str(figures["asked"]),
                str(figures["asked_as_whole_words"]),
                *(f"{100 * band['asked'] / total:.0f} %" for band in figures["bands"]),
            ]
        )
    return rows


def _missing(document: Document) -> Table:
    rows = [["set", "attribute", "a %", "b %", "both %", "published %"]]
    for name, attributes in document["datasets"].items():
        for attribute, figures in attributes.items():
            published = PUBLISHED_MISSING.get(attribute) if name == "febrl" else None
            shown = [f"{figures[side]:.1f}" for side in ("a", "b", "both")]
            rows.append([name, attribute, *shown, "" if published is None else f"{published:.1f}"])
    return rows


def _communication(document: Document) -> Table:
    rows = [["characters", "packed KB", "packed KB a character", "gates KB", "published KB"]]
    for row in document["rows"]:
        sizes = [row[key] for key in ("packed_bytes", "packed_bytes_per_character", "gates_bytes", "published_bytes")]
        rows.append([str(row["length"]), *("not run" if size is None else f"{size / 1024:,.1f}" for size in sizes)])
    return rows


def _computation(document: Document) -> Table:
    rows = [["characters", "packed s", "published circuit s", "needle in clear s", "ratio", "published s (one needle)"]]
    keys = (
        "packed_seconds",
        "gates_serial_seconds",
        "gates_clear_needle_seconds",
        "ratio",
        "published_seconds_one_needle",
    )
    for row in document["rows"]:
        rows.append([str(row["length"]), *("not run" if row[key] is None else _readable(row[key]) for key in keys)])
    return rows


_TABLES = {
    "quality": _quality,
    "candidates": _candidates,
    "oracles": _oracles,
    "tokens": _tokens,
    "missing": _missing,
    "communication": _communication,
    "computation": _computation,
}
_TITLES = {
    "quality": "Labelling quality by round",
    "candidates": "Hard pairs: what blocking leaves over",
    "oracles": "Strategies side by side (final)",
    "tokens": "What is asked",
    "missing": "Missing values",
    "communication": "Bytes of an encrypted record",
    "computation": "Seconds of one round, 50 by 50 records",
}


def _readable(number: float) -> str:
    """A number for a table: never with a power of ten."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.6g}"


def table_of(name: str, document: Document) -> list[str]:
    """An experiment's document as lines of aligned columns."""
    rows = _TABLES[name](document)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


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
        rows = _TABLES[name](document)
        parts.append(f"## {_TITLES[name]}\n\n    {commands[name]}\n\n{PUBLISHED[name]}\n")
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
        rows = _TABLES[name](document)
        parts.append(
            f"<h2>{_TITLES[name]}</h2><pre>{html.escape(commands[name])}</pre><p>{html.escape(PUBLISHED[name])}</p><table>"
        )
        parts.append("<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0]) + "</tr>")
        parts += ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:]]
        parts.append("</table>")
        parts += [f"<p>{html.escape(note)}</p>" for note in _notes(document)]
        parts += [
            f'<img src="{html.escape(picture)}" alt="{html.escape(picture)}">' for picture in pictures.get(name, [])
        ]
    return "\n".join(parts) + "\n</html>\n"
