"""`blindlabel coordinator score`: how well did a linkage do, by the labels of a study?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindlabel.cli.opening import coordinator_at
from blindlabel.cli.output import JsonFlag, result, result_json, say


def score(
    study: Annotated[str, typer.Argument(help="The study's name, or the beginning of its hash.")],
    *,
    at: Annotated[Path, typer.Option("--at", help="The coordinator's folder: database, bodies and keys.")],
    pairs: Annotated[
        Path, typer.Option("--pairs", help="Predicted matches: a table with a column of row positions for each owner.")
    ],
    database: Annotated[
        str | None, typer.Option("--database", help="Address of a PostgreSQL database.", envvar="BLINDLABEL_DATABASE")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Judge a linkage by the labels of the study: precision, recall and F over the sampled rows. Pairs that the owners
    never agreed on are left out.
    """
    from blindlabel.export.scoring import read_pairs
    from blindlabel.export.scoring import score as judged
    from blindlabel.export.studies import truths_of_coordinator

    coordinator = coordinator_at(at, database)
    truths = truths_of_coordinator(coordinator, coordinator.find(study))
    predicted = read_pairs(pairs, truths)
    found = {"-".join(pairing): judged(truths[pairing], cells) for pairing, cells in predicted.items()}
    if json:
        result_json({name: one.to_json() for name, one in found.items()})
        return
    for name, one in found.items():
        result(f"{name}: precision {one.precision:.3f}, recall {one.recall:.3f}, F {one.f:.3f}")
        say(
            f"  {one.right} of {one.predicted} predicted pairs are among the {one.matches} matches; left out:"
            f" {one.discarded} without agreement, {one.outside} outside the sample."
        )
