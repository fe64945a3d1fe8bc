"""The owner as it runs: sends what waits, accepts what came, and does the work that the rules name. It knows no person,
and only the interfaces of store and line.

One `turn` does everything that can be done now; `run` takes turns until the study is over. What a turn makes (encrypted
records, answers) is a file before it is a message, and a message is in the outbox before it leaves. So an interrupted
turn is taken again without losing or repeating anything.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from blindlabel.engines.interface import IN_THIS_PROCESS, Engine, EngineError, Working
from blindlabel.engines.registry import engine_named
from blindlabel.envelope.identity import Identity
from blindlabel.errors import InputError, OutsideError
from blindlabel.parties.joining import (
    confirm_heard,
    confirm_unheard,
    in_order,
    own_identity,
    own_table,
    secret_order,
    signed_by,
    words_to_read_out,
)
from blindlabel.parties.questions import QuestionSource, open_tasks
from blindlabel.parties.round_work import Report, Rounds
from blindlabel.parties.sample_work import EnrichedSampling
from blindlabel.protocol import messages
from blindlabel.protocol import owner_rules as rules
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.happened import Happened, at_owner
from blindlabel.protocol.interfaces import Line, MovedBytes, NotYetCarried, OwnRecord, Store, Told, Unreachable
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.next_steps import AHEAD, NextStep, of_owner
from blindlabel.protocol.refusals import (
    Forked,
    MalformedMessage,
    NotFitting,
    ProtocolError,
    TooEarly,
    TwoLives,
    WrongSender,
    WrongStudy,
)
from blindlabel.protocol.shape import Blob
from blindlabel.protocol.standing import Known, Standing, tag
from blindlabel.records.preparation import prepare_table
from blindlabel.records.tables import Table

_SENT = {"listed": "hashes of answers", "opened": "opened answers", "join": "who we are", "confirm": "confirmation"}
"""What people read for a kind of message, if not its name."""


_DOUBT = 15
"""After two lives of the coordinator's database were heard: polls for which only one may be heard."""

_AHEAD = "ahead"
"""Under this name a store remembers the owners that have messages which the coordinator has forgotten."""

_AGAIN = 3
"""Polls in a row in which messages that the coordinator does not have are sent again."""

RowOrder = Callable[[Identity, Agreement, int], Sequence[int]]
"""An owner's order of its rows: secret, except in simulations, which must be repeatable."""


def _sending(kind: str) -> str:
    return "send keys for the sample" if kind in messages.SAMPLING else f"send {_SENT.get(kind, kind)}"


