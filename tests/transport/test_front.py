"""The front of the coordinator's server, without a proxy: whoever holds connections, or sends slowly or too much, is
ended in time and costs little; others are answered meanwhile. Deadlines go by a clock that is set by hand.
"""

from __future__ import annotations

import contextlib
import ipaddress
import select
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol

import httpx
import pytest
from fastapi import FastAPI

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.shape import blob_of
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.transport import front as fronts
from blindlabel.transport import server_limits
from blindlabel.transport.front import Front, Network
from blindlabel.transport.server import create_app
from blindlabel.transport.server_limits import ServerLimits
from blindlabel.web.coordinator_page import add_page
from support.asynchronous import finished
from support.direct_line import DirectLine
from support.patience import PATIENCE, Patience
from support.study_parties import joined, served, small_agreement, write_person_tables

LIMITS = ServerLimits(head_seconds=10, body_seconds=20, slowest=100, longest_wait=3600, look_again=0.05)
HALF_A_HEAD = b"GET /health HTTP/1.1\r\nHost: x\r\nX-a: b"
WHOLE = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
WRONG = "Bearer " + "x" * 43


class Clock:
    """A clock that is set by hand, and counts how often somebody looked at it."""

    def __init__(self) -> None:
        self.now, self.looks = 1000.0, 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now


class Watched(Front):
    """A front that counts who came."""

    came = 0

    def admit(self, new: fronts._Connection) -> bool:
        admitted = super().admit(new)
        self.came += 1
        return admitted


class Serving:
    """A coordinator's server with a study that anna has joined, and the clock of its front."""

    def __init__(self, folder: Path) -> None:
        agreement = small_agreement(2, records=2)
        self.coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
        tables = write_person_tables(folder, rows=4)
        anna = joined(folder, self.coordinator.create(to_text(agreement))[:1], tables)[0]
        OwnerParty(anna, DirectLine(self.coordinator, agreement.hash, "anna")).send()
        self.bearer = f"Bearer {anna.secret('token').decode()}"
        self.path, self.clock, self.address = f"/v1/studies/{agreement.hash}", Clock(), ""

    @contextlib.contextmanager
    def under(self, limits: ServerLimits = LIMITS, *proxies: Network, page: bool = False) -> Iterator[Front]:
        """Serve under these limits."""

        def add(app: FastAPI) -> None:
            if page:
                add_page(app, self.coordinator)

        self.front = Watched(limits, proxies, clock=self.clock)
        with served(self.coordinator, limits, add, front=self.front) as self.address:
            yield self.front

    def calls(self, *said: bytes) -> socket.socket:
        """A connection on which this was said."""
        before = self.front.came
        made = socket.create_connection(("127.0.0.1", int(self.address.rpartition(":")[2])), PATIENCE)
        Patience().wait_until(lambda: self.front.came > before)
        for one in said:
            made.sendall(one)
        return made

    def request(self, method: str, path: str, *headers: str) -> bytes:
        """The head of a request of anna's."""
        lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: {self.bearer}", *headers]
        return "\r\n".join([*lines, "", ""]).encode()

    def get(self, path: str = "/health", **headers: str) -> int:
        """The status of an answer to somebody else."""
        with httpx.Client(base_url=self.address, timeout=PATIENCE, trust_env=False, verify=False) as client:
            return int(client.get(path, headers=headers).status_code)

    def passes(self, seconds: float) -> None:
        """The front has looked at all that has come so far; then so much time passes, and it looks again."""
        self._look()
        self.clock.now += seconds
        self._look()

    def _look(self) -> None:
        """Often enough that everything was read in between; nobody looks where no connection is left."""
        seen = self.clock.looks
        Patience().wait_until(lambda: self.clock.looks >= seen + 4 or not self.front.open)


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serving:
    monkeypatch.setattr(fronts, "_EVERY", 0.01)
    return Serving(tmp_path)


def is_open(connection: socket.socket) -> bool:
    """Whether the other side has neither ended a connection nor said anything on it."""
    return not select.select([connection], [], [], 0)[0]


