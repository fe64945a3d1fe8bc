"""`blindlabel owner log …` and `blindlabel owner annotators`: who wrote the questions, how long it took, and how far
two people agree. For the owner alone: nothing of it is ever sent.
"""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blindlabel.cli.opening import WorkspaceFolder, workspace_at
from blindlabel.cli.output import JsonFlag, result, result_json, say

if TYPE_CHECKING:
    from blindlabel.storage.workspace import Workspace


log_app = typer.Typer(
    name="log", help="What people did in the web app, for studies of annotation.", no_args_is_help=True
)


def _visits(workspace: Workspace) -> list[dict[str, Any]]:
    from blindlabel.storage.annotations import Annotations

    ids = {own.record: own.id for own in workspace.records()}
    return [{**asdict(visit), "id": ids.get(visit.record, "")} for visit in Annotations(workspace).log()]


def visits_as_csv(workspace: Workspace) -> str:
    """The annotation log as a CSV file."""
    from blindlabel.storage.annotations import Visit

    written = io.StringIO()
    rows = csv.DictWriter(written, [*(one.name for one in fields(Visit)), "id"], lineterminator="\n")
    rows.writeheader()
    rows.writerows(_visits(workspace))
    return written.getvalue()


@log_app.command("export")
def export(
    *,
    at: WorkspaceFolder,
    to: Annotated[Path | None, typer.Option("--to", help="The CSV file to write; standard output unless said.")] = None,
    json: JsonFlag = False,
) -> None:
    """Write the annotation log: one line for each opening of a record, with who, when, the suggestion shown, what was
    saved and how far it is from the suggestion. Times are seconds since 1970.
    """
    workspace = workspace_at(at)
    visits = _visits(workspace)
    if json:
        result_json({"study": workspace.agreement.name, "owner": workspace.name, "visits": visits})
        return
    text = visits_as_csv(workspace)
    if to is None:
        result(text.rstrip("\n"))
    else:
        to.write_text(text, "utf-8")
        say(f"{len(visits):,} visits written to {to}.")


def annotators(
    names: Annotated[list[str] | None, typer.Argument(help="Who annotates; those known so far unless said.")] = None,
    *,
    at: WorkspaceFolder,
    assigned: Annotated[
        bool, typer.Option("--assigned", help="Give every record to one person, in turn; else all see all.")
    ] = False,
    doubled: Annotated[
        float, typer.Option("--doubled", min=0.0, max=1.0, help="Share of records that two people are asked about.")
    ] = 0.0,
    json: JsonFlag = False,
) -> None:
    """Name the annotators of this owner and how they share the records; say how far they are and how far two people
    agree about the same record, tried on your own rows.
    """
    from blindlabel.storage.team import name_team, team_of
    from blindlabel.web.annotators_agreement import standing_of

    workspace = workspace_at(at)
    team = name_team(workspace, names, assigned=assigned, doubled=doubled) if names else team_of(workspace)
    found = standing_of(workspace, team)
    if json:
        result_json(found.to_json())
        return
    for name, done in found.saved.items():
        result(f"{name}: {done:,} questions saved in this round")
    two = found.doubled
    if two.records:
        result(f"Asked of two: {two.records:,} records, {two.both:,} with both questions.")
    if two.both:
        result(
            f"They say the same about {two.same_answers:,} of {two.answers:,} own rows"
            f" (kappa {'–' if two.kappa is None else format(two.kappa, '.3f')})."
        )
