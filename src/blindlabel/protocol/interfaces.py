"""What the parties need from the world: a store that remembers, and a line to the other side. Only their interfaces are
here.

`parties` runs the rules over these interfaces. `storage` implements the stores with databases and files, `transport`
the lines with HTTP and folders, and the laboratory both in memory, so that the simulation runs the product's own
parties. Three rules that every implementation keeps:

1. what a store's call has returned from is durable, and a call that fails has changed nothing;
2. state and the messages that follow from it are saved together;
3. everything that a line does can be repeated: after a failure, just do it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from blindlabel.errors import InputError, OutsideError
from blindlabel.language.record import Record
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import StudyState
from blindlabel.protocol.messages import Message, Signed
from blindlabel.protocol.owner_rules import OwnerState, OwnerStep
from blindlabel.protocol.shape import Blob
from blindlabel.protocol.standing import Known, Life, Standing


class Unreachable(OutsideError):
    """The coordinator cannot be reached now. Trying again later may help."""


class NotYetCarried(Unreachable):
    """Something has to be carried to the coordinator, or from it, before this can go on."""


class SecretMissing(InputError):
    """No secret was kept under this name, or its file is gone."""


class Bodies(Protocol):
    """Large bodies, named by their hash. A body is there complete, or not at all."""

    def has(self, blob: Blob) -> bool:
        """Whether the body is there."""

    def write(self, pieces: Iterable[bytes], *, passing: bool = False) -> Blob:
        """Store a body; its name follows from its content. A `passing` body is left out of backups."""

    def read(self, blob: Blob, offset: int = 0) -> Iterator[bytes]:
        """The body from an offset on, piece by piece."""

    def read_all(self, blob: Blob) -> bytes:
        """The whole body, for small ones."""

    def remove(self, blob: Blob) -> None:
        """Forget a body."""

    def received(self, blob: Blob, sender: str = "") -> int:
        """How many bytes of a body that arrives piece by piece are there; with a sender, those from this sender."""

    def has_from(self, blob: Blob, sender: str) -> bool:
        """Whether this sender has sent the whole body."""

    def append(self, blob: Blob, offset: int, pieces: Iterable[bytes], sender: str = "") -> int:
        """Continue a body at its end; returns how many bytes are there now."""


# An owner's side

MessageSigner = Callable[[Message], Signed]
"""Signs a message that is about to wait in the outbox."""

MovedBytes = Callable[[int, int], None]
"""Called with the bytes of a body that have been moved so far, and with its size."""


class Told(NamedTuple):
    """What a poll brings: the coordinator's next messages, and its `Standing` with the owner."""

    messages: list[bytes]
    standing: Standing


