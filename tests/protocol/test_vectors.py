"""The vectors in tests/vectors against the parser, the rules and both transports; and that they are what the script
makes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from blindlabel.envelope.identity import Identity
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import TableOptions, join, own_identity
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol import coordinator_rules as rules
from blindlabel.protocol import messages
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.facts import StudyState
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.invitation import Invitation
from blindlabel.protocol.letters import Letters
from blindlabel.protocol.refusals import ALL, MalformedMessage, ProtocolError, TooEarly
from blindlabel.protocol.shape import COORDINATOR
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel.transport.server import create_app
from blindlabel.transport.server_limits import ServerLimits
from blindlabel_lab.simulation import vectors
from blindlabel_lab.simulation.vectors import identity_of, join_of, token_of, wire_of
from support.asynchronous import finished

FOLDER = Path(__file__).parent.parent / "vectors"
AT_COORDINATOR: dict[str, Any] = json.loads((FOLDER / "to-coordinator.json").read_text("utf-8"))
AT_OWNER: dict[str, Any] = json.loads((FOLDER / "to-owner.json").read_text("utf-8"))
AGREEMENT = vectors.the_agreement()


def faulty(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in document["vectors"] if entry["error"]]


def test_vectors_are_many_distinct_and_what_the_script_makes() -> None:
    entries = AT_COORDINATOR["vectors"] + AT_OWNER["vectors"]
    assert len(entries) >= 150
    assert len({wire_of(entry) for entry in AT_COORDINATOR["vectors"]}) == len(AT_COORDINATOR["vectors"])
    assert {entry["error"] for entry in entries} - {None} <= set(ALL)
    made = vectors.documents()
    assert made["to-coordinator"] == AT_COORDINATOR and made["to-owner"] == AT_OWNER


@pytest.mark.parametrize("document", [AT_COORDINATOR, AT_OWNER], ids=["to-coordinator", "to-owner"])
def test_parser_refuses_what_the_bytes_alone_show(document: dict[str, Any]) -> None:
    for entry in document["vectors"]:
        if entry["stage"] == "parse":
            with pytest.raises(ProtocolError) as caught:
                messages.parse(wire_of(entry))
            assert caught.value.code == entry["error"], entry["name"]
        else:
            assert messages.parse(wire_of(entry)).wire == wire_of(entry), entry["name"]


def test_message_larger_than_allowed_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        messages.parse(b"blindlabel-message/1 " + b"A" * messages.LARGEST)


def coordinator_state() -> StudyState:
    agreement, state = vectors.founded()
    for wire in AT_COORDINATOR["before"]:
        state = rules.handle(agreement, state, messages.parse(wire.encode())).state
    return state


def test_coordinators_rules_give_the_expected_error() -> None:
    state = coordinator_state()
    for entry in AT_COORDINATOR["vectors"]:
        try:
            rules.handle(AGREEMENT, state, messages.parse(wire_of(entry)))
            code = None
        except ProtocolError as error:
            code = error.code
        assert code == entry["error"], entry["name"]


def owner_state() -> owner.OwnerState:
    state = owner.OwnerState(
        study=AGREEMENT.hash, name="anna", coordinator_key=identity_of(COORDINATOR).public.to_bytes().hex()
    )
    state = owner.joins(state, join_of(AGREEMENT, "anna")).state
    for wire in AT_OWNER["before"]:
        state = owner.handle(AGREEMENT, state, messages.parse(wire.encode()))
        state = owner.confirms(state, "berta").state
    return state


def test_owners_rules_give_the_expected_error() -> None:
    state = owner_state()
    for entry in AT_OWNER["vectors"]:
        try:
            owner.handle(AGREEMENT, state, messages.parse(wire_of(entry)))
            code = None
        except ProtocolError as error:
            code = error.code
        assert code == entry["error"], entry["name"]


def letter(wire: bytes, sender: Identity | None = None, receiver: Identity | None = None) -> bytes:
    """The message sealed: of anna for the coordinator."""
    own, other = sender or identity_of("anna"), receiver or identity_of(COORDINATOR)
    return Letters(AGREEMENT.hash, own, other.public).seal(wire)


def real_coordinator(home: Path) -> CoordinatorParty:
    """A coordinator in the state of the vectors."""
    coordinator = CoordinatorParty(CoordinatorStore(home))
    agreement, state = vectors.founded()
    coordinator.store.keep_secret(agreement.hash, "signing", identity_of(COORDINATOR).to_bytes())
    coordinator.store.create(agreement.name, AT_COORDINATOR["agreement"], state)
    for body in (vectors.BODY, vectors.SHORT):
        coordinator.store.bodies(agreement.hash).write([body])
    for wire in AT_COORDINATOR["before"]:
        assert coordinator.receive(wire.encode())
    return coordinator


def test_vectors_over_http(tmp_path: Path) -> None:
    coordinator = real_coordinator(tmp_path)
    limits = ServerLimits(requests_per_second=10_000, joins_per_second=10_000)

    async def post_all() -> None:
        transport = httpx.ASGITransport(create_app(coordinator, limits))
        headers = {"Authorization": f"Bearer {token_of('anna')}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://coordinator", headers=headers) as client:
            before = coordinator.load(AGREEMENT.hash)
            for entry in faulty(AT_COORDINATOR):
                response = await client.post("/v1/messages", content=letter(wire_of(entry)))
                allowed = {entry["error"], "sender"} if entry["stage"] == "check" else {entry["error"]}
                assert response.status_code >= 400 and response.json()["error"] in allowed, entry["name"]
            assert coordinator.load(AGREEMENT.hash) == before, "a faulty message changed something"
            for entry in AT_COORDINATOR["vectors"]:
                if entry["error"] is None:
                    response = await client.post("/v1/messages", content=letter(wire_of(entry)))
                    assert response.status_code == 200, entry["name"]

    finished(post_all())


def test_vectors_over_the_folder(tmp_path: Path) -> None:
    coordinator = real_coordinator(tmp_path / "coordinator")
    shared = tmp_path / "shared"
    inbox, outbox = (shared / AGREEMENT.hash[:16] / f"{way}-anna" for way in ("from", "to"))
    inbox.mkdir(parents=True)
    before = coordinator.load(AGREEMENT.hash)
    for number, entry in enumerate(faulty(AT_COORDINATOR)):
        (inbox / f"{number:06d}-00000000.message").write_bytes(letter(wire_of(entry)))
    server = FolderServer(coordinator, shared)
    server.turn()
    assert coordinator.load(AGREEMENT.hash) == before, "a faulty message changed something"
    for number, entry in enumerate(faulty(AT_COORDINATOR)):
        refusals = list(outbox.glob(f"refused-{number:06d}-*.txt"))
        if entry["error"] == TooEarly.code:
            assert not refusals, entry["name"]
        else:
            assert len(refusals) == 1 and refusals[0].read_text("utf-8").split("\n")[0] in (entry["error"], "sender"), (
                entry["name"]
            )
    for number, entry in enumerate(AT_COORDINATOR["vectors"], start=1000):
        if entry["error"] is None:
            (inbox / f"{number:06d}-00000000.message").write_bytes(letter(wire_of(entry)))
    server.turn()
    assert not list(outbox.glob("refused-001*.txt"))
    state = coordinator.load(AGREEMENT.hash).state
    current = state.rounds[-1]
    assert "anna>berta" in current.answers and "anna>berta" in current.listed and "berta>anna" in current.opened


def test_coordinators_vectors_reach_an_owner_over_the_folder(tmp_path: Path) -> None:
    table = tmp_path / "anna.csv"
    table.write_text("name\na\nb\nc\nd\ne\n", encoding="utf-8")
    key = identity_of(COORDINATOR).public.to_bytes().hex()
    workspace = join(
        Workspace.create(tmp_path / "anna"),
        Invitation("anna", "00" * 32, key, "", AT_OWNER["agreement"]),
        TableOptions(table),
    )
    workspace.change(lambda _: owner.OwnerStep(owner_state()))
    workspace.bodies.write([vectors.BODY])
    shared = tmp_path / "shared"
    inbox = shared / AGREEMENT.hash[:16] / "to-anna"
    inbox.mkdir(parents=True)
    party = OwnerParty(workspace, FolderTransport(shared, letters_of(workspace), "anna"))
    before = workspace.state()
    for entry in faulty(AT_OWNER):
        (inbox / "000004.message").write_bytes(
            letter(wire_of(entry), identity_of(COORDINATOR), own_identity(workspace))
        )
        try:
            code = None if party.fetch(0) else TooEarly.code
        except ProtocolError as error:
            code = error.code
        except Unreachable as error:  # damaged on its way, it seems: it is waited for
            assert isinstance(error.__cause__, ProtocolError)
            code = error.__cause__.code
        assert code == entry["error"], entry["name"]
        assert workspace.state() == before
