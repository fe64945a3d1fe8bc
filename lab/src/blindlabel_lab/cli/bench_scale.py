"""`blindlabel bench scale`: what a round costs as a study grows, with one worker process and with two."""

from __future__ import annotations

from typing import Annotated

import typer

from blindlabel.cli.output import JsonFlag, progress_bar, result, result_json
from blindlabel.errors import InputError
from blindlabel_lab.bench.agreed import DEFAULT, AgreementOption


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
    shape: Annotated[
        str, typer.Option(help="and, or (one OR), not (one negation), unless (an exception to it) or count (weights).")
    ] = "or",
    agreement: AgreementOption = DEFAULT,
    length: Annotated[int, typer.Option(min=16, help="Characters of a record.")] = 148,
    json: JsonFlag = False,
) -> None:
    """Measure time, bytes and memory per pair as a study grows; every party in a process of its own."""
    from blindlabel.engines.interface import EngineError
    from blindlabel_lab.bench.packed import SHAPES
    from blindlabel_lab.bench.scale import measure

    if shape not in SHAPES:
        raise InputError(f"There is no shape {shape}; there are {', '.join(SHAPES)}.")
    try:
        with progress_bar() as bar:
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
    except EngineError as problem:
        raise InputError(str(problem)) from problem
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
