"""A line from an owner straight to a coordinator in the same process: no network, no files in between."""

from __future__ import annotations

from dataclasses import dataclass

from blindlabel.parties.coordinator import Coordinator
from blindlabel.protocol import messages
from blindlabel.protocol.interfaces import Bodies, MovedBytes
from blindlabel.protocol.shape import Blob


@dataclass(frozen=True)
class DirectLine:
    """What one owner reaches the coordinator by."""

    coordinator: Coordinator
    study: str
    owner: str

    def deliver(self, wire: bytes, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Hand over a message after its bodies, and let the coordinator work."""
        there = self.coordinator.store.bodies(self.study)
        for blob in messages.parse(wire).message.blobs:
            if not there.has(blob):
                there.append(blob, 0, bodies.read(blob))
        self.coordinator.receive(wire)
        self.coordinator.work(self.study)

    def fetch(self, after: int, wait: float) -> list[bytes]:
        """The coordinator's messages."""
        self.coordinator.work(self.study)
        return self.coordinator.store.outgoing(self.study, self.owner, after)

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Get a body that this owner may have."""
        assert self.coordinator.store.fetchable(self.study, self.owner, blob.hash) == blob
        bodies.append(blob, 0, self.coordinator.store.bodies(self.study).read(blob))

    def assist(self, wire: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Carry an assist call."""
        return self.coordinator.assist(wire, body)

    def close(self) -> None:
        """Nothing is open."""
