"""The owner as it runs: sends what waits, takes in what came, and does the work that the rules name. Knows no person,
and of store and line only their interfaces.

One `turn` does everything that can be done now and ends; `parties.running` takes turns until the study is over. What a
turn makes (encrypted records, answers) is a file before it is a message, and a message is in the outbox before it
leaves, so an interrupted turn is taken again without anything lost or doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from blindlabel.engines.interface import Engine, EngineError, Progress
from blindlabel.envelope import (
    Context,
    EnvelopeDamaged,
    PublicIdentity,
    lock,
    new_key,
    open_,
    seal,
    shared_secret,
    unlock,
    verification_words,
)
from blindlabel.errors import InputError, OutsideError
from blindlabel.language.formula import Formula
from blindlabel.parties.asking import check_question
from blindlabel.parties.computing import Computing, engine_at
from blindlabel.parties.joining import own_identity, own_table, signed_by
from blindlabel.protocol import framing, messages, sampling
from blindlabel.protocol import owner as rules
from blindlabel.protocol.errors import ProtocolError, Replayed, TooEarly
from blindlabel.protocol.facts import blob_of
from blindlabel.protocol.interfaces import Line, MovedBytes, OwnRecord, Store
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.shape import Blob, Hex32, Shape
from blindlabel.records.preparation import prepare, prepare_table
from blindlabel.records.tables import Table

Report = Callable[[str, float], None]
"""Called with a phase (`encrypt for berta`) and the share of it that is done."""


class _Locked(Shape):
    """The own records as they are sent: the body, and its key."""

    blob: Blob
    key: Hex32


class Owner:
    """One owner's side of one study, at work."""

    def __init__(
        self,
        store: Store,
        line: Line,
        *,
        computing: Computing | None = None,
        report: Report | None = None,
        engine: Engine | None = None,
        table: Callable[[], Table] | None = None,
    ) -> None:
        self.store = store
        self.line = line
        self.computing = computing or Computing()
        self.report = report or (lambda _phase, _share: None)
        self.identity = own_identity(store)
        self.agreement = store.agreement
        self.terms = self.agreement.terms()
        self.engine = engine or engine_at(self.agreement.encoding.engine, self.computing, store.journal)
        self._table = table or (lambda: own_table(store))
        self._handed_over_again = False
        self.is_ahead = False
        """Whether this owner knows messages of the coordinator that the coordinator has forgotten."""

    def turn(self, wait: float = 0.0) -> bool:
        """Send, fetch, work, send; then, where there was nothing to do, wait so long for the next message. True where
        anything happened.
        """
        happened = self.send()
        happened |= self.fetch(0.0)
        happened |= self.work()
        happened |= self.send()
        return happened or (wait > 0 and self.fetch(wait))

    # Messages

    def send(self) -> bool:
        """Hand over what waits in the outbox, in order."""
        waiting = self.store.unsent()
        if not self._handed_over_again:
            waiting = self._to_hand_over_again() + waiting
        for number, wire in waiting:
            message = messages.parse(wire).message
            try:
                self.line.deliver(wire, self.store.bodies, self._mover(f"send {message.kind}"))
            except TooEarly:
                return False  # it stays in the outbox; what it needs is on its way
            except ProtocolError as refusal:
                if not rules.is_superseded(message, refusal):
                    raise
            self.store.mark_sent(number)
        self._handed_over_again = True
        return bool(waiting)

    def _to_hand_over_again(self) -> list[tuple[int, bytes]]:
        """After a start: messages that were handed over and that a coordinator restored from a backup would miss."""
        state, sent = (
            self.store.state(),
            [(number, wire, messages.parse(wire).message) for number, wire in self.store.sent()],
        )
        forgotten = self.is_ahead = bool(sent) and self._is_forgotten(state)
        return [
            (number, wire) for number, wire, message in sent if rules.matters_still(state, message, forgotten=forgotten)
        ]

    def _is_forgotten(self, state: rules.State) -> bool:
        """Whether the coordinator has forgotten messages that came here. What it has must be what came: `Forked`
        otherwise.
        """
        after = max(0, state.received - 1)
        if not state.received or self._agrees(state, self.line.fetch(after, 0.0)):
            return False
        after = 0
        while came := self._agrees(state, self.line.fetch(after, 0.0)):
            after += came
        return True

    def _agrees(self, state: rules.State, wires: list[bytes]) -> int:
        """How many of these messages are ones that came before."""
        known = [signed for wire in wires if (signed := messages.parse(wire)).message.sequence <= state.received]
        for signed in known:
            rules.handle(self.agreement, state, signed)
        return len(known)

    def fetch(self, wait: float) -> bool:
        """Take in the coordinator's next messages and the bodies that they name."""
        state = self.store.state()
        if state.truth is not None:
            return self._fetch_bodies()
        came = self.line.fetch(state.received, wait)
        for wire in came:
            self._take_in(messages.parse(wire))
        if came:
            self._store_sample()
        return self._fetch_bodies() or bool(came)

    def _take_in(self, signed: Signed) -> None:
        self.store.change(lambda now: rules.Step(rules.handle(self.agreement, now, signed)))

    def _fetch_bodies(self) -> bool:
        """Get every body that the messages so far name and that is not here yet."""
        state, fetched = self.store.state(), False
        wanted: list[tuple[str, Blob]] = [("keys", state.keys.public_key)] if state.keys else []
        wanted += [(f"records of {peer}", records.blob) for peer, records in state.records.items()]
        wanted += [("truth", pairing.labels) for pairing in state.truth.pairings] if state.truth else []
        for what, blob in wanted:
            if not self.store.bodies.has(blob):
                self.line.fetch_body(blob, self.store.bodies, self._mover(f"fetch {what}"))
                fetched = True
        return fetched

    def _mover(self, phase: str) -> MovedBytes:
        return lambda done, every: self.report(phase, done / every if every else 1.0)

    def _progress(self, phase: str) -> Progress:
        """Reports an engine's progress; where that says more than how far it is (`evaluate: 3 of 9 tiles`), behind a
        dot.
        """

        def tell(step: str, share: float) -> None:
            detail = step.partition(": ")[2]
            self.report(f"{phase} · {detail}" if detail else phase, share)

        return tell

    def _store_sample(self) -> None:
        """Once the sample is drawn: read, prepare and keep the sampled rows."""
        state = self.store.state()
        if state.sample is None or self.store.records():
            return
        table, agreement = self._table(), self.agreement
        prepared = prepare_table(
            table, state.sample.positions, agreement.attributes, agreement.preparation.steps, agreement.lengths()
        )
        self.store.store_records(
            OwnRecord(number, position, table.ids[position], table.row(position), record)
            for number, (position, record) in enumerate(zip(state.sample.positions, prepared))
        )

    # Verification

    def words(self, peer: str) -> tuple[str, ...]:
        """The verification words for this owner and another."""
        public = _public(self.store.state().peer(peer))
        return verification_words(self.identity.public, public, bytes.fromhex(self.agreement.hash))

    def confirm(self, peer: str) -> None:
        """A person says that the words are the same on both sides."""
        self._change(lambda state: rules.confirms(state, peer))

    # Work

    def work(self) -> bool:
        """Do all work that the rules name now."""
        self._store_sample()
        done = False
        while todo := rules.work(self.agreement, self.store.state()):
            try:
                self._do(todo[0])
            except EngineError as error:
                kind = OutsideError if isinstance(error, OutsideError) else InputError
                raise kind(f"The {self.engine.name} engine cannot go on: {error}") from error
            self.send()
            done = True
        return done

    def _do(self, todo: rules.Work) -> None:
        if todo.kind == "blocking":
            blob = self._blocking(todo.peer)
            self._change(lambda state: rules.has_blocked(state, todo.peer, blob))
        elif todo.kind == "encrypt":
            blob, letter = self._seal(todo.peer)
            self._change(lambda state: rules.has_sealed(state, todo.peer, blob, letter))
        else:
            blob = self._evaluate(todo.peer, todo.round)
            self._change(lambda state: rules.has_answered(state, todo.round, todo.peer, blob))

    def _blocking(self, peer: str) -> Blob:
        table, agreement = self._table(), self.agreement
        secret = shared_secret(self.identity, _public(self.store.state().peer(peer)), self._context("blocking"))
        records = (
            prepare(table.row(position), agreement.attributes, agreement.preparation.steps)
            for position in range(len(table))
        )
        return self.store.bodies.write([sampling.keyed_hashes(records, agreement.sampling.blocking, secret)])

    def _seal(self, peer: str) -> tuple[Blob, bytes]:
        """The records, encrypted and locked once for all, and their key in an envelope for one other owner."""
        state, bodies = self.store.state(), self.store.bodies
        if peer not in state.confirmed:  # the rules say so too; this is the one line that must never be passed
            raise InputError(f"Nothing is encrypted for {peer} before its verification words are confirmed.")
        known = self.store.remembered("locked")
        locked = _Locked.model_validate_json(known) if known else None
        if locked is None or not bodies.has(locked.blob):
            records = [record.prepared for record in self.store.records()]
            public, key = self._public_key(state), new_key()
            phase = f"encrypt {len(records)} records"
            parcels = self.engine.encrypt(
                self.terms, public, records, workers=self.computing.workers, progress=self._progress(phase)
            )
            locked = _Locked(blob=bodies.write(lock(key, self._context("records"), parcels)), key=key.hex())
            self.store.remember("locked", locked.model_dump_json())
        content = bytes.fromhex(locked.key + locked.blob.hash)
        return locked.blob, b"".join(
            seal(self.identity, _public(state.peer(peer)), self._context("records-key"), [content])
        )

    def _records_of(self, state: rules.State, peer: str) -> Iterator[bytes]:
        """The encrypted records of another owner, out of what it locked."""
        received = state.records[peer]
        letter = open_(
            self.identity, _public(state.peer(peer)), self._context("records-key"), [bytes.fromhex(received.key)]
        )
        content = b"".join(letter)
        key, named = content[:32], content[32:].hex()
        if named != received.blob.hash:
            raise EnvelopeDamaged(f"The key that {peer} sent belongs to other records than those that came.")
        return unlock(key, self._context("records"), self.store.bodies.read(received.blob))

    def _evaluate(self, peer: str, round: int) -> Blob:
        """The questions of a round over another owner's records."""
        state, bodies = self.store.state(), self.store.bodies
        formulas = list(self._formulas(round))
        if not formulas:  # nothing is asked of this owner any more; the others' rounds still need its (empty) answers
            return bodies.write(framing.frame([]))
        parcels = self._records_of(state, peer)
        phase = f"round {round}: ask {peer}"
        self.report(phase, 0.0)
        public = self._public_key(state)
        answers = self.engine.evaluate(
            self.terms,
            public,
            parcels,
            formulas,
            self._assist,
            workers=self.computing.workers,
            progress=self._progress(phase),
        )
        return bodies.write(framing.frame(one.parcel for one in answers))

    def _formulas(self, round: int) -> Iterator[Formula]:
        for task in self.store.tasks(round):
            checked = check_question(self.agreement, task.question or "")
            if checked.formula is None:
                raise InputError(
                    f"The question of record {task.record + 1} in round {round} cannot be used any more: check it."
                )
            yield checked.formula

    def _assist(self, request: bytes) -> bytes:
        """One assist call: numbered and saved, carried, and the reply checked."""
        blob = blob_of(request)
        for skip in rules.ASSIST_SKIPS:
            step = self._change_unsent(lambda state, skip=skip: rules.asks_assist(state, blob, skip))  # type: ignore[misc]
            try:
                wire, reply = self.line.assist(signed_by(self.identity, step.messages[0]).wire, request)
                break
            except Replayed:  # an earlier life of this workspace used the number
                continue
        else:
            raise Replayed("The coordinator says that every number of an assist call has been used.")
        named = rules.check_assisted(step.state, messages.parse(wire), step.state.assist_number)
        if blob_of(reply) != named:
            raise Replayed("The body of the coordinator's reply is not the one that its message names.")
        return reply

    def _public_key(self, state: rules.State) -> bytes:
        if state.keys is None:
            raise OutsideError("The coordinator's keys are not here yet.")
        return self.store.bodies.read_all(state.keys.public_key)

    def _context(self, kind: str) -> Context:
        return Context(bytes.fromhex(self.agreement.hash), kind)

    def _change(self, event: Callable[[rules.State], rules.Step]) -> rules.Step:
        return self.store.change(event, self._sign)

    def _change_unsent(self, event: Callable[[rules.State], rules.Step]) -> rules.Step:
        """Save the state of an event whose message is carried at once, without the outbox."""
        made: list[rules.Step] = []

        def kept(state: rules.State) -> rules.Step:
            made.append(event(state))
            return rules.Step(made[-1].state)

        self.store.change(kept)
        return made[-1]

    def _sign(self, message: Message) -> Signed:
        return signed_by(self.identity, message)

    def awaits(self) -> list[str]:
        """What has to happen before there is work again."""
        return rules.awaits(self.agreement, self.store.state(), ahead=self.is_ahead)


def _public(peer: messages.Peer) -> PublicIdentity:
    return PublicIdentity.from_bytes(bytes.fromhex(peer.envelope_key + peer.signing_key))
