"""Whoever sees what travels or lies somewhere: a carried folder, a proxy's traffic, a copy of the coordinator's bodies.
In an earlier version an owner read both lists of a round in the shared folder: every outcome, and with its own secret
the opened values, so the key of a round. Now a stranger and a cheating owner see sizes and times; the same reader with
the coordinator's keys (the flaw back) gets everything.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blindlabel.engines.interface import Outcomes
from blindlabel.envelope.identity import Context, EnvelopeError, Identity, new_identity, shared_secret
from blindlabel.envelope.stream import open_
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity
from blindlabel.parties.owner import OwnerParty
from blindlabel.parties.questions import open_tasks
from blindlabel.protocol import comparing
from blindlabel.protocol import owner_rules as rules
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.letters import BLOCK, Letters, public_of, sender_of
from blindlabel.protocol.refusals import MalformedMessage
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.study_parties import (
    SURNAMES,
    confirm_all,
    joined,
    over_http,
    play,
    served,
    small_agreement,
    write_person_tables,
)

N = 4


@dataclass
class Seen:
    """A study that is over, and what somebody saw of it."""

    coordinator: CoordinatorParty
    workspaces: list[Workspace]
    bodies: list[bytes] = field(default_factory=list)
    letters: list[bytes] = field(default_factory=list)
    rest: bytes = b""

    @property
    def study(self) -> str:
        return self.workspaces[0].agreement.hash

    @property
    def of_coordinator(self) -> Identity:
        return self.coordinator._identity(self.study)


def founded(folder: Path) -> tuple[CoordinatorParty, list[Workspace]]:
    agreement = small_agreement(2, records=N, rounds=2)
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    return coordinator, joined(folder, coordinator.create(to_text(agreement)), write_person_tables(folder, rows=N))


def in_a_folder(folder: Path) -> Seen:
    """Everything that lies in the shared folder when the study is over; nothing is ever deleted there."""
    coordinator, workspaces = founded(folder)
    shared = folder / "shared"
    shared.mkdir()
    server = FolderServer(coordinator, shared)

    class Served(FolderTransport):
        def deliver(self, *given: object) -> None:
            super().deliver(*given)  # type: ignore[arg-type]
            server.turn()

    play(workspaces, lambda one: Served(shared, letters_of(one), one.name), SURNAMES)
    seen = Seen(coordinator, workspaces)
    for path in sorted(shared.rglob("*")):
        if path.is_file():
            into = seen.bodies if path.parent.name == "bodies" else seen.letters if path.suffix == ".message" else None
            if into is None:
                seen.rest += path.read_bytes()
            else:
                into.append(path.read_bytes())
    return seen


class Proxy:
    """Keeps all that goes over HTTP."""

    def __init__(self, app: ASGIApp, seen: list[bytes]) -> None:
        self.app, self.seen = app, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        heard, said = bytearray(), bytearray()

        async def hear() -> Message:
            message = await receive()
            heard.extend(message.get("body", b""))
            return message

        async def say(message: Message) -> None:
            said.extend(message.get("body", b""))
            await send(message)

        await self.app(scope, hear, say)
        self.seen += [bytes(heard), bytes(said), scope.get("raw_path", b"") + scope.get("query_string", b"")]


def over_a_proxy(folder: Path) -> Seen:
    coordinator, workspaces = founded(folder)
    traffic: list[bytes] = []

    def between(app: FastAPI) -> None:
        app.add_middleware(Proxy, seen=traffic)

    with served(coordinator, add=between) as address:
        play(workspaces, over_http(address), SURNAMES)
    seen = Seen(coordinator, workspaces)
    for part in traffic:
        found = [b"blindlabel-letter" + one for one in part.replace(b"\\n", b"\n").split(b"blindlabel-letter")[1:]]
        seen.letters += [one[: one.index(b"\n", one.index(b"\n") + 1) + 1] for one in found]
        (seen.bodies.append(part) if not found and not part.isascii() else None)
        seen.rest += part if part.isascii() and not found else b""
    return seen


def in_the_middle_of_a_round(folder: Path) -> Seen:
    """A copy of `bodies` while lists lie there: anna's list has come, and berta's is waited for."""
    coordinator, workspaces = founded(folder)
    shared = folder / "shared"
    shared.mkdir()
    server = FolderServer(coordinator, shared)
    owners = [OwnerParty(one, FolderTransport(shared, letters_of(one), one.name)) for one in workspaces]
    for _ in range(40):
        state = coordinator.load(owners[0].agreement.hash).state
        if state.rounds and state.rounds[-1].listed:
            break
        for owner in owners:
            owner.turn()
            if open_tasks(owner.store) and owner.store.name == "anna":
                SURNAMES.provide(owner.store)
        confirm_all(owners)
        server.turn()
    seen = Seen(coordinator, workspaces)
    for place in ("bodies", "made"):
        seen.bodies += [path.read_bytes() for path in (folder / "coordinator" / place).rglob("*") if path.is_file()]
    return seen


@pytest.fixture(scope="module", params=[in_a_folder, over_a_proxy, in_the_middle_of_a_round])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    found: Seen = request.param(tmp_path_factory.mktemp("seen"))
    return found


def lists_read(seen: Seen, reader: Identity) -> dict[str, bytes]:
    """The lists of round 1 that somebody opens, by kind and sender: every body, every sender, every kind is tried."""
    found = {}
    for sender in seen.workspaces:
        for kind in ("listed", "opened"):
            context = Context(bytes.fromhex(seen.study), kind, 1)
            for body in seen.bodies:
                try:
                    found[f"{kind} {sender.name}"] = b"".join(
                        open_(reader, own_identity(sender).public, context, [body])
                    )
                except EnvelopeError:
                    continue
    return found


def messages_read(seen: Seen, reader: Identity) -> Iterator[tuple[bytes, bytes]]:
    """The letters that somebody opens, with any party's public keys: each with the keys that it names."""
    parties = [own_identity(one).public for one in seen.workspaces] + [seen.of_coordinator.public]
    for letter in seen.letters:
        for party in parties:
            try:
                yield sender_of(letter)[1].to_bytes(), Letters(seen.study, reader, party).open(letter)
            except MalformedMessage:
                continue


