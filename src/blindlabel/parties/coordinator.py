"""The coordinator as it runs: receives messages, assists, does the work that the rules name, and says how studies
stand.

Several of these (threads or processes) may run over one database and folder. Everything is saved before anything
leaves, and a step that was interrupted is done again from what is saved. Long work is leased: one process does it, and
another takes over when that one dies. Were a lease to lapse under a process that is only slow, the same work would be
done twice and saved once. The secret key of a study lies in a file of its own, named after the public key that it
belongs to, and is used here and nowhere else.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache

import nacl.signing
import numpy as np

from blindlabel.engines.interface import Engine, EngineError, Outcomes, ParcelError, outcomes
from blindlabel.engines.registry import engine_named
from blindlabel.envelope import Identity, new_identity
from blindlabel.envelope.identity import sign_for
from blindlabel.errors import InputError, OutsideError
from blindlabel.parties import assisting as assists
from blindlabel.parties import scoring as scores
from blindlabel.parties.accounting import account_of
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import comparing, enriched, framing, messages, rounds
from blindlabel.protocol import coordinator as rules
from blindlabel.protocol import labels as labelling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.errors import MalformedMessage, NotFitting, TooEarly, WrongSender, WrongStudy
from blindlabel.protocol.facts import RoundFacts, State, Step, Work, blob_of, key_of, new_state, sides_of, spent_bodies
from blindlabel.protocol.invitation import Invitation
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.sampling import Draw
from blindlabel.protocol.shape import COORDINATOR, Blob
from blindlabel.protocol.studies import Loaded, Moved, Studies

LEASE = 30.0
"""Seconds after which a process takes over the work of one that died; on one machine at once. A living one renews its
lease in time.
"""


_SIGNING = "signing"
"""What the secret is called that signs a study's messages."""


