"""The parties that users run, in one process: real databases and files in a temporary folder, the plain engine, and the
simulated network.

Journal points come from `storage.journal`; a party that crashes there is dead until it is opened again from its files.
The clock of the coordinator's store is simulated, so that it can jump.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blindlabel.errors import OutsideError
from blindlabel.parties.coordinator import Coordinator
from blindlabel.parties.invitation import Invitation
from blindlabel.parties.joining import TableOptions, join
from blindlabel.parties.owner import Owner
from blindlabel.parties.questions import open_tasks
from blindlabel.parties.running import is_over
from blindlabel.protocol import messages
from blindlabel.protocol.errors import WrongStudy
from blindlabel.protocol.facts import State
from blindlabel.protocol.shape import Blob
from blindlabel.storage import journal
from blindlabel.storage.files import Bodies
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.interface import Moved
from blindlabel_lab.simulation.faults import Crash, Weather
from blindlabel_lab.simulation.network import Network

WORDS = ("alder", "birch", "cedar", "elm", "fir", "hazel")


class Mortality:
    """Listens at journal points and lets the party that is running die there."""

    def __init__(self, weather: Weather) -> None:
        self._weather = weather
        self.dead = False

    def __call__(self, what: str) -> None:
        """A journal point; a dead process stays dead, whatever its handlers try."""
        if self.dead:
            raise Crash
        before = self._weather.counts["crash"]
        try:
            self._weather.journal_point()
        except OutsideError:
            if what.startswith("after"):
                return  # what is written is written
            if what == "before commit":
                raise  # the database's own failure is a sentence already
            raise OSError(errno.ENOSPC, "No space left on device") from None
        finally:
            self.dead = self._weather.counts["crash"] > before


class RealCoordinator:
    """A coordinator with its files, as an endpoint of the network."""

    def __init__(self, home: Path, study: str, clock: Clock) -> None:
        self.home = home
        self.study = study
        self._clock = clock
        self.open()

    def open(self) -> None:
        """Start (again) from the files."""
        self.party = Coordinator(self.home)
        self.party.store.database.clock = self._clock.now

    def shut(self) -> None:
        """End the process."""
        self.party.store.database.close()

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


class Clock:
    """Seconds that pass with every look, and jump where told."""

    def __init__(self) -> None:
        self._now = 1_000_000.0

    def now(self) -> float:
        """The time; every look takes a second."""
        self._now += 1.0
        return self._now

    def jump(self, seconds: float) -> None:
        """Somebody sets the clock."""
        self._now += seconds


class Line:
    """An owner's transport over the simulated network."""

    def __init__(self, network: Network, owner: str) -> None:
        self._network = network
        self._owner = owner

    def deliver(self, wire: bytes, bodies: Bodies, moved: Moved | None = None) -> None:  # noqa: ARG002
        """Hand over a message and, before it, its bodies."""
        for blob in messages.parse(wire).message.blobs:
            self._network.put_body(blob, bodies.read_all(blob))
        self._network.post(wire)

    def fetch(self, after: int, wait: float) -> list[bytes]:  # noqa: ARG002
        """The coordinator's messages."""
        return self._network.fetch(self._owner, after)

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: Moved | None = None) -> None:  # noqa: ARG002
        """Get a body."""
        body = self._network.get_body(self._owner, blob)
        here = bodies.received(blob)
        bodies.append(blob, here, [body[here:]])

    def assist(self, wire: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Carry an assist call."""
        return self._network.assist(wire, body)

    def close(self) -> None:
        """Nothing is open."""


class RealOwner:
    """An owner with its workspace, and a person who confirms and writes questions without delay."""

    def __init__(self, folder: Path, network: Network) -> None:
        self.folder = folder
        self._network = network
        self.workspace = Workspace.open(folder)
        self.owner = Owner(self.workspace, Line(network, self.workspace.name))

    def shut(self) -> None:
        """End the process."""
        self.workspace.database.close()

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
        """Confirm, write questions, hand in, and work."""
        state = self.workspace.state()
        for peer in self.workspace.agreement.peers(self.workspace.name) if state.keys else ():
            self.owner.confirm(peer)
        happened = self.owner.work()
        tasks = open_tasks(self.workspace)
        if tasks:
            records = self.workspace.records()
            texts = {
                task.record: question(records[task.record].row["name"], task.round, self.workspace.name)
                for task in tasks
            }
            self.workspace.save_questions(texts, "simulated")
            self.workspace.hand_in()
            happened |= self.owner.work()
        return happened

    def is_over(self) -> bool:
        """Whether the truth has come, with its labels."""
        return is_over(self.owner)


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


def write_table(path: Path, rows: int, chance: random.Random) -> list[str]:
    """A small table; its texts."""
    texts = [" ".join(chance.sample(WORDS, chance.randrange(1, 4))) for _ in range(rows)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "name"])
        writer.writerows([f"{path.stem}-{number}", text] for number, text in enumerate(texts))
    return texts


def joined(folder: Path, invitation: Invitation, table: Path) -> None:
    """Make an owner's workspace."""
    workspace = join(folder, invitation, TableOptions(table))
    workspace.database.close()


class Backup:
    """A copy of a party's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copy = folder.with_name(folder.name + ".backup")

    def make(self) -> None:
        """Copy everything; the party must be shut."""
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(self._folder, self._copy)

    def restore(self) -> bool:
        """Go back to the copy; False where there is none."""
        if not self._copy.exists():
            return False
        shutil.rmtree(self._folder)
        shutil.copytree(self._copy, self._folder)
        return True


@contextmanager
def mortal(weather: Weather) -> Iterator[Mortality]:
    """Let parties die at journal points."""
    mortality = Mortality(weather)
    with journal.listening(mortality):
        yield mortality
