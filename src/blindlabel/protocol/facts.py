"""What a coordinator knows about a study: the state that is saved after every step, and what can be read from it at
once.

The rules by which facts come in and what follows from them are in `coordinator`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from pydantic import Field

from blindlabel.envelope.identity import blake2b
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.labels import Labels, no_labels
from blindlabel.protocol.messages import Message
from blindlabel.protocol.refusals import NotFitting
from blindlabel.protocol.sampling import Draw, choose
from blindlabel.protocol.shape import COORDINATOR, Amount, Blob, Hex32, Locked, Name, Position, Shape


class OwnerFacts(Shape):
    """What is known about one owner."""

    invitation_key: Hex32
    join: messages.Join | None = None
    confirmed: tuple[Name, ...] = ()
    offered: dict[Name, Blob] = Field(default_factory=dict)
    """Its blinded blocking keys, by receiver."""
    blinded: dict[Name, Blob] = Field(default_factory=dict)
    """The others' blocking keys, blinded by this owner too."""
    picked: dict[Name, Blob] = Field(default_factory=dict)
    """Which offers of the others were chosen, passed on by this owner."""
    sampled: tuple[Position, ...] = ()
    """The rows of its enriched sample."""
    sent: Amount = 0
    """Messages to this owner so far."""
    history: tuple[Hex32, ...] = ()
    """Their digests, in order."""
    asked: Amount = 0
    """Questions of this owner so far, this round's included."""
    away: Literal["", "lost", "removed"] = ""
    """Why it does not take part now, if it does not: see `leaving`."""
    since: Amount = 0
    """The round after which it came back."""
    rows: Amount = 0
    """Rows of its table, if its workspace was lost: it must come back with as many."""


class RoundFacts(Shape):
    """What is known about one round. Directions are named `asker>holder`: who asks about whose records."""

    asked: dict[str, tuple[Position, ...]]
    """Open records, by direction: `anna>berta` has anna's records in an open pair with berta. Anna asks berta about
    them, and serves them to berta.
    """
    repeats: bool = False
    void: bool = False
    records: dict[str, messages.Records] = Field(default_factory=dict)
    answers: dict[str, messages.Answers] = Field(default_factory=dict)
    answered: dict[str, Hex32] = Field(default_factory=dict)
    """Digests of the messages with the answers."""
    listed: dict[str, messages.Listed] = Field(default_factory=dict)
    opened: dict[str, messages.Opened] = Field(default_factory=dict)
    read: dict[str, Locked] = Field(default_factory=dict)
    """Outcomes, one byte a pair."""
    tallies: dict[str, Tally] = Field(default_factory=dict)
    """By `first second`; filled when the round is settled."""
    loose: dict[str, tuple[Position, ...]] = Field(default_factory=dict)
    """Records whose questions were too loose, by direction; filled when the round is settled."""
    aside: dict[str, tuple[Position, ...]] = Field(default_factory=dict)
    """The holder's records that were set aside, by direction; filled when the round is settled."""
    kept: dict[Name, tuple[Position, ...]] = Field(default_factory=dict)
    """Open records, by owner, that are asked again only because somebody else's question was too loose: their earlier
    question stands.
    """

    def size(self, asker: str, holder: str) -> tuple[int, int]:
        """Questions and records of one direction."""
        return len(self.asked[direction_of(asker, holder)]), len(self.asked[direction_of(holder, asker)])

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come of it."""
        return self.void or bool(self.tallies)

    def is_ready(self, direction: str) -> bool:
        """Whether both lists are there from which the outcomes of a direction are made."""
        return direction in self.listed and direction in self.opened

    @property
    def bodies(self) -> list[Blob]:
        """All bodies that belong to the round."""
        of_round = (self.records, self.read, self.answers, self.listed, self.opened)
        return [sent.blob for by_direction in of_round for sent in by_direction.values()]


class StudyState(Shape):
    """All facts of a study."""

    study: Hex32
    salt: Hex32
    """A secret of the coordinator, with which it locks the bodies that it makes and blinds the digests of its
    messages.
    """
    owners: dict[Name, OwnerFacts]
    keys_sent: bool = False
    uniform: dict[Name, tuple[Position, ...]] = Field(default_factory=dict)
    """For enriched sampling: the rows of each owner that were drawn uniformly."""
    held: tuple[str, ...] = ()
    """Messages between owners that are relayed when every owner has confirmed every other."""
    partners: dict[str, Amount] = Field(default_factory=dict)
    """For enriched sampling: how many keys that both have were chosen, by `first second`."""
    drawn: dict[Name, tuple[Position, ...]] = Field(default_factory=dict)
    """Where pairs were drawn from a linkage's list: the rows of either owner, pair by pair."""
    samples: dict[Name, tuple[Position, ...]] = Field(default_factory=dict)
    rounds: tuple[RoundFacts, ...] = ()
    checked: tuple[tuple[Position, Position], ...] = ()
    """Pairs that are checked in clear, by places in the two samples."""
    labels: dict[str, Locked] = Field(default_factory=dict)
    """Current labels, by `first second`."""
    released: dict[str, Locked] = Field(default_factory=dict)
    """The part of them that goes to owners when the study ends, by `first second`."""
    seen: dict[str, str] = Field(default_factory=dict)
    """Digest of the message in each slot."""
    ended: messages.EndReason | None = None

    @property
    def round(self) -> int:
        """The current (or last) round; 0 before the first."""
        return len(self.rounds)

    def enriched(self, owner: str) -> tuple[int, ...]:
        """The places in an owner's sample of the rows that were chosen by blocking keys."""
        drawn = set(self.uniform.get(owner, self.samples[owner]))
        return tuple(place for place, position in enumerate(self.samples[owner]) if position not in drawn)

    def unlabelled(self, first: str, second: str) -> Labels:
        """The labels of a pairing at the beginning."""
        rows, columns = ([self.samples[one].index(row) for row in self.drawn.get(one, ())] for one in (first, second))
        return no_labels(len(self.samples[first]), len(self.samples[second]), (rows, columns) if self.drawn else None)

    @property
    def asked_anew(self) -> int:
        """Rounds so far that did not repeat a void one."""
        return sum(1 for facts in self.rounds if not facts.repeats)

    @property
    def settled(self) -> list[RoundFacts]:
        """The rounds that have been settled, in order."""
        return [facts for facts in self.rounds if facts.tallies]


