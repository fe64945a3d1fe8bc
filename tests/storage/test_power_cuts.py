"""What is acknowledged is on disk: after a power cut that loses everything not synced, it is still there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from blindlabel.errors import InputError
from blindlabel.export.formats import replacing
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity, signed_by
from blindlabel.protocol import messages
from blindlabel.protocol import owner_rules as rules
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.shape import blob_of
from blindlabel.storage import journal_points
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.files import BodyFiles, write_atomically
from blindlabel.storage.journal_points import Point
from blindlabel.storage.secret_files import read_secret, remove_secret, write_secret
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderTransport
from blindlabel_lab.simulation.faults import Crash
from blindlabel_lab.simulation.power import Disk
from support.study_parties import joined, small_agreement, write_person_tables

CONTENT = b"encrypted records"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A party's folder, there for long."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def disk(home: Path) -> Iterator[Disk]:
    disk = Disk(home.parent)
    with disk.recording():
        yield disk


def test_the_disk_forgets_what_was_not_synced(disk: Disk, home: Path) -> None:
    (home / "unsynced").write_bytes(CONTENT)
    with (home / "content-only").open("wb") as file:
        file.write(CONTENT)
        file.flush()
        os.fsync(file.fileno())
    disk.cut(home)
    assert list(home.iterdir()) == []
    (home / "name-only").write_bytes(CONTENT)
    handle = os.open(home, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
    disk.cut(home)
    assert (home / "name-only").read_bytes() == b""


def test_a_body_that_was_written_outlasts_a_power_cut(disk: Disk, home: Path) -> None:
    blob = BodyFiles(home / "new" / "bodies").write([CONTENT])
    disk.cut(home)
    assert BodyFiles(home / "new" / "bodies").read_all(blob) == CONTENT


def test_a_body_that_arrived_outlasts_a_power_cut(disk: Disk, home: Path) -> None:
    blob, bodies = blob_of(CONTENT), BodyFiles(home / "bodies")
    bodies.append(blob, 0, [CONTENT[:5]])
    bodies.append(blob, 5, [CONTENT[5:]])
    disk.cut(home)
    assert BodyFiles(home / "bodies").read_all(blob) == CONTENT


def test_a_body_whose_content_was_lost_is_not_there(home: Path) -> None:
    bodies = BodyFiles(home / "bodies")
    blob = bodies.write([CONTENT])
    bodies.path(blob).write_bytes(b"")
    assert not bodies.has(blob)


def test_an_owners_state_and_its_messages_are_saved_together(tmp_path: Path) -> None:
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    (owner, *_) = joined(tmp_path, coordinator.create(to_text(small_agreement())), write_person_tables(tmp_path))
    confirm = messages.Confirm(peer="berta", envelope_key="ab" * 32)

    def die(point: Point) -> None:
        if point is Point.AFTER_COMMIT:
            raise Crash

    with pytest.raises(Crash), journal_points.listening(die):
        owner.change(
            lambda state: rules.send(state, "coordinator", 0, confirm),
            lambda message: signed_by(own_identity(owner), message),
        )
    assert owner.state().sent == len(owner.unsent()) == 2
    owner.mark_sent(1)
    assert [number for number, _ in owner.unsent()] == [2], "what is sent is marked, and nothing else"


def test_a_part_lost_in_a_power_cut_is_sent_again(disk: Disk, home: Path) -> None:
    blob = blob_of(CONTENT)
    BodyFiles(home / "bodies").append(blob, 0, [CONTENT[:5]])
    disk.cut(home)
    bodies = BodyFiles(home / "bodies")
    bodies.append(blob, bodies.received(blob), [CONTENT[bodies.received(blob) :]])
    assert bodies.read_all(blob) == CONTENT


def test_a_secret_outlasts_a_power_cut_and_a_removed_one_stays_away(disk: Disk, home: Path) -> None:
    path = home / "keys" / "signing.key"
    write_secret(path, CONTENT)
    disk.cut(home)
    assert read_secret(path) == CONTENT
    with path.open("rb") as kept:
        remove_secret(path)
        assert set(kept.read()) == {0}, "overwritten in place"
    disk.cut(home)
    assert not path.exists()


def test_an_owners_commit_outlasts_a_power_cut(disk: Disk, home: Path) -> None:
    coordinator = CoordinatorParty(CoordinatorStore(home.parent / "coordinator"))
    (owner, *_) = joined(home, coordinator.create(to_text(small_agreement())), write_person_tables(home.parent))
    ((number, wire),) = owner.unsent()
    owner.mark_sent(number)
    owner.database.close()
    disk.cut(home)
    reopened = Workspace.open(home / "anna")
    assert reopened.sent() == [(number, wire)]
    assert reopened.secret("identity") == owner.secret("identity")


def test_a_coordinators_study_outlasts_a_power_cut(disk: Disk, home: Path) -> None:
    """Its folder's mark too: a database whose folder has lost it would be refused for ever."""
    store, agreement = CoordinatorStore(home), small_agreement()
    CoordinatorParty(store).create(to_text(agreement))
    CoordinatorParty(store).work(agreement.hash)
    before = store.load(agreement.hash)
    store.close()
    disk.cut(home)
    coordinator = CoordinatorParty(CoordinatorStore(home))
    assert before is not None and coordinator.load(agreement.hash) == before
    coordinator._identity(agreement.hash)


