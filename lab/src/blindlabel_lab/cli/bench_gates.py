"""`blindlabel bench gates` and `blindlabel bench compare`: what the publication's way costs here, alone and beside the
packed engine.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, result, result_json, say, working_on
from blindlabel_lab.bench.agreed import SAID


def gates(json: JsonFlag = False) -> None:
    """Measure the gates engine: time a gate, bytes a character, one whole is_in, and what that comes to for whole
    experiments.
    """
    from blindlabel_lab.bench.gates import figures

    say("Measuring the gates engine in its own environment; this takes about a minute.")
    with working_on("gates"):
        document = figures()
    if json:
        result_json(document)
        return
    whole, clear, size = document["is_in"], document["clear_needle"], document["bytes_per_character"]
    result(f"{document['date']}, {document['machine']}, openfhe {document['openfhe']}, {document['parameters']}")
    result(
        f"one gate {1000 * document['gate_seconds']['average']:.1f} ms, "
        f"one bit encrypted {1000 * document['encrypt_bit_seconds']:.1f} ms"
    )
    result(f"a character: {size['openfhe']} bytes as OpenFHE writes it, {size['packed']} as blindlabel sends it")
    result(f"public key: {document['public_key_bytes'] / 1e6:.0f} MB, made in {document['key_seconds']:.1f} s")
    result(
        f"is_in, needle {whole['needle']}, record {whole['record']}: {whole['gates']} gates, {whole['seconds']:.1f} s"
        f" (needle in clear: {clear['gates']} gates, {clear['seconds']:.1f} s)"
    )
    result("")
    result("one needle, 2,500 pairs, by gate count:")
    titles = ["record", "published circuit", "publication", "needle in clear", "shared by 50"]
    names = ["record", "seconds", "published_seconds", "clear_needle_seconds", "clear_needle_shared_seconds"]
    _table(titles, names, document["extrapolated"])


def compare(
    length: Annotated[
        list[int] | None, typer.Option(help="Record length; may be given several times. Default: 46, 53, 118 and 148.")
    ] = None,
    size: Annotated[int, typer.Option(min=1, help="Questions, and records.")] = 50,
    agreement: Annotated[
        list[str] | None, typer.Option(help=f"{SAID} May be given several times. Default: least and default.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Compare the packed engine with the publication's way on the same questions, on this machine, in one run."""
    from blindlabel_lab.bench.compare import AGREEMENTS, LENGTHS, comparison

    say("Measuring both engines; this takes a few minutes.")
    with working_on("packed and gates"):
        document = comparison(tuple(length or LENGTHS), size, agreements=tuple(agreement or AGREEMENTS))
    for one in document["not_run"]:
        say(f"Not run: the {one['engine']} engine: {one['reason']}")
    if json:
        result_json(document)
        return
    result(f"{document['date']}, {document['machine']}")
    gate = document["gate_seconds"]
    times = "" if gate is None else f", at {gate['median']} s each ({gate['least']} to {gate['most']})"
    result(f"{document['workload']}; gates by count{times}, measured in alternation")
    names = ["length", "shape", "agreement", "packed_seconds", "gates_serial_seconds", "gates_clear_needle_seconds"]
    titles = ["length", "questions", "agreement", "packed s", "published circuit s", "needle in clear s"]
    titles += ["ratio", "of the whole round"]
    _table(titles, [*names, "ratio", "ratio_of_all"], document["rows"])


def _table(titles: list[str], names: list[str], rows: list[dict[str, Any]]) -> None:
    cells = [titles, *([_shown(row[name]) for name in names] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(titles))]
    for row in cells:
        result("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


def _shown(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or "not run"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
