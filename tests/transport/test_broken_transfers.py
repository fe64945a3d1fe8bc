"""Bodies and messages whose way was interrupted at the worst moment, over HTTP and over a folder."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from blindlabel.errors import OutsideError
from blindlabel.parties.coordinator import Coordinator
from blindlabel.parties.joining import own_identity, signed_by
from blindlabel.protocol import messages
from blindlabel.protocol.agreement_text import to_text
from blindlabel.protocol.errors import TooEarly
from blindlabel.protocol.facts import blob_of
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.messages import Message
from blindlabel.protocol.shape import Blob
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.files import Bodies
from blindlabel.storage.workspace import Workspace
from blindlabel.transport import client as http_client
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel.transport.server import create_app
from blindlabel_lab.simulation.power import Disk
from support.study_parties import joined, served, small_agreement, write_person_tables

CONTENT = secrets.token_bytes(2000)


class Line:
    """An owner's HTTP line whose answers a test can change on their way."""

    def __init__(self, workspace: Workspace, address: str) -> None:
        self.workspace, self.study = workspace, workspace.agreement.hash
        self.http = HttpTransport(address, self.study, workspace.secret("token").decode(), patience=20)
        self.asked: list[str] = []


@pytest.fixture(scope="module")
def coordinator(tmp_path_factory: pytest.TempPathFactory) -> Coordinator:
    return Coordinator(CoordinatorStore(tmp_path_factory.mktemp("broken") / "coordinator"))


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory, coordinator: Coordinator) -> Iterator[Line]:
    folder = tmp_path_factory.mktemp("owners")
    with served(coordinator) as address:
        invitations = coordinator.create(to_text(small_agreement()), address)
        workspaces = joined(folder, invitations, write_person_tables(folder))
        made = Line(workspaces[0], address)
        for _, wire in workspaces[0].unsent():
            made.http.deliver(wire, workspaces[0].bodies)
        yield made
        made.http.close()


def offer(coordinator: Coordinator, study: str, content: bytes, owner: str = "anna") -> Blob:
    """A body that the coordinator lets an owner fetch."""
    blob = coordinator.store.bodies(study).write([content])
    loaded = coordinator.load(study)
    assert coordinator.store.save(loaded, loaded.state, fetchable=[(owner, blob)])
    return blob


def left_whole(bodies: Bodies, blob: Blob, content: bytes) -> None:
    """What a process leaves that is killed when it is about to rename a body that has arrived."""
    bodies._part(blob).write_bytes(content)
    assert bodies.received(blob) == blob.length and not bodies.has(blob)


@pytest.mark.parametrize("content", [CONTENT, b""])
def test_owner_killed_at_the_rename_of_a_downloaded_body_goes_on(
    coordinator: Coordinator, line: Line, tmp_path: Path, content: bytes
) -> None:
    """The part of full length counted as the body, which was missing for ever."""
    blob, bodies = offer(coordinator, line.study, content), Bodies(tmp_path / "bodies")
    bodies._part(blob).write_bytes(content)
    line.http.fetch_body(blob, bodies)
    assert bodies.read_all(blob) == content and not bodies._part(blob).exists()


def test_owner_killed_at_the_rename_of_a_damaged_body_fetches_it_again(
    coordinator: Coordinator, line: Line, tmp_path: Path
) -> None:
    blob, bodies = offer(coordinator, line.study, CONTENT), Bodies(tmp_path / "bodies")
    left_whole(bodies, blob, CONTENT[::-1])
    line.http.fetch_body(blob, bodies)
    assert bodies.read_all(blob) == CONTENT


def test_coordinator_killed_at_the_rename_of_an_uploaded_body_does_not_call_it_complete(
    coordinator: Coordinator, line: Line, tmp_path: Path
) -> None:
    own, there = Bodies(tmp_path / "bodies"), coordinator.store.bodies(line.study)
    for arrived in (CONTENT, CONTENT[::-1]):  # as it was sent, and damaged
        content = secrets.token_bytes(1) + arrived
        blob = own.write([content])
        left_whole(there, blob, content if arrived == CONTENT else content[::-1])
        said = line.http._request("GET", _url(line, blob) + "/arrived", params={"length": blob.length}).json()
        assert said == {"received": blob.length, "complete": False}, "all bytes are there, and nobody has checked them"
        line.http._patiently(lambda blob=blob: line.http._upload(blob, own, None))  # type: ignore[misc]
        assert there.read_all(blob) == content


def _url(line: Line, blob: Blob) -> str:
    return f"/v1/studies/{line.study}/bodies/{blob.hash}"
