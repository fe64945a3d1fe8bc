"""`blindlabel owner audit` and `blindlabel coordinator audit`: were these the questions that somebody handed in?"""

from __future__ import annotations

import json as json_
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from blindlabel.cli.output import JsonFlag, answer, result, say
from blindlabel.cli.stores import DatabaseAddress, Home, StudyName, WorkspaceFolder, coordinator_at, workspace_at
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.parties.auditing import Audited, Opening

OpenedFile = Annotated[Path, Argument(help="Opened questions, as `blindlabel owner audit --to` wrote them.")]


def owner_audit(
    file: Annotated[Path | None, Argument(help="Another owner's opened questions, to be checked.")] = None,
    *,
    at: WorkspaceFolder,
    to: Annotated[Path | None, Option(help="Open your own questions: write them into this file.")] = None,
    json: JsonFlag = False,
) -> None:
    """Open your own questions for an audit (--to), or check another owner's opened questions against the signed
    commitments that came with its hand-ins. The exit code is 1 if they differ.
    """
    from blindlabel.parties.auditing import audit, known_to_owner, opening_of
    from blindlabel.parties.joining import own_identity

    if (file is None) == (to is None):
        raise InputError("Name a file with opened questions to check, or one to write your own into with --to.")
    workspace = workspace_at(at)
    if to is not None:
        if to.exists():
            raise InputError(f"{to} already exists.")
        opening = opening_of(workspace, own_identity(workspace))
        text = json_.dumps(opening.model_dump(mode="json"), ensure_ascii=False, indent=1)
        to.write_text(text + "\n", encoding="utf-8")
        say("This file holds your questions in clear. Give it to whoever may see them, and to nobody else.")
        result(str(to))
        return
    assert file is not None
    opening = _read(file)
    workspace.state().peer(opening.owner)  # refuses an unknown owner
    _print(opening, audit(opening, workspace.agreement.hash, known_to_owner(workspace.state(), opening.owner)), json)


def coordinator_audit(
    study: StudyName, file: OpenedFile, *, at: Home, database: DatabaseAddress = None, json: JsonFlag = False
) -> None:
    """Check an owner's opened questions against the signed commitments that came with its hand-ins. The exit code is 1
    if they differ.
    """
    from blindlabel.parties.auditing import audit, known_to_coordinator

    coordinator = coordinator_at(at, database)
    found, opening = coordinator.find(study), _read(file)
    if opening.owner not in coordinator.agreement(found).owners:
        raise InputError(f"{opening.owner} is not an owner of this study.")
    known = known_to_coordinator(coordinator.load(found).state, opening.owner)
    _print(opening, audit(opening, found, known), json)


def _read(file: Path) -> Opening:
    from blindlabel.parties.auditing import read_opening

    try:
        return read_opening(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error}.") from error


def _print(opening: Opening, found: list[Audited], json: bool) -> None:
    same = bool(found) and all(one.same for one in found)
    document = {"owner": opening.owner, "same": same, "rounds": [asdict(one) for one in found]}
    answer(json, document, (f"{opening.owner}, {one.sentence}" for one in found))
    if not found:
        say("Nothing was opened, and nothing has been handed in.")
    if not same:
        raise typer.Exit(1)