@dataclass(frozen=True)
class StudyWork:
    """Work to do outside the rules: `kind` is choose (the rows of an enriched sample), read (a direction's outcomes) or
    settle.
    """

    kind: Literal["choose", "read", "settle"]
    round: int = 0
    asker: str = ""
    holder: str = ""

    @property
    def direction(self) -> str:
        """Whose outcomes are read."""
        return direction_of(self.asker, self.holder)


@dataclass(frozen=True)
class StudyStep:
    """What follows from an event: the new state, messages that leave once it is saved, and bodies to store
    beforehand.
    """

    state: StudyState
    messages: tuple[Message, ...] = ()
    bodies: tuple[bytes, ...] = field(default=())


def direction_of(asker: str, holder: str) -> str:
    """The key of one direction of a pairing: one owner's questions about the other's records."""
    return f"{asker}>{holder}"


def sides_of(direction: str) -> tuple[str, str]:
    """Who asks, and whose records are asked about."""
    asker, _, holder = direction.partition(">")
    return asker, holder


def of_owner(by_direction: Mapping[str, tuple[int, ...]], owner: str) -> tuple[int, ...]:
    """The records of one owner in any of its pairings."""
    return tuple(sorted({one for key, places in by_direction.items() if sides_of(key)[0] == owner for one in places}))


def askers(by_direction: Iterable[str]) -> list[str]:
    """Everybody who asks in any of these directions."""
    return sorted({sides_of(direction)[0] for direction in by_direction})


def open_between(samples: Mapping[str, Sequence[int]], anew: Collection[str]) -> dict[str, tuple[int, ...]]:
    """By direction, all records in the pairings of owners in `anew`, and none in the pairings between the others."""
    return {
        direction_of(asker, holder): tuple(range(len(samples[asker]))) if {asker, holder} & {*anew} else ()
        for asker, holder in itertools.permutations(samples, 2)
    }


def key_of(first: str, second: str) -> str:
    """The key of a pairing, whichever owner is named first."""
    return " ".join(sorted((first, second)))


def new_state(
    agreement: Agreement,
    invitation_keys: Mapping[str, str],
    salt: str,
    drawn: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
) -> StudyState:
    """A study in which nobody has joined yet; `drawn` are the rows of the pairs that were drawn from a list."""
    return StudyState(
        study=agreement.hash,
        salt=salt,
        drawn=dict(drawn),
        owners={owner: OwnerFacts(invitation_key=invitation_keys[owner]) for owner in sorted(agreement.owners)},
    )


