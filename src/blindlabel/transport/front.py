"""The front of the coordinator's server: who may hold a connection, and for how long, before anybody has signed in.

uvicorn waits for a request forever (docs/decisions/0105). This is its own protocol class, with what it lacks:

- the head of a request, the beginning of TLS before it, and what is left of a body that nobody wants has to come within
  `head_seconds`;
- a body has to come, and an answer to be read, at `slowest` bytes a second, after `body_seconds`;
- an address may hold `address_connections` connections, and all addresses together `connections`. One more ends the
  oldest that waits for something from outside: for a head, or for the body of a caller that has not signed in. If all
  are busy with requests, the new one is ended. A proxy's address is not counted: it speaks for many.

Late connections are found by looking at all of them once a second. When the server stops, polls are answered at once,
and bodies under way are cut off: they continue where they ended.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from blindlabel.transport.server_limits import ServerLimits

_EVERY = 1.0
"""Seconds between two looks."""
_MOST_UNHEARD = 2**22
"""Bytes that may still arrive of a request that has been answered; a caller that sends more is not listening."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Front:
    """All connections of one server."""

    def __init__(
        self,
        limits: ServerLimits,
        proxies: Sequence[Network] = (),
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits, self.tls, self._proxies, self._clock = limits, tls, proxies, clock
        self.open: dict[_Connection, None] = {}
        """Open connections, the oldest first."""
        self._is_looking = False

    @property
    def settings(self) -> dict[str, Any]:
        """The settings for uvicorn."""
        return {
            "http": partial(_Connection, self),
            "loop": "asyncio",  # uvloop reads before TLS can begin
            "ws": "none",
            "h11_max_incomplete_event_size": self.limits.largest_head,
            "proxy_headers": bool(self._proxies),
            "forwarded_allow_ips": [str(network) for network in self._proxies],
        }

    def admit(self, new: _Connection) -> bool:
        """Whether there is room for a connection, or room could be made."""
        same = [one for one in self.open if one.address == new.address]
        if any(ipaddress.ip_address(new.address) in network for network in self._proxies):
            same = []
        for others, most in ((same, self.limits.address_connections), (list(self.open), self.limits.connections)):
            if len(others) >= most:
                oldest = next((one for one in others if one.is_waiting), None)
                if oldest is None:
                    return False
                oldest.end()
        self.open[new] = None
        if not self._is_looking:
            self._end_late(new.loop)
        return True

    def _end_late(self, loop: asyncio.AbstractEventLoop) -> None:
        """End connections whose other side has not done in time what it has to do, and look again after a second."""
        now = self._clock()
        for one in [one for one in self.open if one.is_late(now)]:
            one.end()
        self._is_looking = bool(self.open)
        if self._is_looking:
            loop.call_later(_EVERY, self._end_late, loop)


class _Connection(H11Protocol):
    """One connection. What is waited for, and since when, is noted whenever somebody looks."""

    def __init__(self, front: Front, **given: Any) -> None:
        super().__init__(**given)
        self._front, self.address, self._moved, self._drained, self._unheard = front, "", 0, 0, 0
        self._stage: tuple[object, ...] = ()
        self._beginning: asyncio.Task[None] | None = None
        self._early: bytearray | None = None  # what was decrypted before the connection was made

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls."""
        self.transport = transport
        self.address = str((transport.get_extra_info("peername") or ("",))[0])
        if not self._front.admit(self):
            transport.abort()
        elif self._front.tls is None:
            super().connection_made(transport)
        else:
            transport.pause_reading()
            self._early = bytearray()
            self._beginning = self.loop.create_task(self._begin_tls(transport, self._front.tls))

    async def _begin_tls(self, transport: asyncio.Transport, context: ssl.SSLContext) -> None:
        if transport.is_closing():
            return
        encrypted = None
        try:
            encrypted = await self.loop.start_tls(transport, self, context, server_side=True)
        except OSError as error:
            # Otherwise a reference cycle would keep a quarter of a megabyte for a while.
            traceback.clear_frames(error.__traceback__)
        if encrypted is None or encrypted.is_closing():
            self.end()
            return
        super().connection_made(encrypted)
        early, self._early = self._early, None
        self.data_received(bytes(early or b""))

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._front.open.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Something came."""
        if self._early is not None:
            self._early += data
        elif data:
            self._moved += len(data)
            super().data_received(data)
            is_answered = self.cycle is not None and self.cycle.response_complete
            self._unheard = self._unheard + len(data) if is_answered else 0
            if self._unheard > _MOST_UNHEARD:
                self.end()

    def resume_writing(self) -> None:
        """What was to be sent has been taken."""
        self._drained += 1
        super().resume_writing()

    def shutdown(self) -> None:
        """The server stops."""
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete:
            self.scope["state"]["is_stopping"] = True
            if self.cycle.more_body or self.flow.write_paused:
                self.end()

    def end(self) -> None:
        """End it at once."""
        self._front.open.pop(self, None)
        self.transport.abort()

    @property
    def is_waiting(self) -> bool:
        """Whether something has to come from a caller that has not signed in, or has no request here."""
        under_way = self.cycle is not None and not self.cycle.response_complete
        return not under_way or (self.cycle.more_body and "known" not in self.scope["state"])

    def is_late(self, now: float) -> bool:
        """Whether what is waited for should have come by now."""
        stage, seconds = self._expected()
        if stage != self._stage:
            self._stage, self._since, self._moved, self._seconds = stage, now, 0, seconds
        rate = self._moved / self._front.limits.slowest if stage[0] == "body" else 0.0
        return now - self._since > self._seconds + rate

    def _expected(self) -> tuple[tuple[object, ...], float]:
        """What the other side has to do now, and within how many seconds; unchanged until it has done it."""
        limits, cycle = self._front.limits, cast("RequestResponseCycle | None", self.cycle)
        if cycle is None:
            return ("head",), limits.head_seconds
        if self.flow.write_paused:
            unread = self.transport.get_write_buffer_size()
            return ("answer", cycle, self._drained), limits.body_seconds + unread / limits.slowest
        if cycle.response_complete:
            begun = self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]
            return ("next", cycle, bool(begun)), limits.head_seconds if begun else float("inf")
        if cycle.more_body and not self.flow.read_paused:
            return ("body", cycle), limits.body_seconds
        return ("ours", cycle), float("inf")
