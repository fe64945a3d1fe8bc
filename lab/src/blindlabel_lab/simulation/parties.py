"""The product's own parties in one process, over the simulated network: a coordinator, and owners with people who
confirm and write questions without delay.

Journal points come from `storage.journal`; a party that crashes there is dead until it is opened again. The engine is
the plain one, with faults: it calls for assistance although it needs none, and sometimes makes answers that are none.
"""

from __future__ import annotations

import errno
import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from blindlabel.engines.assisting import NO_CALLS, AssistCall, AssistPlace, AssistSchedule
from blindlabel.engines.interface import IN_THIS_PROCESS, Assist, Evaluated, ParcelError, Terms, Working
from blindlabel.engines.plain import PlainEngine
from blindlabel.errors import OutsideError
from blindlabel.language.formula import Formula
from blindlabel.parties import scoring
from blindlabel.parties.coordinator import Coordinator
from blindlabel.parties.owner import Owner
from blindlabel.parties.questions import open_tasks
from blindlabel.parties.running import is_over
from blindlabel.protocol import messages
from blindlabel.protocol.errors import WrongStudy
from blindlabel.protocol.facts import State
from blindlabel.protocol.interfaces import Bodies, Line, MovedBytes, Store
from blindlabel.protocol.scoring import Predicted
from blindlabel.protocol.shape import Blob
from blindlabel.records.tables import Table
from blindlabel.storage import journal_points
from blindlabel.storage.journal_points import Point
from blindlabel_lab.simulation.faults import Crash, Weather
from blindlabel_lab.simulation.network import Network
from blindlabel_lab.simulation.places import Place

WORDS = ("alder", "birch", "cedar", "elm", "fir", "hazel")


class Mortality:
    """Listens at journal points and lets the party that is running die there."""

    def __init__(self, weather: Weather) -> None:
        self._weather = weather
        self.dead = False

    def __call__(self, what: Point) -> None:
        """A journal point; a dead process stays dead, whatever its handlers try."""
        if self.dead:
            raise Crash
        before = self._weather.counts["crash"]
        try:
            self._weather.journal_point()
        except OutsideError:
            if what.is_durable:
                return  # what is written is written
            if what is Point.BEFORE_COMMIT:
                raise  # the database's own failure is a sentence already
            raise OSError(errno.ENOSPC, "No space left on device") from None
        finally:
            self.dead = self._weather.counts["crash"] > before


@contextmanager
def mortal(weather: Weather) -> Iterator[Mortality]:
    """Let parties die at journal points."""
    mortality = Mortality(weather)
    with journal_points.listening(mortality):
        yield mortality


class FaultyEngine(PlainEngine):
    """The plain engine with a study's usual troubles."""

    def __init__(self, weather: Weather) -> None:
        self._weather = weather

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        assist: Assist,
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """The answers, where the coordinator holds the keys after a call for assistance; or bytes that are no
        answers.
        """
        if terms.keys == "coordinator":
            for strand, step in ((0, 0), (0, 1), (1, 0)):
                request = bytes((strand, step)) + self._weather.random.randbytes(6)
                if assist(request) != request[::-1]:
                    raise AssertionError("the assist was not served")
        if self._weather.strikes("unreadable answers"):
            yield Evaluated(self._weather.random.randbytes(12))
            return
        yield from super().evaluate(terms, public, parcels, questions, assist, working)

    def assist_schedule(self, terms: Terms, questions: int, records: int) -> AssistSchedule:  # noqa: ARG002
        """Three calls, the last after the others. Many beginnings: here an owner dies more often in a round than a real
        one does in its life.
        """
        if terms.keys == "owners":
            return NO_CALLS
        one = AssistCall("simulated", 0, request=8, reply=8)
        return AssistSchedule(groups=1, units=1, unit=(one, one), last=(one,), beginnings=200)

    def assist_call(self, terms: Terms, schedule: AssistSchedule, request: bytes) -> tuple[AssistPlace, AssistCall]:  # noqa: ARG002
        """The first two bytes say it."""
        if len(request) < 2:
            raise ParcelError("no assist call")
        return AssistPlace(request[0], request[1]), AssistCall("simulated", 0, request=len(request), reply=8)

    def assist(self, terms: Terms, secret: bytes, request: bytes) -> bytes:  # noqa: ARG002
        """Something that can be checked."""
        return request[::-1]