def with_owner(state: StudyState, owner: str, **changes: Any) -> StudyState:
    """The state with changed facts of one owner."""
    facts = state.owners[owner].model_copy(update=changes)
    return state.model_copy(update={"owners": {**state.owners, owner: facts}})


S = TypeVar("S", bound=Shape)


def without(shape: S, gone: Collection[str]) -> S:
    """The same shape, without anything about these owners."""
    left: dict[str, object] = {}
    for name, value in shape:
        if isinstance(value, dict):
            left[name] = {key: one for key, one in value.items() if key not in gone}
        elif isinstance(value, tuple):
            left[name] = tuple(one for one in value if one not in gone)
    return shape.model_copy(update=left)


def peer_facts(state: StudyState, owner: str, peer: str) -> OwnerFacts:
    """Facts of another owner; `NotFitting` if there is none of that name."""
    if peer == owner or peer not in state.owners:
        raise NotFitting(f"{owner} names {peer}, who is not another owner of the study.")
    return state.owners[peer]


def sizes(state: StudyState) -> dict[str, int]:
    """Rows of every table."""
    return {owner: facts.join.records for owner, facts in state.owners.items() if facts.join}


def present(state: StudyState) -> list[str]:
    """The owners that were not removed."""
    return sorted(owner for owner, facts in state.owners.items() if facts.away != "removed")


def peers_in(state: StudyState, owner: str) -> list[str]:
    """The other owners that were not removed."""
    return [other for other in present(state) if other != owner]


def all_confirmed(state: StudyState) -> bool:
    """Whether every owner has confirmed every other."""
    waiting = [set(peers_in(state, owner)) - set(state.owners[owner].confirmed) for owner in present(state)]
    return state.keys_sent and not any(waiting)


def drawn_for(agreement: Agreement, state: StudyState, owner: str, draw: Draw) -> tuple[int, ...]:
    """The sample of an owner, if owners need not exchange anything for it."""
    if agreement.sampling.by_list:  # in random order
        rows = sorted({*state.drawn[owner]})
        return tuple(choose(rows, len(rows), draw))
    return agreement.sampling.drawn(owner, sizes(state)[owner], draw)


def send(step: StudyStep, receiver: str, round: int, body: messages.Body) -> StudyStep:
    """One more message to an owner."""
    facts = step.state.owners[receiver]
    previous = facts.history[-1] if facts.history else ""
    number = facts.sent + 1
    blind = blake2b(f"{receiver} {number}".encode(), b"blindlabel-blind", key=bytes.fromhex(step.state.salt)).hex()
    message = Message(step.state.study, COORDINATOR, receiver, round, number, body, previous, blind)
    state = with_owner(step.state, receiver, sent=number, history=(*facts.history, message.digest))
    return StudyStep(state, (*step.messages, message), step.bodies)


def needed_bodies(state: StudyState) -> dict[str, Blob]:
    """The owners' bodies that somebody still has to fetch or compare, by the slot of their message."""
    found: dict[str, Blob] = {}
    if state.ended:
        return found
    for owner, facts in state.owners.items() if not state.samples else ():
        exchanged = {"offered": facts.offered, "blinded": facts.blinded, "picked": facts.picked}
        found |= {f"{owner} {kind} 0 {peer}": blob for kind, sent in exchanged.items() for peer, blob in sent.items()}
    for current in [one for one in state.rounds[-1:] if not one.is_over]:
        kinds = ("answers", "listed", "records", "opened")
        of_round = [(kind, *sent) for kind in kinds for sent in getattr(current, kind).items()]
        for kind, direction, body in of_round:
            if direction not in current.asked or (kind in ("listed", "opened") and direction in current.read):
                continue  # of somebody who is gone; or compared, and deleted
            asker, holder = sides_of(direction)
            sender, about = (asker, holder) if kind in ("answers", "listed") else (holder, asker)
            found[f"{sender} {kind} {state.round} {about}"] = body.blob
    return found


def spent_bodies(state: StudyState) -> set[Blob]:
    """Bodies that nobody needs again, unless something else still names them: those of settled or void rounds, lists
    that have been compared, and bodies of a sample that is drawn.
    """
    exchanged = [kind for one in state.owners.values() for kind in (one.offered, one.blinded, one.picked)]
    named = {blob for kind in exchanged for blob in kind.values()}
    named |= {blob for one in state.rounds for blob in one.bodies}
    made = [state.labels, state.released, *(one.read for one in state.rounds[-1:] if not one.is_over)]
    return named - {*needed_bodies(state).values()} - {one.blob for kind in made for one in kind.values()}
