"""`blindlabel export`: the ground truth of a study, as files for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from blindlabel.cli.output import JsonFlag, result, result_json, say, working_on
from blindlabel.cli.stores import coordinator_at, workspace_at
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.export import AgreedTruth
    from blindlabel.parties.coordinator import CoordinatorParty


def export(
    study: Annotated[Path, Argument(help="An owner's workspace, or a coordinator's folder with one study.")],
    *,
    format: Annotated[
        str,
        Option(
            "--format",
            help=(
                "csv, json, parquet, splink, splink-matches, recordlinkage, py_entitymatching, rltk, pyjedai, leipzig."
            ),
        ),
    ] = "csv",
    to: Annotated[Path, Option("--to", help="The file or folder to write.")],
    json: JsonFlag = False,
) -> None:
    """Write the ground truth of a finished study. Discarded pairs go into a file of their own beside it."""
    from blindlabel.export.truth import truths_of_owner

    if (study / "coordinator.sqlite").exists():
        coordinator = coordinator_at(study, None)
        rows = coordinator.store.studies()
        if len(rows) != 1:
            raise InputError(
                f"{study} holds {len(rows)} studies; use `blindlabel coordinator export`, which takes a name."
            )
        written_by_coordinator(coordinator, rows[0].study, format, to, json=json)
    else:
        written(truths_of_owner(workspace_at(study)), format, to, json=json)


def written_by_coordinator(coordinator: CoordinatorParty, study: str, format: str, to: Path, *, json: bool) -> None:
    """Write every pairing of a study, and say what that would tell owners beside what they are given."""
    from blindlabel.export.truth import truths_of_coordinator
    from blindlabel.parties.accounting import account_of
    from blindlabel.protocol.account import LATER_COPY

    truths = truths_of_coordinator(coordinator, study)
    written({f"{first}-{second}": truth for (first, second), truth in truths.items()}, format, to, json=json)
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
        f"records of {name} by {'id and place' if ids is not None else 'place'} in the sample" for name, ids in sides
    )
    if truth.only_matches:
        return f"{matches:,} matches ({named}; places count from 0)."
    return (
        f"{len(truth.pairs):,} labelled pairs, {matches:,} of them matches, and {len(truth.discarded):,} discarded"
        f" ({named}; places count from 0)."
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
    files: Annotated[
        list[Path],
        Argument(help="Both owners' exports; or the coordinator's labels and both owners' `owner export --ids`."),
    ],
    *,
    format: Annotated[str, Option("--format", help="As of `blindlabel export`.")] = "csv",
    to: Annotated[Path, Option("--to", help="The file or folder to write.")],
    json: JsonFlag = False,
) -> None:
    """Join labels with the ids of both owners, in every format. For whoever may see both lists of ids."""
    from blindlabel.export import joined

    truth = joined(files)
    written({f"{truth.dataset_a}-{truth.dataset_b}": truth}, format, to, json=json)
