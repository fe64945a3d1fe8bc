"""`blindlabel owner questions …`, `owner log …` and `owner annotators`: the questions of a study, round by round; who
wrote them, how long it took, and how far two people agree. The log is for the owner alone and is never sent.
"""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from blindlabel.cli.output import JsonFlag, answer, group, result, result_json, say
from blindlabel.cli.stores import WorkspaceFolder, workspace_at
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.storage.workspace import Workspace


RoundOption = Annotated[int | None, Option("--round", min=1, help="Only this round. Default: all rounds.")]

questions_app = group("questions", "List, export and import your questions, round by round.")


@questions_app.command("list")
def list_(*, at: WorkspaceFolder, round: RoundOption = None, json: JsonFlag = False) -> None:
    """Show every saved question with its record, source, author and time."""
    from datetime import UTC, datetime

    from blindlabel.storage.annotations import questions_asked

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
def export_questions(
    *,
    at: WorkspaceFolder,
    to: Annotated[Path, Option(help="The new folder to write.")],
    log: Annotated[bool, Option("--log/--no-log", help="Whether the log goes with them, as log.csv.")] = True,
    json: JsonFlag = False,
) -> None:
    """Write every round's questions as one folder: files to read, and questions.csv with source, author and time of
    each. `owner questions import`, `owner run --questions` and `experiment replay` read it.
    """
    from blindlabel.parties.question_folders import write_folder
    from blindlabel.storage.annotations import questions_asked

    workspace = workspace_at(at)
    count = write_folder(to, workspace.name, workspace.agreement, questions_asked(workspace))
    if log:
        (to / "log.csv").write_text(visits_as_csv(workspace), "utf-8")
    answer(json, {"folder": str(to), "owner": workspace.name, "questions": count}, [str(to)])
    say(f"{count:,} questions of {workspace.name} written. They and the log say something about your records.")


@questions_app.command("suggest")
def suggest_questions(*, at: WorkspaceFolder, to: Annotated[Path, Option(help="The new folder to write.")]) -> None:
    """Write a suggested question for each record of the round that has none, as files to read and edit. `owner
    questions import` brings them back; nothing is saved or handed in by this.
    """
    from blindlabel.parties.question_folders import file_name
    from blindlabel.parties.questions import open_tasks, suggested, suggester_for

    workspace = workspace_at(at)
    tasks = [task for task in open_tasks(workspace) if task.question is None]
    if not tasks:
        raise InputError("There is nothing to suggest: no round is open, or all its questions are saved.")
    if to.exists():
        raise InputError(f"{to} already exists; choose a new folder.")
    own = workspace.records()
    texts, ids = suggested(workspace, suggester_for(workspace), tasks), {one.id for one in own}
    (to / f"round-{tasks[0].round}").mkdir(parents=True)
    for record, text in texts.items():
        name = file_name(own[record].position, own[record].id, ids)
        (to / f"round-{tasks[0].round}" / name).write_text(text, "utf-8")
    result(str(to))
    say(f"{len(texts):,} suggestions written. Edit them; then: blindlabel owner questions import {to} --at {at}")


@questions_app.command("import")
def import_(
    folder: Annotated[Path, Argument(help="A folder of .question files, written by hand or exported.")],
    *,
    at: WorkspaceFolder,
    json: JsonFlag = False,
) -> None:
    """Save the questions that a folder has for the current round. Those with an error become drafts; nothing is handed
    in.
    """
    from blindlabel.parties.questions import take_in_folder

    taken = take_in_folder(workspace_at(at), folder)
    counts = f"{taken.saved} saved, {len(taken.drafts)} drafts, {len(taken.missing)} without a file"
    answer(json, asdict(taken), [f"round {taken.round}: {counts}"])
    for record, wrong in taken.drafts.items():
        say(f"{record} has an error and is kept as a draft: {wrong}")
    if taken.unknown:
        say(f"Files about no record of this round: {', '.join(taken.unknown)}.")


log_app = group("log", "What people did in the web app, for studies of annotation.")


def _visits(workspace: Workspace) -> list[dict[str, Any]]:
    from blindlabel.storage.annotations import Annotations
    from blindlabel.web.practice import visits_of_practice

    ids = {own.record: own.id for own in workspace.records()}
    visits = [(visit, ids.get(visit.record, "")) for visit in Annotations(workspace).log()]
    return [{**asdict(visit), "id": own} for visit, own in (*visits_of_practice(workspace), *visits)]


def visits_as_csv(workspace: Workspace) -> str:
    """The annotation log as a CSV file."""
    from blindlabel.storage.annotations import Visit

    written = io.StringIO()
    rows = csv.DictWriter(written, [*(one.name for one in fields(Visit)), "id"], lineterminator="\n")
    rows.writeheader()
    rows.writerows(_visits(workspace))
    return written.getvalue()


@log_app.command("export")
def export_log(
    *,
    at: WorkspaceFolder,
    to: Annotated[Path | None, Option(help="The CSV file to write. Default: standard output.")] = None,
    json: JsonFlag = False,
) -> None:
    """Write the annotation log: one line each time a record was opened, with who, when, the suggestion shown, what was
    saved and how far it is from the suggestion. Times are seconds since 1970; round 0 is practice.
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
    names: Annotated[list[str] | None, Argument(help="Who annotates. Default: those known so far.")] = None,
    *,
    at: WorkspaceFolder,
    assigned: Annotated[
        bool, Option("--assigned", help="Give every record to one person, in turn. Otherwise everybody sees all.")
    ] = False,
    doubled: Annotated[float, Option(min=0.0, max=1.0, help="Share of records that two people are asked about.")] = 0.0,
    json: JsonFlag = False,
) -> None:
    """Name this owner's annotators and how they share the records. Shows how far they are, how their practice went, and
    how far two people agree about the same record, tried on your own rows.
    """
    from blindlabel.storage.annotations import name_team, team_of
    from blindlabel.web.annotators_agreement import standing_of

    workspace = workspace_at(at)
    team = name_team(workspace, names, assigned=assigned, doubled=doubled) if names else team_of(workspace)
    found = standing_of(workspace, team)
    if json:
        result_json(asdict(found))
        return
    for name, done in found.saved.items():
        result(f"{name}: {done:,} questions saved in this round")
    for name, practised in found.practice.items():
        result(f"{name} practised: {practised.sentence}")
    two = found.doubled
    if two.records:
        result(f"Given to two people: {two.records:,} records, {two.both:,} with both questions.")
    if two.both:
        result(
            f"They say the same about {two.same_answers:,} of {two.answers:,} rows of your table"
            f" (kappa {'–' if two.kappa is None else format(two.kappa, '.3f')})."
        )
