"""The network between simulated owners and the coordinator: loses, repeats, holds back, swaps, forges and damages what
it carries.

An owner's call either comes through, or ends in `Unreachable`, or in the refusal that the coordinator gave. What was
held back arrives later, in any order, or again. Forged messages are made here too, and must be refused without a trace:
`violations` lists those that were not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import nacl.signing

from blindlabel.errors import OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol import messages
from blindlabel.protocol.facts import StudyState
from blindlabel.protocol.interfaces import Told, Unreachable
from blindlabel.protocol.messages import Message
from blindlabel.protocol.refusals import ProtocolError, WrongStudy
from blindlabel.protocol.shape import Blob
from blindlabel.protocol.standing import Known, Life, Standing
from blindlabel_lab.simulation.faults import Crash, Weather
from blindlabel_lab.simulation.places import Place
from blindlabel_lab.simulation.world import World

T = TypeVar("T")
Signer = Callable[[bytes], bytes]


class SimulatedCoordinator:
    """The coordinator, as an endpoint of the network."""

    def __init__(self, place: Place, study: str, weather: Weather) -> None:
        self.study = study
        self._place = place
        self._weather = weather
        self.open()

    def open(self) -> None:
        """Start (again) from what is stored."""
        self.party = CoordinatorParty(self._place.studies(), draw=self._weather.random.randrange)

    def receive(self, wire: bytes) -> bool:
        """Take in a message."""
        return self.party.receive(wire)

    def outgoing(self, owner: str, after: int) -> list[bytes]:
        """Messages to an owner."""
        return self.party.store.outgoing(self.study, owner, after)

    def hears(self, owner: str, known: Known) -> Standing:
        """How it stands with an owner."""
        return self.party.hears(self.study, owner, known)

    def check_life(self, owner: str, life: Life) -> None:
        """Refuse a second life of an owner's workspace."""
        self.party.check_life(self.study, owner, life)

    def put_body(self, blob: Blob, body: bytes) -> None:
        """Take in what is missing of a body."""
        bodies = self.party.store.bodies(self.study)
        here = bodies.received(blob)
        bodies.append(blob, here, [body[here:]])

    def get_body(self, owner: str, blob: Blob) -> bytes:
        """Give a body to an owner that may have it."""
        if self.party.store.fetchable(self.study, owner, blob.hash) != blob:
            raise WrongStudy("There is no such body for this owner.")
        return self.party.store.bodies(self.study).read_all(blob)

    def close(self) -> None:
        """End the study as it stands."""
        self.party.close(self.study)

    def known(self) -> StudyState:
        """The committed state."""
        return self.party.load(self.study).state


