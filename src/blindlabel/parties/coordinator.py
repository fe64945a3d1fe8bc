"""The coordinator as it runs: receives messages, and does the work that the rules name. It has no engine and no key
that opens anything: it compares two lists.

Several of these (threads or processes) may run over one database and folder. Everything is saved before anything
leaves, and an interrupted step is done again from what is saved. Work takes seconds, and each step gives the same
whoever does it: two processes may do it at once, and it is saved once (docs/decisions/0009).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import nacl.signing
import numpy as np

from blindlabel.engines.interface import Outcomes
from blindlabel.envelope.identity import Context, EnvelopeError, Identity, new_identity
from blindlabel.envelope.stream import open_
from blindlabel.errors import InputError, OutsideError
from blindlabel.parties.accounting import account_of
from blindlabel.parties.joining import signed_by
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import blocking, comparing, leaving, messages, rounds
from blindlabel.protocol import coordinator_rules as rules
from blindlabel.protocol import labels as labelling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import (
    RoundFacts,
    StudyState,
    StudyStep,
    StudyWork,
    key_of,
    needed_bodies,
    new_state,
    sides_of,
    spent_bodies,
)
from blindlabel.protocol.happened import Happened, at_coordinator
from blindlabel.protocol.interfaces import Loaded, Studies
from blindlabel.protocol.invitation import Invitation
from blindlabel.protocol.letters import Letters, public_of, sender_of
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.next_steps import NextStep, of_coordinator
from blindlabel.protocol.refusals import NotFitting, TooEarly, TwoLives, WrongStudy, two_copies
from blindlabel.protocol.sampling import Draw
from blindlabel.protocol.shape import Blob, Locked
from blindlabel.protocol.standing import Known, Life, Standing, is_ahead, standing_with

_SIGNING = "signing"
"""The name of the secret that signs a study's messages."""


