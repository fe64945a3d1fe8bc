"""The product's own parties in one process, over the simulated network: a coordinator, and owners with people who do
what they are told to, in the words of `protocol.next_steps`.

Journal points come from `storage.journal`; a party that crashes there is dead until it is opened again. The engine is
the plain one, with faults: it sometimes makes answers that are none.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from blindlabel.engines.interface import IN_THIS_PROCESS, Evaluated, Terms, Working
from blindlabel.engines.plain import PlainEngine
from blindlabel.language.formula import Formula
from blindlabel.parties.owner import OwnerParty, is_over
from blindlabel.parties.questions import open_tasks
from blindlabel.protocol import messages
from blindlabel.protocol.interfaces import Bodies, Line, MovedBytes, Store, Told
from blindlabel.protocol.owner_facts import OwnRound
from blindlabel.protocol.shape import Blob
from blindlabel.protocol.standing import NAMELESS, Known, Life
from blindlabel.records.tables import Table
from blindlabel.storage import journal_points
from blindlabel.storage.journal_points import Point
from blindlabel_lab.simulation.faults import Crash, Weather, WriteFails
from blindlabel_lab.simulation.network import Network
from blindlabel_lab.simulation.places import Place

WORDS = ("alder", "birch", "cedar", "elm", "fir", "hazel")


class Mortality:
    """Listens at journal points and lets the party that is running die there."""

    def __init__(self, weather: Weather) -> None:
        self._weather = weather
        self.dead = False
        self.looks_on: Callable[[Point], None] = lambda _: None
        """Called at every journal point that is reached alive."""

    def __call__(self, what: Point) -> None:
        """A journal point; a dead process stays dead, whatever its handlers try."""
        if self.dead:
            raise Crash
        self.looks_on(what)
        before = self._weather.counts["crash"]
        try:
            self._weather.journal_point()
        except WriteFails as error:
            if what in (Point.AFTER_COMMIT, Point.AFTER_RENAME, Point.AFTER_PART):
                return  # what is written is written
            if what is Point.BEFORE_COMMIT:
                raise  # the database's own failure is a sentence already
            raise OSError(error.number, os.strerror(error.number)) from None
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
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """The answers, or bytes that are no answers."""
        if self._weather.strikes("unreadable answers"):
            yield Evaluated(self._weather.random.randbytes(12))
            return
        yield from super().evaluate(terms, public, parcels, questions, working)


class SimulatedLine:
    """An owner's line over the simulated network."""

    def __init__(self, network: Network, owner: str, life: Life = NAMELESS) -> None:
        self._network = network
        self._owner = owner
        self._life = life

    def deliver(self, wire: bytes, bodies: Bodies, moved: MovedBytes | None = None) -> None:  # noqa: ARG002
        self._network.check_life(self._owner, self._life)
        for blob in messages.parse(wire).message.blobs:
            self._network.put_body(blob, bodies.read_all(blob))
        self._network.post(wire)

    def fetch(self, known: Known, wait: float) -> Told:
        world = self._network.world
        until = world.now + wait
        self._network.check_life(self._owner, self._life)
        told = self._network.fetch(self._owner, known)
        while not told.messages and world.now < until:
            world.sleep(min(1.0, until - world.now))
            if world.now >= until or self._network.endpoint().outgoing(self._owner, known.received):
                return self._network.fetch(self._owner, known)
        return told

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: MovedBytes | None = None) -> None:  # noqa: ARG002
        body = self._network.get_body(self._owner, blob)
        here = bodies.received(blob)
        bodies.append(blob, here, [body[here:]])

    def close(self) -> None:
        """Nothing is open."""


class SimulatedOwner:
    """An owner, and a person who does what the owner's sentences say."""

    def __init__(
        self,
        place: Place,
        name: str,
        table: Table,
        weather: Weather,
        connect: Callable[[Store], Line],
        store: Store | None = None,
    ) -> None:
        self.name = name
        self.table = table
        self.store = store or place.store(name)
        self.owner = OwnerParty(
            self.store,
            connect(self.store),
            engine=FaultyEngine(weather),
            table=lambda: table,
            order=lambda _identity, _agreement, size: order_of(name, size),
        )

    def turn(self) -> bool:
        """Everything that can be done now."""
        happened = self.send() | self.fetch() | self.work()
        return self.send() or happened

    def send(self) -> bool:
        """Hand over what waits."""
        return self.owner.send()

    def fetch(self) -> bool:
        """Take in what came."""
        return self.owner.fetch(0.0)

    def work(self) -> bool:
        """The machine's work, and all that a person can do."""
        happened = self.owner.work()
        while self.obey():
            happened = True
            self.owner.work()
        return happened

    def obey(self) -> bool:
        """A person does the first thing that it is told to do; False where there is none."""
        told = next((step for step in self.owner.next_steps() if step.who == "you"), None)
        if told is None:
            return False
        before = self.store.state(), self.store.tasks()
        if told.what == "verify":
            peers = self.store.agreement.peers(self.name)
            self.owner.confirm(next(peer for peer in peers if f" {peer} " in told.sentence))
        elif told.what == "write":
            records, rounds = self.store.records(), self.store.state().rounds
            tasks = [task.record for task in open_tasks(self.store) if task.question is None]
            texts = {one: question(records[one].row["name"], written_for(rounds, one), self.name) for one in tasks}
            self.store.save_questions(texts, "simulated")
        else:
            assert told.what == "hand in", told
            self.store.hand_in()
        assert (self.store.state(), self.store.tasks()) != before, f"nothing changes where a person does: {told}"
        return True

    def is_over(self) -> bool:
        """Whether the truth has come, with its labels."""
        return is_over(self.owner)


def order_of(name: str, size: int) -> list[int]:
    """An owner's order of its rows, the same in every run."""
    return random.Random(name).sample(range(size), size)  # noqa: S311 (a simulation)


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


def written_for(rounds: Sequence[OwnRound], record: int) -> int:
    """The round for which a record's question is, or was, written; void rounds do not count. Where a workspace was
    restored, a question that stands may be lost: its person writes the same again.
    """
    anew = [one for one in rounds if not one.repeats]
    return max(number for number, one in enumerate(anew, start=1) if record in one.ask and record not in one.kept)


def small_table(name: str, rows: int, chance: random.Random) -> Table:
    """A small table of words."""
    texts = [" ".join(chance.sample(WORDS, chance.randrange(1, 4))) for _ in range(rows)]
    ids = tuple(f"{name}-{number}" for number in range(rows))
    return Table(name, ids, ("name",), tuple((text,) for text in texts))
