"""`blindlabel suggest`: a question for each record of a table, from that table alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json
from blindlabel.errors import InputError


def suggest(
    records: Annotated[Path, typer.Argument(help="The own table: CSV, JSON lines or Parquet.")],
    attributes: Annotated[
        str | None, typer.Option("--attributes", help="Columns to use, joined by commas. Else all but the id.")
    ] = None,
    row_id: Annotated[
        list[str] | None, typer.Option("--id", help="Only the row with this id; may be given several times.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id-column", help="The column that holds the ids; else id where there is one.")
    ] = None,
    round: Annotated[int, typer.Option("--round", min=1, help="The round: later ones ask for less.")] = 1,
    prepare: Annotated[
        str | None,
        typer.Option(
            "--prepare", help="Text preparation steps, joined by commas, as in the agreement. Else nfkc,collapse_space."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Suggest a question for each record: what to look for in the other table, from the rarity of its words in this
    one.

    Ids choose rows and are shown, but never looked at by the suggestion.
    """
    from blindlabel.language.suggestions import Suggester
    from blindlabel.records.preparation import DEFAULT_STEPS, check_steps, gives_lower_case
    from blindlabel.records.preparation import prepare as prepared
    from blindlabel.records.tables import read_table

    chosen = _listed(attributes, "--attributes")
    steps = check_steps(_listed(prepare, "--prepare") or DEFAULT_STEPS)
    table = read_table(records, id_column=id_column, attributes=chosen)
    rows = [prepared(table.row(position), table.attributes, steps) for position in range(len(table))]
    suggester = Suggester(rows, table.attributes, lowered=gives_lower_case(steps))
    positions = range(len(table)) if row_id is None else [table.position(one) for one in row_id]
    found = [(table.ids[position], suggester.suggest(rows[position], round)) for position in positions]
    if json:
        suggestions = [{"id": own, "question": one.question, "why": one.why} for own, one in found]
        result_json(
            {"table": str(records), "attributes": list(table.attributes), "round": round, "suggestions": suggestions}
        )
        return
    for place, (own, one) in enumerate(found):
        if place:
            result("")
        result(f"# {own}: {one.why}")
        result(one.question.rstrip("\n"))


def _listed(text: str | None, option: str) -> list[str] | None:
    """The parts of a comma-separated option."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{option} has an empty name in {text!r}.")
    return parts
