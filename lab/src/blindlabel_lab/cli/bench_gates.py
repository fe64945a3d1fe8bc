"""`blindlabel bench gates` and `blindlabel bench compare`: what the publication's way costs here, alone and beside the
packed engine.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, result, result_json, say, working_on


def gates(json: JsonFlag = False) -> None:
    """Measure the gates engine: time a gate, bytes a character, one whole is_in, and what that comes to for whole
    experiments.
    """
    from blindlabel_lab.bench.gates import figures

    say("Measuring the gates engine in its own environment; this takes about two minutes.")
    with working_on("gates"):
        document = figures()
    if json:
        result_json(document)
        return
    whole, engine, clear = document["is_in"], document["engine"], document["clear_needle"]
    size, by_two = engine["bytes_per_character"], clear["two_input"]
    result(f"{document['date']}, {document['machine']}, openfhe {document['openfhe']}")
    for title, one in (("published circuit", document), ("engine", engine)):
        result(
            f"{title}: {one['parameters']}; one gate {1000 * one['gate_seconds']['average']:.1f} ms, "
            f"one bit encrypted {1000 * one['encrypt_bit_seconds']:.1f} ms"
        )
    result(f"a character: {size['openfhe']} bytes as OpenFHE writes it, {size['packed']} as blindlabel sends it")
    result(f"public key: {engine['public_key_bytes'] / 1e6:.0f} MB, made in {engine['key_seconds']:.1f} s")
    result(
        f"is_in, needle {whole['needle']}, record {whole['record']}: {whole['gates']} gates, {whole['seconds']:.1f} s;"
        f" needle in clear: {clear['gates']} gates, {clear['seconds']:.1f} s ({by_two['gates']} gates of two inputs,"
        f" {by_two['seconds']:.1f} s)"
    )
    result("")
    result("one needle, 2,500 pairs, by gate count:")
    titles = [
        "record",
        "published circuit",
        "publication",
        "needle in clear",
        "by two inputs",
        "shared by 50",
        "by two inputs",
    ]
    names = ["record", "seconds", "published_seconds", *_CLEAR]
    _table(titles, names, document["extrapolated"])


_CLEAR = [
    "clear_needle_seconds",
    "clear_needle_two_input_seconds",
    "clear_needle_shared_seconds",
    "clear_needle_shared_two_input_seconds",
]


def compare(
    length: Annotated[
        list[int] | None, typer.Option(help="Record length; may be given several times. Else 46, 53, 118 and 148.")
    ] = None,
    size: Annotated[int, typer.Option(min=1, help="Questions, and records.")] = 50,
    json: JsonFlag = False,
) -> None:
    """Compare the packed engine with the publication's way on the same questions, on this machine, in one run."""
    from blindlabel_lab.bench.compare import LENGTHS, comparison

    say("Measuring both engines; this takes a few minutes.")
    with working_on("packed and gates"):
        document = comparison(tuple(length or LENGTHS), size)
    for one in document["not_run"]:
        say(f"Not run: the {one['engine']} engine: {one['reason']}")
    if json:
        result_json(document)
        return
    result(f"{document['date']}, {document['machine']}")
    result(
        f"{document['workload']}; gates by count, at {document['gate_seconds']} s each (of up to three inputs, needle"
        f" in clear: {document['engine_gate_seconds']} s) as measured in this run"
    )
    names = ["length", "packed_seconds", "gates_serial_seconds", "gates_clear_needle_seconds", "ratio"]
    _table(["length", "packed s", "published circuit s", "needle in clear s", "ratio"], names, document["rows"])


def _table(titles: list[str], names: list[str], rows: list[dict[str, Any]]) -> None:
    cells = [titles, *([_shown(row[name]) for name in names] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(titles))]
    for row in cells:
        result("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


def _shown(value: float | None) -> str:
    if value is None:
        return "not run"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
