"""`blindlabel coordinator plan`, `draw` and `estimate`: how many pairs of a linkage's candidates to label, which, and
what their labels say about the linkage.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, result, result_json, say
from blindlabel.errors import InputError

CandidatesFile = Annotated[
    Path, typer.Argument(help="Candidate pairs: row_a,row_b (from 0) or id_a,id_b, then score[,linked].")
]
Threshold = Annotated[
    float | None, typer.Option("--threshold", help="Pairs with this score or more are linked, unless `linked` says so.")
]
TableRows = Annotated[tuple[int, int] | None, typer.Option("--rows", help="Rows of the first table and of the second.")]
MINUTES = 1.5
"""Of an expert for one record in round 1, with suggestions."""


def draw(
    candidates: CandidatesFile,
    *,
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="How many to draw.")] = 200,
    threshold: Threshold = None,
    rows: TableRows = None,
    to: Annotated[Path, typer.Option("--to", help="The list to write, with what was drawn; keep it to yourself.")],
    json: JsonFlag = False,
) -> None:
    """Draw pairs to be labelled from a linkage's candidates, by strata of score. `coordinator estimate` needs the list
    that is written; owners need nothing of it but their own rows.
    """
    from blindlabel.estimates import read_candidates
    from blindlabel.export.formats import replacing

    found = read_candidates(candidates, threshold=threshold, rows=rows).draw(pairs)
    replacing(to, found.write)
    drawn = [pair for pair, is_drawn in zip(found.pairs, found.drawn) if is_drawn]
    records = [len(set(side)) for side in zip(*drawn)]
    if json:
        result_json({"file": str(to), "hash": found.hash, "pairs": len(drawn), "records": records})
        return
    for part in found.strata:
        side, scores = "linked" if found.linked[part[0]] else "not linked", found.scores[[part[-1], part[0]]]
        result(f"{side}, scores {scores[0]:g} to {scores[1]:g}: {found.drawn[part].sum()} of {len(part):,} pairs")
    say(f"{to}: {len(drawn)} pairs of {records[0]} and {records[1]} records. The list's hash is {found.hash}.")


def plan(
    *,
    rows: Annotated[tuple[int, int], typer.Option("--rows", help="Rows of the first table and of the second.")],
    linked: Annotated[int, typer.Option("--linked", min=1, help="Pairs that the linkage links.")],
    listed: Annotated[int, typer.Option("--list", min=1, help="Candidate pairs in the list, with those linked.")],
    width: Annotated[float, typer.Option("--width", min=0.01, max=0.5, help="Half width that is wanted.")] = 0.1,
    precision: Annotated[float, typer.Option("--precision", min=0.05, max=1.0, help="As you expect it.")] = 0.9,
    recall: Annotated[float, typer.Option("--recall", min=0.05, max=1.0, help="As you expect it.")] = 0.9,
    json: JsonFlag = False,
) -> None:
    """Plan a sample: for pairs drawn from candidates and for uniformly drawn rows, how many give the width, and what
    that takes.
    """
    from blindlabel.estimates.planner import list_of, plans
    from blindlabel.parties.accounting import account_of, costs_of
    from blindlabel.protocol import agreement as agreements

    if not linked <= listed <= rows[0] * rows[1]:
        raise InputError("The list has at least the linked pairs, and at most every pair of rows.")
    table: list[dict[str, Any]] = []
    for planned in plans(list_of(linked, listed), rows, width, precision, recall):
        agreement = agreements.new("plan", ("a", "b"), ("name",), sampling={"records": planned.records})
        row = asdict(planned) | {"expert_hours": planned.records * MINUTES / 60, "cannot_be": ""}
        try:
            coordinator, owner = account_of(agreement).entries[:2]
            row |= {"machine_hours": (costs_of(agreement).seconds or 0.0) / 3600}
            row |= {"owner_bits": owner.honest, "coordinator_bits": coordinator.honest}
        except InputError as error:
            row["cannot_be"] = str(error)
        table.append(row)
    if json:
        result_json(table)
        return
    for name in [name for name in table[0] | table[1] if name != "cannot_be"]:
        values = (row.get(name, "–") for row in table)
        result(f"{name:16}" + "".join(f"{one:>14,.3g}" if isinstance(one, float) else f"{one!s:>14}" for one in values))
    for row in table:
        if row["cannot_be"]:
            say(f"{row['sampling']}: {row['cannot_be']}")


def estimate(
    candidates: CandidatesFile,
    labels: Annotated[Path, typer.Argument(help="The labels, as `coordinator export` or `merge` writes them.")],
    *,
    agreed: Annotated[str, typer.Option("--hash", help="The list's hash as it was before labelling.")] = "",
    threshold: Threshold = None,
    rows: TableRows = None,
    checked: Annotated[
        Path | None, typer.Option("--checked", help="Pairs that both owners settled in clear: a file like the labels.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Write the curve as a picture (SVG).")] = None,
    json: JsonFlag = False,
) -> None:
    """Estimate precision, recall and F of a linkage from labels of drawn pairs (or of uniformly drawn rows, where the
    list has none), with 95 % intervals, and the curve by threshold. Labels alone give a band, checked pairs a value.
    """
    from blindlabel.estimates import estimate as estimated
    from blindlabel.estimates import read_candidates
    from blindlabel.estimates.curve_plot import write_plot
    from blindlabel.estimates.estimating import TOLD
    from blindlabel.export import read_ground_truth
    from blindlabel.export.formats import replacing

    listed = read_candidates(candidates, threshold=threshold, rows=rows)
    if agreed and listed.hash != agreed:
        raise InputError(f"{candidates.name} is not the list with this hash. After labelling it must not change.")
    clear = None if checked is None else read_ground_truth(checked)
    settled = {(clear.name_a(one.i), clear.name_b(one.j)): one.label for one in clear.pairs} if clear else {}
    found = estimated(listed, read_ground_truth(labels), rows=rows, checked=settled)
    if plot is not None:
        replacing(plot, lambda path: write_plot(path, found.curve))
    if json:
        result_json(asdict(found) | {"told": TOLD})
        return
    for name, figure in (("precision", found.precision), ("recall", found.recall), ("F", found.f)):
        result(f"{name:9} {figure}")
    for point in found.curve:
        result(
            f"  from {point.threshold:g}, {point.linked:,} linked: P {point.precision}; R {point.recall}; F {point.f}"
        )
    for sentence in (*found.notes, TOLD):
        say(sentence)