def test_a_new_coordinators_folder_outlasts_a_power_cut(disk: Disk, home: Path) -> None:
    """Before anything else is made in it, which would sync the folder too."""
    CoordinatorStore(home).close()
    disk.cut(home)
    assert CoordinatorStore(home).studies() == []


def test_what_lies_in_the_carried_folder_outlasts_a_power_cut(disk: Disk, home: Path) -> None:
    """The owner has marked its message as sent, and nobody would send its body again."""
    coordinator = CoordinatorParty(CoordinatorStore(home.parent / "coordinator"))
    workspaces = joined(home.parent, coordinator.create(to_text(small_agreement())), write_person_tables(home.parent))
    line = FolderTransport(home, letters_of(workspaces[0]), "anna")
    blob = workspaces[0].bodies.write([CONTENT])
    line._place.put_body(blob, workspaces[0].bodies)
    line.deliver(workspaces[0].unsent()[0][1], workspaces[0].bodies)
    disk.cut(home)
    assert [path.read_bytes() for path in home.glob("*/bodies/*")] == [CONTENT]
    left = [letters_of(workspaces[0]).open(path.read_bytes()) for path in home.glob("*/from-anna/*")]
    assert left == [workspaces[0].unsent()[0][1]]


def test_an_export_replaces_the_one_before_whole_or_not_at_all(disk: Disk, home: Path) -> None:
    replacing(home / "truth.csv", lambda part: write_to(part, b"old"))
    disk.cut(home)
    replacing(home / "truth.csv", lambda part: write_to(part, b"new"))
    disk.cut(home)
    assert (home / "truth.csv").read_bytes() == b"new" and len(list(home.iterdir())) == 1


def write_to(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def test_a_file_written_atomically_outlasts_a_power_cut(disk: Disk, home: Path) -> None:
    write_atomically(home / "anna.invitation", CONTENT)
    disk.cut(home)
    assert (home / "anna.invitation").read_bytes() == CONTENT


def test_a_coordinator_whose_database_is_gone_says_so_and_removes_nothing(tmp_path: Path) -> None:
    """It began with an empty database, told owners that there was no such study, and removed all bodies."""
    store, agreement = CoordinatorStore(tmp_path), small_agreement()
    CoordinatorParty(store).create(to_text(agreement))
    blob = store.bodies(agreement.hash).write([CONTENT])
    store.close()
    for path in tmp_path.glob("coordinator.sqlite*"):
        path.unlink()
    with pytest.raises(InputError, match="Restore the database"):
        CoordinatorStore(tmp_path)
    assert BodyFiles(tmp_path / "made" / agreement.hash).has(blob)
