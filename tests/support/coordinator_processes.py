"""Several coordinator processes over one database, and in front of them what a real installation has there: something
that spreads connections over those that live."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.process
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx

from support import slow_command
from support.patience import Patience
from support.study_parties import free_port


class CoordinatorProcesses:
    """`blindlabel coordinator serve`, several times, with an engine that takes its time; forked from one process that
    has imported everything, so that they start quickly."""

    def __init__(self, home: Path, database: str | None, count: int, pause: float) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(
            ["support.slow_command", "blindlabel.cli.serving", "blindlabel.transport.server", "uvicorn"]
        )
        self.ports = [free_port() for _ in range(count)]
        self.processes: list[multiprocessing.process.BaseProcess] = []
        self.logs = [home.parent / f"coordinator-{port}.log" for port in self.ports]
        for port, log in zip(self.ports, self.logs):
            arguments = ["coordinator", "serve", "--at", str(home), "--port", str(port)]
            arguments += ["--database", database] if database else []
            self.processes.append(context.Process(target=slow_command.run_slowly, args=(pause, arguments, log)))
        for process in self.processes:
            process.start()
        for number in range(count):
            self._wait_for(number)

    @property
    def addresses(self) -> list[str]:
        """Where each of them is reached."""
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    def _wait_for(self, number: int) -> None:
        def answers() -> bool:
            assert self.processes[number].is_alive(), self.logs[number].read_text()
            with contextlib.suppress(httpx.TransportError):
                return httpx.get(f"{self.addresses[number]}/health", trust_env=False).status_code == 200
            return False

        Patience().wait_until(answers, self.logs[number].read_text)

    def kill(self, number: int) -> None:
        """Kill one at once, as a power cut would."""
        self.processes[number].kill()
        self.processes[number].join()

    def stop(self) -> None:
        """Kill all that live."""
        for number in range(len(self.processes)):
            self.kill(number)


@contextlib.contextmanager
def spread_over(ports: list[int]) -> Iterator[str]:
    """An address whose connections go to the ports in turn, to the next one where one does not answer."""
    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def accept() -> None:
        turn = 0
        while not over.is_set():
            try:
                client, _ = listening.accept()
            except OSError:
                return
            turn += 1
            for port in ports[turn % len(ports) :] + ports[: turn % len(ports)]:
                with contextlib.suppress(OSError):
                    backend = socket.create_connection(("127.0.0.1", port), timeout=5)
                    backend.settimeout(None)
                    break
            else:
                client.close()
                continue
            for one, other in ((client, backend), (backend, client)):
                threading.Thread(target=_carry, args=(one, other), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)


def _carry(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes from one side to the other until a side ends."""
    with contextlib.suppress(OSError):
        while content := one.recv(2**16):
            other.sendall(content)
    for side in (one, other):
        with contextlib.suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)
        side.close()