class OwnerParty:
    """One owner's side of one study, at work."""

    def __init__(
        self,
        store: Store,
        line: Line,
        *,
        working: Working = IN_THIS_PROCESS,
        report: Report | None = None,
        engine: Engine | None = None,
        table: Callable[[], Table] | None = None,
        tell: Callable[[Happened], None] = lambda _: None,
        order: RowOrder | None = None,
    ) -> None:
        self.store = store
        self.line = line
        self.report = report or (lambda _phase, _share, _detail="": None)
        self.identity = own_identity(store)
        self.agreement = store.agreement
        self.terms = self.agreement.terms()
        self.engine = engine or engine_named(self.agreement.encoding.engine)
        self._file = table or (lambda: own_table(store))
        self._order = order or secret_order
        working = replace(working, journal=store.journal)
        self.rounds = Rounds(store, self.identity, self.engine, working, self.report, self._change)
        self.sampling = EnrichedSampling(store, self.identity, self._table, self._change)
        self._has: frozenset[str] = frozenset()
        """This owner's messages that the coordinator is known to have, by digest."""
        self._is_level = False
        """Whether it had all messages when it was last asked."""
        self._superseded: set[int] = set()
        """Numbers of this owner's messages in whose place it has others."""
        self._tell, self._told_of = tell, store.state()
        self._there, self._lives_there, self._mark, self._doubt = "", set[str](), secrets.token_hex(4), 0
        """About the coordinator's database: the life heard last, all lives heard, the mark that the next answer must
        bear, and for how many polls no other life may be heard before this owner goes on.
        """
        self._was_heard = False
        self._misfit: NotFitting | None = None
        """Why the coordinator did not accept what waits."""
        self._ahead = {*store.settings.get(_AHEAD, "").split()}

    @property
    def is_ahead(self) -> bool:
        """Whether this owner has messages that the coordinator has forgotten sending."""
        return self.store.name in self._ahead

    def turn(self, wait: float = 0.0) -> bool:
        """Send, fetch, work, send; then, if there was nothing to do, wait up to this many seconds for the next message.
        True if anything happened.
        """
        happened = self.send()
        happened |= self.fetch(0.0)
        happened |= self.work()
        happened |= self.send()
        return happened or (wait > 0 and self.fetch(wait))

    # Messages

    def send(self) -> bool:
        """Send what waits in the outbox, in order. If it does not fit, the next poll may say why: a restored
        coordinator continued differently.
        """
        try:
            return self._hand_over(self.store.unsent())
        except NotFitting as refusal:
            self._misfit = refusal
            return False

    def _hand_over(self, waiting: list[tuple[int, bytes]]) -> bool:
        for number, wire in waiting:
            signed = messages.parse(wire)
            try:
                self.line.deliver(wire, self.store.bodies, self._mover(_sending(signed.message.kind)))
                self._has |= {signed.digest}
            except TooEarly:
                return False  # it stays in the outbox; what it needs is on its way
            except ProtocolError as refusal:
                if not rules.is_superseded(signed.message, refusal):
                    raise
                self._superseded.add(number)
            self.store.mark_sent(number)
        return bool(waiting)

    def fetch(self, wait: float) -> bool:
        """Accept the coordinator's next messages and the bodies that they name; send again what it does not have."""
        state = self.store.state()
        told = self._poll(state, wait if state.truth is None or self.is_ahead else 0.0)
        self._hear(told.standing)
        taken = self._take_in(told.messages) if state.truth is None else 0
        if taken:
            self._store_sample()
        elif told.messages:
            time.sleep(wait)  # they came at once, and wait for a person on this side, or are no longer needed
        for _ in range(_AGAIN):
            if not self._compare(state, told.standing):
                break
            state = self.store.state()
            told = self._poll(state, 0.0)  # that may have brought it forward
        if self._misfit is not None and not self.is_ahead:
            misfit, self._misfit = self._misfit, None
            raise misfit
        if (now := self.store.state()).truth is not None:
            self.rounds.drop_keys(now.round + 1)
        try:
            return self._fetch_bodies() or taken > 0
        except WrongStudy as error:
            if told.standing.sent < state.received:  # it has forgotten the message that names the body
                raise Unreachable(AHEAD) from error
            raise

    def _poll(self, state: rules.OwnerState, wait: float) -> Told:
        written = sum(task.question is not None for task in self.store.tasks())
        latest = rules.latest(state)
        known = Known(received=state.received, latest=latest, has=tag(self._has), mark=self._mark, written=written)
        try:
            return self.line.fetch(known, wait)
        except WrongSender:  # it does not know our token: was it restored to a time before we joined?
            if self._misfit is not None:  # it refused our join, and said why
                raise self._misfit from None
            self._hand_over(self.store.sent()[:1])
            return self.line.fetch(known, 0.0)

    def _hear(self, standing: Standing) -> None:
        """The coordinator answers. Nothing goes on while two copies of its database answer in turn."""
        if not self._was_heard:
            self.store.was_heard()
            self._was_heard = True
        if standing.life and standing.mark == self._mark:
            if standing.life != self._there:
                self._doubt = _DOUBT if standing.life in self._lives_there else self._doubt
                self._there, self._mark = standing.life, secrets.token_hex(4)
                self._lives_there.add(standing.life)
            elif self._doubt:
                self._doubt -= 1
        if self._doubt:
            raise TwoLives(
                "Two copies of the coordinator's database answer, turn by turn. Was a backup restored while the first"
                " server still runs? Its operator has to stop one of the two. Nothing goes on here before only one"
                " answers."
            )

    def _compare(self, state: rules.OwnerState, standing: Standing) -> bool:
        """Compare what each side has of the other's messages, and send again whatever the coordinator does not have.
        True if it took something.
        """
        ahead, sent = standing.sent < min(state.received, standing.heard), standing.sent
        if ahead and not self.is_ahead:
            self._superseded.clear()  # what it had in their place may be forgotten too
        self._note_ahead({*standing.ahead} - {state.name} | ({state.name} if ahead else set()))
        if 0 < sent <= state.received and state.seen.get(str(sent)) != standing.latest:
            known = Known(received=sent - 1, latest=state.seen.get(str(sent - 1), ""), has=tag(self._has))
            found = self.line.fetch(known, 0.0).messages[:1]
            self._poll(state, 0.0)  # the coordinator has to hear how far this owner is in truth
            self._take_in(found)  # the signed message itself shows what is wrong
        if standing.has is not None:
            self._has = frozenset(standing.has)
            self._is_level = False
        if self._is_level:
            return False
        had, before = self._has, [one for one in self.store.sent() if one[0] not in self._superseded]
        missing = [one for one in before if messages.parse(one[1]).digest not in had]
        self._is_level = not missing
        try:
            self._hand_over(missing)
        except NotFitting:  # with what came in after the restore; if that is a fork, the next message says so
            if not ahead:
                raise
        return self._has != had

    def _note_ahead(self, names: set[str]) -> None:
        """Who has messages that the coordinator has forgotten; for other processes, too."""
        if names != self._ahead:
            self.store.remember(_AHEAD, " ".join(sorted(names)))
            self._ahead = names

    def _take_in(self, wires: list[bytes]) -> int:
        """Accept messages, as far as possible: one that comes too early waits for a person, or for those before it."""
        for number, wire in enumerate(wires):
            try:
                signed = messages.parse(wire)
                self.store.change(lambda now, signed=signed: rules.OwnerStep(rules.handle(self.agreement, now, signed)))  # type: ignore[misc]
            except TooEarly:
                return number
            except Forked:
                self._note_ahead(self._ahead | {self.store.name})
                raise
            except (MalformedMessage, WrongSender) as error:
                raise Unreachable(f"A message of the coordinator came damaged: {error}") from error
        return len(wires)

    def _fetch_bodies(self) -> bool:
        """Get every body that messages have named and that is not here yet."""
        state, fetched = self.store.state(), False
        wanted: list[tuple[str, Blob]] = []
        if state.sample is None:
            wanted += [(f"offers of {peer}", blob) for peer, blob in state.sampling.offers.items()]
            wanted += [(f"choice of {peer}", blob) for peer, blob in state.sampling.picked.items()]
        if state.rounds and state.truth is None:
            current = state.rounds[-1]
            wanted += [(f"records of {peer}", records.blob) for peer, records in current.records.items()]
            wanted += [(f"answers of {peer}", came.answers.blob) for peer, came in current.to_open.items()]
        wanted += [("truth", pairing.labels.blob) for pairing in state.truth.pairings] if state.truth else []
        for what, blob in wanted:
            if not self.store.bodies.has(blob):
                self.line.fetch_body(blob, self.store.bodies, self._mover(f"fetch {what}"))
                fetched = True
        return fetched

    def _mover(self, phase: str) -> MovedBytes:
        return lambda done, every: self.report(phase, done / every if every else 1.0)

    def _store_sample(self) -> None:
        """Once the sample has been drawn: read, prepare and keep the sampled rows."""
        state = self.store.state()
        if state.sample is None or self.store.records():
            return
        table, agreement = self._file(), self.agreement
        order = self._order(self.identity, agreement, len(table))
        rows = [order[position] for position in state.sample.positions]
        prepared = prepare_table(table, rows, agreement.attributes, agreement.recipe, agreement.lengths())
        self.store.store_records(
            OwnRecord(number, row, table.ids[row], table.row(row), record)
            for number, (row, record) in enumerate(zip(rows, prepared))
        )

    def _table(self) -> Table:
        """The owner's table in the order in which the coordinator draws from it."""
        table = self._file()
        return in_order(table, self._order(self.identity, self.agreement, len(table)))

    # Verification

    def words(self, peer: str) -> tuple[str, ...]:
        """What this owner's person reads to another's."""
        return words_to_read_out(self.store, peer)

    def verify(self, peer: str, heard: str) -> None:
        """A person has typed the words that another owner's person read out."""
        confirm_heard(self.store, peer, heard)

    def confirm(self, peer: str) -> None:
        """Confirm without words: for rehearsals and simulations, in which one person is all parties."""
        confirm_unheard(self.store, peer)

    # Work

    def work(self) -> bool:
        """Do all work that the rules name now."""
        self._store_sample()
        self.tell_news()
        done = False
        while todo := rules.work(self.agreement, self.store.state()):
            began = time.monotonic()
            try:
                self._do(todo[0])
            except EngineError as error:
                kind = OutsideError if isinstance(error, OutsideError) else InputError
                raise kind(f"The {self.engine.name} engine cannot go on: {error}") from error
            self.tell_news(seconds=round(time.monotonic() - began, 3))
            self.send()
            done = True
        return done

    def tell_news(self, **facts: object) -> None:
        """Tell what has happened in the study since this was last called, in whatever process it happened."""
        before, self._told_of = self._told_of, self.store.state()
        for one in at_owner(before, self._told_of):
            self._tell(replace(one, facts=one.facts | facts))

    def _do(self, todo: rules.OwnerWork) -> None:
        if todo.kind in ("offer", "blind", "pick", "sample"):
            self.sampling.do(todo)
        elif todo.kind == "carry":
            self.rounds.carry(todo.round)
        elif todo.kind == "serve":
            self.rounds.serve(todo.peer, todo.round)
        elif todo.kind == "evaluate":
            self.rounds.refusing(todo, "records", self.rounds.evaluate)
        else:
            self.rounds.refusing(todo, "answers", self.rounds.open)

    def _change(self, event: Callable[[rules.OwnerState], rules.OwnerStep]) -> rules.OwnerStep:
        return self.store.change(event, self.sign)

    def sign(self, message: Message) -> Signed:
        """A message of this owner, ready to leave."""
        return signed_by(self.identity, message)

    def next_steps(self) -> list[NextStep]:
        """Who has to do what next."""
        return steps_of(self.store)


