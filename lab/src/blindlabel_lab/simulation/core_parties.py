"""Coordinator and owners as thin as can be: the protocol's rules over a disk in memory. What they send as bodies is
readable.

They keep to the same order as the real parties: bodies first, then state and messages in one commit, only then anything
leaves.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping

import nacl.public
import nacl.signing
import numpy as np

from blindlabel.errors import OutsideError
from blindlabel.protocol import coordinator, facts, labels, messages, owner, sampling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.errors import MalformedMessage, ProtocolError, Replayed, TooEarly, WrongStudy
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.shape import COORDINATOR, Blob
from blindlabel_lab.simulation.disk import Disk
from blindlabel_lab.simulation.faults import Weather
from blindlabel_lab.simulation.network import Network
from blindlabel_lab.simulation.reference import Says


class CoreCoordinator:
    """The coordinator's rules, as an endpoint of the network."""

    def __init__(
        self, agreement: Agreement, disk: Disk[facts.State], key: nacl.signing.SigningKey, weather: Weather
    ) -> None:
        self.agreement = agreement
        self.disk = disk
        self._key = key
        self._weather = weather

    def receive(self, wire: bytes) -> bool:
        """Take in a message."""
        signed = messages.parse(wire)
        step = coordinator.handle(self.agreement, self.disk.state, signed, self._weather.random.randrange)
        if step.state == self.disk.state:
            return False
        if any(not self.disk.has(blob) for blob in signed.message.blobs):
            raise TooEarly("The message's body has not arrived yet.")
        self._keep(step)
        return True

    def outgoing(self, owner: str, after: int) -> list[bytes]:
        """Messages to an owner."""
        return [wire for receiver, wire in self.disk.contents.messages if receiver == owner][after:]

    def put_body(self, blob: Blob, body: bytes) -> None:
        """Take in a body."""
        self.disk.put(body, blob)

    def get_body(self, owner: str, blob: Blob) -> bytes:  # noqa: ARG002 (who may fetch what is the real store's business)
        """Give a body."""
        body = self.disk.body(blob)
        if body is None:
            raise WrongStudy("There is no such body.")
        return body

    def assist(self, wire: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Count the call, then serve it."""
        signed = messages.parse(wire)
        state = coordinator.count_assist(self.agreement, self.disk.state, signed)
        if state != self.disk.state:
            self.disk.commit(state)
        call = signed.message
        assert isinstance(call.body, messages.Assist)
        reply = body[::-1]
        answer = messages.Assisted(number=call.body.number, blob=facts.blob_of(reply))
        header = messages.Message(call.study, COORDINATOR, call.sender, call.round, call.body.number, answer)
        return messages.sign(header, self._sign).wire, reply

    def known(self) -> facts.State:
        """The committed state."""
        return self.disk.state

    def work(self) -> bool:
        """One piece of the work that the rules name."""
        state = self.disk.state
        todo = next(iter(coordinator.work(self.agreement, state)), None)
        if todo is None:
            return False
        if todo.kind == "keys":
            blob = self.disk.put(self._weather.random.randbytes(8))
            self._keep(coordinator.keys_made(self.agreement, state, blob, self._weather.random.randrange))
        elif todo.kind == "sample":
            found = {
                (name, peer): self.body(blob)
                for name, known in state.owners.items()
                for peer, blob in known.blocking.items()
            }
            self._keep(coordinator.sample_enriched(self.agreement, state, found, self._weather.random.randrange))
        elif todo.kind == "read":
            self._read(state, todo)
        else:
            answers = {place: _matrix(self.body(blob)) for place, blob in state.rounds[-1].read.items()}
            self._keep(coordinator.settle(self.agreement, state, todo.round, answers, self.labels()))
        return True

    def _read(self, state: facts.State, todo: facts.Work) -> None:
        assert todo.blob is not None
        try:
            _matrix(self.body(todo.blob))
        except ValueError:
            self._keep(coordinator.answers_unreadable(state, todo.round, todo.asker, todo.peer, todo.blob))
        else:
            self.disk.commit(coordinator.answers_read(state, todo.round, todo.asker, todo.peer, todo.blob, todo.blob))

    def close(self) -> None:
        """End the study as it stands."""
        self._keep(coordinator.close(self.agreement, self.disk.state))

    def body(self, blob: Blob) -> bytes:
        """A body that must be there."""
        body = self.disk.body(blob)
        if body is None:
            raise OutsideError("A stored body is missing.")
        return body

    def labels(self) -> Mapping[str, labels.Labels]:
        """The labels as they stand, by pairing."""
        state = self.disk.state
        sizes = {name: len(rows) for name, rows in state.samples.items()}
        return {
            facts.key_of(a, b): labels.from_bytes(self.body(state.labels[facts.key_of(a, b)]), sizes[a], sizes[b])
            for a, b in self.agreement.pairings
        }

    def _keep(self, step: facts.Step) -> None:
        for body in step.bodies:
            self.disk.put(body)
        self.disk.commit(
            step.state, tuple((message.receiver, messages.sign(message, self._sign).wire) for message in step.messages)
        )

    def _sign(self, data: bytes) -> bytes:
        return self._key.sign(data).signature


class CoreOwner:
    """An owner's rules, its table of answers, and a person who confirms and hands in without delay."""

    def __init__(
        self, agreement: Agreement, disk: Disk[owner.State], key: nacl.signing.SigningKey, network: Network, says: Says
    ) -> None:
        self.agreement = agreement
        self.disk = disk
        self._key = key
        self._network = network
        self._says = says
        self._again: set[int] | None = None
        """Numbers of messages to hand over once more; None right after a start."""

    @property
    def name(self) -> str:
        """The owner's name."""
        return self.disk.state.name

    def turn(self) -> bool:
        """Everything that can be done now, once each."""
        happened = self.send()
        happened |= self.fetch()
        happened |= self.work()
        return self.send() or happened

    def send(self) -> bool:
        """Hand over what waits; right after a start, also again what the coordinator could have lost."""
        contents = self.disk.contents
        made = contents.messages
        if self._again is None:
            forgotten = self._is_forgotten()
            numbered = [messages.parse(wire).message for _, wire in made]
            self._again = {
                number
                for number, message in enumerate(numbered)
                if owner.matters_still(contents.state, message, forgotten=forgotten)
            }
        waiting = [number for number in range(len(made)) if number not in contents.sent or number in self._again]
        for number in waiting:
            if not self._deliver(messages.parse(made[number][1])):
                return False
            self.disk.mark_sent(number)
            self._again.discard(number)
        return bool(waiting)

    def _deliver(self, signed: Signed) -> bool:
        for blob in signed.message.blobs:
            body = self.disk.body(blob)
            assert body is not None
            self._network.put_body(blob, body)
        try:
            self._network.post(signed.wire)
        except TooEarly:
            return False
        except ProtocolError as refusal:
            if not owner.is_superseded(signed.message, refusal):
                raise
        return True

    def fetch(self) -> bool:
        """Take in the coordinator's messages and fetch bodies."""
        came = self._network.fetch(self.name, self.disk.state.received)
        for wire in came:
            state = owner.handle(self.agreement, self.disk.state, messages.parse(wire))
            if state != self.disk.state:
                self.disk.commit(state)
        state = self.disk.state
        wanted = [records.blob for records in state.records.values()]
        wanted += [pairing.labels for pairing in state.truth.pairings] if state.truth else []
        for blob in wanted:
            if not self.disk.has(blob):
                self.disk.put(self._network.get_body(self.name, blob), blob)
        return bool(came)

    def _is_forgotten(self) -> bool:
        """Whether the coordinator has forgotten messages that came here; what it has must be what came."""
        found = [messages.parse(wire) for wire in self._network.fetch(self.name, 0)]
        known = [signed for signed in found if signed.message.sequence <= self.disk.state.received]
        for signed in known:
            owner.handle(self.agreement, self.disk.state, signed)
        return len(known) < self.disk.state.received

    def work(self) -> bool:
        """Confirm, hand in, and one piece of what the rules name."""
        state = self.disk.state
        for peer in self.agreement.peers(self.name) if state.keys else ():
            self.keep(owner.confirms(self.disk.state, peer))
        if state.rounds and state.truth is None and not state.rounds[-1].handed_in:
            self.disk.commit(owner.hands_in(self.disk.state, state.round))
        todo = next(iter(owner.work(self.agreement, self.disk.state)), None)
        if todo is None:
            return False
        state = self.disk.state
        if todo.kind == "blocking":
            assert state.join is not None
            size = state.join.records * sampling.KEYS_PER_ROW * sampling.HASH_BYTES
            self.keep(owner.has_blocked(state, todo.peer, self.disk.put(self._random.randbytes(size))))
        elif todo.kind == "encrypt":
            assert state.sample is not None
            sealed = json.dumps([list(state.sample.positions), self._random.getrandbits(64)]).encode()
            self.keep(owner.has_sealed(state, todo.peer, self.disk.put(sealed), self._random.randbytes(64)))
        else:
            blob = self.disk.put(self._evaluate(state, todo.peer, todo.round))
            self.keep(owner.has_answered(self.disk.state, todo.round, todo.peer, blob))
        return True

    @property
    def _random(self) -> random.Random:
        return self._network.weather.random

    def _evaluate(self, state: owner.State, peer: str, round: int) -> bytes:
        assert state.sample is not None
        records = self.disk.body(state.records[peer].blob)
        if records is None:
            raise OutsideError("The records are not here yet.")
        self._assist()
        if self._network.weather.strikes("unreadable answers"):
            return self._random.randbytes(12)
        theirs = json.loads(records)[0]
        asked = [state.sample.positions[one.record] for one in state.rounds[-1].ask]
        rows = ["".join("01"[self._says((self.name, row), (peer, other), round)] for other in theirs) for row in asked]
        return json.dumps([rows, len(theirs), self._random.getrandbits(64)]).encode()

    def _assist(self) -> None:
        request = self._random.randbytes(8)
        for skip in owner.ASSIST_SKIPS:
            step = owner.asks_assist(self.disk.state, facts.blob_of(request), skip)
            self.disk.commit(step.state)
            try:
                wire, reply = self._network.assist(messages.sign(step.messages[0], self._sign).wire, request)
            except Replayed:
                continue
            if facts.blob_of(reply) != owner.check_assisted(step.state, messages.parse(wire), step.state.assist_number):
                raise MalformedMessage("The reply's body is another.")
            return
        raise Replayed("The coordinator knows later assist calls.")

    def keep(self, step: owner.Step) -> None:
        """Save a step: state and messages together."""
        if step.state != self.disk.state:
            self.disk.commit(
                step.state,
                tuple((message.receiver, messages.sign(message, self._sign).wire) for message in step.messages),
            )

    def _sign(self, data: bytes) -> bytes:
        return self._key.sign(data).signature

    def is_over(self) -> bool:
        """Whether the truth has come, with its labels."""
        truth = self.disk.state.truth
        return truth is not None and all(self.disk.has(pairing.labels) for pairing in truth.pairings)


def _matrix(body: bytes) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Answers out of their body; ValueError where it holds none."""
    rows, columns, _ = json.loads(body.decode("utf-8"))
    return np.array([[bit == "1" for bit in row] for row in rows], dtype=np.bool_).reshape(len(rows), columns)


def new_owner_state(agreement: Agreement, name: str, coordinator_key: nacl.signing.SigningKey) -> owner.State:
    """An owner that has its invitation and nothing else."""
    return owner.State(study=agreement.hash, name=name, coordinator_key=bytes(coordinator_key.verify_key).hex())


def join_step(
    state: owner.State, key: nacl.signing.SigningKey, invitation: nacl.signing.SigningKey, rows: int
) -> owner.Step:
    """The owner's first step."""
    envelope = bytes(nacl.public.PrivateKey(bytes(key)).public_key).hex()
    signing = bytes(key.verify_key).hex()
    proof = messages.join_proof(bytes(invitation), state.study, state.name, rows, envelope, signing, "0" * 64)
    return owner.joins(
        state, messages.Join(records=rows, envelope_key=envelope, signing_key=signing, token_hash="0" * 64, proof=proof)
    )
