"""An owner's line to a coordinator in the same process: as over HTTP, without the network."""

from __future__ import annotations

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol import messages
from blindlabel.protocol.interfaces import Bodies, MovedBytes, Told
from blindlabel.protocol.shape import Blob
from blindlabel.protocol.standing import Known


class DirectLine:
    """One owner's."""

    def __init__(self, coordinator: CoordinatorParty, study: str, owner: str) -> None:
        self._coordinator, self._study, self._owner = coordinator, study, owner

    def deliver(self, wire: bytes, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        there = self._coordinator.store.bodies(self._study)
        for blob in messages.parse(wire).message.blobs:
            if not there.has(blob):
                there.append(blob, 0, bodies.read(blob))
        self._coordinator.receive(wire)

    def fetch(self, known: Known, wait: float) -> Told:
        self._coordinator.work(self._study)
        found = self._coordinator.store.outgoing(self._study, self._owner, known.received)
        return Told(list(found), self._coordinator.hears(self._study, self._owner, known))

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        bodies.append(blob, 0, self._coordinator.store.bodies(self._study).read(blob))

    def close(self) -> None:
        pass
