"""`blindlabel owner check`, `records`, `preview` and `table`: looking at a table before joining, at the sample
afterwards, and at questions before they are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from blindlabel.cli.output import JsonFlag, answer, result, result_json, say, with_noun, working_on
from blindlabel.cli.stores import IdColumn, TextEncoding, WorkspaceFolder, agreement_in, workspace_at
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.parties.questions import Look
    from blindlabel.storage.workspace import Workspace

ColumnOption = Annotated[
    list[str] | None, Option(help="attribute=column, or attribute= if your table has no such column. Repeatable.")
]
Delimiter = Annotated[str | None, Option(help="What separates values: one character, or tab. Default: detected.")]


def columns_given(column: list[str] | None) -> dict[str, str] | None:
    """What --column says: attribute to column, or to nothing if the table has none."""
    pairs = [one.partition("=") for one in column or []]
    if any(not sign or not attribute for attribute, sign, _ in pairs):
        raise InputError("--column takes attribute=column, or attribute= if the table has no such column.")
    return {attribute: name for attribute, _, name in pairs} or None


def check(
    agreement: Annotated[Path, Argument(help="The agreement, or an invitation, which holds it.")],
    table: Annotated[Path, Argument(help="Your table: CSV, JSON lines, Parquet or Excel.")],
    *,
    id_column: IdColumn = None,
    column: ColumnOption = None,
    encoding: TextEncoding = None,
    delimiter: Delimiter = None,
    json: JsonFlag = False,
) -> None:
    """Say whether a table fits an agreement, before joining: columns, ids, lengths, values lost in preparation,
    duplicates. Nothing is sent or kept. The exit code is 1 if `owner join` would refuse it.
    """
    from blindlabel.parties.joining import TableOptions, fit_of

    agreed = agreement_in(agreement)
    with working_on(f"reading {table.name}"):
        fit = fit_of(agreed, TableOptions(table, id_column, columns_given(column), encoding, delimiter))
    answer(json, asdict(fit), fit.lines(agreed))
    if not fit.fits:
        raise typer.Exit(1)


def _value(raw: str, prepared: str) -> str:
    from blindlabel.records.preparation import is_another

    return f"{raw} (asked as {prepared or 'nothing'})" if is_another(raw, prepared) else raw or "(empty)"


def records(*, at: WorkspaceFolder, json: JsonFlag = False) -> None:
    """List the sampled records with their ids and the state of this round's questions."""
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
        pairs = ((value, row["prepared"].get(name, "")) for name, value in row["values"].items())
        values = " | ".join(_value(raw, prepared) for raw, prepared in pairs)
        source = f" ({row['source']})" if row["source"] else ""
        result(f"{row['id']}  {row['state']}{source}  {values}")


def preview(*, at: WorkspaceFolder, json: JsonFlag = False) -> None:
    """Show what will leave this machine next, before it does: each message and body, how large it is, for whom it is
    sealed, and which line of the account of bits it belongs to. Nothing is made or sent.
    """
    from blindlabel.parties.accounting import size
    from blindlabel.parties.previewing import Preview
    from blindlabel.protocol.shape import COORDINATOR

    found = Preview(workspace_at(at)).departures()
    if json:
        result_json([asdict(one) for one in found])
        return
    for one in found:
        passed_on = "" if one.receiver == COORDINATOR else f", who passes it on to {one.receiver}"
        about = "" if one.exact else "about "
        body = f"; body of {about}{size(one.body)}, sealed for {one.receiver}" if one.body else ""
        named = [one.kind, *([f"round {one.round}"] if one.round else []), *filter(None, [one.about])]
        result(f"{', '.join(named)}: {'waits to be sent' if one.made else 'to be made'}")
        result(f"  letter of {size(one.letter)}, sealed for the coordinator{passed_on}{body}")
        result(f"  account: {one.line}. Tells {one.tells}.")
    if not found:
        say("Nothing leaves until the coordinator says more.")


def table(file: Annotated[Path, Argument(help="Where your table is now.")], *, at: WorkspaceFolder) -> None:
    """Say where your table is now, if it has moved. It must be the same table: the same rows, order and values."""
    from blindlabel.parties.joining import point_to

    point_to(workspace_at(at), file)
    result(str(file.resolve()))


def looking_at(workspace: Workspace, *, anyway: bool) -> Look:
    """Looks at questions before they are handed in: refuses those that the page would show in red, or names them if
    they are handed in anyway.
    """

    def look(texts: Mapping[int, str]) -> None:
        red = _red(workspace, texts) if texts else {}
        if red and not anyway:
            named = "; ".join(f"{record}: {why}" for record, why in red.items())
            raise InputError(
                f"{len(red):,} of {with_noun(len(texts), 'question', 'questions')} look wrong, and nothing was"
                f" handed in ({named}). Fix them, or add --anyway to hand them in as they are."
            )
        for record, why in red.items():
            say(f"NOTE: the question of {record} is handed in as it is: {why}.")

    return look


def _red(workspace: Workspace, texts: Mapping[int, str]) -> dict[str, str]:
    """The records whose questions the page would show in red, by id, and what it would say."""
    from blindlabel.parties.questions import check_question
    from blindlabel.web.judging import Judging

    judging, records, red = Judging(workspace), workspace.records(), {}
    for record, text in texts.items():
        if check_question(workspace.agreement, text).ok:
            found = judging.verdict(records[record], text)
            if found.level == "bad":
                red[records[record].id] = found.headline
    return red