class Line(Protocol):
    """An owner's way to the coordinator."""

    def deliver(self, wire: bytes, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Hand over a message and, before it, its bodies."""

    def fetch(self, known: Known, wait: float) -> Told:
        """The coordinator's messages after those that are known; waits up to this many seconds for one."""

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Get a body that a message names, continuing from what is already here."""

    def close(self) -> None:
        """Let go of what is open."""


SUGGESTED = "suggested"
"""A suggestion, saved as it was shown."""
CHANGED = "changed"
"""A suggestion that a person changed."""
PERSON = "person"
"""Written by a person."""
BULK = "bulk"
"""Saved for many records at once: suggestions from a review, a pattern, files."""
SOURCES = (SUGGESTED, CHANGED, PERSON, BULK)

TaskState = Literal["open", "draft", "saved"]


@dataclass(frozen=True)
class OwnRecord:
    """One sampled record of this owner."""

    record: int
    """Its place in the sample."""
    position: int
    """Its row in the table."""
    id: str
    row: dict[str, str]
    """The values as they stand in the table."""
    prepared: Record


Back = Literal["", "disagreed", "loose", "kept"]


@dataclass(frozen=True)
class Task:
    """One record to ask about in a round."""

    record: int
    round: int
    state: TaskState
    draft: str
    """The newest text; the same as `question` if it was saved unchanged."""
    question: str | None
    """The text that will be asked."""
    back: Back
    """Why it comes back: the two sides' answers differed, its question said yes to too many records, or only somebody
    else's question did, so that its own question stands. Empty in the first round, and in one that repeats a void one.
    """
    previous: tuple[tuple[int, str], ...]
    """Questions of earlier rounds: round and text."""
    source: str = ""
    """Where the question came from, one of `SOURCES`."""
    author: str = ""
    """Who saved it, if a name is known."""


@dataclass(frozen=True)
class SavedQuestion:
    """One question as it was saved for a round. Rounds count from 1; one that was void and repeated counts once."""

    round: int
    position: int
    """The record's row in its owner's table."""
    id: str
    text: str
    source: str = ""
    """Where it came from, one of `SOURCES`, or empty if nobody knows."""
    author: str = ""
    saved: float | None = None
    """Seconds since 1970."""


class Questions(Protocol):
    """Where the questions of a round are kept."""

    @property
    def agreement(self) -> Agreement:
        """The study's agreement."""

    def state(self) -> OwnerState:
        """What the protocol knows."""

    def records(self) -> list[OwnRecord]:
        """The owner's sampled records in the order of the sample; empty before the sample is drawn."""

    def tasks(self, round: int | None = None) -> list[Task]:
        """What is to be asked in a round (default: the current one), in the order of the sample."""

    def save_draft(self, record: int, text: str) -> None:
        """Keep a text that is being written; an earlier saved question of this round stays until the text is saved."""

    def save_questions(self, texts: dict[int, str], source: str, author: str = "") -> None:
        """Save many questions at once. The caller has checked all of them."""

    def hand_in(self) -> None:
        """Fix the questions of the current round; every record must have one."""


class Store(Questions, Protocol):
    """What an owner has to remember about one study."""

    @property
    def name(self) -> str:
        """This owner's name in the study."""

    @property
    def settings(self) -> dict[str, str]:
        """What was settled when joining: agreement, owner, table, columns, address."""

    @property
    def bodies(self) -> Bodies:
        """Bodies that were made or received here."""

    @property
    def journal(self) -> Path | None:
        """A folder for an engine's half-finished work, or None if it is not kept."""

    def begin_journal(self, name: str) -> None:
        """From now on an engine's half-finished work belongs to `name`; anything that belonged to another name is
        deleted.
        """

    def secret(self, name: str) -> bytes:
        """A secret that was kept under this name."""

    def keep_secret(self, name: str, content: bytes) -> None:
        """Keep a secret."""

    def drop_secret(self, name: str) -> None:
        """Forget the secret of this name, if there is one."""

    def remember(self, name: str, value: str) -> None:
        """Keep a small fact that is not part of the protocol's state."""

    def remembered(self, name: str) -> str | None:
        """Such a fact, or None if there is none."""

    def begin(
        self, settings: dict[str, str], secrets: Mapping[str, bytes], begin: OwnerStep, sign: MessageSigner
    ) -> None:
        """Keep what an owner begins a study with, including its first message: all of it or nothing."""

    def change(self, event: Callable[[OwnerState], OwnerStep], sign: MessageSigner | None = None) -> OwnerStep:
        """Apply an event of the protocol and save state and messages together; messages then wait in the outbox."""

    def unsent(self) -> list[tuple[int, bytes]]:
        """Messages that have not been handed over, in order: number and bytes."""

    def sent(self) -> list[tuple[int, bytes]]:
        """Messages that have been handed over, in order."""

    def mark_sent(self, sequence: int) -> None:
        """Note that the coordinator has this message."""

    def store_records(self, records: Iterable[OwnRecord]) -> None:
        """Keep the sampled records, once."""

    def life(self) -> Life:
        """This life of the store: shared by all processes that speak for it now, and different for every copy."""

    def was_heard(self) -> None:
        """Note that the coordinator has heard this life; later lives follow it."""

    def say(self, phase: str, share: float, sentence: str) -> None:
        """Tell other processes (the web app) what this one is doing."""


class Traffic(NamedTuple):
    """How many messages of one kind have gone to one owner, or come from it, with how many bytes."""

    owner: str
    kind: str
    times: int
    bytes: int


@dataclass(frozen=True)
class Loaded:
    """A study's state as it was read."""

    state: StudyState
    version: int


@dataclass(frozen=True)
class StudyRow:
    """A study in a list."""

    study: str
    name: str
    ended: bool
    created: float


class Studies(Protocol):
    """What a coordinator has to remember about all its studies. Secrets of the study "" are the coordinator's own."""

    def create(
        self, name: str, agreement: str, state: StudyState, before_commit: Callable[[], object] = lambda: None
    ) -> bool:
        """A new study; False if it is there already. `before_commit` runs in the one process that makes it."""

    def studies(self) -> list[StudyRow]:
        """All studies, oldest first."""

    def agreement(self, study: str) -> str | None:
        """The text of a study's agreement, or None if there is no such study."""

    def load(self, study: str) -> Loaded | None:
        """A study's state, or None if there is no such study."""

    def save(
        self, loaded: Loaded, state: StudyState, *, incoming: Signed | None = None, outgoing: Sequence[Signed] = ()
    ) -> bool:
        """Save the new state with everything that goes with it; False, with nothing saved, if another process was
        faster.
        """

    def outgoing(self, study: str, receiver: str, after: int, most: int = 50) -> list[bytes]:
        """Messages to an owner with numbers above `after`, in order."""

    def fetchable(self, study: str, owner: str, hash: str) -> Blob | None:
        """The body with this hash, if the owner may fetch it."""

    def owner_of_token(self, study: str | None, token_hash: str) -> str | None:
        """The owner whose token this is, in this study or (None) in any."""

    def traffic(self, study: str) -> list[Traffic]:
        """What has been moved, by owner and kind."""

    def waited_since(self, study: str) -> dict[str, float]:
        """When the last message went to each owner or came from it: since then everybody waits for what it has
        to do.
        """

    def milestones(self, study: str) -> list[tuple[str, float]]:
        """When a study reached each point: keys given out, samples drawn, each round settled (records go out in it)."""

    def lives(self, study: str, owner: str, life: Life) -> bool:
        """Note that this life of an owner's workspace speaks; returns whether it is the one that takes part."""

    def begin_life(self) -> None:
        """Begin a new life of the database: a process serves it from now on. It counts for all that serve it."""

    def life(self) -> str:
        """The newest life of the database."""

    def note_ahead(self, study: str, owner: str, known: Known) -> None:
        """Remember how far an owner is that has messages which this coordinator has forgotten; `Known()` if it has
        none.
        """

    def ahead(self, study: str) -> dict[str, Known]:
        """The owners for which that was noted. The study's state may have caught up with them since."""

    def bodies(self, study: str) -> Bodies:
        """The bodies of a study."""

    def announce(self, study: str, owner: str, blob: Blob, most: int, most_bodies: int) -> bool:
        """Note that an owner uploads this body; False if its uploads would then exceed this many bytes or bodies."""

    def free(self) -> int:
        """How many bytes there is room for."""

    def remove_bodies(self, study: str, spent: Callable[[StudyState], Collection[Blob]]) -> None:
        """Remove the bodies that a study no longer needs, judged by its newest state."""

    def secret(self, study: str, name: str) -> bytes:
        """A secret of a study."""

    def keep_secret(self, study: str, name: str, content: bytes) -> None:
        """Keep a secret of a study."""

    def drop_secrets(self, study: str) -> None:
        """Forget the secrets of a study."""

    def delete(self, study: str) -> None:
        """Remove a study."""

    def remove_orphans(self) -> None:
        """Remove what belongs to studies that are gone."""

    def close(self) -> None:
        """Let go of what is open."""