@dataclass
class Network:
    """Carries calls to the coordinator, badly."""

    endpoint: Callable[[], SimulatedCoordinator]
    weather: Weather
    signers: dict[str, Signer]
    """Owners' keys: a forged message of a wrong round is signed properly, as a faulty owner would."""
    restart: Callable[[], None] = lambda: None
    """Starts the coordinator again after a crash."""
    world: World = field(default_factory=World)
    away: Callable[[], float] = lambda: 0.0
    """Seconds for which the coordinator does not answer: it is stopped, or is being started."""
    came: Callable[[], None] = lambda: None
    """Called when a message came to the coordinator."""
    held: list[bytes] = field(default_factory=list)
    """Messages that arrive later."""
    carried: list[bytes] = field(default_factory=list)
    """Every message of an owner so far, to be replayed."""
    violations: list[str] = field(default_factory=list)
    stranger: nacl.signing.SigningKey = field(default_factory=lambda: nacl.signing.SigningKey(bytes(range(32))))

    def post(self, wire: bytes) -> None:
        """An owner hands over a message."""
        self.carried.append(wire)
        if self.weather.strikes("delay"):
            self.held.append(wire)
            raise Unreachable("The network holds the message back.")
        if self.weather.strikes("bit flip"):
            self.must_refuse(self.weather.flipped(wire), "a damaged message")
        self._through(lambda: self.endpoint().receive(wire))
        self.came()

    def check_life(self, owner: str, life: Life) -> None:
        """What every call of an owner begins with."""
        self._through(lambda: self.endpoint().check_life(owner, life))

    def put_body(self, blob: Blob, body: bytes) -> None:
        """An owner hands over a body."""
        if body and self.weather.strikes("bit flip"):
            body = self.weather.flipped(body)
        self._through(lambda: self.endpoint().put_body(blob, body))

    def get_body(self, owner: str, blob: Blob) -> bytes:
        """An owner fetches a body; it may come damaged."""
        body = self._through(lambda: self.endpoint().get_body(owner, blob))
        return self.weather.flipped(body) if body and self.weather.strikes("bit flip") else body

    def fetch(self, owner: str, known: Known) -> Told:
        """An owner fetches its messages; they may come swapped, damaged, doubled or from the beginning."""
        after = 0 if self.weather.strikes("replay") else known.received
        standing = self._through(lambda: self.endpoint().hears(owner, known))
        found = self._through(lambda: self.endpoint().outgoing(owner, after))
        if len(found) > 1 and self.weather.strikes("reorder"):
            self.weather.random.shuffle(found)
        if found and self.weather.strikes("duplicate"):
            found = [wire for wire in found for _ in range(2)]
        if found and self.weather.strikes("bit flip"):
            at = self.weather.random.randrange(len(found))
            found[at] = self.weather.flipped(found[at])
        return Told(found, standing)

    def _through(self, call: Callable[[], T]) -> T:
        if self.weather.strikes("long latency"):
            self.world.sleep(self.weather.random.uniform(1.0, 40.0))
        if self.weather.strikes("drop before handling"):
            raise Unreachable("The network lost the call.")
        if (seconds := self.away()) > 0:
            self.world.sleep(min(seconds, 60.0))
            if seconds > 60.0:
                raise Unreachable("The coordinator does not answer in time.")
        result = self._handled(call)
        if self.weather.strikes("duplicate"):
            result = self._handled(call)
        if self.weather.strikes("long latency"):
            self.world.sleep(self.weather.random.uniform(1.0, 40.0))
        if self.weather.strikes("drop after handling"):
            raise Unreachable("The network lost the reply.")
        return result

    def _handled(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except Crash:
            self.restart()
            raise Unreachable("The coordinator died while it handled the call.") from None

    def stir(self) -> None:
        """Let the network act by itself: late arrivals, replays, forgeries."""
        if self.held and self.weather.random.random() < 0.5:
            at = self.weather.random.randrange(len(self.held))
            if at:
                self.weather.counts["reorder"] += 1
            self.arrives(self.held.pop(at))
        if self.carried and self.weather.strikes("replay"):
            self.arrives(self.weather.random.choice(self.carried))
        for kind in ("wrong study", "wrong sender", "wrong key", "stale round"):
            if self.carried and self.weather.strikes(kind):
                self.must_refuse(
                    self._forged(kind, messages.parse(self.weather.random.choice(self.carried)).message),
                    f"a message of {kind}",
                )

    def arrives(self, wire: bytes) -> None:
        """A message arrives without anybody waiting for the reply."""
        try:
            self._handled(lambda: self.endpoint().receive(wire))
            self.came()
        except OutsideError:
            return

    def must_refuse(self, wire: bytes, what: str) -> None:
        """A message that must be refused and change nothing."""
        before = self.endpoint().known()
        try:
            self._handled(lambda: self.endpoint().receive(wire))
        except ProtocolError:
            if self.endpoint().known() != before:
                self.violations.append(f"{what} was refused and changed the state")
        except OutsideError:
            return
        else:
            self.violations.append(f"{what} was accepted")

    def _forged(self, kind: str, message: Message) -> bytes:
        signer = self.signers[message.sender]
        if kind == "wrong study":
            message = replace(message, previous="", study=message.study[::-1])
        elif kind == "wrong sender":
            others = [*sorted(set(self.signers) - {message.sender}), "stranger"]
            message = replace(message, previous="", sender=self.weather.random.choice(others))
        elif kind == "stale round":
            other = [number for number in range(6) if number != message.round]
            message = replace(message, previous="", round=self.weather.random.choice(other))
        else:
            signer = _signing(self.stranger)
        return messages.sign(message, signer).wire


def _signing(key: nacl.signing.SigningKey) -> Signer:
    return lambda data: key.sign(data).signature
