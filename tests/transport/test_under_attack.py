"""`coordinator serve` as people run it, with and without TLS, while somebody holds 600 connections or sends messages
without a token and without an end: it stays up and small, and answers others, also those of the same address.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.transport.client import trusting
from support.direct_line import DirectLine
from support.patience import PATIENCE, Patience
from support.study_parties import free_port, joined, small_agreement, write_person_tables

ROOM = 64 * 2**20
"""Bytes that an attack may cost."""
HALVES = {
    "nothing": b"",
    "half a greeting in TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    "half a head": b"GET /health HTTP/1.1\r\nHost: x\r\nX-a: b",
    "message without a token": b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n"
    + b"a" * 90_000,
    "message of chunks": b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    + 6 * (b"2710\r\n" + b"a" * 10_000 + b"\r\n"),
}  # fmt: skip


class Process:
    """`coordinator serve`, with a study that anna has joined."""

    def __init__(self, folder: Path, *, tls: bool) -> None:
        agreement = small_agreement(2, records=2)
        coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
        anna = joined(folder, coordinator.create(to_text(agreement))[:1], write_person_tables(folder, rows=4))[0]
        OwnerParty(anna, DirectLine(coordinator, agreement.hash, "anna")).send()
        coordinator.store.close()
        self._bearer = {"Authorization": f"Bearer {anna.secret('token').decode()}"}
        self._poll = f"/v1/studies/{agreement.hash}/messages"
        self.port, self._tls, self.log = free_port(), tls, folder / "log"
        more = self._certificate(folder) if tls else []
        command = [sys.executable, "-m", "blindlabel.cli.main", "coordinator", "serve", "--port", str(self.port), *more]
        with self.log.open("w") as log:
            self.process = subprocess.Popen([*command, "--at", str(folder / "coordinator")], stderr=log)

    def _certificate(self, folder: Path) -> list[str]:
        certificate, key = folder / "tls.pem", folder / "tls.key"
        command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
        named = f"-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout {key} -out {certificate}"
        subprocess.run([*command.split(), *named.split()], check=True, capture_output=True)
        self._authority = trusting(certificate.read_text())
        return ["--certificate", str(certificate), "--key", str(key)]

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(httpx.TransportError):
            return self.statuses() == [200, 200]
        return False

    def statuses(self) -> list[int]:
        """What somebody who asks for its health, and an owner that asks for messages, are told."""
        address = f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"
        verify = self._authority if self._tls else False
        with httpx.Client(base_url=address, verify=verify, trust_env=False, timeout=PATIENCE) as client:
            return [client.get("/health").status_code, client.get(self._poll, headers=self._bearer).status_code]

    def size(self) -> int:
        """Bytes that are in memory."""
        fields = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in fields if line.startswith("VmRSS:"))

    def stop(self) -> str:
        """Stop it as Ctrl-C does; what it has logged."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        return self.log.read_text()


@pytest.fixture(params=[False, True], ids=["plain", "TLS"])
def process(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Process]:
    made = Process(tmp_path, tls=request.param)
    try:
        Patience().wait_until(made.answers, made.log.read_text)
        yield made
    finally:
        made.process.kill()
        made.process.wait()


@pytest.fixture
def many_files() -> Iterator[None]:
    """Room for the attacker's sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
def test_many_who_do_not_finish_cost_little_and_nobody_else_waits(process: Process) -> None:
    before = process.size()
    for what, said in HALVES.items():
        with contextlib.ExitStack() as held:
            for _ in range(600):
                one = held.enter_context(socket.create_connection(("127.0.0.1", process.port), PATIENCE))
                with contextlib.suppress(ConnectionError):  # some are ended at once
                    one.sendall(said)
            assert process.statuses() == [200, 200], what
            assert process.size() - before < ROOM, f"{what}: {(process.size() - before) // 2**20} MB more"
        assert process.statuses() == [200, 200], what
    assert process.process.poll() is None
    said_at_the_end = process.stop()
    assert "Logging error" not in said_at_the_end and "Traceback" not in said_at_the_end
