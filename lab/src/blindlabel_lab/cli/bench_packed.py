"""`blindlabel bench packed`: a round on the packed engine, measured."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json
from blindlabel.errors import InputError
from blindlabel_lab.bench.agreed import DEFAULT, AgreementOption


def packed(
    records: Annotated[int, typer.Option(min=1, help="Records, and questions.")] = 50,
    questions: Annotated[
        int, typer.Option(min=0, help="Ask this many of them only, a stripe of the whole; 0: as many as records.")
    ] = 0,
    length: Annotated[int, typer.Option(min=16, help="Characters of a record.")] = 148,
    needles: Annotated[int, typer.Option(min=1, max=24, help="Needles of a question.")] = 5,
    shape: Annotated[
        str, typer.Option(help="and, or (one OR), not (one negation), unless (an exception to it) or count (weights).")
    ] = "or",
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
    from blindlabel.engines.interface import EngineError
    from blindlabel_lab.bench.measured import keep
    from blindlabel_lab.bench.packed import SHAPES, measure

    if processor and workers > 1:
        raise InputError("--processor measures one process; leave out --workers.")
    if shape not in SHAPES:
        raise InputError(f"There is no shape {shape}; there are {', '.join(SHAPES)}.")
    load = round(os.getloadavg()[0], 1)
    try:
        figures = measure(
            shape, records, length, needles,
            questions=questions, workers=workers, said=agreement, processor=processor,
        )  # fmt: skip
    except EngineError as problem:
        raise InputError(str(problem)) from problem
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
