"""`blindlabel bench …`: measurements that the documentation quotes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, progress_bar, result, result_json, say, working_on
from blindlabel.errors import InputError
from blindlabel_lab.bench.agreed import DEFAULT, SAID, AgreementOption

app = typer.Typer(
    name="bench",
    help="Measure blindlabel on this machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
ShapeOption = Annotated[
    str, typer.Option(help="and, or (one OR), not (one negation), unless (an exception to it) or count (weights).")
]
LengthOption = Annotated[int, typer.Option(min=16, help="Characters of a record.")]


@contextmanager
def _measuring(shape: str) -> Iterator[None]:
    """Refuses a shape that there is none of; what an engine refuses is the input's fault."""
    from blindlabel.engines.interface import EngineError
    from blindlabel_lab.bench.packed import SHAPES

    if shape not in SHAPES:
        raise InputError(f"There is no shape {shape}; there are {', '.join(SHAPES)}.")
    try:
        yield
    except EngineError as problem:
        raise InputError(str(problem)) from problem


@app.command("packed")
def packed(
    records: Annotated[int, typer.Option(min=1, help="Records, and questions.")] = 50,
    questions: Annotated[
        int, typer.Option(min=0, help="Ask this many of them only, a stripe of the whole; 0: as many as records.")
    ] = 0,
    length: LengthOption = 148,
    needles: Annotated[int, typer.Option(min=1, max=24, help="Needles of a question.")] = 5,
    shape: ShapeOption = "or",
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    agreement: AgreementOption = DEFAULT,
    processor: Annotated[
        bool, typer.Option("--processor", help="Measure processor time of one process, for busy machines.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option(help="Add the figures to this file, with machine, day, commit and load.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Measure a round on the packed engine: every question over every record, labels checked against clear
    evaluation.
    """
    from blindlabel_lab.bench.measured import keep
    from blindlabel_lab.bench.packed import measure

    if processor and workers > 1:
        raise InputError("--processor measures one process; leave out --workers.")
    load = round(os.getloadavg()[0], 1)
    with _measuring(shape):
        figures = measure(
            shape, records, length, needles,
            questions=questions, workers=workers, said=agreement, processor=processor,
        )  # fmt: skip
    if to is not None:
        keep(to, figures, load)
    if json:
        result_json(figures.to_json())
        return
    pairs = figures.questions * figures.records
    seconds = figures.seconds
    result(
        f"{figures.questions} questions × {figures.records} records of {figures.length} characters, {needles} needles,"
        f" shape {shape}, agreement: {figures.agreement}, {figures.parameters}, {figures.kernel}"
    )
    result(f"keys {seconds['keys']:.2f} s, encode {seconds['encode']:.2f} s, encrypt {seconds['encrypt']:.2f} s")
    result(f"prepare {seconds['prepare']:.2f} s, evaluate {seconds['evaluate']:.2f} s, open {seconds['open']:.2f} s")
    result(f"a round: {seconds['total']:.2f} s, {1000 * seconds['total'] / pairs:.3f} ms a pair")
    if figures.questions < figures.records:
        whole = seconds["evaluate"] / pairs + seconds["prepare"] / figures.records**2
        result(f"{figures.records} questions would take {1000 * whole:.3f} ms a pair: opening records is shared by all")
    sizes = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in figures.bytes.items())
    result(f"{sizes}; peak memory {figures.peak_rss_mb:.0f} MB; wrong labels: {figures.wrong_labels}")


@app.command("scale")
def scale(
    sizes: Annotated[
        str, typer.Option(help="Records per owner, and questions; several with commas (5000 takes an hour).")
    ] = "50,200,1000",
    workers: Annotated[
        str, typer.Option(help="Worker processes, or a cluster (local:2, tcp://host:port); several with commas.")
    ] = "1,2",
    questions: Annotated[
        int, typer.Option(min=0, help="Ask at most this many questions at each size; 0: as many as records.")
    ] = 0,
    shape: ShapeOption = "or",
    agreement: AgreementOption = DEFAULT,
    length: LengthOption = 148,
    json: JsonFlag = False,
) -> None:
    """Measure time, bytes and memory per pair as a study grows; every party in a process of its own."""
    from blindlabel_lab.bench.scale import measure

    with _measuring(shape), progress_bar() as bar:
        task = bar.add_task("starting", total=1.0)
        document = measure(
            _numbers(sizes, "--sizes"),
            _workers(workers),
            questions=questions,
            shape=shape,
            said=agreement,
            length=length,
            show=lambda doing, share: bar.update(task, description=doing, completed=share),
        )
    if json:
        result_json(document)
        return
    result(f"shape {shape}, records of {length} characters, {document['agreement']} agreement, {document['machine']}")
    for row in document["rows"]:
        result(
            f"{row['questions']} × {row['records']}, {row['workers']} worker(s): {row['processor_ms_per_pair']:.3f} ms"
            f" of processor and {row['ms_per_pair']:.3f} ms elapsed a pair,"
            f" {row['bytes_per_pair']:.0f} bytes a pair, owner"
            f" {row['owner_memory_mb']:.0f} MB, coordinator {row['coordinator_memory_mb']:.0f} MB, wrong labels:"
            f" {row['wrong_labels']}"
        )
    for size, gains in document["gain"].items():
        for who, gain in gains.items():
            result(f"{who} worker(s) at {size}: {gain:.2f} times as fast as one")


def _workers(text: str) -> list[str]:
    from blindlabel.engines.packed.running.workers import check_address

    for one in text.split(","):
        if one.isdigit():
            _numbers(one, "--workers")
        else:
            check_address(one)
    return text.split(",")


def _numbers(text: str, option: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise InputError(f"{option} takes whole numbers above zero with commas between them, not {text}.")
    return found


@app.command("web")
def web(
    records: Annotated[int, typer.Option("--records", min=20, max=20_000, help="Sampled records.")] = 5000,
    json: JsonFlag = False,
) -> None:
    """Measure opening a record, checking while typing and saving; in Python, and in a browser where there is one."""
    from blindlabel_lab.bench.web import measure

    figures = measure(records)
    if json:
        result_json(figures.to_json())
        return
    say(figures.machine)
    result(f"{figures.records:,} records, medians in milliseconds; the target is {figures.target_ms:.0f} each.")
    result(f"  list {figures.list_ms}, check {figures.check_ms}, verdict {figures.verdict_ms}, save {figures.save_ms}")
    result(f"  suggest {figures.suggest_ms}")
    if figures.browser is None:
        say("No browser here, so nothing was measured in one.")
    else:
        result(
            "  in the browser: "
            + ", ".join(f"{name.removesuffix('_ms')} {value}" for name, value in figures.browser.items())
        )


@app.command("gates")
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


@app.command("compare")
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
