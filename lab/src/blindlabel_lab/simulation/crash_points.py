"""Crash points at the system call: a real owner or coordinator process is killed when it is about to rename, sync,
unlink or send, at every such call of a small study in turn; then it is started again, and the study must end with the
labels of the clear protocol.

A study is played in turns, each a process of its own (over HTTP the coordinator is one process throughout). A first,
undisturbed play under `strace` counts the calls of each turn and keeps what was on disk before it. A crash point is a
turn, a system call and its number. Playing it begins with what was on disk before that turn. Commits of SQLite are
`fdatasync` on its log; sends on a socket are `sendto`.

Needs `strace` (`apt-get install strace`), and the right to trace one's own processes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.process
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from blindlabel.errors import InputError, OutsideError
from blindlabel.protocol.interfaces import Line, Store
from blindlabel.protocol.shape import COORDINATOR
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel_lab.simulation.faults import Weather
from blindlabel_lab.simulation.judging import judged
from blindlabel_lab.simulation.network import SimulatedCoordinator
from blindlabel_lab.simulation.parties import Mortality, SimulatedOwner
from blindlabel_lab.simulation.places import InFolders
from blindlabel_lab.simulation.plan import Plan, Way
from blindlabel_lab.simulation.study import Study

CALLS = ("rename", "fsync", "fdatasync", "unlink", "link", "mkdir", "ftruncate", "sendto")
MOST_TURNS = 200
_LONGEST_TURN = 300.0
"""Seconds after which a process counts as hanging."""
BUSY, OUTSIDE, SAID, BROKEN = 10, 11, 12, 13
"""How a process ends that could do something, that failed for reasons that pass, that said what a person has to do, and
that failed otherwise. 0: its work is done.
"""


def has_strace() -> bool:
    """Whether processes can be traced here."""
    return shutil.which("strace") is not None


@dataclass(frozen=True)
class CrashPoint:
    """Where a process dies: when it is about to make a system call after this many of the same kind in a turn."""

    turn: int
    party: str
    call: str
    number: int


@dataclass
class Played:
    """One play: whether the process was killed, and what went wrong."""

    killed: bool = False
    violations: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Stage:
    """What every process of a play has to know."""

    seed: int
    way: Way
    root: Path
    port: int
    """Where the coordinator listens."""
    through: int = 0
    """Where owners reach it, if there is something between."""

    def plan(self) -> Plan:
        return Plan(self.seed, {}, owners=2, files=True, way=self.way)

    def line(self, store: Store) -> Line:
        if self.way == "folder":
            return FolderTransport(self.root / "shared", letters_of(store), store.name)
        address, token = f"http://127.0.0.1:{self.through or self.port}", store.secret("token").decode()
        return HttpTransport(address, letters_of(store), token, patience=1.0)


# What the processes do


def act(stage: Stage, party: str, gate: Connection) -> None:
    """One turn of a party in this process, once somebody says so."""
    with contextlib.redirect_stderr((stage.root / f"{party}.log").open("a")):
        gate.recv()
        try:
            code = _serve(stage) if party == COORDINATOR else _own_turn(stage, party)
        except (InputError, OutsideError) as error:  # a sentence for people
            code = SAID if isinstance(error, InputError) else OUTSIDE
            sys.stderr.write(f"{error}\n")
        except Exception:  # whatever it is, it is told
            code = BROKEN
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)


def _own_turn(stage: Stage, party: str) -> int:
    plan = stage.plan()
    weather = Weather(plan.random, {})
    owner = SimulatedOwner(InFolders(stage.root), party, plan.tables[party], weather, stage.line)
    happened = False
    while not owner.is_over() and owner.turn():
        happened = True
    return 0 if owner.is_over() and not owner.store.unsent() else BUSY if happened else OUTSIDE


def _serve(stage: Stage) -> int:
    plan = stage.plan()
    party = SimulatedCoordinator(InFolders(stage.root), plan.agreement.hash, Weather(plan.random, {})).party
    if stage.way == "folder":
        server, happened = FolderServer(party, stage.root / "shared"), False
        while server.turn():
            happened = True
        return BUSY if happened else 0
    import uvicorn  # noqa: PLC0415

    from blindlabel.transport.server import create_app  # noqa: PLC0415

    uvicorn.run(create_app(party), host="127.0.0.1", port=stage.port, log_config=None, access_log=False)
    return 0


# Playing


class Bench:
    """A small study that can be played again and again."""

    def __init__(self, folder: Path, way: Way, seed: int = 1) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.folder = folder
        self.stage = Stage(seed, way, folder / "play", port)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__, "uvicorn", "blindlabel.transport.server"])
        self._order = [COORDINATOR, *sorted(self.stage.plan().tables)] if way == "folder" else []
        self.server: multiprocessing.process.BaseProcess | None = None
        self._tracers: list[subprocess.Popen[str]] = []
        self.codes: dict[str, int] = {}
        """How the last turn of each party ended."""
        self.root.mkdir(parents=True)
        (self.root / "shared").mkdir()
        plan = self.stage.plan()
        weather = Weather(plan.random, {})
        place = InFolders(self.root)
        Study(plan, place, weather, Mortality(weather))
        place.shut()
        shutil.copytree(self.root, self._kept(0))

    @property
    def root(self) -> Path:
        """The folder in which the parties' folders are."""
        return self.stage.root

    def survey(self) -> list[CrashPoint]:
        """Play undisturbed; all crash points there are, in order."""
        found: list[CrashPoint] = []
        log = self.folder / "calls"
        with self.served(["-o", str(log)] if not self._order else None):
            for turn, party in self.turns():
                if turn:
                    shutil.copytree(self.root, self._kept(turn))
                own = self.folder / f"calls-{turn}"
                self.run(party, ["-o", str(own)])
                found += _points(own, turn, party)
                if self.is_over():
                    break
        return found + (_points(log, 0, COORDINATOR) if log.exists() else [])

    def play(self, point: CrashPoint) -> Played:
        """Play to the end with a death at this point: from its turn, where a survey has kept what was on disk. Over
        HTTP the coordinator works meanwhile, and what a survey saw may come a turn later.
        """
        first = point.turn if self._kept(point.turn).exists() else 0
        shutil.rmtree(self.root)
        shutil.copytree(self._kept(first), self.root)
        self.codes.clear()
        played = Played()
        inject = ["-o", "/dev/null", "-e", f"inject={point.call}:signal=SIGKILL:when={point.number}"]
        on_server = point.party == COORDINATOR and not self._order
        with self.served(inject if on_server else None):
            for turn, party in self.turns(first):
                victim = turn >= point.turn and party == point.party and not on_server and not played.killed
                code = self.run(party, inject if victim else None)
                played.killed |= victim and code == -signal.SIGKILL
                if code in (SAID, BROKEN):
                    played.violations.append(f"{party}: {last_line(self.root / f'{party}.log')}")
                if self.server is not None and not self.server.is_alive():
                    played.killed = True
                    self.start_server(None)
                if self.is_over():
                    break
            else:
                played.violations.append("the study did not end")
        return self.judged(played)

    def judged(self, played: Played) -> Played:
        plan = self.stage.plan()
        weather, place = Weather(plan.random, {}), InFolders(self.root)
        study = Study(plan, place, weather, Mortality(weather), found=False)
        played.violations += judged(study, finished=True)
        place.shut()
        return played

    def turns(self, first: int = 0) -> Iterator[tuple[int, str]]:
        order = self._order or sorted(self.stage.plan().tables)
        for turn in range(first, first + MOST_TURNS):
            yield turn, order[turn % len(order)]

    def _kept(self, turn: int) -> Path:
        return self.folder / f"before-{turn}"

    def is_over(self) -> bool:
        """Whether every owner ended its last turn with the truth and its labels."""
        return all(self.codes.get(name) == 0 for name in self.stage.plan().tables)

    # Processes

    def run(self, party: str, tracing: list[str] | None) -> int:
        """A party's turn; its exit code."""
        process = self._started(party, tracing)
        process.join(_LONGEST_TURN)
        if process.is_alive():
            process.kill()
            process.join()
            raise RuntimeError(f"{party} hangs in {self.root}")
        if self.server is None:  # else the server's may be among them
            self._bury_tracers()
        self.codes[party] = process.exitcode or 0
        return self.codes[party]

    def _started(self, party: str, tracing: list[str] | None) -> multiprocessing.process.BaseProcess:
        theirs, ours = self._context.Pipe()
        process = self._context.Process(target=act, args=(self.stage, party, theirs), daemon=True)
        process.start()
        if tracing is not None:
            self._tracers.append(_trace(process.pid or 0, tracing))
        ours.send(True)
        return process

    @contextlib.contextmanager
    def served(self, tracing: list[str] | None) -> Iterator[None]:
        """The coordinator's server runs meanwhile, where the study goes over HTTP."""
        if self._order:
            yield
            return
        self.start_server(tracing)
        try:
            yield
        finally:
            if self.server is not None:
                self.server.kill()
                self.server.join()
            self._bury_tracers()

    def _bury_tracers(self) -> None:
        """Tracers end with what they trace."""
        while self._tracers:
            with self._tracers.pop() as tracer:
                tracer.wait()

    def start_server(self, tracing: list[str] | None) -> None:
        self.server = self._started(COORDINATOR, tracing)
        until = time.monotonic() + _LONGEST_TURN
        while self.server.is_alive() and time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.stage.port), 1):
                return
            time.sleep(0.02)


