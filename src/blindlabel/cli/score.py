"""`blindlabel coordinator score` and `owner score`: how well did a linkage do, by the labels of a study?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blindlabel.cli.opening import (
    Authority,
    DatabaseAddress,
    Home,
    StudyName,
    Via,
    WorkspaceFolder,
    coordinator_at,
    workspace_at,
)
from blindlabel.cli.output import JsonFlag, result, result_json, say

if TYPE_CHECKING:
    from blindlabel.export.scoring import LinkageScore

Pairs = Annotated[
    Path, typer.Option("--pairs", help="Predicted matches: a table with a column of row positions for each owner.")
]


def score(
    study: StudyName, *, at: Home, pairs: Pairs, database: DatabaseAddress = None, json: JsonFlag = False
) -> None:
    """Judge a linkage by the labels of the study: precision, recall and F over the sampled rows. Pairs that the owners
    never agreed on are left out.
    """
    from blindlabel.export.scoring import read_pairs
    from blindlabel.export.scoring import score as judged
    from blindlabel.export.studies import truths_of_coordinator

    coordinator = coordinator_at(at, database)
    truths = truths_of_coordinator(coordinator, coordinator.find(study))
    predicted = read_pairs(pairs, truths)
    found = {"-".join(pairing): judged(truths[pairing], cells) for pairing, cells in predicted.items()}
    _show(found, json=json)


def score_of_owner(
    *, at: WorkspaceFolder, pairs: Pairs, via: Via = "", ca: Authority = None, json: JsonFlag = False
) -> None:
    """Judge a linkage by the labels of the study after its end: precision, recall and F over the sampled rows. Where
    this owner was not given all labels the coordinator is asked, if the agreement allows it (budget.scores): it sees
    the predicted pairs of sampled rows, and tells three counts.
    """
    from blindlabel.export.asked_scores import cost, judged
    from blindlabel.transport.connecting import connect

    workspace = workspace_at(at)
    found = judged(workspace, pairs, lambda: connect(workspace, via, authority=ca, stays=False), say)
    _show({"-".join(pairing): one for pairing, one in found.items()}, json=json)
    for line in cost(workspace):
        say(line)


def _show(found: dict[str, LinkageScore], *, json: bool) -> None:
    if json:
        result_json({name: one.to_json() for name, one in found.items()})
        return
    for name, one in found.items():
        result(f"{name}: precision {one.precision:.3f}, recall {one.recall:.3f}, F {one.f:.3f}")
        say(
            f"  {one.right} of {one.predicted} predicted pairs are among the {one.matches} matches; left out:"
            f" {one.discarded} without agreement, {one.not_sampled} outside the sample."
        )
