"""Whether a body has arrived: in the first version the route answered about everything that the coordinator held, and
an owner found the opened answers of a 5 × 5 study by 1,663 guesses. Now it speaks of the asker's own uploads alone,
and what the coordinator makes has names that do not follow from its content.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty
from blindlabel.parties.questions import open_tasks
from blindlabel.protocol import labels
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.letters import LARGEST_LETTER
from blindlabel.protocol.shape import Blob, blob_of
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.server_limits import ServerLimits
from support.direct_line import DirectLine
from support.study_parties import confirm_all, joined, served, small_agreement, write_person_tables

N = 2


class Asker:
    """An owner that asks the server about bodies."""

    def __init__(self, client: httpx.Client, workspace: Workspace) -> None:
        self._client, self._url = client, f"/v1/studies/{workspace.agreement.hash}/bodies"
        self._headers = {"Authorization": f"Bearer {workspace.secret('token').decode()}"}

    def is_there(self, blob: Blob) -> bool:
        said = self._client.get(
            f"{self._url}/{blob.hash}/arrived", params={"length": blob.length}, headers=self._headers
        ).json()
        return bool(said["complete"] or said["received"])

    def put(self, content: bytes, blob: Blob | None = None) -> int:
        blob = blob or blob_of(content)
        reply = self._client.put(
            f"{self._url}/{blob.hash}", params={"length": blob.length}, content=content, headers=self._headers
        )
        return int(reply.status_code)


def compared_by_the_coordinator(folder: Path) -> tuple[CoordinatorParty, list[Workspace]]:
    """A study in which anna has handed in and the coordinator has compared both lists; berta has asked nothing."""
    agreement = small_agreement(2, records=N)
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    workspaces = joined(folder, coordinator.create(to_text(agreement)), write_person_tables(folder, rows=N))
    owners = [OwnerParty(one, DirectLine(coordinator, agreement.hash, one.name)) for one in workspaces]
    for _ in range(4):
        for owner in owners:
            owner.turn()
        confirm_all(owners)
    store = workspaces[0]
    store.save_questions({task.record: 'ret is_in("a", $r)' for task in open_tasks(store)}, "person")
    store.hand_in()
    for owner in (owners[0], owners[1], owners[0]):
        owner.turn()
    coordinator.work(agreement.hash)
    assert "anna>berta" in coordinator.load(agreement.hash).state.rounds[-1].read
    return coordinator, workspaces


def test_an_owner_is_told_of_its_own_uploads_alone(tmp_path: Path) -> None:
    coordinator, workspaces = compared_by_the_coordinator(tmp_path)
    study = workspaces[0].agreement.hash
    state, bodies = coordinator.load(study).state, coordinator.store.bodies(study)
    kept, about = state.rounds[-1].read["anna>berta"].blob, "outcomes 1 anna>berta"
    limits = ServerLimits(requests_per_second=1e6)
    with served(coordinator, limits) as address, httpx.Client(base_url=address, trust_env=False) as client:
        anna, berta = (Asker(client, one) for one in workspaces)
        guesses = [np.array(bits, dtype=np.uint8) for bits in itertools.product((0, 1), repeat=N * N)]
        found = [
            guess
            for guess in guesses
            for content in (
                guess.tobytes(),
                np.packbits(guess).tobytes(),
                labels.locked(guess.tobytes(), b"", about)[1],
            )
            if anna.is_there(blob_of(content)) or bodies.has(blob_of(content))
        ]
        assert not found, "no guess names a body, whoever asks"
        assert bodies.has(kept) and not anna.is_there(kept), "nor is anna told where she knows the name"
        others = state.rounds[-1].records["anna>berta"].blob
        assert bodies.has(others) and not anna.is_there(others)
        mine = b"what anna sends"
        assert not anna.is_there(blob_of(mine))
        assert anna.put(mine) == 200
        assert anna.is_there(blob_of(mine))
        assert not berta.is_there(blob_of(mine))


def test_uploading_what_another_has_sent_is_like_uploading_anything(tmp_path: Path) -> None:
    """Whoever guesses another's body must not find out by sending it: a list of the other's opened values follows from
    one's own pads where every answer is yes.
    """
    coordinator, workspaces = compared_by_the_coordinator(tmp_path)
    bodies = coordinator.store.bodies(workspaces[0].agreement.hash)
    content = b"what berta has opened"
    theirs, unknown = blob_of(content), Blob(hash="ab" * 32, length=len(content))
    limits = ServerLimits(requests_per_second=1e6)
    with served(coordinator, limits) as address, httpx.Client(base_url=address, trust_env=False) as client:
        anna, berta = (Asker(client, one) for one in workspaces)
        assert berta.put(content) == 200 and berta.is_there(theirs)
        for sent, code in ((bytes(len(content)), 422), (b"", 200), (b"x", 200), (b"y", 409), (content, 409)):
            told = [(anna.put(sent, blob), anna.is_there(blob)) for blob in (theirs, unknown)]
            assert told[0] == told[1] == (code, sent not in (b"", bytes(len(content)))), sent
        assert bodies.read_all(theirs) == content and berta.is_there(theirs), "nothing was changed"
        assert (berta.put(b"both"), anna.put(b"both")) == (200, 200), "the same from both is no surprise"
        assert anna.put(b"both") == 409, "it is there already, and it is anna's"


def test_uploads_have_a_quota_of_their_owner_and_study(tmp_path: Path) -> None:
    coordinator, workspaces = compared_by_the_coordinator(tmp_path)
    with (
        served(coordinator, ServerLimits(owner_bytes=100, owner_bodies=3)) as address,
        httpx.Client(base_url=address, trust_env=False) as client,
    ):
        anna, berta = (Asker(client, one) for one in workspaces)
        assert [anna.put(bytes([number]) * 40) for number in range(3)] == [200, 200, 413]
        assert anna.put(bytes([0]) * 40) == 409, "the same again is there already, and no new upload"
        assert berta.put(b"b" * 40) == 200, "another owner has room of its own"
        assert [berta.put(bytes([number])) for number in range(3)] == [200, 200, 413]


def test_announcing_less_afterwards_makes_no_room_in_a_quota(tmp_path: Path) -> None:
    """A part stays on the coordinator's disk whatever its owner says of its length later."""
    coordinator, workspaces = compared_by_the_coordinator(tmp_path)
    folder = tmp_path / "coordinator" / "bodies" / workspaces[0].agreement.hash
    limits = ServerLimits(owner_bytes=100, owner_bodies=9, requests_per_second=1e6)
    with served(coordinator, limits) as address, httpx.Client(base_url=address, trust_env=False) as client:
        anna, _ = (Asker(client, one) for one in workspaces)
        for number in range(6):
            name = f"{number:064x}"
            anna.put(b"x" * 89, Blob(hash=name, length=90))  # never whole
            anna.put(b"", Blob(hash=name, length=1))
    held = sum(path.stat().st_size for path in folder.glob("*.anna.part"))
    assert held <= 100, f"{held} bytes lie there, and 100 are allowed"


def test_requests_are_bounded_before_anybody_asks_who_sends_them(tmp_path: Path) -> None:
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    limits = ServerLimits(largest_part=1000, largest_other=1000)
    study = "ab" * 32
    routes = [
        ("POST", "/v1/messages", LARGEST_LETTER),
        ("PUT", f"/v1/studies/{study}/bodies/{study}?length=5", 1000),
        ("GET", f"/v1/studies/{study}/messages", 1000),
        ("POST", "/sign-in", 1000),
        ("POST", "/health", 1000),
    ]
    with served(coordinator, limits) as address, httpx.Client(base_url=address, trust_env=False) as client:
        for method, path, most in routes:
            assert client.request(method, path, content=b"x" * (most + 1)).status_code == 413, path
            assert client.request(method, path, content=b"x" * 900).status_code != 413, path

        def stream() -> Iterator[bytes]:
            yield from itertools.repeat(b"x" * 2**16, 40)

        refused = client.post("/v1/messages", content=stream())  # no length is told: cut off while it streams
        assert refused.status_code == 413
