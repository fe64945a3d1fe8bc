"""`blindlabel coordinator plan`, `estimate` and `checked`: how many pairs of a linkage's candidates to label,
and what the labels say about the linkage.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from blindlabel.cli.output import JsonFlag, answer, result, say
from blindlabel.cli.stores import DatabaseAddress, Home, StudyName, coordinator_from
from blindlabel.errors import InputError

CandidatesFile = Annotated[Path, Argument(help="The linkage's list: row_a,row_b,score[,linked]; rows count from 0.")]
Enriched = Annotated[str, Option("--enriched", help="Sample more likely partners, by keys made from these attributes.")]
CandidatesOption = Annotated[
    Path | None, Option(help="Label pairs of a list: row_a,row_b,score[,linked], rows from 0.")
]
Threshold = Annotated[float | None, Option(help="The score from which pairs are linked, without a column `linked`.")]
TableRows = Annotated[tuple[int, int] | None, Option(help="Rows of the first owner's table, then of the second's.")]
Checked = Annotated[int, Option(min=0, help="Pairs of each class to check in clear, so that an estimate has a value.")]
Estimates = Annotated[bool, Option("--estimates", help="Draw rows uniformly instead, and estimate from them.")]


def agreed_sampling(
    owners: list[str],
    records: int | None,
    enriched: list[str],
    candidates: Path | None,
    threshold: float | None,
    rows: tuple[int, int] | None,
    *,
    estimates: bool,
    checked: int,
) -> dict[str, Any]:
    """The section [sampling] of an agreement, from the options of `coordinator new`. Says what will be drawn."""
    from blindlabel.estimates import read_candidates

    if enriched and (candidates or estimates):
        raise InputError("An enriched sample says nothing about recall: use --enriched without --candidates.")
    if candidates is None:
        if estimates or checked:
            raise InputError("An estimate is about a linkage: name its list with --candidates.")
        method = {"method": "enriched", "blocking": enriched} if enriched else {}
        return {"records": 50 if records is None else records} | method
    if rows is None or len(owners) != 2:
        raise InputError("--candidates needs two owners, and --rows with the sizes of the linkage's tables.")
    found, wanted = read_candidates(candidates, threshold=threshold, rows=rows, numbers=True), records or 200
    if not estimates:
        for part, drawn in zip(found.strata, found.allocation(wanted)):
            side, scores = "linked" if found.linked[part[0]] else "not linked", found.scores[[part[-1], part[0]]]
            say(f"{side}, scores {scores[0]:g} to {scores[1]:g}: {drawn} of {len(part):,} pairs will be drawn")
        wanted = sum(found.allocation(wanted))
    agreed = {"method": "uniform" if estimates else "candidates", "estimates": estimates, "records": wanted}
    agreed["checked"] = checked
    return agreed | {"candidates": found.hash, "threshold": threshold, "tables": dict(zip(owners, rows))}


_PLANNED = {
    "sampling": "sampling",
    "pairs": "pairs that are labelled",
    "records": "records of each owner, at most",
    "matches": "matches to expect among them",
    "precision_width": "half width of precision",
    "recall_width": "half width of recall",
    "expert_hours": "hours of each expert in round 1",
    "machine_hours": "hours of a core for a full round",
    "owner_bits": "bits that an owner learns at most",
    "coordinator_bits": "bits that the coordinator learns",
}


def plan(
    *,
    rows: Annotated[tuple[int, int], Option(help="Rows of the first table and of the second.")],
    linked: Annotated[int, Option(min=1, help="Pairs that the linkage links.")],
    listed: Annotated[int, Option("--list", min=1, help="Candidate pairs in the list, including the linked ones.")],
    width: Annotated[float, Option(min=0.01, max=0.5, help="The half width you want.")] = 0.1,
    precision: Annotated[float, Option(min=0.05, max=1.0, help="What you expect.")] = 0.9,
    recall: Annotated[float, Option(min=0.05, max=1.0, help="What you expect.")] = 0.9,
    json: JsonFlag = False,
) -> None:
    """Plan a sample: how many pairs drawn from candidates, or how many uniformly drawn rows, give the width you want,
    and what that costs.
    """
    from blindlabel.estimates.planner import list_of, plans
    from blindlabel.parties.accounting import account_of, costs_of
    from blindlabel.protocol import agreement as agreements

    if not linked <= listed <= rows[0] * rows[1]:
        raise InputError("The list has at least as many pairs as are linked, and at most one for every two rows.")
    table: list[dict[str, Any]] = []
    for planned in plans(list_of(linked, listed), rows, width, precision, recall):
        agreement = agreements.new("plan", ("a", "b"), ("name",), sampling={"records": planned.records})
        row = asdict(planned) | {"cannot_be": ""}
        try:
            coordinator, owner = account_of(agreement).entries[:2]
            costs = costs_of(agreement)
            row |= {"expert_hours": costs.expert_hours, "machine_hours": (costs.seconds or 0.0) / 3600}
            row |= {"owner_bits": owner.honest, "coordinator_bits": coordinator.honest}
        except InputError as error:
            row["cannot_be"] = str(error)
        table.append(row)

    def cell(one: object) -> str:
        return f"{one:>14,.3g}" if isinstance(one, float) else f"{one!s:>14}"

    lines = {words: "".join(cell(row.get(name, "–")) for row in table) for name, words in _PLANNED.items()}
    answer(json, table, (f"{words:38}{cells}" for words, cells in lines.items()))
    for row in table:
        if row["cannot_be"]:
            say(f"{row['sampling']}: {row['cannot_be']}")


def estimate(
    study: StudyName,
    candidates: CandidatesFile,
    *,
    at: Home,
    checked: Annotated[
        list[Path] | None, Option(help="An owner's file of checked pairs, filled in; once for each owner.")
    ] = None,
    plot: Annotated[Path | None, Option(help="Write the curve as a picture (SVG).")] = None,
    database: DatabaseAddress = None,
    json: JsonFlag = False,
) -> None:
    """When the study is over: estimate precision, recall and F of the linkage whose list it was about, with 95 %
    intervals, and the curve by threshold. Labels alone give a band, checked pairs a value.
    """
    from blindlabel.estimates.estimating import TOLD, write_plot
    from blindlabel.export.formats import replacing

    found = coordinator_from(at, database).estimate(study, candidates, checked=checked or [])
    if plot is not None:
        replacing(plot, lambda path: write_plot(path, found.curve))
    shown = [f"precision {found.precision}", f"recall    {found.recall}", f"F         {found.f}"]
    for point in found.curve:
        figures = {"P": point.precision, "R": point.recall, "F": point.f}
        if said := [f"{name} {figure}" for name, figure in figures.items() if not figure.cannot_say]:
            shown.append(f"  from {point.threshold:g}, {point.linked:,} linked: {'; '.join(said)}")
    answer(json, asdict(found) | {"told": TOLD}, shown)
    for sentence in (*found.notes, TOLD):
        say(sentence)


def checked(
    study: StudyName,
    candidates: CandidatesFile,
    *,
    at: Home,
    to: Annotated[Path, Option(help="Folder for the files, one for each owner.")],
    database: DatabaseAddress = None,
) -> None:
    """Draw the pairs that both owners' experts are to check in clear, as the agreement says, and write a file for each
    owner. They are drawn once: the next time, the same pairs are written.
    """
    for path in coordinator_from(at, database).checked_pairs(study, candidates, to=to):
        result(str(path))
    say("Hand each to its owner, for `blindlabel owner checked`.")
    say("`coordinator estimate --checked` takes both filled in.")
