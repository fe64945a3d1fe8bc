"""A coordinator under load, served by a process of its own over real HTTP on this machine: many studies at once, each
played to its end by its owners, beside large uploads, uploads that break off and are continued, clients that send a
byte now and then, and strangers.

Counts requests and errors, compares every label with clear evaluation (so mixed-up studies are found), and watches the
server's memory. Bounded in count and time; only ever speaks with 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from blindlabel.language import interpret
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import TableOptions, join
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import SuggestedQuestions, check_question
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.invitation import Invitation
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.connecting import letters_of

MEMORY_LIMIT = 1024
"""Megabytes that the server may hold at most, whatever is uploaded."""
_WORDS = ("alder", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine")


@dataclass(frozen=True)
class Load:
    """How much at once."""

    studies: int = 20
    owners: int = 2
    """Of each study."""
    records: int = 5
    upload_megabytes: int = 24
    """Of each owner's large body."""
    slow_clients: int = 20
    seconds: float = 300.0
    """After which a study counts as stuck."""


@dataclass
class Measured:
    """What came of it."""

    studies: int = 0
    owners: int = 0
    requests: int = 0
    statuses: dict[int, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    labels: int = 0
    wrong_labels: int = 0
    uploaded_megabytes: float = 0.0
    aborted_uploads: int = 0
    slow_clients: int = 0
    foreign_refused: int = 0
    """Attempts to read or write in another study with a good token of one's own; all must be refused."""
    foreign_accepted: int = 0
    server_megabytes_before: float = 0.0
    server_megabytes_peak: float = 0.0
    seconds: float = 0.0
    health_milliseconds_median: float = 0.0
    health_milliseconds_worst: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether all that must hold did."""
        return (
            not self.errors
            and not self.wrong_labels
            and not self.foreign_accepted
            and self.server_megabytes_peak <= MEMORY_LIMIT
        )

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self) | {"good": self.is_good}


def measure(load: Load) -> Measured:
    """Set up, serve, load, and measure."""
    with tempfile.TemporaryDirectory(prefix="blindlabel-load-") as name:
        folder = Path(name)
        return _Run(load, folder).measured()


class _Run:
    def __init__(self, load: Load, folder: Path) -> None:
        self.load = load
        self.folder = folder
        self.found = Measured(studies=load.studies, owners=load.studies * load.owners)
        self.statuses: Counter[int] = Counter()
        self.lock = threading.Lock()
        self.studies: list[list[Workspace]] = []

    def measured(self) -> Measured:
        coordinator = CoordinatorParty(CoordinatorStore(self.folder / "coordinator"))
        invitations = [
            coordinator.create(to_text(_agreement(number, self.load)), "") for number in range(self.load.studies)
        ]
        with _served(self.folder / "coordinator") as (address, process):
            self.address = address
            self.studies = [self._join(number, invited) for number, invited in enumerate(invitations)]
            self.found.server_megabytes_before = _memory(process, "VmRSS")
            began = time.monotonic()
            health = self._load()
            self.found.seconds = round(time.monotonic() - began, 1)
            self.found.server_megabytes_peak = _memory(process, "VmHWM")
        self._compare(coordinator)
        self.found.requests, self.found.statuses = sum(self.statuses.values()), dict(sorted(self.statuses.items()))
        self.found.health_milliseconds_median = round(1000 * sorted(health)[len(health) // 2], 1) if health else 0.0
        self.found.health_milliseconds_worst = round(1000 * max(health), 1) if health else 0.0
        return self.found

    def _load(self) -> list[float]:
        """Everything at once."""
        stop, health = threading.Event(), list[float]()
        watcher = threading.Thread(target=self._watch, args=(stop, health))
        watcher.start()
        others = ThreadPoolExecutor(8)
        work = [others.submit(self._slow_client) for _ in range(self.load.slow_clients)]
        with ThreadPoolExecutor(self.load.studies) as pool:
            plays = [pool.submit(self._play, number) for number in range(self.load.studies)]
            work += [
                others.submit(self._upload, study, place)
                for study in range(self.load.studies)
                for place in range(self.load.owners)
            ]
            for task in [*plays, *work]:
                try:
                    task.result(timeout=self.load.seconds)
                except Exception as error:
                    self.found.errors.append(f"{type(error).__name__}: {error}")
        others.shutdown()
        stop.set()
        watcher.join()
        return health

    def _join(self, number: int, invitations: list[Invitation]) -> list[Workspace]:
        chance = random.Random(number)  # noqa: S311 (made-up tables)
        workspaces = []
        for invitation in invitations:
            table = self.folder / f"{number}-{invitation.owner}.csv"
            with table.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(["name"])
                writer.writerows([[" ".join(chance.sample(_WORDS, 3))] for _ in range(self.load.records)])
            workspaces.append(
                join(Workspace.create(self.folder / f"{number}-{invitation.owner}"), invitation, TableOptions(table))
            )
        return workspaces

    def _client(self, workspace: Workspace) -> httpx.Client:
        client = httpx.Client(
            base_url=self.address,
            headers={"Authorization": f"Bearer {workspace.secret('token').decode()}"},
            trust_env=False,
            timeout=120,
        )
        client.event_hooks["response"].append(self._count)
        return client

    def _count(self, response: httpx.Response) -> None:
        with self.lock:
            self.statuses[response.status_code] += 1

    def _play(self, number: int) -> None:
        """One study from joining to its labels."""
        owners = []
        for workspace in self.studies[number]:
            transport = HttpTransport(
                self.address, letters_of(workspace), workspace.secret("token").decode(), patience=120.0
            )
            transport._client.event_hooks["response"].append(self._count)
            owners.append(OwnerParty(workspace, transport))
        until = time.monotonic() + self.load.seconds
        over: list[bool] = []
        while not (over and all(over)):
            over = [run(owner, SuggestedQuestions(), once=True, tell=lambda _: None) for owner in owners]
            for owner in owners:
                state = owner.store.state()
                for peer in owner.agreement.peers(owner.store.name) if state.keys else ():
                    owner.confirm(peer)
            if time.monotonic() > until:
                raise TimeoutError(f"study {number} is not over after {self.load.seconds} s")
            time.sleep(0.2)
        for owner in owners:
            owner.line.close()

    def _upload(self, study: int, place: int) -> None:
        """A large body in two halves, the first broken off in the middle; and attempts in another study."""
        workspace = self.studies[study][place]
        content = random.Random(1000 * study + place).randbytes(self.load.upload_megabytes * 2**20)  # noqa: S311
        name, half = hashlib.blake2b(content, digest_size=32).hexdigest(), len(content) // 2
        path = f"/v1/studies/{workspace.agreement.hash}/bodies/{name}"
        self._wait_until_joined(workspace)
        self._break_off(workspace, path, content[:half], len(content))
        with self._client(workspace) as client:
            arrived = {"received": 0, "complete": False}
            while not arrived["complete"]:
                asked = client.get(f"{path}/arrived", params={"length": len(content)})
                at = asked.json()["received"]
                reply = client.put(
                    path, params={"length": len(content), "offset": at}, content=content[at : at + 8 * 2**20]
                )
                if reply.status_code == 409:  # the broken-off part was still being written
                    time.sleep(0.2)
                    continue
                reply.raise_for_status()
                arrived = reply.json()
            self.found.uploaded_megabytes += len(content) / 2**20
            other = self.studies[(study + 1) % len(self.studies)][place].agreement.hash
            for method, url in (
                ("GET", f"/v1/studies/{other}/messages"),
                ("PUT", f"/v1/studies/{other}/bodies/{name}?length=4"),
            ):
                refused = client.request(method, url, content=b"evil" if method == "PUT" else None).status_code in (
                    403,
                    429,
                )
                with self.lock:
                    self.found.foreign_refused += refused
                    self.found.foreign_accepted += not refused

    def _wait_until_joined(self, workspace: Workspace) -> None:
        until = time.monotonic() + self.load.seconds
        while workspace.unsent() and time.monotonic() < until:
            time.sleep(0.1)

    def _break_off(self, workspace: Workspace, path: str, part: bytes, length: int) -> None:
        """Announce more than is sent, then close the connection."""
        host, port = self.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            head = (
                f"PUT {path}?length={length}&offset=0 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer"
                f" {workspace.secret('token').decode()}\r\n"
            )
            connection.sendall(f"{head}Content-Length: {len(part) + 1000}\r\n\r\n".encode() + part)
        with self.lock:
            self.found.aborted_uploads += 1

    def _slow_client(self) -> None:
        """A request whose bytes come one by one."""
        host, port = self.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            for byte in b"GET /health HTTP/1.1\r\nHost: slow\r\nConnection: close\r\n\r\n":
                connection.sendall(bytes([byte]))
                time.sleep(0.05)
            answer = connection.recv(200)
        if b"200 OK" not in answer:
            raise ValueError("a slow client got no answer")
        with self.lock:
            self.found.slow_clients += 1

    def _watch(self, stop: threading.Event, health: list[float]) -> None:
        """How long the server takes to say that it is well."""
        with httpx.Client(base_url=self.address, trust_env=False, timeout=60) as client:
            while not stop.wait(0.2):
                began = time.monotonic()
                client.get("/health").raise_for_status()
                health.append(time.monotonic() - began)
                with self.lock:
                    self.statuses[200] += 1

    def _compare(self, coordinator: CoordinatorParty) -> None:
        """Every label of every study with clear evaluation."""
        for workspaces in self.studies:
            by_name = {workspace.name: workspace for workspace in workspaces}
            study = workspaces[0].agreement.hash
            if coordinator.load(study).state.ended is None:
                self.found.errors.append("a study did not end")
                continue
            for (first, second), labels in coordinator.labels(study).items():
                expected = _clear(by_name[first], by_name[second])
                self.found.labels += labels.size
                self.found.wrong_labels += int(np.count_nonzero(labels != expected))


def _clear(first: Workspace, second: Workspace) -> Any:
    """The labels by the interpreter on clear records."""
    a, b = first.records(), second.records()
    expected = np.zeros((len(a), len(b)), dtype=np.uint8)
    for number in range(1, first.state().round + 1):
        asked_a = {
            task.record: check_question(first.agreement, task.question or "").tree for task in first.tasks(number)
        }
        asked_b = {
            task.record: check_question(second.agreement, task.question or "").tree for task in second.tasks(number)
        }
        for i, j in ((i, j) for i in asked_a for j in asked_b if expected[i, j] == 0):
            one, two = interpret(asked_a[i], b[j].prepared), interpret(asked_b[j], a[i].prepared)
            if one == two:
                expected[i, j] = 2 * number + one
    return expected


def _agreement(number: int, load: Load) -> agreements.Agreement:
    names = [f"owner-{place}" for place in range(load.owners)]
    encoding = {"engine": "plain", "record_length": 60}
    return agreements.new(
        f"load {number}", names, ["name"], sampling={"records": load.records}, encoding=encoding, rounds=2
    )


@contextlib.contextmanager
def _served(home: Path) -> Iterator[tuple[str, int]]:
    """`blindlabel coordinator serve` as a process of its own; address and process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "blindlabel.cli.main",
        "coordinator",
        "serve",
        "--at",
        str(home),
        "--port",
        str(port),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with (home.parent / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)  # noqa: S603 (our own command)
        try:
            _wait_for(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(address: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{address}/health", trust_env=False).status_code == 200:
                return
        time.sleep(0.1)
    raise TimeoutError("the server did not start")


def _memory(process: int, line: str) -> float:
    """Megabytes of a process: VmRSS now, VmHWM at most so far."""
    for found in Path(f"/proc/{process}/status").read_text("utf-8").splitlines():
        if found.startswith(f"{line}:"):
            return round(int(found.split()[1]) / 1024, 1)
    return 0.0
