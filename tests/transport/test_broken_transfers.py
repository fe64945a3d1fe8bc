"""Bodies and messages whose way was interrupted at the worst moment, over HTTP and over a folder."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.shape import Blob, blob_of
from blindlabel.protocol.standing import Known
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.files import BodyFiles
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderTransport
from support.patience import PATIENCE
from support.study_parties import joined, naming, served, small_agreement, strangers_letters, write_person_tables

CONTENT = secrets.token_bytes(2000)
NUMBERS = itertools.count(99)


class Line:
    """An owner's HTTP line."""

    def __init__(self, workspace: Workspace, address: str) -> None:
        self.workspace, self.study = workspace, workspace.agreement.hash
        self.http = HttpTransport(address, letters_of(workspace), workspace.secret("token").decode(), patience=PATIENCE)


class Between(httpx.BaseTransport):
    """Something between owner and coordinator that changes the first answers."""

    def __init__(self, behind: httpx.BaseTransport, *changes: Callable[[httpx.Response], httpx.Response]) -> None:
        self.behind, self.changes = behind, list(changes)
        self.requests: list[tuple[str, str, bytes]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        content = request.read()
        self.requests.append((request.method, str(request.url), content))
        response = self.behind.handle_request(request)
        return self.changes.pop(0)(response) if self.changes else response


@pytest.fixture
def between(line: Line) -> Iterator[Between]:
    honest = line.http._client._transport
    made = line.http._client._transport = Between(honest)
    yield made
    line.http._client._transport = honest


@pytest.fixture(scope="module")
def coordinator(tmp_path_factory: pytest.TempPathFactory) -> CoordinatorParty:
    return CoordinatorParty(CoordinatorStore(tmp_path_factory.mktemp("broken") / "coordinator"))


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory, coordinator: CoordinatorParty) -> Iterator[Line]:
    folder = tmp_path_factory.mktemp("owners")
    with served(coordinator) as address:
        invitations = coordinator.create(to_text(small_agreement()), address)
        workspaces = joined(folder, invitations, write_person_tables(folder))
        made = Line(workspaces[0], address)
        for _, wire in workspaces[0].unsent():
            made.http.deliver(wire, workspaces[0].bodies)
        yield made
        made.http.close()


def offer(coordinator: CoordinatorParty, study: str, content: bytes, owner: str = "anna") -> Blob:
    """A body that the coordinator lets an owner fetch."""
    blob = coordinator.store.bodies(study).write([content])
    loaded = coordinator.load(study)
    assert coordinator.store.save(loaded, loaded.state, outgoing=[naming(blob, study, owner, next(NUMBERS))])
    return blob


def left_whole(bodies: BodyFiles, blob: Blob, content: bytes, sender: str = "") -> None:
    """What a process leaves that is killed when it is about to rename a body that has arrived."""
    bodies._part(blob, sender).write_bytes(content)
    assert bodies.received(blob, sender) == blob.length and not bodies.has(blob)


@pytest.mark.parametrize("content", [CONTENT, b""])
def test_owner_killed_at_the_rename_of_a_downloaded_body_goes_on(
    coordinator: CoordinatorParty, line: Line, tmp_path: Path, content: bytes
) -> None:
    """The part of full length counted as the body, which was missing for ever."""
    blob, bodies = offer(coordinator, line.study, content), BodyFiles(tmp_path / "bodies")
    bodies._part(blob, "").write_bytes(content)
    line.http.fetch_body(blob, bodies)
    assert bodies.read_all(blob) == content and not bodies._part(blob, "").exists()


def test_owner_killed_at_the_rename_of_a_damaged_body_fetches_it_again(
    coordinator: CoordinatorParty, line: Line, tmp_path: Path
) -> None:
    blob, bodies = offer(coordinator, line.study, CONTENT), BodyFiles(tmp_path / "bodies")
    left_whole(bodies, blob, CONTENT[::-1])
    line.http.fetch_body(blob, bodies)
    assert bodies.read_all(blob) == CONTENT


