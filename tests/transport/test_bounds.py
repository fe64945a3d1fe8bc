"""What one owner, one study or one upload may not do to others over HTTP: each bound is taken away by a planted bug in
scripts/mutants.toml, and noticed here.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity, signed_by
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.messages import Message
from blindlabel.protocol.shape import blob_of
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport import server_limits
from blindlabel.transport.background import Background
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.server_limits import ServerLimits
from support.direct_line import DirectLine
from support.patience import PATIENCE
from support.study_parties import joined, served, small_agreement, write_person_tables


class Owner:
    """An owner of one study, and what it asks the server."""

    def __init__(self, workspace: Workspace, client: httpx.Client) -> None:
        self.workspace, self._client = workspace, client
        self.study = workspace.agreement.hash
        self.bearer = {"Authorization": f"Bearer {workspace.secret('token').decode()}"}

    def put(self, content: bytes, *, study: str = "", stream: Iterator[bytes] | None = None) -> int:
        """The status of sending a body."""
        blob = blob_of(content)
        url = f"/v1/studies/{study or self.study}/bodies/{blob.hash}"
        sent = content if stream is None else stream
        reply = self._client.put(url, params={"length": blob.length}, content=sent, headers=self.bearer)
        return int(reply.status_code)

    def get(self, path: str, study: str = "") -> httpx.Response:
        """An answer about a study."""
        return self._client.get(f"/v1/studies/{study or self.study}/{path}", headers=self.bearer)


class Studies:
    """Two studies with an owner of the same name, anna, in both."""

    def __init__(self, folder: Path) -> None:
        self.coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
        self.workspaces: list[Workspace] = []
        tables = write_person_tables(folder, rows=4)
        for name in ("one", "two"):
            agreement = small_agreement(2, records=2, name=name)
            invitations = self.coordinator.create(to_text(agreement))
            self.workspaces += joined(folder / name, invitations, tables)
        for workspace in (self.workspaces[0], self.workspaces[2]):
            OwnerParty(workspace, DirectLine(self.coordinator, workspace.agreement.hash, "anna")).send()

    @contextlib.contextmanager
    def under(self, limits: ServerLimits, background: Background | None = None) -> Iterator[list[Owner]]:
        """Anna and berta of the first study, then of the second."""
        with (
            served(self.coordinator, limits, background=background) as address,
            httpx.Client(base_url=address, trust_env=False, verify=False, timeout=PATIENCE) as client,
        ):
            yield [Owner(workspace, client) for workspace in self.workspaces]


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Studies:
    return Studies(tmp_path_factory.mktemp("bounds"))


def test_no_body_is_taken_where_the_disk_is_nearly_full(studies: Studies, monkeypatch: pytest.MonkeyPatch) -> None:
    with studies.under(ServerLimits(free_disk=1000)) as (anna, *_):
        monkeypatch.setattr(studies.coordinator.store, "free", lambda: 1000 + 40)
        assert anna.put(b"a" * 41) == 507
        assert not studies.coordinator.store.bodies(anna.study).received(blob_of(b"a" * 41), "anna")
        assert anna.put(b"a" * 40) == 200
        monkeypatch.setattr(studies.coordinator.store, "free", lambda: 999)
        assert anna.put(b"") == 507


def test_what_an_owner_has_sent_to_one_study_takes_no_room_in_another(studies: Studies) -> None:
    with studies.under(ServerLimits(owner_bytes=1000)) as (anna, _, also_anna, _):
        assert anna.put(b"b" * 500) == 200
        assert anna.put(b"c" * 800) == 413
        assert also_anna.put(b"c" * 800) == 200


def test_token_of_one_study_opens_no_other(studies: Studies) -> None:
    with studies.under(ServerLimits()) as (anna, _, also_anna, _):
        assert anna.get("messages").status_code == 200
        for path in ("messages", f"bodies/{'ab' * 32}", f"bodies/{'ab' * 32}/arrived?length=1"):
            assert anna.get(path, also_anna.study).json()["error"] == "sender", path
        assert anna.put(b"d", study=also_anna.study) == 403
        confirm = messages.Confirm(peer="berta", envelope_key="0" * 64)
        message = Message(also_anna.study, "anna", "coordinator", 0, 9, confirm)
        wire = letters_of(also_anna.workspace).seal(signed_by(own_identity(also_anna.workspace), message).wire)
        said = [anna._client.post("/v1/messages", content=wire, headers=one.bearer).json() for one in (anna, also_anna)]
        assert said[0]["error"] == "sender", "for a token of another study"
        assert said[1]["error"] != "sender", "the message itself is not what was refused"


def test_wrong_tokens_are_slowed_and_right_ones_are_not(studies: Studies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_limits, "time", SimpleNamespace(monotonic=lambda: 7.0))  # however long the machine takes
    with studies.under(ServerLimits(joins_per_second=1)) as (anna, *_):
        right, anna.bearer = anna.bearer, {"Authorization": "Bearer " + "x" * 43}
        assert [anna.get("messages").status_code for _ in range(6)] == [403] * 4 + [429] * 2
        assert anna._client.post("/v1/messages", content=b"x").status_code == 429, "messages without a token as well"
        anna.bearer = right
        assert [anna.get("messages").status_code for _ in range(6)] == [200] * 6


def test_body_that_says_no_length_is_cut_off(studies: Studies) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 2**16
            yield bytes(2**16)

    with studies.under(ServerLimits(largest_part=2**20, largest_other=2**10)) as (anna, *_):
        with contextlib.suppress(httpx.WriteError):
            assert anna.put(bytes(2**24), stream=endless()) == 413
        arrived = studies.coordinator.store.bodies(anna.study).received(blob_of(bytes(2**24)), "anna")
        assert arrived <= 2**20, "no more than one request may have"
        with contextlib.suppress(httpx.WriteError):
            assert anna._client.post("/health", content=endless()).status_code in (405, 413)
    assert sent < 2**27, "whoever has its answer and sends on is cut off"


def test_message_wakes_those_who_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks again by itself here: whoever is not woken waits for ever."""
    made, looked = Studies(tmp_path), threading.Event()
    outgoing = made.coordinator.store.outgoing

    def watched(study: str, receiver: str, after: int, most: int = 50) -> list[bytes]:
        looked.set()
        return outgoing(study, receiver, after, most)

    monkeypatch.setattr(made.coordinator.store, "outgoing", watched)
    limits = ServerLimits(longest_wait=3600, look_again=3600)
    with made.under(limits, Background(made.coordinator, pause=3600)) as (anna, berta, *_):
        told: list[httpx.Response] = []
        waiting = threading.Thread(target=lambda: told.append(anna.get("messages?wait=3600")), daemon=True)
        waiting.start()
        assert looked.wait(PATIENCE)
        wire = letters_of(berta.workspace).seal(berta.workspace.unsent()[0][1])
        assert berta._client.post("/v1/messages", content=wire, headers=berta.bearer).json() == {"new": True}
        waiting.join(PATIENCE)
        opened = [letters_of(anna.workspace).open(text.encode()) for text in told[0].json()["messages"]]
        assert [messages.parse(wire).message.kind for wire in opened] == ["keys"]
