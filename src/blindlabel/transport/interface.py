"""What an owner needs of a transport. All of it can be repeated: after a failure, do the same again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from blindlabel.errors import OutsideError
from blindlabel.protocol.shape import Blob
from blindlabel.storage.files import Bodies

Moved = Callable[[int, int], None]
"""Called with the bytes that have been moved and all bytes of a body."""


class Unreachable(OutsideError):
    """The coordinator cannot be reached now. Trying again later may help."""


class Transport(Protocol):
    """An owner's way to the coordinator."""

    def deliver(self, wire: bytes, bodies: Bodies, moved: Moved | None = None) -> None:
        """Hand over a message and, before it, its bodies."""
        ...

    def fetch(self, after: int, wait: float) -> list[bytes]:
        """The coordinator's messages with numbers above `after`; waits so many seconds for one where there is none."""
        ...

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: Moved | None = None) -> None:
        """Get a body that a message names, continuing what is there."""
        ...

    def assist(self, wire: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Carry an assist call; the reply's message and body."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...
