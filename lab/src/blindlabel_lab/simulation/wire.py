"""The product's own HTTP client and server in one process, byte for byte, over a wire that cuts, truncates, repeats,
holds back and damages what it carries.

A connection is a pipe of bytes between `transport.client` (httpx, h11) and `transport.server` under uvicorn's own
protocol. Faults, by the schedule's seed:

- `cut request`: the server gets the first bytes of a request, then the connection is gone on both sides;
- `cut reply`: the client gets the first bytes of the answer, or none;
- `late request`: the client hears nothing; the server gets the request later, whole, after others that came since;
- `repeat request`: the server gets an earlier request once more;
- `damage`: one bit of a request or of an answer changes (over TLS that would cut the connection);
- `no descriptors`: no connection can be opened; `no threads`: the server cannot start one for a request.

The server's loop runs on simulated time, in the thread of whoever lets it handle something.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

import h11
import httpcore
import httpx
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.interfaces import Line, Store
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.server import create_app
from blindlabel.transport.server_limits import ServerLimits
from blindlabel_lab.simulation.faults import Crash, Weather
from blindlabel_lab.simulation.world import World

FAULTS = ("cut request", "cut reply", "late request", "repeat request", "damage")
_UNLIMITED = ServerLimits(requests_per_second=1e9, joins_per_second=1e9, free_disk=0)
_PIECE = 61
"""Bytes of a body that are handled at once here, so that bodies of some hundred bytes come in parts."""

P = ParamSpec("P")
T = TypeVar("T")


class Wire:
    """Connections to one coordinator."""

    def __init__(
        self,
        coordinator: Callable[[], CoordinatorParty],
        weather: Weather,
        restart: Callable[[], None] = lambda: None,
        world: World | None = None,
        away: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._coordinator = coordinator
        self.weather = weather
        self._restart = restart
        self.world = world or World()
        self.away = away
        self._loop: _Loop | None = None
        self._app: tuple[CoordinatorParty, FastAPI] | None = None
        self._late: list[bytes] = []
        self._carried: list[bytes] = []

    def line(self, store: Store) -> Line:
        """An owner's line: the product's client, whose connections are pipes."""
        token = store.secret("token").decode()
        line = HttpTransport("http://simulated", letters_of(store), token, life=store.life(), patience=0.0)
        carrier = httpx.HTTPTransport()
        carrier._pool = httpcore.ConnectionPool(network_backend=_Pipes(self), max_keepalive_connections=0)
        line._client._transport = carrier
        return line

    def stir(self) -> None:
        """Let late requests arrive, and repeat others."""
        if self._late and self.weather.random.random() < 0.5:
            self.arrives(self._late.pop(self.weather.random.randrange(len(self._late))))
        if self._carried and self.weather.strikes("repeat request"):
            self.arrives(self.weather.random.choice(self._carried))

    def arrives(self, request: bytes) -> None:
        """A request whose answer nobody reads."""
        pipe = Pipe(self)
        with suppress(httpcore.ReadError, httpcore.ReadTimeout):  # the coordinator died over it, or waits for more
            pipe.feed(request)
            pipe.answer()
            pipe.hang_up()

    def protocol(self) -> H11Protocol:
        """The server's side of a new connection."""
        coordinator = self._coordinator()
        if self._app is None or self._app[0] is not coordinator:
            self._app = coordinator, create_app(coordinator, _UNLIMITED)
        config = uvicorn.Config(self._app[1], http="h11", ws="none", lifespan="off", log_config=None, access_log=False)
        config.load()
        return H11Protocol(config, ServerState(), {}, self._loop)

    def run(self, step: Callable[[], object], until: Callable[[], bool], patience: float = 120.0) -> bool:
        """Let the server handle something, for so long at most; whether it did."""
        loop, end = self._loop, self.world.now + patience
        assert loop is not None, "the wire is not open"

        async def handled() -> None:
            step()
            await asyncio.sleep(0)
            while not until() and loop._ready:
                await asyncio.sleep(0)

        loop.run_until_complete(handled())
        self.bury()
        while not until():
            if self.world.now >= end:
                return False
            due = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
            self.world.sleep(max(0.01, min([self.world.now + 0.5, end, *due]) - self.world.now))
            if loop is not self._loop:  # the coordinator died meanwhile
                return False
            step = lambda: None  # noqa: E731
            loop.run_until_complete(handled())
            self.bury()
        return True

    def bury(self) -> None:
        """Where the coordinator died over a request: start it again."""
        if self._crashed:
            self._restart()
            raise httpcore.ReadError("the coordinator died")

    def reset(self) -> None:
        """The coordinator's process is gone, with all its connections."""
        self._crashed = False
        if (old := self._loop) is not None:
            tasks = asyncio.all_tasks(old)
            for task in tasks:
                task.cancel()
            if tasks:
                old.run_until_complete(asyncio.wait(tasks))
            old.close()
            self._loop = _Loop(self.world)

    _crashed = False

    async def _inline(self, work: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T:
        """In place of the server's threads."""
        if self.weather.strikes("no threads"):
            raise RuntimeError("can't start new thread")
        try:
            return work(*arguments, **more)
        except Crash:
            self._crashed = True
            raise

    def close(self) -> None:
        """Nothing is served any more."""
        self.reset()
        if self._loop is not None:
            self._loop.close()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Small pieces and no threads while the wire is used."""
        server, log = "blindlabel.transport.server", logging.getLogger("uvicorn.error")
        self._loop = _Loop(self.world)
        with (
            closing(self),
            patch.object(log, "disabled", True),  # it writes down every crash
            patch("starlette.responses.iterate_in_threadpool", _iterated),
            patch(f"{server}.run_in_threadpool", self._inline),
            patch(f"{server}.PIECE", _PIECE),
            patch("blindlabel.storage.files.PIECE", _PIECE),
            patch("blindlabel.transport.client.PIECES", 3),
        ):
            yield


async def _iterated(pieces: Iterable[T]) -> AsyncIterator[T]:
    """In place of the threads that read a body which is sent."""
    for piece in pieces:
        yield piece


class _Loop(asyncio.SelectorEventLoop):
    """The server's loop, on simulated time."""

    def __init__(self, world: World) -> None:
        self._world = world
        super().__init__()

    _ready: list[object]
    _scheduled: list[asyncio.TimerHandle]

    def time(self) -> float:
        return self._world.now


class _Pipes(httpcore.NetworkBackend):
    """Where the client's connections come from."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002
        port: int,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        if self._wire.weather.strikes("no descriptors"):
            raise httpcore.ConnectError(os.strerror(errno.EMFILE))
        if (seconds := self._wire.away()) > 0:
            self._wire.world.sleep(min(seconds, 10.0))
            if seconds > 10.0:
                raise httpcore.ConnectTimeout("no answer came")
        if self._wire.weather.strikes("long latency"):
            self._wire.world.sleep(self._wire.weather.random.uniform(1.0, 40.0))
        return _Stream(self._wire)


class _Stream(httpcore.NetworkStream):
    """The client's side of a connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._pipe = wire, Pipe(wire)
        self._sent = bytearray()
        self._is_late = wire.weather.strikes("late request")
        self._reply: bytes | None = None
        self._cut = False

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        weather = self._wire.weather
        self._sent += buffer
        if self._is_late or not buffer:
            return
        if weather.strikes("damage"):
            buffer = weather.flipped(buffer)
        if weather.strikes("cut request"):
            self._pipe.feed(buffer[: weather.random.randrange(len(buffer))])
            self._pipe.hang_up()
            raise httpcore.WriteError("the connection is gone")
        self._pipe.feed(buffer)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        weather = self._wire.weather
        if self._is_late:
            self._wire._late.append(bytes(self._sent))
            raise httpcore.ReadTimeout("no answer came")
        if self._reply is None:
            self._wire._carried.append(bytes(self._sent))
            self._reply = self._pipe.answer()
            if self._reply and weather.strikes("damage"):
                self._reply = weather.flipped(self._reply)
            if self._cut or (self._reply and weather.strikes("cut reply")):
                self._reply, self._cut = self._reply[: weather.random.randrange(len(self._reply))], True
        given = weather.random.randrange(1, max(2, min(max_bytes, 400)))
        piece, self._reply = self._reply[:given], self._reply[given:]
        if not piece and self._cut and weather.random.random() < 0.5:
            raise httpcore.ReadError("the connection is gone")
        return piece

    def close(self) -> None:
        self._pipe.hang_up()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Nothing is encrypted here."""
        raise NotImplementedError

    def get_extra_info(self, info: str) -> Any:
        return False if info == "is_readable" else None


class Pipe(asyncio.Transport):
    """The server's side of a connection."""

    def __init__(self, wire: Wire) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self._wire, self._out, self._over = wire, bytearray(), False
        self._loop = wire._loop
        self._protocol = wire.protocol()
        self._protocol.connection_made(self)

    def feed(self, content: bytes) -> None:
        if self._loop is not self._wire._loop:
            raise httpcore.WriteError("the connection is gone")
        if not self._over and content:
            self._wire.run(lambda: self._protocol.data_received(content), lambda: True)

    def answer(self) -> bytes:
        if self._loop is not self._wire._loop:
            raise httpcore.ReadError("the connection is gone")
        patience = 5.0 if self._starved() else 60.0
        if not self._wire.run(lambda: None, self._answered, patience):
            self.hang_up()
            raise httpcore.ReadTimeout("no answer came")
        return bytes(self._out)

    def _answered(self) -> bool:
        cycle = self._protocol.cycle
        return self._over or self._wire._crashed or (cycle is not None and cycle.response_complete)

    def _starved(self) -> bool:
        return self._protocol.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def hang_up(self) -> None:
        if not self._over and self._loop is self._wire._loop:
            self._over = True
            cycle = self._protocol.cycle
            self._wire.run(
                lambda: self._protocol.connection_lost(ConnectionResetError()),
                lambda: cycle is None or not self._protocol.server_state.tasks,
            )

    def write(self, data: Any) -> None:
        self._out += data

    def is_closing(self) -> bool:
        return self._over

    def close(self) -> None:
        self._over = True

    def pause_reading(self) -> None:
        """Nothing comes unless it is fed."""

    def resume_reading(self) -> None:
        """Nothing comes unless it is fed."""
