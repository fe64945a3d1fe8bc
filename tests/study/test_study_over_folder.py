"""Studies as files in a folder: shared by all, and carried by hand between folders that no two parties share."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import NotYetCarried
from blindlabel.protocol.standing import Known
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.carried import carried
from support.study_parties import clear_labels, confirm_all, joined, small_agreement, told, write_person_tables


@pytest.mark.parametrize("owners", [2, 3])
def test_labels_over_carried_folders_are_those_of_clear_evaluation(tmp_path: Path, owners: int) -> None:
    agreement = small_agreement(owners)
    coordinator, workspaces, _ = carried(tmp_path, agreement)
    by_name = {workspace.name: workspace for workspace in workspaces}
    for (first, second), labels in coordinator.labels(agreement.hash).items():
        assert np.array_equal(labels, clear_labels(by_name[first], by_name[second]))
        assert np.array_equal(by_name[second].labels()[first], told(labels.T))


def test_points_take_no_more_trips_than_clear_evaluation(tmp_path: Path) -> None:
    """Records there, answers back, once each: encryption adds no file that has to be waited for."""
    taken = {}
    for engine in ("plain", "packed"):
        encoding = {"engine": engine, "record_length": 160, "attributes": False, "functions": ["is_in", "is_empty"]}
        agreement = small_agreement(records=3, rounds=1, encoding=encoding)
        (tmp_path / engine).mkdir()
        coordinator, workspaces, taken[engine] = carried(tmp_path / engine, agreement)
        ((pairing, labels),) = coordinator.labels(agreement.hash).items()
        by_name = {workspace.name: workspace for workspace in workspaces}
        assert np.array_equal(labels, clear_labels(*(by_name[name] for name in pairing)))
    assert taken["packed"] == taken["plain"]


def begun(tmp_path: Path) -> tuple[CoordinatorParty, OwnerParty, Path]:
    """A study in a shared folder, in which anna's join waits to be taken in."""
    agreement = small_agreement()
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    workspaces = joined(tmp_path, coordinator.create(to_text(agreement)), write_person_tables(tmp_path))
    folder = tmp_path / "shared"
    folder.mkdir()
    owner = OwnerParty(workspaces[0], FolderTransport(folder, letters_of(workspaces[0]), "anna"))
    owner.send()
    return coordinator, owner, folder


def test_refused_message_is_told_to_its_owner(tmp_path: Path) -> None:
    coordinator, owner, folder = begun(tmp_path)
    coordinator.reinvite(owner.agreement.hash, "anna")
    FolderServer(coordinator, folder).turn()
    with pytest.raises(Exception, match="refused message 000001"):
        owner.fetch(0)


def test_good_copy_is_taken_in_after_a_damaged_one_was_refused(tmp_path: Path) -> None:
    coordinator, owner, folder = begun(tmp_path)
    server, study = FolderServer(coordinator, folder), owner.agreement.hash
    message = next(folder.glob("*/from-anna/*.message"))
    good = message.read_bytes()
    for damaged in (good[:-9], good[:400] + bytes([good[400] ^ 1]) + good[401:], b""):
        message.write_bytes(damaged)
        while server.turn():
            time.sleep(0)
        assert coordinator.load(study).state.owners["anna"].join is None
    assert len(list(folder.glob("*/to-anna/refused-*.txt"))) == 3  # each named after the content that was refused
    message.write_bytes(good)
    while server.turn():
        time.sleep(0)
    assert coordinator.load(study).state.owners["anna"].join is not None
    owner.fetch(0)  # what was refused is not what lies there now


def test_half_copied_files_are_waited_for_and_once_always_stops(tmp_path: Path) -> None:
    """A copy that is seen while it grows, or that was cut off, is as if it were not there yet."""
    coordinator, anna, folder = begun(tmp_path)
    store = Workspace.open(tmp_path / "berta")
    berta = OwnerParty(store, FolderTransport(folder, letters_of(store), "berta"))
    berta.send()
    server = FolderServer(coordinator, folder)
    while server.turn():
        time.sleep(0)
    message = next(folder.glob("*/to-anna/000001.message"))
    whole = message.read_bytes()
    for part in (b"", whole[:40], whole[:-1], bytes(len(whole))):
        message.write_bytes(part)
        with pytest.raises(NotYetCarried, match="is not whole"):
            anna.fetch(0)
        assert not run(anna, None, once=True, tell=lambda _: None)
    message.write_bytes(whole)
    assert anna.fetch(0)


def test_half_copied_body_is_waited_for_and_said(tmp_path: Path) -> None:
    coordinator, anna, folder = begun(tmp_path)
    store = Workspace.open(tmp_path / "berta")
    berta = OwnerParty(store, FolderTransport(folder, letters_of(store), "berta"))
    server = FolderServer(coordinator, folder)
    while not berta.store.state().round or not berta.store.state().rounds[0].served:
        berta.turn()
        anna.send()
        anna.line.fetch(Known(), 0.0)
        server.turn()
        if not anna.store.state().rounds:
            anna.fetch(0)
            confirm_all([anna, berta])
    server.turn()
    relayed = [letters_of(anna.store).open(path.read_bytes()) for path in folder.glob("*/to-anna/*.message")]
    body = next(message.body for wire in relayed if (message := messages.parse(wire).message).kind == "relay")
    assert isinstance(body, messages.Relay)
    records = messages.parse(body.message.encode()).message.blobs[0]
    there = next(folder.glob(f"*/bodies/{records.hash}"))
    whole = there.read_bytes()
    for part in (whole[:-1], bytes(len(whole))):
        there.write_bytes(part)
        said: list[str] = []
        assert not run(anna, None, once=True, tell=said.append)
        assert "opy" in said[-1]
    there.write_bytes(whole)
    run(anna, None, once=True, tell=said.append)
    assert anna.store.bodies.has(records)
