"""A whole study by the protocol's rules alone: no files, no network, no encryption; messages in any order, repeated."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import nacl.public
import nacl.signing
import numpy as np

from blindlabel.engines.interface import Outcomes
from blindlabel.envelope.stream import sealed_size
from blindlabel.protocol import coordinator_rules as coordinator
from blindlabel.protocol import facts, labels, messages, rounds
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.invitation import proved_join
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.owner_facts import OwnRound
from blindlabel.protocol.refusals import TooEarly, WrongRound
from blindlabel.protocol.shape import Locked, blob_of

Answering = Callable[[str, str, int, Sequence[int], Sequence[int]], Outcomes]
"""(asker, holder, round, the asker's open records, the holder's) to the outcomes, one row a question."""


@dataclass
class Study:
    """All parties in one place, with the protocol's own rules; answers are given, not computed."""

    agreement: Agreement
    random: random.Random
    keys: dict[str, nacl.signing.SigningKey] = field(default_factory=dict)
    envelope_keys: dict[str, str] = field(default_factory=dict)
    owners: dict[str, owner.OwnerState] = field(default_factory=dict)
    invitations: dict[str, nacl.signing.SigningKey] = field(default_factory=dict)
    inbox: list[Signed] = field(default_factory=list)
    outbox: dict[str, list[Signed]] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    matrices: dict[str, Outcomes] = field(default_factory=dict)
    answering: Answering | None = None
    """Who says what; without it, chance."""
    records: int = 6
    """Rows of every table."""
    drawn: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Rows of pairs that were drawn from a list, by owner."""

    def __post_init__(self) -> None:
        for name in (*self.agreement.owners, "coordinator"):
            self.keys[name] = nacl.signing.SigningKey.generate()
            self.envelope_keys[name] = bytes(nacl.public.PrivateKey.generate().public_key).hex()
            self.invitations[name] = nacl.signing.SigningKey.generate()
        public = {name: bytes(key.verify_key).hex() for name, key in self.invitations.items()}
        self.state = facts.new_state(self.agreement, public, "ef" * 32, self.drawn)
        for name in self.agreement.owners:
            self.outbox[name] = []
            key = self.envelope_keys["coordinator"] + bytes(self.keys["coordinator"].verify_key).hex()
            self.owners[name] = owner.OwnerState(study=self.agreement.hash, name=name, coordinator_key=key)
            self.own(name, owner.joins(self.owners[name], self.join(name)))

    def join(self, name: str, records: int | None = None) -> messages.Join:
        records = records or self.records
        signing, envelope, token = bytes(self.keys[name].verify_key).hex(), self.envelope_keys[name], "0" * 64
        said = {"records": records, "envelope_key": envelope, "signing_key": signing, "token_hash": token}
        return proved_join(bytes(self.invitations[name]), self.agreement.hash, name, **said)

    def signed(self, message: messages.Message) -> Signed:
        return messages.parse(messages.sign(message, lambda data: self.keys[message.sender].sign(data).signature).wire)

    def own(self, name: str, step: owner.OwnerStep) -> None:
        self.owners[name] = step.state
        self.inbox += [self.signed(message) for message in step.messages]

    def take(self, step: facts.StudyStep) -> None:
        self.state = step.state
        for body in step.bodies:
            self.bodies[blob_of(body).hash] = body
        for message in step.messages:
            self.outbox[message.receiver].append(self.signed(message))

    def handle(self, signed: Signed) -> None:
        self.take(coordinator.handle(self.agreement, self.state, signed, self.random.randrange))

    def work(self) -> None:
        for todo in coordinator.work(self.agreement, self.state):
            if todo.kind == "read":
                direction = f"{todo.asker}>{todo.holder}"
                answers_ = self.state.rounds[-1].answers[direction]
                named = Locked(blob=answers_.blob, key="0" * 64)
                self.state = rounds.read(self.state, todo.round, direction, named)
            elif todo.kind == "settle":
                current = self.state.rounds[-1]
                answers = {place: self.matrices[named.blob.hash] for place, named in current.read.items()}
                before = {}
                for a, b in self.agreement.pairings:
                    key = facts.key_of(a, b)
                    before[key] = self.labels_now(a, b)
                self.take(rounds.settle(self.agreement, self.state, todo.round, answers, before))

    def labels_now(self, first: str, second: str) -> labels.Labels:
        """The labels of a pairing, as the coordinator has them."""
        named = self.state.labels[facts.key_of(first, second)]
        content = labels.unlocked(named, self.bodies[named.blob.hash])
        return labels.from_bytes(content, len(self.state.samples[first]), len(self.state.samples[second]))

    def owner_work(self, name: str) -> None:
        state = self.owners[name]
        for peer in self.agreement.peers(name) if state.keys else ():
            self.own(name, owner.confirms(self.owners[name], peer))
        if state.rounds and state.truth is None and not state.rounds[-1].handed_in:
            self.owners[name] = owner.hands_in(state, state.round)
        for todo in owner.work(self.agreement, self.owners[name]):
            blob = blob_of(self.random.randbytes(16))
            current = self.owners[name].rounds[-1]
            open_ = current.open.get(todo.peer, messages.Open(own=(), others=()))
            size = (len(open_.own), len(open_.others))
            listed = blob_of(
                self.random.randbytes(8 * size[0] * size[1]).ljust(sealed_size("listed", 8 * size[0] * size[1]))
            )
            if todo.kind == "carry":
                self.owners[name] = owner.carries(self.owners[name], todo.round)
            elif todo.kind == "serve":
                self.own(name, owner.has_served(self.owners[name], todo.round, todo.peer, blob, b"key"))
            elif todo.kind == "open":
                self.own(name, owner.has_opened(self.owners[name], todo.round, todo.peer, listed))
            elif todo.kind == "evaluate":
                self.matrices[blob.hash] = self.outcomes(name, todo.peer, current)
                salted = owner.List(listed, self.random.randbytes(32))
                self.own(name, owner.has_answered(self.owners[name], todo.round, todo.peer, blob, "0" * 64, salted))

    def outcomes(self, asker: str, holder: str, current: OwnRound) -> Outcomes:
        if self.answering is None:
            return self.random_outcomes(len(current.open[holder].own), len(current.open[holder].others))
        now = current.open[holder]
        return self.answering(asker, holder, self.owners[asker].round, now.own, now.others)

    def random_outcomes(self, rows: int, columns: int) -> Outcomes:
        return np.array(
            [[self.random.random() < 0.3 for _ in range(columns)] for _ in range(rows)], dtype=np.uint8
        ).reshape(rows, columns)

    def play(self) -> Iterator[None]:
        """One move after the other, chosen by chance: deliver (anything, repeatedly), fetch, work."""
        while not all(state.truth for state in self.owners.values()):
            name = self.random.choice(self.agreement.owners)
            move = self.random.randrange(4)
            if move == 0 and self.inbox:
                signed = self.random.choice(self.inbox)
                with contextlib.suppress(TooEarly, WrongRound):  # what belongs to a void round comes too late
                    self.handle(signed)
            elif move == 1 and self.outbox[name]:
                signed = self.random.choice(self.outbox[name])
                with contextlib.suppress(TooEarly):
                    self.owners[name] = owner.handle(self.agreement, self.owners[name], signed)
            elif move == 2:
                self.owner_work(name)
            else:
                self.work()
            yield

    def to_the_end(self) -> None:
        """Play until everybody has the truth."""
        for moves, _ in enumerate(self.play()):
            assert moves < 20_000, "stuck"

    def seen(self, name: str) -> list[messages.Message]:
        """Every message that the coordinator sent to an owner, in order."""
        return [signed.message for signed in self.outbox[name]]

    def truth(self, name: str, peer: str) -> labels.Labels:
        """What an owner is told of the labels; rows are its own records."""
        truth = self.owners[name].truth
        assert truth is not None
        (result,) = (one for one in truth.pairings if one.peer == peer)
        first, second = sorted((name, peer))
        sizes = [len(self.state.samples[one]) for one in (first, second)]
        body = labels.unlocked(result.labels, self.bodies[result.labels.blob.hash])
        matrix = labels.from_bytes(body, sizes[0], sizes[1])
        return matrix if name == first else matrix.T