class CoordinatorParty:
    """All studies of one coordinator."""

    def __init__(self, store: Studies, *, draw: Draw = secrets.randbelow) -> None:
        self.store = store
        self.tell: Callable[[str, Happened], None] = lambda _study, _happened: None
        """Called with the study's name and what happened."""
        self._draw = draw
        self.agreement = lru_cache(maxsize=256)(self._agreement)
        self.heard: dict[tuple[str, str], float] = {}
        """When an owner was last heard of by this process, by study and owner."""
        self.written: dict[tuple[str, str], tuple[int, int]] = {}
        """Of which round an owner had saved how many questions, when it said so last."""
        self._serves = False

    # Studies

    def create(
        self,
        text: str,
        address: str = "",
        *,
        source: str = "The agreement",
        keep: Callable[[list[Invitation]], None] = lambda _: None,
        drawn: Mapping[str, tuple[int, ...]] | None = None,
    ) -> list[Invitation]:
        """Begin a study under this agreement; returns the invitations, to be given to its owners in private. `keep`
        writes them down before the study exists, because nobody could make them again. `drawn`: each owner's rows in
        the pairs that were drawn from the linkage's list, if the agreement names one.
        """
        agreement = agreements.from_text(text, source=source)
        account_of(agreement)
        identity = new_identity()
        codes = {owner: secrets.token_bytes(32) for owner in sorted(agreement.owners)}
        public = {owner: bytes(nacl.signing.SigningKey(code).verify_key).hex() for owner, code in codes.items()}
        state = new_state(agreement, public, secrets.token_hex(32), drawn or {})

        key = identity.public.to_bytes().hex()
        invitations = [Invitation(owner, code.hex(), key, address, text) for owner, code in codes.items()]

        def keep_before() -> None:
            self.store.keep_secret(agreement.hash, _SIGNING, identity.to_bytes())
            keep(invitations)

        if not self.store.create(agreement.name, text, state, keep_before):
            raise InputError(
                "There is a study under exactly this agreement already. A new study needs a new salt: `blindlabel"
                " coordinator new` writes an agreement that has one."
            )
        return invitations

    def reinvite(self, study: str, owner: str, address: str = "", *, lost: bool = False) -> Invitation:
        """A new invitation for an owner that has not joined, or whose workspace is lost; the earlier one
        becomes void.
        """
        code = secrets.token_bytes(32)
        public = bytes(nacl.signing.SigningKey(code).verify_key).hex()
        self._apply(study, lambda agreement, state: leaving.invites_again(agreement, state, owner, public, lost=lost))
        self.store.remove_bodies(study, spent_bodies)
        key = self._identity(study).public.to_bytes().hex()
        return Invitation(owner, code.hex(), key, address, self.store.agreement(study) or "")

    def remove(self, study: str, owner: str) -> None:
        """Go on without an owner, or end the study if only two take part."""
        self._apply(study, lambda agreement, state: rules.removes(agreement, state, owner, self._draw))
        self.store.remove_bodies(study, spent_bodies)

    def find(self, named: str) -> str:
        """The study with this name, or whose hash begins like this; there must be exactly one."""
        found = [row.study for row in self.store.studies() if row.name == named or row.study.startswith(named)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{row.name} ({row.study[:12]})" for row in self.store.studies()) or "none"
        problem = "There is no study" if not found else "There is more than one study"
        called = f" {named!r}" if named else ""
        raise InputError(f"{problem}{called} here. Studies: {known}.")

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
        self.store.remove_bodies(study, spent_bodies)

    def keep_checked(self, study: str, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """The pairs to check in clear: these, unless others were drawn earlier."""
        drawn = tuple(pairs)
        self._apply(study, lambda _, now: StudyStep(now.model_copy(update={"checked": now.checked or drawn})))
        return self.load(study).state.checked

    # Messages

    def receive(self, wire: bytes) -> bool:
        """Accept one message of an owner; True if it was new. Its bodies must have arrived before."""
        signed = messages.parse(wire)
        study = signed.message.study

        def event(agreement: Agreement, state: StudyState) -> StudyStep:
            step = rules.handle(agreement, state, signed, self._draw)
            needed = step.state != state or signed.message.slot in needed_bodies(state)
            if needed and any(not self.store.bodies(study).has(blob) for blob in signed.message.blobs):
                raise TooEarly("The message's body has not arrived yet.")
            return step

        return self._apply(study, event, incoming=signed)

    def unseal(self, letter: bytes) -> bytes:
        """The message in an owner's letter. Its signature says whose it is."""
        study, sender = sender_of(letter)
        self.agreement(study)
        return Letters(study, self._identity(study), sender).open(letter)

    def letters(self, study: str, owner: str) -> Letters:
        """What seals messages to an owner that has joined."""
        join = self.load(study).state.owners[owner].join
        assert join is not None, "nothing is sent to whoever has not joined"
        return Letters(study, self._identity(study), public_of(join))

    def hears(self, study: str, owner: str, known: Known, at: float | None = None) -> Standing:
        """An owner says how far it is, now or `at` a time; how this coordinator stands with it."""
        if not self._serves:
            self.store.begin_life()
            self._serves = True
        self.heard[study, owner] = time.time() if at is None else at
        state, bodies = self.load(study).state, self.store.bodies(study)
        if known.received == state.owners[owner].sent:  # otherwise it may speak of the round before
            self.written[study, owner] = state.round, known.written
        said = Known(received=known.received, latest=known.latest) if is_ahead(state, owner, known) else Known()
        if said != self.store.ahead(study).get(owner, Known()):
            self.store.note_ahead(study, owner, said)
        ahead = self.ahead(study, state)
        return standing_with(state, owner, known, lambda blob: not bodies.has(blob), self.store.life(), ahead)

    def ahead(self, study: str, state: StudyState) -> set[str]:
        """The owners that have messages which this coordinator has forgotten, until its state has caught up."""
        return {owner for owner, known in self.store.ahead(study).items() if is_ahead(state, owner, known)}

    def next_steps(self, study: str, state: StudyState) -> list[NextStep]:
        """Who has to do what next."""
        return of_coordinator(self.agreement(study), state, self.ahead(study, state), self.lost(study, state))

    def lost(self, study: str, state: StudyState) -> set[str]:
        """The owners whose bodies are needed, and gone: no backup has them."""
        has = self.store.bodies(study).has
        return {slot.partition(" ")[0] for slot, blob in needed_bodies(state).items() if not has(blob)}

    def check_life(self, study: str, owner: str, life: Life) -> None:
        """Refuse a second copy of an owner's workspace while another takes part: their messages would contradict each
        other, and make one round void after the other.
        """
        if not self.store.lives(study, owner, life):
            raise TwoLives(two_copies(owner))

    def _apply(
        self, study: str, event: Callable[[Agreement, StudyState], StudyStep], incoming: Signed | None = None
    ) -> bool:
        """Apply an event to the newest state and save what follows; start over if another process was faster."""
        agreement = self.agreement(study)
        while True:
            loaded = self.load(study)
            step = event(agreement, loaded.state)
            if step.state == loaded.state and not step.messages:
                return False
            for body in step.bodies:
                self.store.bodies(study).write([body])
            outgoing = [signed_by(self._identity(study), message) for message in step.messages]
            if self.store.save(loaded, step.state, incoming=incoming, outgoing=outgoing):
                for one in at_coordinator(loaded.state, step.state):
                    self.tell(agreement.name, one)
                return True

    # Work

    def work(self, study: str) -> bool:
        """Do what can be done for a study now; True if something was done."""
        done = False
        while todo := self.todo(study):
            try:
                self._do(study, todo[0])
            except OutsideError:
                if todo[0] in self.todo(study):
                    raise  # otherwise another process has done it, and removed the lists
            done = True
        return done

    def todo(self, study: str) -> list[StudyWork]:
        """What can be done now. Missing lists (no backup has them) are on their way from their owners."""
        state, has = self.load(study).state, self.store.bodies(study).has
        return [
            todo
            for todo in rules.work(self.agreement(study), state)
            if all(has(blob) for blob in rules.lists_for(state, todo))
        ]

    def _do(self, study: str, todo: StudyWork) -> None:
        if todo.kind == "choose":
            lists = {
                (name, peer): self._unsealed(study, "blinded", name, blob)
                for name, facts in self.load(study).state.owners.items()
                for peer, blob in facts.blinded.items()
            }
            self._apply(study, lambda agreement, state: blocking.chooses(agreement, state, lists, self._draw))
        elif todo.kind == "read":
            self._read(study, todo)
        else:
            self._settle(study, todo)

    def _read(self, study: str, todo: StudyWork) -> None:
        """Make the outcomes of one direction by comparing two lists."""
        state, direction = self.load(study).state, todo.direction
        try:
            outcomes = self._outcomes(study, state.rounds[todo.round - 1], todo)
        except NotFitting:
            self._apply(study, lambda agreement, state: rounds.void(agreement, state, todo.round))
            self.store.remove_bodies(study, spent_bodies)
            return
        about = f"outcomes {todo.round} {direction}"
        named, body = labelling.locked(outcomes.tobytes(), bytes.fromhex(state.salt), about)
        self.store.bodies(study).write([body], passing=True)  # a backup with them would tell a cheating owner of a key
        self._apply(study, lambda _, state: StudyStep(rounds.read(state, todo.round, direction, named)))
        self.store.remove_bodies(study, spent_bodies)  # lists tell a cheating owner more than outcomes do

    def _outcomes(self, study: str, facts: RoundFacts, todo: StudyWork) -> Outcomes:
        of_asker, of_holder = facts.listed[todo.direction].blob, facts.opened[todo.direction].blob
        listed = self._unsealed(study, "listed", todo.asker, of_asker, todo.round)
        opened = self._unsealed(study, "opened", todo.holder, of_holder, todo.round)
        return comparing.compared(listed, opened, *facts.size(todo.asker, todo.holder))

    def _unsealed(self, study: str, kind: str, owner: str, blob: Blob, round: int = 0) -> bytes:
        """A list that an owner sealed for this coordinator."""
        identity, context = self._identity(study), Context(bytes.fromhex(study), kind, round)
        pieces = self.store.bodies(study).read(blob)
        try:
            return b"".join(open_(identity, self.letters(study, owner).other, context, pieces))
        except EnvelopeError as error:
            raise NotFitting(f"A list of {owner} cannot be opened.") from error

    def _settle(self, study: str, todo: StudyWork) -> None:
        state, has = self.load(study).state, self.store.bodies(study).has
        current = state.rounds[-1]
        lost = [direction for direction in current.asked if not has(current.read[direction].blob)]
        if lost:  # the database was restored, and its outcomes had been removed: owners still have their lists
            self._apply(study, lambda _, now: StudyStep(rounds.forget(now, todo.round, lost)))
            return
        found = {direction: self._kept_outcomes(study, state, direction) for direction in current.asked}
        self._apply(
            study, lambda agreement, now: rounds.settle(agreement, now, todo.round, found, self._labels(study, now))
        )
        self.store.remove_bodies(study, spent_bodies)  # nobody needs the single outcomes again

    def _kept_outcomes(self, study: str, state: StudyState, direction: str) -> Outcomes:
        current = state.rounds[-1]
        content = self._unlocked(study, current.read[direction])
        return np.frombuffer(content, dtype=np.uint8).reshape(current.size(*sides_of(direction)))

    def _labels(self, study: str, state: StudyState) -> dict[str, labelling.Labels]:
        found = {}
        for key, named in state.labels.items():
            first, second = (len(state.samples[owner]) for owner in key.split())
            found[key] = labelling.from_bytes(self._unlocked(study, named), first, second)
        return found

    def _unlocked(self, study: str, named: Locked) -> bytes:
        return labelling.unlocked(named, self.store.bodies(study).read_all(named.blob))

    def labels(self, study: str) -> dict[tuple[str, str], labelling.Labels]:
        """The labels as they stand, by pairing; rows are the first owner's sampled records."""
        state = self.load(study).state
        if not state.samples:
            raise InputError("The study has no labels yet: its samples have not been drawn.")
        found, pairings = self._labels(study, state), self.agreement(study).pairings
        return {pairing: found[key_of(*pairing)] for pairing in pairings if key_of(*pairing) in found}

    # Keys

    def unserved(self) -> dict[str, str]:
        """Studies that are not over and cannot be served, since their keys cannot be read; each with a sentence why."""
        found = {}
        for row in self.store.studies():
            if row.ended:
                continue
            try:
                self._identity(row.study)
            except InputError as error:
                found[row.study] = str(error)
        return found

    def _identity(self, study: str) -> Identity:
        return Identity.from_bytes(self.store.secret(study, _SIGNING))
