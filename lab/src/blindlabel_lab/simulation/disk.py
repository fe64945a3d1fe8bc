"""A disk in memory for parties that run the rules alone: what is committed survives a crash, nothing else; a backup can
be restored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from blindlabel.protocol.errors import MalformedMessage
from blindlabel.protocol.facts import blob_of
from blindlabel.protocol.shape import Blob
from blindlabel_lab.simulation.faults import Weather

S = TypeVar("S")


@dataclass(frozen=True)
class Contents(Generic[S]):
    """Everything that is durable, immutable, so that a backup is a reference."""

    state: S
    messages: tuple[tuple[str, bytes], ...] = ()
    """Messages that leave, in order: receiver and bytes."""
    sent: frozenset[int] = frozenset()
    """Which of them have been handed over (owners only)."""
    bodies: tuple[tuple[str, bytes], ...] = ()


class Disk(Generic[S]):
    """The durable side of one party."""

    def __init__(self, state: S, weather: Weather) -> None:
        self.contents: Contents[S] = Contents(state)
        self._weather = weather
        self._backup: Contents[S] | None = None

    @property
    def state(self) -> S:
        """The committed state."""
        return self.contents.state

    def commit(self, state: S, messages: tuple[tuple[str, bytes], ...] = ()) -> None:
        """State and messages together, or nothing."""
        self._weather.journal_point()
        self.contents = replace(self.contents, state=state, messages=self.contents.messages + messages)
        self._weather.journal_point()

    def mark_sent(self, number: int) -> None:
        """A message has been handed over."""
        self._weather.journal_point()
        self.contents = replace(self.contents, sent=self.contents.sent | {number})

    def put(self, body: bytes, blob: Blob | None = None) -> Blob:
        """Store a body; where its name is given it must be the right one."""
        found = blob_of(body)
        if blob is not None and blob != found:
            raise MalformedMessage("The body is not the one that was announced.")
        self._weather.journal_point()
        if not self.has(found):
            self.contents = replace(self.contents, bodies=(*self.contents.bodies, (found.hash, body)))
        return found

    def has(self, blob: Blob) -> bool:
        """Whether a body is there."""
        return any(name == blob.hash for name, _ in self.contents.bodies)

    def body(self, blob: Blob) -> bytes | None:
        """A body."""
        return next((body for name, body in self.contents.bodies if name == blob.hash), None)

    def back_up(self) -> None:
        """Make a backup of everything."""
        self._backup = self.contents

    def restore(self) -> bool:
        """Go back to the backup; False where there is none or nothing has changed since."""
        if self._backup is None or self._backup is self.contents:
            return False
        self.contents = self._backup
        return True
