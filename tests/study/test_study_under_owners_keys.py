"""Whole studies in which nobody holds the key to another's records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.patience import Patience
from support.study_parties import (
    FIRST_WORDS,
    clear_labels,
    confirm_all,
    joined,
    small_agreement,
    told,
    write_person_tables,
)


def begun(folder: Path, agreement: Agreement) -> tuple[CoordinatorParty, list[Workspace], Path]:
    """A study whose owners have joined, and the folder over which it goes."""
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    tables = write_person_tables(folder, len(agreement.owners), rows=agreement.sampling.records)
    workspaces = joined(folder, coordinator.create(to_text(agreement)), tables)
    shared = folder / "shared"
    shared.mkdir()
    return coordinator, workspaces, shared


def play(workspaces: list[Workspace], shared: Path, serve: Callable[[], object]) -> None:
    """Owners take turns until the study is over."""
    owners = [
        OwnerParty(workspace, FolderTransport(shared, letters_of(workspace), workspace.name))
        for workspace in workspaces
    ]
    patience = Patience()
    while True:
        over = [run(owner, FIRST_WORDS, once=True, tell=lambda _: None) for owner in owners]
        if all(over):
            return
        confirm_all(owners)
        serve()
        patience.check(lambda: [owner.next_steps() for owner in owners])


def check_labels(coordinator: CoordinatorParty, workspaces: list[Workspace], study: str) -> None:
    by_name = {workspace.name: workspace for workspace in workspaces}
    for (first, second), found in coordinator.labels(study).items():
        expected = clear_labels(by_name[first], by_name[second])
        assert np.array_equal(found, expected)
        assert np.array_equal(by_name[first].labels()[second], told(expected))
        assert np.count_nonzero(found & 1), "a study without any match proves little"


@pytest.mark.parametrize("owners", [2, 3])
def test_study_under_owners_keys_gives_the_labels_of_clear_evaluation(tmp_path: Path, owners: int) -> None:
    agreement = small_agreement(owners, records=6)
    coordinator, workspaces, shared = begun(tmp_path, agreement)
    play(workspaces, shared, FolderServer(coordinator, shared).turn)
    check_labels(coordinator, workspaces, agreement.hash)
    kept = {path.name for path in (tmp_path / "coordinator" / "keys" / agreement.hash).iterdir()}
    assert kept == {"signing.key"}, "the coordinator holds nothing that opens a record"
    state = coordinator.load(agreement.hash).state
    for workspace in workspaces:
        assert not list(workspace.folder.glob("round-*.key")), "what opened the answers is gone with them"
    bodies = {path.name for path in (tmp_path / "coordinator" / "bodies" / agreement.hash).iterdir()}
    assert not bodies & {blob.hash for one in state.rounds for blob in one.bodies}, "nothing of the rounds is kept"
