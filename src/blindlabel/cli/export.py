"""`blindlabel export`: the ground truth of a study, as files for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from blindlabel.cli.output import JsonFlag, answer, result, result_json, say, working_on
from blindlabel.cli.stores import DatabaseAddress, coordinator_at, is_coordinators, workspace_at
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.export import AgreedTruth
    from blindlabel.parties.coordinator import CoordinatorParty


def export(
    folder: Annotated[Path, Argument(help="An owner's workspace, or a coordinator's folder.")],
    *,
    study: Annotated[str, Option(help="Of a coordinator with several: its name, or the beginning of its hash.")] = "",
    format: Annotated[
        str,
        Option(
            help=(
                "csv, json, parquet, splink, splink-matches, recordlinkage, py_entitymatching, rltk, pyjedai, leipzig."
            )
        ),
    ] = "csv",
    to: Annotated[Path, Option(help="The file or folder to write.")],
    ids: Annotated[
        bool, Option("--ids", help="Of a workspace: only your records' ids, for `blindlabel merge`.")
    ] = False,
    database: DatabaseAddress = None,
    json: JsonFlag = False,
) -> None:
    """Write the ground truth of a study, and the discarded pairs into a file of their own beside it. An owner's has the
    owner's ids, and is there when the study is over. A coordinator's is as the labels stand; it names records by their
    places in the samples, in a study about a linkage by their rows (as ids).
    """
    from blindlabel.export.formats import write_ids
    from blindlabel.export.truth import truths_of_owner

    if is_coordinators(folder) or (database and not (folder / "workspace.sqlite").exists()):
        if ids:
            raise InputError(f"{folder} is a coordinator's, and no coordinator knows the ids.")
        _of_coordinator(coordinator_at(folder, database), study, format, to, json=json)
    elif not ids:
        _written(truths_of_owner(workspace_at(folder)), format, to, json=json)
    else:
        count = write_ids(workspace_at(folder), to)
        answer(json, {"file": str(to), "ids": count}, [str(to)])
        say(f"{count} ids. Whoever has this file and the labels knows which of your records match.")


def _of_coordinator(coordinator: CoordinatorParty, named: str, format: str, to: Path, *, json: bool) -> None:
    """Write every pairing of a study, and say what this would tell the owners beyond what they are given."""
    from blindlabel.export.truth import truths_of_coordinator
    from blindlabel.parties.accounting import account_of
    from blindlabel.protocol.account import LATER_COPY

    study = coordinator.find(named)
    truths = truths_of_coordinator(coordinator, study)
    _written({f"{first}-{second}": truth for (first, second), truth in truths.items()}, format, to, json=json)
    agreement = coordinator.agreement(study)
    release = agreement.release if coordinator.load(study).state.ended else "none"
    labels = {"none": ["which pairs match and which do not"], "matches": ["which pairs do not match"]}.get(release, [])
    kept_back = labels + (["in which round each was agreed"] if format in ("csv", "json", "parquet") else [])
    said = [f"an owner of the pairing is told {', and '.join(kept_back)}"] if kept_back else []
    copy = {one.party: one for one in account_of(agreement).entries}[LATER_COPY]
    said += ["one that cheated can read the other's records with it"] if labels and copy.cheating is None else []
    said += ["any other owner is told of a pairing that is none of its own"] if len(truths) > 1 else []
    if said:
        say(f"NOTE: where this is passed on, {'; '.join(said)}. The agreement keeps that back from them.")


def _written(truths: Mapping[str, AgreedTruth], format: str, to: Path, *, json: bool) -> None:
    """Write every pairing. If there are several, the file's name says which it is."""
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
    """What an export holds."""
    matches, sides = len(truth.matches()), ((truth.dataset_a, truth.ids_a), (truth.dataset_b, truth.ids_b))
    by = [(name, "place" if ids is None else "id and place") for name, ids in sides]
    named = "; ".join(f"records of {name} by {what} in the sample" for name, what in by)
    if truth.only_matches:
        return f"{matches:,} matches ({named}; places count from 0)."
    return (
        f"{len(truth.pairs):,} labelled pairs, {matches:,} of them matches, and {len(truth.discarded):,} discarded"
        f" ({named}; places count from 0)."
    )


def kept_back(truth: AgreedTruth) -> str:
    """What the agreement kept back from whoever exports, or empty if nothing."""
    if not truth.only_matches:
        return ""
    return (
        'The agreement releases matches alone (release = "matches"). It keeps back which other pairs are no match'
        " and which were discarded, and in which round each match was agreed."
    )


def merge(
    files: Annotated[
        list[Path],
        Argument(
            help="Both owners' exports; or the coordinator's labels and what `export --ids` writes for each owner."
        ),
    ],
    *,
    format: Annotated[str, Option(help="As of `blindlabel export`.")] = "csv",
    to: Annotated[Path, Option(help="The file or folder to write.")],
    json: JsonFlag = False,
) -> None:
    """Join labels with the ids of both owners, in every format. For whoever may see both lists of ids."""
    from blindlabel.export import joined

    truth = joined(files)
    _written({f"{truth.dataset_a}-{truth.dataset_b}": truth}, format, to, json=json)
