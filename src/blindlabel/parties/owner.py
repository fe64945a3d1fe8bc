"""The owner as it runs: sends what waits, takes in what came, and does the work that the rules name. Knows no person,
and of store and line only their interfaces.

One `turn` does everything that can be done now and ends; `parties.running` takes turns until the study is over. What a
turn makes (encrypted records, answers) is a file before it is a message, and a message is in the outbox before it
leaves, so an interrupted turn is taken again without anything lost or doubled.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

import numpy as np

from blindlabel.engines.interface import Engine, EngineError, ParcelError, Progress, Values
from blindlabel.envelope import (
    Context,
    EnvelopeDamaged,
    EnvelopeError,
    PublicIdentity,
    lock,
    new_key,
    open_,
    seal,
    shared_secret,
    study_hash,
    unlock,
    verification_words,
)
from blindlabel.errors import InputError, OutsideError
from blindlabel.language.formula import Formula
from blindlabel.parties.asking import check_question
from blindlabel.parties.computing import Computing, engine_at
from blindlabel.parties.joining import own_identity, own_table, signed_by
from blindlabel.protocol import comparing, framing, messages, sampling
from blindlabel.protocol import owner as rules
from blindlabel.protocol.errors import MalformedMessage, ProtocolError, Replayed, TooEarly
from blindlabel.protocol.facts import blob_of
from blindlabel.protocol.interfaces import Line, MovedBytes, OwnRecord, SecretMissing, Store
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.shape import Blob, Hex32, Shape
from blindlabel.records.preparation import prepare, prepare_table
from blindlabel.records.tables import Table

Report = Callable[[str, float], None]
"""Called with a phase (`encrypt for berta`) and the share of it that is done."""


class _Locked(Shape):
    """The own records as they are sent in a round: the body, and its key."""

    round: int
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
        taken = self._take_in(came)
        if taken:
            self._store_sample()
        return self._fetch_bodies() or taken > 0

    def _take_in(self, wires: list[bytes]) -> int:
        """Take in messages, as far as they can be: what comes too early waits for a person, or for those before it."""
        for number, wire in enumerate(wires):
            signed = messages.parse(wire)
            try:
                self.store.change(lambda now, signed=signed: rules.Step(rules.handle(self.agreement, now, signed)))  # type: ignore[misc]
            except TooEarly:
                return number
        return len(wires)

    def _fetch_bodies(self) -> bool:
        """Get every body that the messages so far name and that is not here yet."""
        state, fetched = self.store.state(), False
        wanted: list[tuple[str, Blob]] = []
        if state.keys and state.keys.public_key:
            wanted.append(("keys", state.keys.public_key))
        if state.rounds and state.truth is None:
            current = state.rounds[-1]
            wanted += [(f"records of {peer}", records.blob) for peer, records in current.records.items()]
            wanted += [(f"answers of {peer}", came.answers.blob) for peer, came in current.to_open.items()]
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
        state = self.store.state()
        study = study_hash(self.agreement.hash, state.coordinator_key)
        return verification_words(self.identity.public, _public(state.peer(peer)), study)

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
        elif todo.kind == "carry":
            self._carry(todo.round)
        elif todo.kind == "serve":
            blob, letter = self._serve(todo.peer, todo.round)
            self._change(lambda state: rules.has_served(state, todo.round, todo.peer, blob, letter))
        elif todo.kind == "evaluate":
            self._refusing(todo, "records", self._evaluate)
        else:
            self._refusing(todo, "answers", self._open)

    def _refusing(
        self, todo: rules.Work, kind: Literal["records", "answers"], deed: Callable[[str, int], None]
    ) -> None:
        """Do something with what another owner sent; where that cannot be used, the round is void."""
        try:
            deed(todo.peer, todo.round)
        except (ParcelError, EnvelopeError, MalformedMessage, SecretMissing) as error:
            self.report(f"round {todo.round}: the {kind} of {todo.peer} cannot be used ({error})", 1.0)
            self._change(lambda state: rules.refuses(state, todo.round, todo.peer, kind))

    def _carry(self, round: int) -> None:
        """Ask the questions of a void round again."""
        written: dict[tuple[str, str], dict[int, str]] = {}
        for task in self.store.tasks(self.store.state().carried_from()):
            if task.question is not None:
                written.setdefault((task.source, task.author), {})[task.record] = task.question
        for (source, author), texts in written.items():
            if not self.store.state().rounds[-1].handed_in:
                self.store.save_questions(texts, source, author)
        self._change(lambda state: rules.Step(rules.carries(state, round)))

    def _blocking(self, peer: str) -> Blob:
        table, agreement = self._table(), self.agreement
        secret = shared_secret(self.identity, _public(self.store.state().peer(peer)), self._context("blocking"))
        records = (
            prepare(table.row(position), agreement.attributes, agreement.preparation.steps)
            for position in range(len(table))
        )
        return self.store.bodies.write([sampling.keyed_hashes(records, agreement.sampling.blocking, secret)])

    def _serve(self, peer: str, round: int) -> tuple[Blob, bytes]:
        """The open records, encrypted and locked, and their key in an envelope for one other owner."""
        state = self.store.state()
        rules.require_confirmed(state)  # the rules say so too; this is the one line that must never be passed
        current = state.rounds[round - 1]
        if self.agreement.keys == "coordinator":
            locked = self._locked_for_all(state, round)
        else:
            keys = self.engine.make_keys(self.terms)
            self._drop_keys(round)
            self.store.keep_secret(_secret_of(round, peer), keys.secret)
            locked = self._lock(round, keys.secret, current, questions=len(current.open[peer]), before=[keys.public])
        content = bytes.fromhex(locked.key + locked.blob.hash)
        letter = seal(self.identity, _public(state.peer(peer)), self._context("records-key", round), [content])
        return locked.blob, b"".join(letter)

    def _locked_for_all(self, state: rules.State, round: int) -> _Locked:
        """Under the coordinator's key the same body serves every other owner: made, stored and uploaded once."""
        known = self.store.remembered("locked")
        locked = _Locked.model_validate_json(known) if known else None
        if locked is None or locked.round != round or not self.store.bodies.has(locked.blob):
            locked = self._lock(round, self._public_key(state), state.rounds[round - 1])
            self.store.remember("locked", locked.model_dump_json())
        return locked

    def _lock(
        self, round: int, key: bytes, current: rules.OwnRound, *, questions: int = 0, before: Sequence[bytes] = ()
    ) -> _Locked:
        records, open_ = self.store.records(), set(current.ask)
        prepared = [record.prepared for record in records if record.record in open_]
        parcels: Iterable[bytes] = ()
        if prepared and (questions or self.agreement.keys == "coordinator"):
            progress = self._progress(f"round {round}: encrypt {len(prepared)} records")
            parcels = self.engine.encrypt(
                self.terms, key, prepared, questions=questions, workers=self.computing.workers, progress=progress
            )
        own = new_key()
        locked = lock(own, self._context("records", round), itertools.chain(before, parcels))
        return _Locked(round=round, blob=self.store.bodies.write(locked), key=own.hex())

    def _drop_keys(self, round: int) -> None:
        """Keys of earlier rounds open nothing that is still needed."""
        for earlier in range(1, round):
            for peer in self.agreement.peers(self.store.name):
                self.store.drop_secret(_secret_of(earlier, peer))

    def _records_of(self, state: rules.State, peer: str, round: int) -> Iterator[bytes]:
        """What another owner locked: its public key, where it holds the keys, and its encrypted records."""
        received = state.rounds[round - 1].records[peer]
        context = self._context("records-key", round)
        letter = open_(self.identity, _public(state.peer(peer)), context, [bytes.fromhex(received.key)])
        content = b"".join(letter)
        key, named = content[:32], content[32:].hex()
        if named != received.blob.hash:
            raise EnvelopeDamaged(f"The key that {peer} sent belongs to other records than those that came.")
        return unlock(key, self._context("records", round), self.store.bodies.read(received.blob))

    def _evaluate(self, peer: str, round: int) -> None:
        """The questions of a round over another owner's records. Nothing random is used twice: what was made before a
        crash and not saved is made anew, and what is saved is never made again.
        """
        state, bodies = self.store.state(), self.store.bodies
        current, formulas = state.rounds[round - 1], list(self._formulas(round))
        pads: list[bytes] = []
        parcels = self._answers(state, peer, round, formulas, pads)
        if self.agreement.keys == "coordinator":
            blob = bodies.write(framing.frame(parcels))
            self._change(lambda now: rules.has_answered(now, round, peer, blob))
            return
        sealed = seal(self.identity, _public(state.peer(peer)), self._context("answers", round), parcels)
        answers = bodies.write(sealed)
        direction = rules.direction(state, round, self.store.name, peer, answers)
        make = partial(self.engine.pad_values, self.terms, pads)
        values = self._values(len(formulas), len(current.open[peer]), make)
        listed = bodies.write([comparing.hashes(values, self._comparing(state, peer, round), direction)])
        commitment = rules.List(listed, secrets.token_bytes(comparing.SALT_BYTES))
        self._change(lambda now: rules.has_answered(now, round, peer, answers, commitment))

    def _answers(
        self, state: rules.State, peer: str, round: int, formulas: list[Formula], pads: list[bytes]
    ) -> Iterator[bytes]:
        """Encrypted answers, parcel by parcel; their pads are kept in `pads`."""
        pieces = self._records_of(state, peer, round)
        public = next(pieces, b"") if self.agreement.keys == "owners" else self._public_key(state)
        if not formulas or not state.rounds[round - 1].open[peer]:
            return  # nothing is asked, or of nobody; the others' rounds still need these (empty) answers
        phase = f"round {round}: ask {peer}"
        self.report(phase, 0.0)
        evaluated = self.engine.evaluate(
            self.terms,
            public,
            pieces,
            formulas,
            self._assist,
            workers=self.computing.workers,
            progress=self._progress(phase),
        )
        for one in evaluated:
            pads.append(one.pads)
            yield one.parcel

    def _open(self, peer: str, round: int) -> None:
        """Open another owner's answers about own records, and make the list of what came out."""
        state = self.store.state()
        current = state.rounds[round - 1]
        answers = current.to_open[peer].answers
        if answers.served != current.served[peer].hash:
            raise EnvelopeDamaged(
                f"{peer} answers about records that were served in an earlier life of this workspace."
            )
        secret, sender = self.store.secret(_secret_of(round, peer)), _public(state.peer(peer))
        parcels = open_(self.identity, sender, self._context("answers", round), self.store.bodies.read(answers.blob))
        phase = f"round {round}: open the answers of {peer}"
        self.report(phase, 0.0)
        make = partial(self.engine.open, self.terms, secret, parcels)
        values = self._values(len(current.open[peer]), len(current.ask), make)
        direction = rules.direction(state, round, peer, self.store.name, answers.blob)
        listed = self.store.bodies.write([comparing.hashes(values, self._comparing(state, peer, round), direction)])
        self._change(lambda now: rules.has_opened(now, round, peer, listed))
        self.report(phase, 1.0)

    def _values(self, asked: int, served: int, make: Callable[[int, int], Values]) -> Values:
        """Values of all pairs; none where nothing is asked, or of nobody."""
        return make(asked, served) if asked and served else np.zeros((1, asked, served), dtype=np.uint64)

    def _comparing(self, state: rules.State, peer: str, round: int) -> bytes:
        """The secret under which this owner and another hash what is compared in a round."""
        return shared_secret(self.identity, _public(state.peer(peer)), self._context("comparing", round))

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
        if state.keys is None or state.keys.public_key is None:
            raise OutsideError("The coordinator's keys are not here yet.")
        return self.store.bodies.read_all(state.keys.public_key)

    def _context(self, kind: str, round: int = 0) -> Context:
        return Context(bytes.fromhex(self.agreement.hash), kind, round)

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


def _secret_of(round: int, asker: str) -> str:
    """What the secret is called that opens an asker's answers of a round."""
    return f"round-{round}-{asker}"


def _public(peer: messages.Peer) -> PublicIdentity:
    return PublicIdentity.from_bytes(bytes.fromhex(peer.envelope_key + peer.signing_key))
