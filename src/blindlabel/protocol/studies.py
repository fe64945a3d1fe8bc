"""What a coordinator needs of the world, and what carriers of messages need of it. Only shapes; see `interfaces`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from blindlabel.protocol import facts
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import Bodies
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.shape import Blob


@dataclass(frozen=True, order=True)
class Moved:
    """One message with its bodies, from or to an owner."""

    owner: str
    kind: str
    size: int


class Traffic(NamedTuple):
    """What has been moved for one owner so far, of one kind."""

    owner: str
    kind: str
    times: int
    bytes: int


@dataclass(frozen=True)
class Loaded:
    """A study's state as it was read."""

    state: facts.State
    version: int


@dataclass(frozen=True)
class StudyRow:
    """A study in a list."""

    study: str
    name: str
    ended: bool
    created: float


class Studies(Protocol):
    """What a coordinator has to remember of all its studies. Secrets of the study "" are the coordinator's own."""

    def create(
        self, name: str, agreement: str, state: facts.State, before_commit: Callable[[], object] = lambda: None
    ) -> bool:
        """A new study; False where it is there already. `before_commit` runs in the one process that makes it."""
        ...

    def studies(self) -> list[StudyRow]:
        """All studies, oldest first."""
        ...

    def agreement(self, study: str) -> str | None:
        """The text of a study's agreement; None where there is no such study."""
        ...

    def load(self, study: str) -> Loaded | None:
        """A study's state; None where there is no such study."""
        ...

    def save(
        self,
        loaded: Loaded,
        state: facts.State,
        *,
        incoming: Signed | None = None,
        outgoing: Sequence[Signed] = (),
        fetchable: Iterable[tuple[str, Blob]] = (),
        moved: Iterable[Moved] = (),
    ) -> bool:
        """Save the new state with everything that goes with it; False (and nothing saved) where another process was
        faster.
        """
        ...

    def outgoing(self, study: str, receiver: str, after: int, most: int = 50) -> list[bytes]:
        """Messages to an owner with numbers above `after`, in order."""
        ...

    def fetchable(self, study: str, owner: str, hash: str) -> Blob | None:
        """The body of this name where the owner may fetch it."""
        ...

    def owner_of_token(self, study: str, token_hash: str) -> str | None:
        """Whose token this is."""
        ...

    def traffic(self, study: str) -> list[Traffic]:
        """What has been moved, by owner and kind."""
        ...

    def milestones(self, study: str) -> list[tuple[str, float]]:
        """When a study got how far: keys given out, samples drawn, each round settled (records go out in it)."""
        ...

    def claim(self, study: str, worker: str, seconds: float) -> bool:
        """Take on a study's work for some time, or for longer; False where another has it."""
        ...

    def release(self, study: str, worker: str) -> None:
        """Give the study's work back."""
        ...

    def bodies(self, study: str) -> Bodies:
        """The bodies of a study."""
        ...

    def announce(self, study: str, owner: str, blob: Blob, most: int, most_bodies: int) -> bool:
        """An owner uploads this body; False where its uploads would then be more than so many bytes or bodies."""
        ...

    def free(self) -> int:
        """Bytes that there is room for."""
        ...

    def remove_bodies(self, study: str, spent: Callable[[facts.State], Collection[Blob]]) -> None:
        """Remove the bodies that a study does not need any more, by its newest state."""
        ...

    def secret(self, study: str, name: str) -> bytes:
        """A secret of a study."""
        ...

    def keep_secret(self, study: str, name: str, content: bytes) -> None:
        """Keep a secret of a study."""
        ...

    def drop_secrets(self, study: str) -> None:
        """Forget the secrets of a study."""
        ...

    def delete(self, study: str) -> None:
        """Remove a study."""
        ...

    def remove_orphans(self) -> None:
        """Remove what belongs to studies that are gone."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


class Service(Protocol):
    """The coordinator, as those see it who carry messages to and from it."""

    @property
    def store(self) -> Studies:
        """Its studies."""
        ...

    def agreement(self, study: str) -> Agreement:
        """A study's agreement."""
        ...

    def unserved(self) -> dict[str, str]:
        """Studies that are not over and cannot be served, since their keys cannot be read; each with a sentence why."""
        ...

    def receive(self, wire: bytes) -> bool:
        """Take in one message of an owner; True where it was new. Its bodies must have arrived before."""
        ...

    def work(self, study: str) -> bool:
        """Do what can be done for a study now; True where something was done."""
        ...