def test_coordinator_killed_at_the_rename_of_an_uploaded_body_does_not_call_it_complete(
    coordinator: CoordinatorParty, line: Line, tmp_path: Path
) -> None:
    own, there = BodyFiles(tmp_path / "bodies"), coordinator.store.bodies(line.study)
    assert isinstance(there, BodyFiles)
    for arrived in (CONTENT, CONTENT[::-1]):  # as it was sent, and damaged
        content = secrets.token_bytes(1) + arrived
        blob = own.write([content])
        left_whole(there, blob, content if arrived == CONTENT else content[::-1], "anna")
        assert coordinator.store.announce(line.study, "anna", blob, 2**30, 100)
        said = line.http._request("GET", _url(line, blob) + "/arrived", params={"length": blob.length}).json()
        assert said == {"received": blob.length, "complete": False}, "all bytes are there, and nobody has checked them"
        line.http._patiently(lambda blob=blob: line.http._upload(blob, own, None))  # type: ignore[misc]
        assert there.read_all(blob) == content


def _url(line: Line, blob: Blob) -> str:
    return f"/v1/studies/{line.study}/bodies/{blob.hash}"


def busy(_response: httpx.Response) -> httpx.Response:
    return httpx.Response(503, text="<html>busy</html>")


def cut_in_half(response: httpx.Response) -> httpx.Response:
    """What something sends on that lost its connection to the coordinator and does not say so."""
    content = response.read()
    return httpx.Response(200, content=content[: len(content) // 2])


def sign_in(_response: httpx.Response) -> httpx.Response:
    """What a hotel's network answers."""
    return httpx.Response(200, text="<html>Please sign in.</html>")


def test_client_goes_on_when_the_coordinator_was_busy(
    coordinator: CoordinatorParty, line: Line, between: Between, tmp_path: Path
) -> None:
    blob, bodies = offer(coordinator, line.study, CONTENT), BodyFiles(tmp_path / "bodies")
    between.changes += [busy, busy, busy]
    line.http.fetch_body(blob, bodies)
    assert bodies.read_all(blob) == CONTENT and len(between.requests) == 4
    between.changes += [busy]
    line.http.fetch(Known(), 0.0)


def test_download_that_broke_off_goes_on_where_it_ended(
    coordinator: CoordinatorParty, line: Line, between: Between, tmp_path: Path
) -> None:
    blob, bodies = offer(coordinator, line.study, CONTENT), BodyFiles(tmp_path / "bodies")
    between.changes += [cut_in_half]
    line.http.fetch_body(blob, bodies)
    assert bodies.read_all(blob) == CONTENT
    assert [url.partition("offset=")[2] for _, url, _ in between.requests] == ["0", str(len(CONTENT) // 2)]


def test_body_that_is_damaged_at_the_coordinator_is_named_and_asked_for_again(
    line: Line, coordinator: CoordinatorParty, tmp_path: Path
) -> None:
    """It ended a healthy `owner run`; once the good one is there, it goes on."""
    content = secrets.token_bytes(2000)
    blob = offer(coordinator, line.study, content)
    path = coordinator.store.bodies(line.study).path(blob)  # type: ignore[attr-defined]
    path.write_bytes(bytes(len(content)))
    bodies = BodyFiles(tmp_path)
    with pytest.raises(Unreachable, match=r"came damaged.* restore it from a backup there"):
        line.http.fetch_body(blob, bodies)
    path.write_bytes(content)
    line.http.fetch_body(blob, bodies)
    assert bodies.read_all(blob) == content


@pytest.mark.parametrize("changed", [b'"sent":', b'"life":"'])
def test_answer_that_was_changed_on_its_way_is_not_believed(line: Line, between: Between, changed: bytes) -> None:
    """The standing said that the coordinator had been restored, or that two copies of its database answer."""
    honest = line.http.fetch(Known(), 0.0)
    between.changes += [lambda one: httpx.Response(200, content=one.read().replace(changed, changed + b"9"))]
    del between.requests[:]
    again = line.http.fetch(Known(), 0.0)
    assert (again.messages, again.standing, len(between.requests)) == (honest.messages, honest.standing, 2)


def test_upload_that_broke_off_sends_exactly_what_is_missing(
    coordinator: CoordinatorParty, line: Line, between: Between, tmp_path: Path
) -> None:
    own, content = BodyFiles(tmp_path / "bodies"), secrets.token_bytes(1000)
    blob = own.write([content])
    coordinator.store.bodies(line.study).append(blob, 0, [content[:300]], "anna")
    assert coordinator.store.announce(line.study, "anna", blob, 2**30, 100)
    line.http._patiently(lambda: line.http._upload(blob, own, None))
    assert [content for method, _, content in between.requests if method == "PUT"] == [content[300:]]
    assert coordinator.store.bodies(line.study).read_all(blob) == content


def test_answer_that_is_not_the_coordinators_is_a_sentence(line: Line, between: Between, tmp_path: Path) -> None:
    """Whatever stands between can answer with anything."""
    line.http._patience = 0.0
    try:
        lost, large = httpx.Response(404, text="?"), {"error": "large", "sentence": "Ask its operator."}
        garbled = httpx.Response(403, json={"error": "sendes", "sentence": "No."})
        for wrong in (httpx.Response(200, json=[1]), httpx.Response(200, json={}), lost, garbled, sign_in(lost)):
            between.changes += [lambda _, wrong=wrong: wrong]  # type: ignore[misc]
            why = "" if wrong.status_code == 200 else f", with status {wrong.status_code}; is the address right"
            with pytest.raises(Unreachable, match=f"cannot be reached: something else answers in its place{why}"):
                line.http.fetch(Known(), 0.0)
        between.changes += [lambda _: httpx.Response(413, json=large)]
        with pytest.raises(Unreachable, match="Ask its operator"):
            line.http.fetch(Known(), 0.0)
        own = BodyFiles(tmp_path / "bodies")
        for answer in (sign_in, lambda _: httpx.Response(200, json={"received": "x", "complete": False})):
            between.changes += [answer]
            with pytest.raises(Unreachable):
                line.http._patiently(lambda: line.http._upload(own.write([CONTENT]), own, None))
    finally:
        line.http._patience = PATIENCE


def test_owner_killed_at_the_rename_of_a_body_from_the_folder_goes_on(tmp_path: Path) -> None:
    line, bodies = FolderTransport(tmp_path, strangers_letters(), "anna"), BodyFiles(tmp_path / "bodies")
    blob = blob_of(CONTENT)
    line._place.put_body(blob, _holding(tmp_path / "other"))
    left_whole(bodies, blob, CONTENT)
    line.fetch_body(blob, bodies)
    assert bodies.read_all(blob) == CONTENT


def test_body_damaged_in_the_folder_is_taken_in_when_it_comes_again(tmp_path: Path) -> None:
    line, bodies = FolderTransport(tmp_path, strangers_letters(), "anna"), BodyFiles(tmp_path / "bodies")
    blob = blob_of(CONTENT)
    line._place.put_body(blob, _holding(tmp_path / "other"))
    path = next(tmp_path.glob("*/bodies/*"))
    path.write_bytes(CONTENT[::-1])
    with pytest.raises(Unreachable, match="Copy it again"):
        line.fetch_body(blob, bodies)
    path.write_bytes(CONTENT)
    line.fetch_body(blob, bodies)
    assert bodies.read_all(blob) == CONTENT


def _holding(folder: Path) -> BodyFiles:
    bodies = BodyFiles(folder)
    bodies.write([CONTENT])
    return bodies