def test_a_stranger_reads_nothing(seen: Seen) -> None:
    stranger = new_identity()
    assert not lists_read(seen, stranger) and not list(messages_read(seen, stranger))
    for content in (*seen.letters, *seen.bodies, seen.rest):
        assert b'"kind"' not in content and b"blindlabel-message" not in content
    for workspace in seen.workspaces:
        for record in workspace.records():
            name = record.prepared.attributes["surname"].encode()
            assert len(name) < 4 or not any(name in content for content in (*seen.letters, *seen.bodies, seen.rest))


def test_a_cheating_owner_reads_its_own_letters_alone_and_no_list(seen: Seen) -> None:
    anna = own_identity(seen.workspaces[0])
    assert not lists_read(seen, anna)
    mine = {anna.public.to_bytes(), seen.of_coordinator.public.to_bytes()}
    read = list(messages_read(seen, anna))
    assert {sender for sender, _ in read} <= mine
    assert all(b'"receiver":"anna"' in wire or b'"sender":"anna"' in wire for _, wire in read)
    others = [letter for letter in seen.letters if sender_of(letter)[1] == own_identity(seen.workspaces[1]).public]
    assert not seen.letters or (read and others)


def test_somebody_with_the_coordinators_keys_finds_lists_in_what_was_seen(seen: Seen) -> None:
    assert "listed anna" in lists_read(seen, seen.of_coordinator)


def test_sizes_of_letters_are_coarse(seen: Seen) -> None:
    sizes = {len(letter) for letter in seen.letters}
    assert len(sizes) <= 3 and all(size > BLOCK for size in sizes)


def test_with_the_coordinators_keys_the_same_reader_has_every_outcome_and_every_opened_value(tmp_path: Path) -> None:
    """The control: the lists as they lay in the folder before they were sealed."""
    seen = in_a_folder(tmp_path)
    lists = lists_read(seen, seen.of_coordinator)
    assert set(lists) == {"listed anna", "opened anna", "listed berta", "opened berta"}
    read = comparing.compared(lists["listed anna"], lists["opened berta"], N, N)
    workspace = seen.workspaces[0]
    state, berta = workspace.state(), public_of(workspace.state().peer("berta"))
    secret = shared_secret(own_identity(workspace), berta, Context(bytes.fromhex(seen.study), "comparing", 1))
    answers = seen.coordinator.load(seen.study).state.rounds[0].answers["anna>berta"].blob
    direction = rules.direction(state, 1, "anna", "berta", answers)
    values = np.array([[opened(lists["opened berta"], secret, direction, i, j) for j in range(N)] for i in range(N)])
    truth: Outcomes = (values == 0).astype(np.uint8)
    assert np.array_equal(read, truth) and 0 < truth.sum() < N * N


def opened(listed: bytes, secret: bytes, direction: comparing.Direction, i: int, j: int) -> int:
    """What the other owner's machine opened, by trying: its hash is keyed, and the key is the asker's too."""
    begun = hashlib.blake2b(direction.context, digest_size=8, key=secret, person=b"bl-comparing")
    for value in range(2):
        one = begun.copy()
        one.update(struct.pack(">BIIQ", 0, i, j, value))
        if one.digest() == listed[8 * (N * i + j) :][:8]:
            return value
    raise AssertionError("no value fits")