def steps_of(store: Store) -> list[NextStep]:
    """Who has to do what next, as one owner's store knows it."""
    saved = sum(1 for task in store.tasks() if task.question is not None)
    kept, unsent = saved > 0 or bool(store.records()), bool(store.unsent())
    facts = store.settings
    ahead, by_folder = facts.get(_AHEAD, "").split(), facts.get("via", "").startswith("folder:")
    steps = of_owner(store.agreement, store.state(), saved=saved, kept=kept, unsent=unsent, ahead=ahead)
    return [one.by_folder() for one in steps] if by_folder else steps


WAIT = 2.0
"""Seconds that one turn waits for a message."""
LOOK = 0.3
"""The same while it waits for a person on this side: afterwards it looks whether a round was handed in or words were
confirmed.
"""


def run(owner: OwnerParty, source: QuestionSource | None, *, once: bool, tell: Callable[[str], None]) -> bool:
    """Take turns; True when the study is over. With `once`, only as long as something can be done now.

    `tell` gets a sentence whenever what is waited for changes.
    """
    told = ""
    while True:
        try:
            happened = owner.turn(0.0 if once else LOOK if _waits_for_person(owner) else WAIT)
            missing = source.provide(owner.store) if source is not None and open_tasks(owner.store) else None
            happened |= source is not None and missing is None and owner.work()
        except NotYetCarried as error:
            told = _tell(owner, tell, told, str(error))
            if once:
                return False
            time.sleep(LOOK)
            continue
        except OutsideError as error:
            if is_over(owner):  # whatever the coordinator says now
                return True
            if once or not isinstance(error, (Unreachable, TwoLives)):
                raise
            told = _tell(owner, tell, told, f"{error} Trying again." if isinstance(error, Unreachable) else str(error))
            time.sleep(WAIT)
            continue
        owner.tell_news()
        if is_over(owner) and not owner.is_ahead:
            owner.store.say("over", 1.0, "The study is over.")
            return True
        if happened:
            continue
        waiting = missing or " ".join(step.sentence for step in owner.next_steps())
        told = _tell(owner, tell, told, waiting)
        if once:
            return False


def is_over(owner: OwnerParty) -> bool:
    """Whether the truth has come, with its labels."""
    truth = owner.store.state().truth
    return truth is not None and all(owner.store.bodies.has(pairing.labels.blob) for pairing in truth.pairings)


def _waits_for_person(owner: OwnerParty) -> bool:
    return any(step.who == "you" for step in owner.next_steps())


def _tell(owner: OwnerParty, tell: Callable[[str], None], told: str, sentence: str) -> str:
    if sentence != told:
        tell(sentence)
        owner.store.say("waiting", 0.0, sentence)
    return sentence
