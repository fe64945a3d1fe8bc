"""`blindlabel owner questions …`: list, export and import the questions of a study, round by round."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from blindlabel.cli.opening import WorkspaceFolder, workspace_at
from blindlabel.cli.output import JsonFlag, result, result_json, say

RoundOption = Annotated[int | None, typer.Option("--round", min=1, help="Only this round. Default: all of them.")]

questions_app = typer.Typer(
    name="questions", help="List, export and import your questions, round by round.", no_args_is_help=True
)


@questions_app.command("list")
def list_(*, at: WorkspaceFolder, round: RoundOption = None, json: JsonFlag = False) -> None:
    """Show every saved question with its record, source, author and time."""
    from datetime import UTC, datetime

    from blindlabel.storage.asked import questions_asked

    found = [one for one in questions_asked(workspace_at(at)) if round in (None, one.round)]
    if json:
        result_json([asdict(one) for one in found])
        return
    for one in found:
        saved = "" if one.saved is None else f", {datetime.fromtimestamp(one.saved, UTC):%Y-%m-%d %H:%M} UTC"
        by = f", {one.author}" if one.author else ""
        result(f"round {one.round}, record {one.id} ({one.source or 'source not known'}{by}{saved})")
        for line in one.text.rstrip().splitlines():
            result(f"    {line}")
    say(f"{len(found):,} questions.")


@questions_app.command("export")
def export(
    *,
    at: WorkspaceFolder,
    to: Annotated[Path, typer.Option("--to", help="The new folder to write.")],
    log: Annotated[
        bool, typer.Option("--log/--no-log", help="Whether the annotation log goes with them, as log.csv.")
    ] = True,
    json: JsonFlag = False,
) -> None:
    """Write every round's questions as one folder: files to read, and questions.csv with source, author and time of
    each. `owner questions import`, `owner run --questions` and `experiment replay` read it.
    """
    from blindlabel.cli.annotators import visits_as_csv
    from blindlabel.parties.question_folders import write_folder
    from blindlabel.storage.asked import questions_asked

    workspace = workspace_at(at)
    count = write_folder(to, workspace.name, workspace.agreement, questions_asked(workspace))
    if log:
        (to / "log.csv").write_text(visits_as_csv(workspace), "utf-8")
    if json:
        result_json({"folder": str(to), "owner": workspace.name, "questions": count})
    else:
        result(str(to))
        say(f"{count:,} questions of {workspace.name} written. They and the log say something of your records.")


@questions_app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="A folder of .question files, written by hand or exported.")],
    *,
    at: WorkspaceFolder,
    json: JsonFlag = False,
) -> None:
    """Save the questions that a folder has for the current round. Those with an error become drafts; nothing is handed
    in.
    """
    from blindlabel.parties.questions import take_in_folder

    taken = take_in_folder(workspace_at(at), folder)
    if json:
        result_json(asdict(taken))
        return
    result(f"round {taken.round}: {taken.saved} saved, {len(taken.drafts)} drafts, {len(taken.missing)} without a file")
    if taken.drafts:
        say(f"With errors, kept as drafts: {', '.join(taken.drafts)}.")
    if taken.unknown:
        say(f"Of no record of this round: {', '.join(taken.unknown)}.")
