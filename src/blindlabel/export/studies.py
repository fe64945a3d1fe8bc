"""The ground truth of a study in the form that exports take. Reads stores; decides nothing."""

from __future__ import annotations

from blindlabel.errors import InputError
from blindlabel.export.truth import GroundTruth
from blindlabel.parties.coordinator import Coordinator
from blindlabel.storage.workspace import Workspace


def truths_of_owner(workspace: Workspace) -> dict[str, GroundTruth]:
    """After the end: the ground truth with every other owner, ids on its own side. The owner whose name sorts first
    is side a.
    """
    state, found = workspace.state(), {}
    if workspace.agreement.release == "none":
        raise InputError('This study releases nothing to owners (release = "none"): the coordinator has the labels.')
    labels, only = workspace.labels(), workspace.agreement.release == "matches"
    assert state.truth is not None and state.sample is not None
    ids = {record.position: record.id for record in workspace.records()}
    for pairing in state.truth.pairings:
        matrix, own, other = labels[pairing.peer], state.sample.positions, pairing.positions
        by_keys = set(own) - set(state.sampling.chosen.uniform) if state.sampling.chosen else set()
        if workspace.name < pairing.peer:
            found[pairing.peer] = GroundTruth.of_matrix(
                (workspace.name, pairing.peer),
                matrix,
                (own, other),
                (ids, None),
                only_matches=only,
                by_keys=(by_keys, pairing.enriched),
            )
        else:
            found[pairing.peer] = GroundTruth.of_matrix(
                (pairing.peer, workspace.name),
                matrix.T,
                (other, own),
                (None, ids),
                only_matches=only,
                by_keys=(pairing.enriched, by_keys),
            )
    return found


def truths_of_coordinator(coordinator: Coordinator, study: str) -> dict[tuple[str, str], GroundTruth]:
    """The labels as they stand, by pairing; rows are named by their positions, the coordinator knows no ids."""
    state = coordinator.load(study).state
    return {
        (first, second): GroundTruth.of_matrix(
            (first, second),
            labels,
            (state.samples[first], state.samples[second]),
            by_keys=(state.enriched(first), state.enriched(second)),
        )
        for (first, second), labels in coordinator.labels(study).items()
    }
