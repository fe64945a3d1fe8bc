"""Whole studies in which nobody holds the key to another's records."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from blindlabel.parties.coordinator import Coordinator
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.parties.running import run
from blindlabel.parties.owner import Owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.agreement_text import to_text
from blindlabel.protocol.interfaces import Store
from blindlabel.parties.questions import open_tasks
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.study_parties import clear_labels, confirm_all, joined, small_agreement, write_person_tables


class FirstNames:
    """Asks for the record's own first attribute, which needs no assist."""

    def provide(self, store: Store) -> str | None:
        records = store.records()
        texts = {
            task.record: f'ret is_in("{records[task.record].prepared.whole.split(" ")[0][:12]}", $r)'
            for task in open_tasks(store)
        }
        store.save_questions(texts, "person")
        store.hand_in()
        return None


def played(folder: Path, agreement: Agreement) -> tuple[Coordinator, list[Workspace]]:
    """A study over a folder, to its end."""
    coordinator = Coordinator(CoordinatorStore(folder / "coordinator"))
    tables = write_person_tables(folder, len(agreement.owners), rows=agreement.sampling.records)
    workspaces = joined(folder, coordinator.create(to_text(agreement)), tables)
    shared = folder / "shared"
    shared.mkdir()
    server = FolderServer(coordinator, shared)
    owners = [Owner(workspace, FolderTransport(shared, agreement.hash, workspace.name)) for workspace in workspaces]
    for _ in range(60):
        over = [run(owner, FirstNames(), once=True, tell=lambda _: None) for owner in owners]
        server.turn()
        if all(over):
            return coordinator, workspaces
        confirm_all(owners)
    raise AssertionError([owner.awaits() for owner in owners])


def check_labels(coordinator: Coordinator, workspaces: list[Workspace], study: str) -> None:
    by_name = {workspace.name: workspace for workspace in workspaces}
    for (first, second), found in coordinator.labels(study).items():
        expected = clear_labels(by_name[first], by_name[second])
        assert np.array_equal(found, expected)
        assert np.array_equal(by_name[first].labels()[second], expected)
        assert np.count_nonzero(found & 1), "a study without any match proves little"


@pytest.mark.parametrize("owners", [2, 3])
def test_study_under_owners_keys_gives_the_labels_of_clear_evaluation(tmp_path: Path, owners: int) -> None:
    agreement = small_agreement(owners, records=6, keys="owners")
    coordinator, workspaces = played(tmp_path, agreement)
    check_labels(coordinator, workspaces, agreement.hash)
    kept = {path.name for path in (tmp_path / "coordinator" / "keys" / agreement.hash).iterdir()}
    assert kept == {"signing.key"}, "the coordinator holds nothing that opens a record"
    state = coordinator.load(agreement.hash).state
    for workspace in workspaces:
        left = {path.name for path in workspace.folder.glob("round-*.key")}
        assert left == {f"round-{state.round}-{peer}.key" for peer in agreement.peers(workspace.name)}
    bodies = {path.name for path in (tmp_path / "coordinator" / "bodies" / agreement.hash).iterdir()}
    assert bodies == {blob.hash for blob in state.labels.values()}, "nothing of the rounds is kept"


def packed_agreement() -> Agreement:
    encoding = {
        "engine": "packed", "record_length": 200, "counting": False, "negation": False, "functions": ["is_in"],
        "attributes": False,
    }  # fmt: skip
    return small_agreement(2, records=4, engine="packed", keys="owners", encoding=encoding, rounds=2)


def test_packed_study_under_owners_keys_needs_no_homomorphic_library_at_the_coordinator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import blindlabel.parties.coordinator as module  # noqa: PLC0415

    def unavailable(name: str) -> None:
        raise AssertionError(f"the coordinator asked for the engine {name}")

    agreement = packed_agreement()
    monkeypatch.setattr(Coordinator, "_engine", lambda _self, agreement: unavailable(agreement.encoding.engine))
    coordinator, workspaces = played(tmp_path, agreement)
    check_labels(coordinator, workspaces, agreement.hash)
    assert module and "tenseal" in sys.modules, "the owners did use it"
