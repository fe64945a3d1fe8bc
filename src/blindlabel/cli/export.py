"""`blindlabel export`: the ground truth of a study, as files for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json, say, working_on
from blindlabel.cli.stores import coordinator_at, workspace_at
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.export import AgreedTruth


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
    from blindlabel.export.truth import truths_of_coordinator, truths_of_owner

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


def written(truths: Mapping[str, AgreedTruth], format: str, to: Path, *, json: bool) -> None:
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
                "discarded": None if truth.only_matches else len(truth.discarded),
                "only_matches": truth.only_matches,
                "kept_back": kept_back(truth),
                "files": files[name],
            }
            for name, truth in truths.items()
        }
        result_json(counts)
        return
    for name, truth in truths.items():
        for file in files[name]:
            result(file)
        say(f"{name}: {_content(truth)} {kept_back(truth)}".rstrip())


def _content(truth: AgreedTruth) -> str:
    """What stands in an export."""
    matches, sides = len(truth.matches()), ((truth.dataset_a, truth.ids_a), (truth.dataset_b, truth.ids_b))
    named = "; ".join(
        f"rows of {name} by {'id and position' if ids is not None else 'position'}" for name, ids in sides
    )
    if truth.only_matches:
        return f"{matches:,} matches ({named}; positions count data rows from 0)."
    return (
        f"{len(truth.pairs):,} labelled pairs, {matches:,} of them matches, and {len(truth.discarded):,} discarded"
        f" ({named}; positions count data rows from 0)."
    )


def kept_back(truth: AgreedTruth) -> str:
    """What the agreement kept back from whoever exports; empty where it kept nothing."""
    if not truth.only_matches:
        return ""
    return (
        'The agreement releases matches alone (release = "matches"): which of the other pairs are no match and which'
        " were discarded was kept back, and in which round a match was agreed."
    )


def merge(
    first: Annotated[Path, typer.Argument(help="One owner's export: csv, json or parquet.")],
    second: Annotated[Path, typer.Argument(help="The other owner's export of the same pairing.")],
    *,
    format: Annotated[str, typer.Option("--format", help="As of `blindlabel export`.")] = "csv",
    to: Annotated[Path, typer.Option("--to", help="The file or folder to write.")],
    json: JsonFlag = False,
) -> None:
    """Join the exports of two owners into pairs of ids, in every format. For whoever may see both lists of ids."""
    from blindlabel.export import merged, read_ground_truth

    truth = merged(read_ground_truth(first), read_ground_truth(second))
    written({f"{truth.dataset_a}-{truth.dataset_b}": truth}, format, to, json=json)
