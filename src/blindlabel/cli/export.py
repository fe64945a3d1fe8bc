"""`blindlabel export`: the ground truth of a study, as files for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blindlabel.cli.opening import coordinator_at, workspace_at
from blindlabel.cli.output import JsonFlag, result, result_json, say, working_on
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.export import GroundTruth


def export(
    study: Annotated[Path, typer.Argument(help="An owner's workspace, or a coordinator's folder with one study.")],
    *,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help=(
                "csv, json, parquet, splink, splink-matches, recordlinkage, py_entitymatching, rltk, pyjedai, leipzig."
            ),
        ),
    ] = "csv",
    to: Annotated[Path, typer.Option("--to", help="The file or folder to write.")],
    json: JsonFlag = False,
) -> None:
    """Write the ground truth of a finished study. Discarded pairs go into a file of their own beside it."""
    from blindlabel.export.studies import truths_of_coordinator, truths_of_owner

    if (study / "coordinator.sqlite").exists():
        coordinator = coordinator_at(study, None)
        rows = coordinator.store.studies()
        if len(rows) != 1:
            raise InputError(
                f"{study} holds {len(rows)} studies; use `blindlabel coordinator export`, which takes a name."
            )
        truths = {
            f"{first}-{second}": truth
            for (first, second), truth in truths_of_coordinator(coordinator, rows[0].study).items()
        }
    else:
        truths = truths_of_owner(workspace_at(study))
    written(truths, format, to, json=json)


def written(truths: Mapping[str, GroundTruth], format: str, to: Path, *, json: bool) -> None:
    """Write every pairing; with more than one, the file's name says which."""
    from blindlabel.export import write

    files = {}
    for name, truth in truths.items():
        path = to
        if len(truths) > 1:
            path = to / name if to.is_dir() else to.with_name(f"{to.stem}-{name}{to.suffix}")
            if to.is_dir():
                path.mkdir(exist_ok=True)
        with working_on(f"writing {len(truth.pairs):,} pairs"):
            files[name] = [str(one) for one in write(truth, format, path)]
    if json:
        counts = {
            name: {
                "pairs": len(truth.pairs),
                "matches": len(truth.matches()),
                "discarded": len(truth.discarded),
                "files": files[name],
            }
            for name, truth in truths.items()
        }
        result_json(counts)
        return
    for name, truth in truths.items():
        for file in files[name]:
            result(file)
        say(
            f"{name}: {len(truth.pairs)} labelled pairs, {len(truth.matches())} matches, {len(truth.discarded)}"
            " discarded."
        )
