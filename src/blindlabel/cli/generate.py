"""`blindlabel generate`: two synthetic tables and the truth about them, to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json
from blindlabel.errors import InputError


def generate(
    kind: Annotated[str, typer.Argument(help="What to make: persons or products.")],
    *,
    out: Annotated[Path, typer.Option("--out", help="Folder for a.csv, b.csv and matches.csv.")],
    rows: Annotated[int, typer.Option("--rows", help="Rows of each table.")] = 1000,
    duplicates: Annotated[
        int | None, typer.Option("--duplicates", help="Rows of b that are about a row of a. Default: half of the rows.")
    ] = None,
    overlap: Annotated[float | None, typer.Option("--overlap", help="The same as a share of the rows, 0 to 1.")] = None,
    copies: Annotated[int, typer.Option("--copies", help="Rows of b about the same row of a, at most.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same tables.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    json: JsonFlag = False,
) -> None:
    """Make two synthetic tables with typical errors, and the pairs that belong together.

    Persons have the error kinds of Febrl (typing, scanning, hearing, swapped and missing values). Ids are random and
    tell nothing.
    """
    from blindlabel.records.generator import Size, write
    from blindlabel.records.generator import generate as make

    if duplicates is not None and overlap is not None:
        raise InputError("Give either --duplicates or --overlap, not both.")
    if overlap is not None and not 0 <= overlap <= 1:
        raise InputError(f"The overlap is a share from 0 to 1, not {overlap:g}.")
    if duplicates is None:
        duplicates = round(rows * (0.5 if overlap is None else overlap))
    made = make(kind, Size(rows, duplicates, copies), seed)
    paths = write(made, out, replace=force)
    if json:
        files = [str(path) for path in paths]
        result_json(
            {
                "kind": kind,
                "seed": seed,
                "rows_a": len(made.a),
                "rows_b": len(made.b),
                "matches": len(made.matches),
                "files": files,
            }
        )
    else:
        result(f"{len(made.a)} and {len(made.b)} rows, {len(made.matches)} matches: {', '.join(map(str, paths))}")
