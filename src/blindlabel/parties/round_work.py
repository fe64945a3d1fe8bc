"""An owner's work in a round: serve its records, evaluate its questions over others' records, open others' answers.

Everything is made once and saved before it leaves: bodies first, then the state with its messages. What was made before
a crash and not saved is made again with new randomness, and what is saved is never made again. The secret that opens an
asker's answers is kept under the round's and the asker's name, and dropped when a later round is served or the study
is over.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol

import numpy as np

from blindlabel.engines.interface import Engine, KeyPair, ParcelError, Terms, Values, Working
from blindlabel.envelope.identity import Context, EnvelopeDamaged, EnvelopeError, Identity, shared_secret
from blindlabel.envelope.stream import lock, new_key, open_, seal, unlock
from blindlabel.errors import InputError
from blindlabel.language.formula import Formula
from blindlabel.parties import auditing
from blindlabel.parties.questions import check_question
from blindlabel.protocol import comparing
from blindlabel.protocol import owner_rules as rules
from blindlabel.protocol.interfaces import SecretMissing, Store, Task
from blindlabel.protocol.letters import coordinator_of, public_of
from blindlabel.protocol.shape import Blob


class Report(Protocol):
    """Told how far a phase is, 0 to 1, and what an engine is doing in it."""

    def __call__(self, phase: str, share: float, detail: str = "") -> None: ...


@dataclass(frozen=True)
class Rounds:
    """What an owner needs for its work in rounds."""

    store: Store
    identity: Identity
    engine: Engine
    working: Working
    report: Report
    change: Callable[[Callable[[rules.OwnerState], rules.OwnerStep]], rules.OwnerStep]
    """Saves what follows from an event, with its messages."""

    def _working(self, phase: str) -> Working:
        """A phase begins, in which an engine works."""
        self.report(phase, 0.0)
        return replace(self.working, progress=lambda step, share: self.report(phase, share, step))

    def refusing(
        self, todo: rules.OwnerWork, kind: Literal["records", "answers"], deed: Callable[[str, int], None]
    ) -> None:
        """Do something with what another owner sent. If that cannot be used, the round is void."""
        try:
            deed(todo.peer, todo.round)
        except (ParcelError, EnvelopeError, SecretMissing) as error:
            self.report(f"round {todo.round}: the {kind} of {todo.peer} cannot be used ({error})", 1.0)
            self.change(lambda state: rules.refuses(state, todo.round, todo.peer, kind))

    def carry(self, round: int) -> None:
        """Ask the questions of a void round again, or those that stand."""
        state = self.store.state()
        current = state.rounds[-1]
        since = dict.fromkeys(current.ask if current.repeats else (), state.begun) | dict.fromkeys(current.kept, 1)
        last: dict[int, Task] = {}
        for number in range(1, round):
            for task in self.store.tasks(number):
                if task.question is not None and number >= since.get(task.record, round):
                    last[task.record] = task
        begun = {task.record for task in self.store.tasks() if task.question is not None and not current.repeats}
        written: dict[tuple[str, str], dict[int, str]] = {}
        for record, task in last.items():
            if record not in begun:
                written.setdefault((task.source, task.author), {})[record] = task.question or ""
        for (source, author), texts in written.items():
            if not self.store.state().rounds[-1].handed_in:
                self.store.save_questions(texts, source, author)
        self.change(lambda state: rules.OwnerStep(rules.carries(state, round)))

    def serve(self, peer: str, round: int) -> None:
        """The open records, encrypted and locked, and their key in an envelope for one other owner."""
        state = self.store.state()
        rules.require_confirmed(state)  # the rules say so too; this is the one line that must never be passed
        current = state.rounds[round - 1]
        own, asked = current.open[peer].own, len(current.open[peer].others)
        self.report(f"round {round}: make keys for {peer}", 0.0)
        keys = self.engine.make_keys(self._terms(asked, len(own)))
        self.report(f"round {round}: make keys for {peer}", 1.0)
        self.drop_keys(round)
        self.store.keep_secret(_secret_of(round, peer), keys.secret)
        blob, lock_key = self._lock(round, keys, own, asked)
        content = lock_key + bytes.fromhex(blob.hash)
        letter = seal(self.identity, public_of(state.peer(peer)), self._context("records-key", round), [content])
        key = b"".join(letter)
        self.change(lambda now: rules.has_served(now, round, peer, blob, key))

    def _lock(self, round: int, keys: KeyPair, served: Sequence[int], questions: int) -> tuple[Blob, bytes]:
        """Public key and encrypted records as one locked body, and what unlocks it."""
        open_ = set(served)
        prepared = [record.prepared for record in self.store.records() if record.record in open_]
        parcels: Iterable[bytes] = ()
        if prepared and questions:
            phase = f"round {round}: encrypt {len(prepared)} records"
            terms, working = self._terms(questions, len(prepared)), self._working(phase)
            parcels = self.engine.encrypt(terms, keys.secret, prepared, questions, working)
        own = new_key()
        locked = lock(own, self._context("records", round), itertools.chain([keys.public], parcels))
        return self.store.bodies.write(locked), own

    def drop_keys(self, round: int) -> None:
        """Keys of earlier rounds open nothing that is still needed."""
        for earlier in range(1, round):
            for peer in self.store.agreement.peers(self.store.name):
                self.store.drop_secret(_secret_of(earlier, peer))

    def _records_of(self, state: rules.OwnerState, peer: str, round: int) -> Iterator[bytes]:
        """What another owner locked: the public part of its key, and its encrypted records."""
        received = state.rounds[round - 1].records[peer]
        context = self._context("records-key", round)
        letter = open_(self.identity, public_of(state.peer(peer)), context, [bytes.fromhex(received.key)])
        content = b"".join(letter)
        key, named = content[:32], content[32:].hex()
        if named != received.blob.hash:
            raise EnvelopeDamaged(f"The key that {peer} sent belongs to other records than those that came.")
        return unlock(key, self._context("records", round), self.store.bodies.read(received.blob))

    def evaluate(self, peer: str, round: int) -> None:
        """Evaluate the questions of a round over another owner's records. Nothing random is used twice: what was made
        before a crash and not saved is made again from new randomness, and what is saved is never made again.
        """
        rules.require_confirmed(self.store.state())
        self.store.begin_journal(f"round {round}, {peer}")
        state, bodies = self.store.state(), self.store.bodies
        current, formulas = state.rounds[round - 1], list(self._formulas(round, peer))
        asked, pads = auditing.commitment(self.store, self.identity, round), list[bytes]()
        parcels = self._answers(state, peer, round, formulas, pads)
        sealed = seal(self.identity, public_of(state.peer(peer)), self._context("answers", round), parcels)
        answers = bodies.write(sealed)
        direction = rules.direction(state, round, self.store.name, peer, answers)
        count, served = len(formulas), len(current.open[peer].others)
        values = self._values(count, served, partial(self.engine.pad_values, self._terms(count, served), pads))
        listed = self._listed("listed", state, round, values, direction)
        commitment = rules.List(listed, secrets.token_bytes(comparing.SALT_BYTES))
        self.change(lambda now: rules.has_answered(now, round, peer, answers, asked, commitment))

    def _answers(
        self, state: rules.OwnerState, peer: str, round: int, formulas: list[Formula], pads: list[bytes]
    ) -> Iterator[bytes]:
        """Encrypted answers, parcel by parcel; their pads are kept in `pads`."""
        pieces = self._records_of(state, peer, round)
        public = next(pieces, b"")
        served = len(state.rounds[round - 1].open[peer].others)
        if not formulas or not served:
            return  # no questions, or no records; the other's round still needs these (empty) answers
        phase = f"round {round}: ask {peer}"
        terms, working = self._terms(len(formulas), served), self._working(phase)
        for one in self.engine.evaluate(terms, public, pieces, formulas, working):
            pads.append(one.pads)
            yield one.parcel

    def open(self, peer: str, round: int) -> None:
        """Open another owner's answers about this owner's records, and make the list of results."""
        state = self.store.state()
        rules.require_confirmed(state)
        current = state.rounds[round - 1]
        answers = current.to_open[peer].answers
        if answers.served != current.served[peer].hash:
            raise EnvelopeDamaged(
                f"{peer} answers about records that were served in an earlier life of this workspace."
            )
        secret, sender = self.store.secret(_secret_of(round, peer)), public_of(state.peer(peer))
        parcels = open_(self.identity, sender, self._context("answers", round), self.store.bodies.read(answers.blob))
        phase = f"round {round}: open the answers of {peer}"
        self.report(phase, 0.0)
        asked, served = len(current.open[peer].others), len(current.open[peer].own)
        values = self._values(asked, served, partial(self.engine.open, self._terms(asked, served), secret, parcels))
        direction = rules.direction(state, round, peer, self.store.name, answers.blob)
        listed = self._listed("opened", state, round, values, direction)
        self.change(lambda now: rules.has_opened(now, round, peer, listed))
        self.report(phase, 1.0)

    def _terms(self, asked: int, served: int) -> Terms:
        """What the engine needs for this many questions about that many records. The keys of every round are new, and
        so is its room: later rounds are about fewer records, and both sides know how many.
        """
        return replace(self.store.agreement.terms(), records=max(1, asked, served))

    def _values(self, asked: int, served: int, make: Callable[[int, int], Values]) -> Values:
        """Values of all pairs; none if there are no questions or no records."""
        return make(asked, served) if asked and served else np.zeros((1, asked, served), dtype=np.uint64)

    def _listed(
        self, kind: str, state: rules.OwnerState, round: int, values: Values, direction: comparing.Direction
    ) -> Blob:
        """The keyed hashes of these values, sealed for the coordinator."""
        peer = direction.holder if direction.asker == self.store.name else direction.asker
        hashes = comparing.hashes(values, self._comparing(state, peer, round), direction)
        sealed = seal(self.identity, coordinator_of(state), self._context(kind, round), [hashes])
        return self.store.bodies.write(sealed)

    def _comparing(self, state: rules.OwnerState, peer: str, round: int) -> bytes:
        """The secret under which this owner and another hash what is compared in a round."""
        return shared_secret(self.identity, public_of(state.peer(peer)), self._context("comparing", round))

    def _formulas(self, round: int, peer: str) -> Iterator[Formula]:
        """The questions of a round that are asked of one owner: about records that are open with it."""
        asked = set(self.store.state().rounds[round - 1].open[peer].own)
        for task in self.store.tasks(round):
            if task.record not in asked:
                continue
            checked = check_question(self.store.agreement, task.question or "")
            if checked.formula is None:
                raise InputError(
                    f"The question of record {task.record + 1} in round {round} cannot be used any more: check it."
                )
            yield checked.formula

    def _context(self, kind: str, round: int = 0) -> Context:
        return Context(bytes.fromhex(self.store.agreement.hash), kind, round)


def _secret_of(round: int, asker: str) -> str:
    """The name of the secret that opens an asker's answers of a round."""
    return f"round-{round}-{asker}"