def _trace(process: int, options: list[str]) -> subprocess.Popen[str]:
    """Attach strace to a process that waits; it ends with the process."""
    command = ["strace", "-f", "-qq", "-e", f"trace={','.join(CALLS)}", *options, "-p", str(process)]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603 (our own words)
    traced = Path(f"/proc/{process}/status")
    until = time.monotonic() + _LONGEST_TURN
    while not re.search(r"TracerPid:\s+[1-9]", traced.read_text()):
        if tracer.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"strace cannot trace: {tracer.stderr.read() if tracer.stderr else ''}")
        time.sleep(0.005)
    return tracer


def _points(log: Path, turn: int, party: str) -> list[CrashPoint]:
    """The calls in a log of strace. It counts by thread, so the thread that makes a call most often counts."""
    counted: Counter[tuple[str, str]] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        found = re.match(r"(\d+)\s+(\w+)\(", line)
        if found and found[2] in CALLS:
            counted[(found[2], found[1])] += 1
    most = {call: max(times for (name, _), times in counted.items() if name == call) for call, _ in counted}
    return [CrashPoint(turn, party, call, number) for call in CALLS for number in range(1, most.get(call, 0) + 1)]


def last_line(log: Path) -> str:
    """What a party said last."""
    lines = log.read_text().strip().splitlines() if log.exists() else []
    return lines[-1] if lines else ""
