"""What an owner knows of a study: the state that is saved after every step. The rules are in `owner`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from blindlabel.errors import InputError
from blindlabel.protocol import messages
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.messages import Message
from blindlabel.protocol.shape import Blob, Count, Hex32, Name, Position, Shape


class ToOpen(Shape):
    """Answers of another owner about this owner's records, as they came."""

    answers: messages.Answers
    digest: Hex32


class OwnRound(Shape):
    """One round, as its owner sees it."""

    ask: tuple[Position, ...]
    """Own open records: asked about, and served."""
    open: dict[Name, tuple[Position, ...]] = Field(default_factory=dict)
    """Open records of every owner."""
    repeats: bool = False
    """Whether the round before is void, and the same questions are asked again."""
    carried: bool = False
    """Whether the questions of the void round have been taken over."""
    loose: tuple[Position, ...] = ()
    """Own records whose questions were too loose in the round before."""
    others_loose: dict[Name, Count] = Field(default_factory=dict)
    tallies: dict[Name, Tally] = Field(default_factory=dict)
    """How the round before went, by other owner."""
    handed_in: bool = False
    served: dict[Name, Blob] = Field(default_factory=dict)
    """Own encrypted records, by receiver."""
    records: dict[Name, messages.Records] = Field(default_factory=dict)
    """Encrypted records of the others."""
    answers: dict[Name, Blob] = Field(default_factory=dict)
    """Own answers, by whose records they are about."""
    to_open: dict[Name, ToOpen] = Field(default_factory=dict)
    """Answers about own records, by asker."""
    opened: dict[Name, Blob] = Field(default_factory=dict)
    """What was opened, as a list of keyed hashes, by asker."""
    refused: bool = False
    """Whether this owner has called the round void."""


class OwnSampling(Shape):
    """How far an owner is in drawing its enriched sample. See `owner_sampling`."""

    offered: tuple[Name, ...] = ()
    """To whom own keys have been offered."""
    offers: dict[Name, Blob] = Field(default_factory=dict)
    """What the others offered."""
    blinded: tuple[Name, ...] = ()
    """Whose offers have been blinded and handed to the coordinator."""
    chosen: messages.Chosen | None = None
    passed_on: tuple[Name, ...] = ()
    """To whom it has been passed on which of its offers were chosen."""
    picked: dict[Name, Blob] = Field(default_factory=dict)
    """Which own offers were chosen, by the owner that passed it on."""
    is_sampled: bool = False


class State(Shape):
    """All that an owner has to remember of the protocol."""

    study: Hex32
    name: Name
    coordinator_key: Hex32
    join: messages.Join | None = None
    received: Count = 0
    """The number of the coordinator's last message that was taken in."""
    seen: dict[str, str] = Field(default_factory=dict)
    sent: Count = 0
    keys: messages.Keys | None = None
    confirmed: tuple[Name, ...] = ()
    sampling: OwnSampling = OwnSampling()
    sample: messages.Sample | None = None
    rounds: tuple[OwnRound, ...] = ()
    truth: messages.Truth | None = None

    @property
    def round(self) -> int:
        """The current (or last) round; 0 before the first."""
        return len(self.rounds)

    @property
    def asked_anew(self) -> int:
        """Rounds so far that did not repeat a void one."""
        return sum(1 for one in self.rounds if not one.repeats)

    def carried_from(self) -> int:
        """The round whose questions the current one repeats; 0 where it repeats none."""
        if not self.rounds or not self.rounds[-1].repeats:
            return 0
        own = [number for number, one in enumerate(self.rounds[:-1], start=1) if one.carried or not one.repeats]
        return own[-1]

    def peer(self, name: str) -> messages.Peer:
        """What is known of another owner."""
        for peer in self.keys.peers if self.keys else ():
            if peer.name == name:
                return peer
        raise InputError(f"{name} is not known as another owner of this study (yet).")


@dataclass(frozen=True)
class Work:
    """Something this owner can do now without a person, with regard to another owner: offer, blind, pick and sample
    (an enriched sample), carry (the questions of a void round over), serve, evaluate or open.
    """

    kind: Literal["offer", "blind", "pick", "sample", "carry", "serve", "evaluate", "open"]
    peer: str = ""
    round: int = 0


@dataclass(frozen=True)
class Step:
    """What follows from an event of this owner: the new state, and messages that leave once it is saved."""

    state: State
    messages: tuple[Message, ...] = ()


def latest(state: State) -> str:
    """Digest of the coordinator's last message that was taken in."""
    return state.seen.get(str(state.received), "")


def send(state: State, receiver: str, round: int, body: messages.Body) -> Step:
    """One more message of this owner."""
    number = state.sent + 1
    message = Message(state.study, state.name, receiver, round, number, body, latest(state))
    return Step(state.model_copy(update={"sent": number}), (message,))


def require_confirmed(state: State) -> None:
    """Refuse to go on before every other owner is confirmed: whoever is not might be the coordinator itself."""
    peers = [peer.name for peer in state.keys.peers] if state.keys else []
    missing = [peer for peer in peers if peer not in state.confirmed]
    if missing or not peers:
        raise InputError(
            f"Nothing is sampled, encrypted, asked or opened before you have compared the verification words with"
            f" {' and '.join(missing) or 'the others'}: run `blindlabel owner verify` and confirm."
        )
