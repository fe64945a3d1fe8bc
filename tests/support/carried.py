"""A study over folders that no two parties share, carried by hand."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.study_parties import confirm_all, joined, write_person_tables


def carried(tmp_path: Path, agreement: Agreement) -> tuple[CoordinatorParty, list[Workspace], int]:
    """A whole study over folders that no two parties share, and how often somebody carried files there and back."""
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    tables = write_person_tables(tmp_path, len(agreement.owners))
    workspaces = joined(tmp_path, coordinator.create(to_text(agreement)), tables)
    folders = {name: tmp_path / f"stick-{name}" for name in (*agreement.owners, "coordinator")}
    for folder in folders.values():
        folder.mkdir()
    server = FolderServer(coordinator, folders["coordinator"])
    parties = [
        OwnerParty(workspace, FolderTransport(folders[workspace.name], letters_of(workspace), workspace.name))
        for workspace in workspaces
    ]
    for trips in range(60):
        over = [run(owner, SuggestedQuestions(), once=True, tell=lambda _: None) for owner in parties]
        if all(over):
            return coordinator, workspaces, trips
        confirm_all(parties)
        for owner in parties:
            owner.send()
            shutil.copytree(folders[owner.store.name], folders["coordinator"], dirs_exist_ok=True)  # carried there
        while server.turn():
            time.sleep(0)
        for owner in parties:
            shutil.copytree(folders["coordinator"], folders[owner.store.name], dirs_exist_ok=True)  # and back
    raise AssertionError([owner.next_steps() for owner in parties])
