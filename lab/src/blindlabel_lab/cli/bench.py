"""`blindlabel bench …`: measurements that the documentation quotes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, answer, progress_bar, say, working_on
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
    seconds, pairs = figures.seconds, figures.questions * figures.records
    lines = [
        f"{figures.questions} questions × {figures.records} records of {figures.length} characters, {needles} needles,"
        f" shape {shape}, agreement: {figures.agreement}, {figures.parameters}, {figures.kernel}",
        f"{', '.join(f'{name} {taken:.2f} s' for name, taken in seconds.items())} (prepare and evaluate),"
        f" {1000 * seconds['total'] / pairs:.3f} ms a pair",
        f"{', '.join(f'{name} {size / 1e6:.1f} MB' for name, size in figures.bytes.items())};"
        f" peak memory {figures.peak_rss_mb:.0f} MB; wrong labels: {figures.wrong_labels}",
    ]
    if figures.questions < figures.records:
        whole = 1000 * (seconds["evaluate"] / pairs + seconds["prepare"] / figures.records**2)
        lines.append(f"{figures.records} questions would take {whole:.3f} ms a pair: opening records is shared by all")
    answer(json, figures.to_json(), lines)


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
    names = ["records", "questions", "workers", "processor_ms_per_pair", "ms_per_pair", "bytes_per_pair"]
    names += ["owner_memory_mb", "coordinator_memory_mb", "wrong_labels"]
    lines = [f"shape {shape}, records of {length} characters, {document['agreement']} agreement, {document['machine']}"]
    for size, gains in document["gain"].items():
        lines += [f"{who} worker(s) at {size}: {gain:.2f} times as fast as one" for who, gain in gains.items()]
    answer(json, document, [*lines, *_table(names, document["rows"])])


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
    records: Annotated[int, typer.Option(min=20, max=20_000, help="Sampled records.")] = 5000, json: JsonFlag = False
) -> None:
    """Measure opening a record, checking while typing and saving; in Python, and in a browser where there is one."""
    from blindlabel_lab.bench.web import measure

    figures = measure(records)
    taken = asdict(figures) | (figures.browser or {})
    shown = [f"{name.removesuffix('_ms')} {value}" for name, value in taken.items() if name.endswith("_ms")]
    answer(json, figures.to_json(), [figures.machine, f"{records:,} records, in milliseconds: {', '.join(shown)}"])
    if figures.browser is None:
        say("No browser here, so nothing was measured in one.")


@app.command("gates")
def gates(json: JsonFlag = False) -> None:
    """Measure the gates engine: time a gate, bytes a character, one whole is_in, and what that comes to for whole
    experiments.
    """
    from blindlabel_lab.bench.gates import figures

    say("Measuring the gates engine in its own environment; this takes about a minute.")
    with working_on("gates"):
        document = figures()
    whole, clear, size = document["is_in"], document["clear_needle"], document["bytes_per_character"]
    lines = [
        f"{document['date']}, {document['machine']}, openfhe {document['openfhe']}, {document['parameters']}",
        f"one gate {1000 * document['gate_seconds']['average']:.1f} ms, "
        f"one bit encrypted {1000 * document['encrypt_bit_seconds']:.1f} ms",
        f"a character: {size['openfhe']} bytes as OpenFHE writes it, {size['packed']} as blindlabel sends it",
        f"public key: {document['public_key_bytes'] / 1e6:.0f} MB, made in {document['key_seconds']:.1f} s",
        f"is_in, needle {whole['needle']}, record {whole['record']}: {whole['gates']} gates, {whole['seconds']:.1f} s"
        f" (needle in clear: {clear['gates']} gates, {clear['seconds']:.1f} s)",
        "one needle, 2,500 pairs, by gate count:",
    ]
    names = ["record", "seconds", "published_seconds", "clear_needle_seconds", "clear_needle_shared_seconds"]
    answer(json, document, [*lines, *_table(names, document["extrapolated"])])


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
    from blindlabel_lab.experiments.tables import shown

    say("Measuring both engines; this takes a few minutes.")
    with working_on("packed and gates"):
        document = comparison(tuple(length or LENGTHS), size, agreements=tuple(agreement or AGREEMENTS))
    for one in document["not_run"]:
        say(f"Not run: the {one['engine']} engine: {one['reason']}")
    gate = document["gate_seconds"]
    times = "" if gate is None else f", at {gate['median']} s each ({gate['least']} to {gate['most']})"
    said = f"{document['date']}, {document['machine']}; {document['workload']}; gates by count{times}"
    answer(json, document, [said, *shown("computation", document)])


def _table(names: list[str], rows: list[dict[str, Any]]) -> Iterator[str]:
    """These figures of all rows."""
    from blindlabel_lab.experiments.tables import aligned, readable

    cells = [[one if isinstance(one := row[name], str) else readable(one) for name in names] for row in rows]
    return aligned([[name.replace("_", " ") for name in names], *cells])