class Coordinator:
    """All studies of one coordinator."""

    def __init__(
        self,
        store: Studies,
        *,
        lease: float = LEASE,
        engines: Callable[[str], Engine] = engine_named,
        draw: Draw = secrets.randbelow,
    ) -> None:
        self.store = store
        self._engines = engines
        self._draw = draw
        self.worker = f"{os.getpid()}:{secrets.token_hex(8)}:{socket.gethostname()}"[:64]
        self._lease = lease
        self._engine_turn = threading.Lock()
        """Engines' libraries hold Python's lock and need not be safe for threads: one call at a time."""
        self.agreement = lru_cache(maxsize=256)(self._agreement)

    # Studies

    def create(
        self,
        text: str,
        address: str = "",
        *,
        source: str = "The agreement",
        keep: Callable[[list[Invitation]], None] = lambda _: None,
    ) -> list[Invitation]:
        """Begin a study under this agreement; the invitations for its owners are to be given to them privately. `keep`
        writes them down before the study is there: nobody could make them again.
        """
        agreement = agreements.from_text(text, source=source)
        account_of(agreement)
        identity = new_identity()
        codes = {owner: secrets.token_bytes(32) for owner in sorted(agreement.owners)}
        public = {owner: bytes(nacl.signing.SigningKey(code).verify_key).hex() for owner, code in codes.items()}
        state = new_state(agreement, public, secrets.token_hex(32))

        key = identity.public.signing_key.hex()
        invitations = [Invitation(owner, code.hex(), key, address, text) for owner, code in codes.items()]

        def keep_before() -> None:
            self.store.keep_secret(agreement.hash, _SIGNING, identity.to_bytes())
            keep(invitations)

        if not self.store.create(agreement.name, text, state, keep_before):
            raise InputError("There is a study under exactly this agreement already. A new study needs a new salt.")
        return invitations

    def reinvite(self, study: str, owner: str, address: str = "") -> Invitation:
        """A new invitation for an owner that has not joined; the one before it holds no longer."""
        code = secrets.token_bytes(32)
        public = bytes(nacl.signing.SigningKey(code).verify_key).hex()
        self._apply(study, lambda _, state: Step(rules.invites_again(state, owner, public)))
        key = self._identity(study).public.signing_key.hex()
        return Invitation(owner, code.hex(), key, address, self.store.agreement(study) or "")

    def find(self, named: str) -> str:
        """The one study with this name, or whose hash begins so."""
        found = [row.study for row in self.store.studies() if row.name == named or row.study.startswith(named)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{row.name} ({row.study[:12]})" for row in self.store.studies()) or "none"
        problem = "There is no study" if not found else "There is more than one study"
        raise InputError(f"{problem} {named!r} here. Studies: {known}.")

    def _agreement(self, study: str) -> Agreement:
        text = self.store.agreement(study)
        if text is None:
            raise WrongStudy("There is no such study here.")
        return agreements.from_text(text)

    def load(self, study: str) -> Loaded:
        """A study's state."""
        loaded = self.store.load(study)
        if loaded is None:
            raise WrongStudy("There is no such study here.")
        return loaded

    def delete(self, study: str) -> None:
        """Remove everything of a study: keys first, since without them nothing else can be read."""
        self.store.drop_secrets(study)
        self.store.delete(study)
        self.agreement.cache_clear()

    def close(self, study: str) -> None:
        """End a study as it stands."""
        self._apply(study, rules.close)

    # Messages

    def receive(self, wire: bytes) -> bool:
        """Take in one message of an owner; True where it was new. Its bodies must have arrived before."""
        signed = messages.parse(wire)
        study = signed.message.study
        if signed.message.kind in messages.CALLS:
            raise WrongSender("Calls go another way.")

        def event(agreement: Agreement, state: State) -> Step:
            step = rules.handle(agreement, state, signed, self._draw)
            if step.state != state and any(not self.store.bodies(study).has(blob) for blob in signed.message.blobs):
                raise TooEarly("The message's body has not arrived yet.")
            return step

        return self._apply(study, event, incoming=signed)

    def assist(self, wire: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Serve one assist call, or a score: the reply's message and body. It is counted before it is served."""
        signed = messages.parse(wire)
        message, call = signed.message, signed.message.body
        if not isinstance(call, messages.Assist | messages.Score):
            raise MalformedMessage("This is no call.")
        if blob_of(body) != call.blob:
            raise MalformedMessage("The body of the call is not the one that its message names.")
        answer, reply = self._scored(signed, body) if message.kind == "score" else self._assisted(signed, body)
        header = Message(message.study, COORDINATOR, message.sender, message.round, message.sequence, answer)
        reply_wire = self._sign(header).wire
        called = Moved(message.sender, message.kind, len(wire) + len(body))
        self.store.count(message.study, [called, Moved(message.sender, header.kind, len(reply_wire) + len(reply))])
        return reply_wire, reply

    def _assisted(self, signed: Signed, body: bytes) -> tuple[messages.Assisted, bytes]:
        study, call = signed.message.study, signed.message.body
        assert isinstance(call, messages.Assist)
        agreement = self.agreement(study)
        engine = self._engine(agreement)
        self._apply(study, lambda agreement, state: Step(assists.counted(agreement, engine, state, signed, body)))
        try:
            with self._engine_turn:
                reply = engine.assist(agreement.terms(), self._engine_secret(study), body)
        except ParcelError as error:
            raise NotFitting(f"The assist call cannot be served: {error}") from error
        return messages.Assisted(number=call.number, blob=blob_of(reply)), reply

    def _scored(self, signed: Signed, body: bytes) -> tuple[messages.Scored, bytes]:
        study = signed.message.study
        self._apply(study, lambda agreement, state: Step(scores.counted(agreement, state, signed)))
        state = self.load(study).state
        return scores.result(state, signed, body, self._labels(study, state)), b""

    def _apply(self, study: str, event: Callable[[Agreement, State], Step], incoming: Signed | None = None) -> bool:
        """Apply an event to the newest state and save what follows; again from the start where another process was
        faster.
        """
        agreement = self.agreement(study)
        while True:
            loaded = self.load(study)
            step = event(agreement, loaded.state)
            if step.state == loaded.state and not step.messages:
                return False
            for body in step.bodies:
                self.store.bodies(study).write([body])
            outgoing = [self._sign(message) for message in step.messages]
            fetchable = [(message.receiver, blob) for message in step.messages for blob in _bodies_of(message)]
            moved = [_moved(signed, signed.message.receiver, _bodies_of(signed.message)) for signed in outgoing]
            if incoming is not None:
                moved.append(_moved(incoming, incoming.message.sender, _newly_sent(loaded.state, incoming.message)))
            if self.store.save(
                loaded, step.state, incoming=incoming, outgoing=outgoing, fetchable=fetchable, moved=moved
            ):
                return True

    def _sign(self, message: Message) -> Signed:
        identity = self._identity(message.study)
        return messages.sign(message, lambda data: sign_for(identity, b"", data))

    # Work

    def work(self, study: str) -> bool:
        """Do what can be done for a study now; True where something was done."""
        agreement = self.agreement(study)
        if not rules.work(agreement, self.load(study).state) or not self.store.claim(study, self.worker, self._lease):
            return False
        with self._leased(study):
            done = False
            while todo := rules.work(agreement, self.load(study).state):
                self._do(study, agreement, todo[0])
                done = True
            return done

    @contextmanager
    def _leased(self, study: str) -> Iterator[None]:
        """Renew the lease on a study's work while it goes on, and give it back afterwards."""
        over = threading.Event()

        def renew() -> None:
            while not over.wait(self._lease / 3):
                with suppress(
                    OutsideError
                ):  # a database that fails now may answer next time; a lapsed lease does no harm
                    self.store.claim(study, self.worker, self._lease)

        renewing = threading.Thread(target=renew, daemon=True)
        renewing.start()
        try:
            yield
        finally:
            over.set()
            renewing.join()
            self.store.release(study, self.worker)

    def _do(self, study: str, agreement: Agreement, todo: Work) -> None:
        if todo.kind == "keys":
            self._make_keys(study, agreement)
        elif todo.kind == "choose":
            bodies, owners = self.store.bodies(study), self.load(study).state.owners
            lists = {
                (name, peer): bodies.read_all(blob)
                for name, facts in owners.items()
                for peer, blob in facts.blinded.items()
            }
            self._apply(study, lambda agreement, state: enriched.choose(agreement, state, lists, self._draw))
        elif todo.kind == "read":
            self._read(study, agreement, todo)
        else:
            self._settle(study, todo)

    def _make_keys(self, study: str, agreement: Agreement) -> None:
        try:
            with self._engine_turn:
                keys = self._engine(agreement).make_keys(agreement.terms())
        except EngineError as error:
            raise OutsideError(f"The keys of the study {agreement.name} cannot be made: {error}") from error
        blob = self.store.bodies(study).write([keys.public])
        # Named after the public key, so that of two processes that make keys at once the saved state says whose are
        # valid.
        self.store.keep_secret(study, _engine_key(blob), keys.secret)
        self._apply(study, lambda agreement, state: rules.keys_made(agreement, state, blob, self._draw))
        used = self.load(study).state.public_key
        if used is not None:  # keys of a process that was slower, or died before its keys were used, go
            self.store.drop_secrets(study, keep=(_SIGNING, _engine_key(used)))

    def _read(self, study: str, agreement: Agreement, todo: Work) -> None:
        """The outcomes of one direction: by opening the answers, or by comparing two lists."""
        state, direction = self.load(study).state, todo.direction
        try:
            outcomes_ = self._outcomes(study, agreement, state.rounds[todo.round - 1], todo)
        except (EngineError, MalformedMessage, NotFitting):
            self._apply(study, lambda agreement, state: rounds.void(agreement, state, todo.round))
            self.store.remove_bodies(study, spent_bodies)
            return
        content = labelling.unguessable(outcomes_.tobytes(), bytes.fromhex(state.salt))
        blob = self.store.bodies(study).write([content])
        self._apply(study, lambda _, state: Step(rounds.read(state, todo.round, direction, blob)))

    def _outcomes(self, study: str, agreement: Agreement, facts: RoundFacts, todo: Work) -> Outcomes:
        bodies, direction = self.store.bodies(study), todo.direction
        questions, records = len(facts.asked[todo.asker]), len(facts.asked[todo.holder])
        if agreement.keys == "owners":
            listed = bodies.read_all(facts.listed[direction].blob)
            return comparing.compared(listed, bodies.read_all(facts.opened[direction].blob), questions, records)
        parcels = framing.unframe(bodies.read(facts.answers[direction].blob))
        assists.require_complete(agreement, self._engine(agreement), facts, direction)
        if not questions or not records:
            return np.zeros((questions, records), dtype=np.uint8)
        with self._engine_turn:
            secret = self._engine_secret(study)
            values = self._engine(agreement).open(agreement.terms(), secret, parcels, questions, records)
        return outcomes(values == 0)

    def _settle(self, study: str, todo: Work) -> None:
        state = self.load(study).state
        found = {direction: self._kept_outcomes(study, state, direction) for direction in state.rounds[-1].read}
        before = self._labels(study, state)
        self._apply(study, lambda agreement, now: rounds.settle(agreement, now, todo.round, found, before))
        self.store.remove_bodies(study, spent_bodies)  # nobody needs the single answers again

    def _kept_outcomes(self, study: str, state: State, direction: str) -> Outcomes:
        asker, holder = sides_of(direction)
        current = state.rounds[-1]
        content = self.store.bodies(study).read_all(current.read[direction])[labelling.TAG_BYTES :]
        size = (len(current.asked[asker]), len(current.asked[holder]))
        return np.frombuffer(content, dtype=np.uint8).reshape(size)

    def _labels(self, study: str, state: State) -> dict[str, labelling.Labels]:
        found, bodies = {}, self.store.bodies(study)
        for first, second in self.agreement(study).pairings:
            blob = state.labels[key_of(first, second)]
            found[key_of(first, second)] = labelling.from_bytes(
                bodies.read_all(blob), len(state.samples[first]), len(state.samples[second])
            )
        return found

    def labels(self, study: str) -> dict[tuple[str, str], labelling.Labels]:
        """The labels as they stand, by pairing; rows are the first owner's sampled records."""
        state = self.load(study).state
        if not state.samples:
            raise InputError("The study has no labels yet: its samples have not been drawn.")
        found = self._labels(study, state)
        return {pairing: found[key_of(*pairing)] for pairing in self.agreement(study).pairings}

    # Keys

    def unserved(self) -> dict[str, str]:
        """Studies that are not over and cannot be served, since their keys cannot be read; each with a sentence why."""
        found = {}
        for row in self.store.studies():
            if row.ended:
                continue
            try:
                self._identity(row.study)
                if self.load(row.study).state.public_key is not None:
                    self._engine_secret(row.study)
            except InputError as error:
                found[row.study] = str(error)
            except WrongStudy:  # deleted meanwhile
                continue
        return found

    def _identity(self, study: str) -> Identity:
        return Identity.from_bytes(self.store.secret(study, _SIGNING))

    def _engine_secret(self, study: str) -> bytes:
        public = self.load(study).state.public_key
        if public is None:
            raise TooEarly("The keys of the study have not been made yet.")
        return self.store.secret(study, _engine_key(public))

    def _engine(self, agreement: Agreement) -> Engine:
        return self._engines(agreement.encoding.engine)


def _engine_key(public: Blob) -> str:
    return f"engine-{public.hash}"


def _bodies_of(message: Message) -> Iterator[Blob]:
    """The bodies that the receiver of a message will fetch: its own, or those of the message that it passes on."""
    if isinstance(message.body, messages.Relay):
        yield from messages.parse(message.body.message.encode()).message.blobs
    else:
        yield from message.blobs


def _newly_sent(state: State, message: Message) -> list[Blob]:
    """The bodies of an owner's message that it has not sent before: records may go to several owners in one body."""
    current = state.rounds[-1].records if state.rounds else {}
    before = {records.blob for direction, records in current.items() if direction.endswith(f">{message.sender}")}
    return [blob for blob in message.blobs if blob not in before]


def _moved(signed: Signed, owner: str, blobs: Iterable[Blob]) -> Moved:
    return Moved(owner, signed.message.kind, len(signed.wire) + sum(blob.length for blob in blobs))
