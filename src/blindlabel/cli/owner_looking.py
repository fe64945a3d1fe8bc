"""`blindlabel owner check` and `owner records`: looking at a table before joining, at the sample afterwards, and at
questions before they are handed in.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, result, result_json, say, working_on
from blindlabel.cli.stores import WorkspaceFolder, agreement_in, workspace_at
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.storage.workspace import Workspace

IdColumn = Annotated[str | None, typer.Option("--id-column", help="The column with the rows' ids. Default: `id`.")]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="attribute=column, where your column has another name; attribute= where the table has none. Repeatable.",
    ),
]
TextEncoding = Annotated[
    str | None, typer.Option("--encoding", help="Text encoding of the table, when it is not UTF-8.")
]


def columns_given(column: list[str] | None) -> dict[str, str] | None:
    """What --column says: attribute to column; to nothing where the table has none."""
    pairs = [one.partition("=") for one in column or []]
    if any(not sign or not attribute for attribute, sign, _ in pairs):
        raise InputError("--column takes attribute=column, or attribute= where the table has no such column.")
    return {attribute: name for attribute, _, name in pairs} or None


def check(
    agreement: Annotated[Path, typer.Argument(help="The agreement, or an invitation, which holds it.")],
    table: Annotated[Path, typer.Argument(help="Your table: CSV, JSON lines or Parquet.")],
    *,
    id_column: IdColumn = None,
    column: ColumnOption = None,
    encoding: TextEncoding = None,
    json: JsonFlag = False,
) -> None:
    """Say whether a table fits an agreement, before joining: columns, ids, lengths, values lost in preparation,
    duplicates. Nothing is sent or kept. The exit code is 1 where `owner join` would refuse it.
    """
    from blindlabel.parties.joining import TableOptions, fit_of

    agreed = agreement_in(agreement)
    with working_on(f"reading {table.name}"):
        fit = fit_of(agreed, TableOptions(table, id_column, columns_given(column), encoding))
    if json:
        result_json(fit.to_json())
    else:
        for line in fit.lines(agreed):
            result(line)
    if not fit.fits:
        raise typer.Exit(1)


def _value(raw: str, prepared: str) -> str:
    from blindlabel.records.preparation import is_another

    return f"{raw} (asked as {prepared or 'nothing'})" if is_another(raw, prepared) else raw


def records(*, at: WorkspaceFolder, json: JsonFlag = False) -> None:
    """List the sampled records with their ids and how far their questions of this round are."""
    workspace = workspace_at(at)
    own, tasks = workspace.records(), {task.record: task for task in workspace.tasks()}
    if not own:
        raise InputError("The sample has not been drawn yet, so there are no records to list.")
    rows: list[dict[str, Any]] = [
        {
            "record": record.record,
            "row": record.position,
            "id": record.id,
            "state": tasks[record.record].state if record.record in tasks else "not asked",
            "source": tasks[record.record].source if record.record in tasks else "",
            "values": record.row,
            "prepared": dict(record.prepared.attributes),
        }
        for record in own
    ]
    if json:
        result_json(rows)
        return
    for row in rows:
        pairs = ((value, row["prepared"].get(name, "")) for name, value in row["values"].items() if value)
        values = " | ".join(_value(raw, prepared) for raw, prepared in pairs)
        source = f" ({row['source']})" if row["source"] else ""
        result(f"{row['id']}  {row['state']}{source}  {values}")


def name_risky(workspace: Workspace) -> None:
    """Name the questions that the page would show in red, before they are handed in."""
    from blindlabel.parties.questions import check_question, open_tasks
    from blindlabel.web.judging import Judging

    judging, records = Judging(workspace), workspace.records()
    for task in open_tasks(workspace):
        formula = check_question(workspace.agreement, task.question or "").formula
        if formula is not None:
            found = judging.verdict(records[task.record], task.question or "", formula)
            if found.level == "bad":
                say(f"NOTE: the question of {records[task.record].id} is handed in as it is: {found.headline}.")
