"""`blindlabel bench language`: checking and interpreting on clear records."""

from __future__ import annotations

from typing import Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json


def language(
    records: Annotated[int, typer.Option(min=1, help="Questions, and records.")] = 50,
    length: Annotated[int, typer.Option(min=1, help="Characters of a record.")] = 148,
    predicates: Annotated[int, typer.Option(min=5, max=200, help="Predicates of a question.")] = 10,
    json: JsonFlag = False,
) -> None:
    """Measure checking and interpreting questions on clear records."""
    from blindlabel_lab.bench.language import measure

    figures = measure(records, length, predicates)
    if json:
        result_json(figures.to_json())
        return
    pairs = figures.questions * figures.records
    result(f"{figures.questions} questions of {predicates} predicates checked in {figures.check_seconds:.3f} s")
    result(f"{pairs:,} pairs of {length} characters interpreted in {figures.interpret_seconds:.3f} s")
    result(f"the same by formula in {figures.formula_seconds:.3f} s; total {figures.total_seconds:.3f} s")