def heard(connection: socket.socket) -> bytes:
    """Everything until the other side ends the connection, however roughly."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(2**16):
            said += piece
    return said


def test_head_that_does_not_come_is_waited_for_only_so_long(serving: Serving) -> None:
    with serving.under(), serving.calls(HALF_A_HEAD) as half, serving.calls() as silent:
        serving.passes(9)
        assert is_open(half) and is_open(silent)
        half.sendall(b"c")  # one more byte now and then buys no time
        serving.passes(2)
        assert heard(half) == heard(silent) == b""


def whole_answer(connection: socket.socket) -> bytes:
    """An answer in JSON."""
    said = b""
    while not said.endswith(b"}"):
        said += connection.recv(2**16)
    return said


def test_kept_connection_has_time_until_the_next_request_begins(serving: Serving) -> None:
    with serving.under(), serving.calls(WHOLE) as kept:
        for _ in range(3):
            assert b"200 OK" in whole_answer(kept)
            serving.passes(100)
            assert is_open(kept), "uvicorn ends it after some time without a word"
            kept.sendall(WHOLE)
        assert b"200 OK" in whole_answer(kept)
        kept.sendall(HALF_A_HEAD)
        serving.passes(11)
        assert heard(kept) == b""


def test_body_has_to_come_at_some_rate(serving: Serving) -> None:
    blob = blob_of(bytes(100_000))
    upload = serving.request("PUT", f"{serving.path}/bodies/{blob.hash}?length=100000", "Content-Length: 100000")
    with serving.under(), serving.calls(upload) as slow, serving.calls(upload) as quick:
        serving.passes(0)
        for _ in range(3):
            quick.sendall(bytes(1000))
            slow.sendall(bytes(10))
            serving.passes(9)
        assert heard(slow) == b"" and is_open(quick), "27 seconds"


def test_answer_has_to_be_read(serving: Serving) -> None:
    answers = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 3000
    with serving.under(ServerLimits(body_seconds=20, slowest=2**20)) as front, serving.calls(answers) as deaf:
        Patience().wait_until(lambda: any(one.flow and one.flow.write_paused for one in list(front.open)))
        serving.passes(20)
        assert front.open
        serving.passes(20)
        Patience().wait_until(lambda: not front.open)
        assert heard(deaf)
        assert serving.get() == 200


def test_rest_of_a_body_that_nobody_wants_is_waited_for_only_so_long(serving: Serving) -> None:
    refused = b"PUT %s/bodies/%s?length=9 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
    with serving.under(), serving.calls(refused % (serving.path.encode(), b"ab" * 32)) as left:
        assert b"403 Forbidden" in whole_answer(left), "before anything of the body was there"
        serving.passes(9)
        assert is_open(left)
        serving.passes(2)
        assert heard(left) == b""


def test_nothing_of_a_message_is_read_before_its_sender_is_known(serving: Serving) -> None:
    head = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n"
    signed_in = f"Authorization: {serving.bearer}\r\n".encode()
    with serving.under():
        for more in (b"", f"Authorization: {WRONG}\r\n".encode()):
            with serving.calls(head % (2_000_000, more)) as stranger:
                assert b'"sender"' in whole_answer(stranger), "no byte of the body was sent"
        with serving.calls(head % (600, b"")) as may_join, serving.calls(head % (2_000_000, signed_in)) as anna:
            serving.passes(0)
            assert is_open(may_join) and is_open(anna)
        with serving.calls(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n") as endless:
            with contextlib.suppress(ConnectionError):
                for _ in range(10):
                    endless.sendall(b"4000\r\n" + bytes(2**14) + b"\r\n")
            assert b"413 " in endless.recv(2**16)


STRANGERS_POST = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\n\r\nhalf of it"


@pytest.mark.parametrize("said", [b"", HALF_A_HEAD, STRANGERS_POST], ids=["nothing", "half a head", "half a body"])
def test_address_that_holds_too_many_loses_the_one_that_waits_longest(serving: Serving, said: bytes) -> None:
    with serving.under(ServerLimits(address_connections=3)):
        first, second, third = (serving.calls(said) for _ in range(3))
        with first, second, third:
            serving.passes(0)
            assert serving.get() == 200
            assert heard(first) == b"" and is_open(second) and is_open(third)


def test_owners_whose_requests_are_under_way_keep_their_places(serving: Serving) -> None:
    few = ServerLimits(address_connections=2, longest_wait=3600)
    poll = serving.request("GET", f"{serving.path}/messages?after=1000&wait=3600")
    upload = serving.request("PUT", f"{serving.path}/bodies/{'ab' * 32}?length=9", "Content-Length: 9")
    with serving.under(few) as front, serving.calls(poll) as waits, serving.calls(upload) as sends:
        Patience().wait_until(lambda: not any(one.is_waiting for one in list(front.open)))
        with pytest.raises(httpx.TransportError):
            serving.get()
        assert is_open(waits) and is_open(sends)


def test_stopping_answers_who_waits_and_cuts_off_who_sends(serving: Serving, caplog: pytest.LogCaptureFixture) -> None:
    """It waited for both until they were cancelled, and wrote an error for each at every stop."""
    poll = serving.request("GET", f"{serving.path}/messages?after=1000&wait=3600")
    upload = serving.request("PUT", f"{serving.path}/bodies/{'ab' * 32}?length=9", "Content-Length: 9")
    with contextlib.ExitStack() as held:
        with serving.under() as front:
            waits, sends, stranger = (
                held.enter_context(serving.calls(said)) for said in (poll, upload, STRANGERS_POST)
            )
            Patience().wait_until(lambda: sum(one.cycle is not None for one in list(front.open)) == 3)
        assert b"200 OK" in (said := heard(waits)) and b'"messages":[]' in said
        assert heard(sends) == b"" and heard(stranger) == b""
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_all_addresses_together_have_a_bound_and_a_proxy_speaks_for_many(serving: Serving) -> None:
    few = ServerLimits(address_connections=1, connections=3)
    with serving.under(few, ipaddress.ip_network("127.0.0.0/8")) as front:
        held = [serving.calls(HALF_A_HEAD) for _ in range(3)]
        Patience().wait_until(lambda: len(front.open) == 3)
        assert serving.get() == 200
        assert heard(held[0]) == b"" and is_open(held[1]) and is_open(held[2])
        for one in held:
            one.close()


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000,
        b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X%d: y\r\n" % number for number in range(20_000)),
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x",
    ],
    ids=["one header", "many headers", "path"],
)
@pytest.mark.parametrize("pieces", [1, 40])
def test_large_head_is_refused_however_it_comes(serving: Serving, head: bytes, pieces: int) -> None:
    with serving.under(), serving.calls() as large:
        size = len(head) // pieces + 1
        with contextlib.suppress(ConnectionError):
            for start in range(0, len(head), size):
                large.sendall(head[start : start + size])
            large.sendall(b"\r\n\r\n")
        assert heard(large)[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 400", b"")
        assert serving.get() == 200
        assert serving.get(Cookie="a" * 10_000) == 200, "what browsers send is taken"


def test_large_head_that_came_at_once_is_refused_as_well(serving: Serving) -> None:
    """The parser counts what is not whole; a head that is whole when it looks has passed it."""

    async def statuses() -> list[int]:
        carrier = httpx.ASGITransport(create_app(serving.coordinator))
        async with httpx.AsyncClient(transport=carrier, base_url="http://x") as client:
            large = [
                {"headers": {"X": "a" * 16_384}},
                {"params": {"x": "a" * 16_384}},
                {"headers": {"X": "a" * 15_000}},
            ]
            return [(await client.get("/health", **one)).status_code for one in large]  # type: ignore[arg-type]

    assert finished(statuses()) == [431, 431, 200]


class Tries(Protocol):
    """Tries to get in, and gives what it was told."""

    def __call__(self, serving: Serving, *, forwarded: bool) -> set[int]: ...


def tokens(serving: Serving, *, forwarded: bool) -> set[int]:
    """What wrong tokens are answered with."""
    headers = [{"X-Forwarded-For": f"10.1.{number}.1"} if forwarded else {} for number in range(60)]
    return {serving.get(f"{serving.path}/messages", Authorization=WRONG, **one) for one in headers}


def codes(serving: Serving, *, forwarded: bool) -> set[int]:
    """What wrong codes on the page are answered with."""
    own = {"Origin": serving.address, "Content-Type": "application/x-www-form-urlencoded"}
    with httpx.Client(base_url=serving.address, trust_env=False, timeout=PATIENCE, verify=False) as client:
        return {
            client.post(
                "/sign-in",
                content="code=wrong",
                headers=own | ({"X-Forwarded-For": f"::{number}"} if forwarded else {}),
            ).status_code
            for number in range(1, 26)
        }


@pytest.mark.parametrize("tries", [tokens, codes])
def test_wrong_tokens_and_codes_are_slowed_whatever_a_header_says(
    serving: Serving, tries: Tries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_limits, "time", SimpleNamespace(monotonic=lambda: 7.0))  # however long the machine takes
    with serving.under(page=True):
        assert tries(serving, forwarded=True) == {403, 429}
    with serving.under(page=True):
        assert tries(serving, forwarded=False) == {403, 429}
    with serving.under(LIMITS, ipaddress.ip_network("127.0.0.1/32"), page=True):
        assert tries(serving, forwarded=True) == {403}, "a proxy that is named is believed"
    with serving.under(LIMITS, ipaddress.ip_network("10.0.0.0/8"), page=True):
        assert tries(serving, forwarded=True) == {403, 429}, "another is not"


ODD = {
    "negative length": b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    "two lengths": b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    "length and chunks": b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked"
    b"\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    "length in superscript": "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: ²\r\n\r\n".encode("latin-1"),
    "a tower of brackets": b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + b"[" * 60_000,
    "a packed body": b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 2"
    b"\r\n\r\n\x1f\x8b",
    "websocket": b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "a path upwards": b"GET /v1/studies/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
    "a body's path upwards": b"GET /v1/studies/%2e%2e/bodies/..%2f..%2fcoordinator.sqlite HTTP/1.1\r\nHost: x\r\n\r\n",
    "a page's path upwards": b"GET /page/..%2fcoordinator_page.py HTTP/1.1\r\nHost: x\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_requests_are_refused_and_nothing_else_happens(serving: Serving, odd: bytes) -> None:
    with serving.under(), serving.calls(odd) as one:
        said = one.recv(2**16)
        with contextlib.suppress(ConnectionError):  # it may have been ended
            one.sendall(b"GET /no HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        said += heard(one)
        assert said.startswith(b"HTTP/1.1 4"), said
        assert b"HTTP/1.1 2" not in said, "no second request was found in the first"
        assert serving.get() == 200