class SimulatedCoordinator:
    """The coordinator, as an endpoint of the network."""

    def __init__(self, place: Place, study: str, weather: Weather) -> None:
        self.study = study
        self._place = place
        self._weather = weather
        self.open()

    def open(self) -> None:
        """Start (again) from what is stored."""
        engine = FaultyEngine(self._weather)
        self.party = Coordinator(
            self._place.studies(), engines=lambda _name: engine, draw=self._weather.random.randrange
        )

    def receive(self, wire: bytes) -> bool:
        """Take in a message."""
        return self.party.receive(wire)

    def outgoing(self, owner: str, after: int) -> list[bytes]:
        """Messages to an owner."""
        return self.party.store.outgoing(self.study, owner, after)

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

    def assist(self, wire: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Serve an assist call."""
        return self.party.assist(wire, body)

    def close(self) -> None:
        """End the study as it stands."""
        self.party.close(self.study)

    def known(self) -> State:
        """The committed state."""
        return self.party.load(self.study).state


class SimulatedLine:
    """An owner's line over the simulated network."""

    def __init__(self, network: Network, owner: str) -> None:
        self._network = network
        self._owner = owner

    def deliver(self, wire: bytes, bodies: Bodies, moved: MovedBytes | None = None) -> None:  # noqa: ARG002
        """Hand over a message and, before it, its bodies."""
        for blob in messages.parse(wire).message.blobs:
            self._network.put_body(blob, bodies.read_all(blob))
        self._network.post(wire)

    def fetch(self, after: int, wait: float) -> list[bytes]:  # noqa: ARG002
        """The coordinator's messages."""
        return self._network.fetch(self._owner, after)

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: MovedBytes | None = None) -> None:  # noqa: ARG002
        """Get a body."""
        body = self._network.get_body(self._owner, blob)
        here = bodies.received(blob)
        bodies.append(blob, here, [body[here:]])

    def assist(self, wire: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Carry an assist call."""
        return self._network.assist(wire, body)

    def close(self) -> None:
        """Nothing is open."""


class SimulatedOwner:
    """An owner, and a person who confirms and writes questions without delay."""

    def __init__(
        self, place: Place, name: str, table: Table, weather: Weather, connect: Callable[[Store], Line]
    ) -> None:
        self.name = name
        self.table = table
        self.store = place.store(name)
        self.owner = Owner(self.store, connect(self.store), engine=FaultyEngine(weather), table=lambda: table)

    def turn(self) -> bool:
        """Everything that can be done now."""
        happened = self.send() | self.fetch() | self.work()
        if self.is_over() and self.store.agreement.budget.scores:
            for peer in self.store.agreement.peers(self.name):
                self.score(peer)
        return self.send() or happened

    def score(self, peer: str, *, first: bool = True) -> messages.Scored | None:
        """Have some pairs scored; None where there are none, because nothing was sampled."""
        state = self.store.state()
        rows = {pairing.peer: len(pairing.positions) for pairing in state.truth.pairings} if state.truth else {}
        if not rows or state.sample is None:
            return None
        rows[self.name] = len(state.sample.positions)
        return scoring.ask(self.owner, peer, predicted(rows[min(self.name, peer)], rows[max(self.name, peer)], first))

    def send(self) -> bool:
        """Hand over what waits."""
        return self.owner.send()

    def fetch(self) -> bool:
        """Take in what came."""
        return self.owner.fetch(0.0)

    def work(self) -> bool:
        """Confirm, write questions, hand in, and work."""
        state = self.store.state()
        for peer in self.store.agreement.peers(self.name) if state.keys else ():
            self.owner.confirm(peer)
        happened = self.owner.work()
        tasks = open_tasks(self.store)
        if tasks:
            records, number = self.store.records(), self.store.state().asked_anew
            texts = {task.record: question(records[task.record].row["name"], number, self.name) for task in tasks}
            self.store.save_questions(texts, "simulated")
            self.store.hand_in()
            happened |= self.owner.work()
        return happened

    def is_over(self) -> bool:
        """Whether the truth has come, with its labels."""
        return is_over(self.owner)


def predicted(rows: int, columns: int, first: bool) -> Predicted:
    """What a linkage of a simulated owner found: every second pair, or the others."""
    pairs: Predicted = (np.add.outer(np.arange(rows), np.arange(columns)) % 2 == 0) == first
    return pairs


def question(text: str, round: int, owner: str) -> str:
    """What the person of an owner asks about a record: that the other has its words, fewer from round to round; some
    ask too much.
    """
    words = text.split()
    seed = int.from_bytes(hashlib.blake2b(f"{text} {owner}".encode(), digest_size=2).digest(), "big")
    if seed % 3 == 0 and round == 1:
        return f'ret is_in("{WORDS[seed % len(WORDS)]}", $r)'
    kept = words[: max(1, len(words) + 1 - round)]
    return "ret " + " & ".join(f'is_in("{word}", $r)' for word in kept)


def small_table(name: str, rows: int, chance: random.Random) -> Table:
    """A small table of words."""
    texts = [" ".join(chance.sample(WORDS, chance.randrange(1, 4))) for _ in range(rows)]
    ids = tuple(f"{name}-{number}" for number in range(rows))
    return Table(name, ids, ("name",), tuple((text,) for text in texts))
