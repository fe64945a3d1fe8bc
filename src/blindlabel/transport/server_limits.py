"""How much a coordinator's server accepts: every limit in one place, and two that are enforced here, the size and the
rate of requests. `front` enforces those of connections.

A request that says it is too large is refused before anything looks at it, token and sign-in included; one that does
not say so is cut off while it streams. deploy/Caddyfile sets the same sizes before the server. Every caller has a
bucket that fills with time and gives one request for each drop.
"""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blindlabel.errors import OutsideError
from blindlabel.protocol.letters import LARGEST_LETTER


class TooLarge(OutsideError):
    """More bytes than the server accepts."""


@dataclass(frozen=True)
class ServerLimits:
    """Every limit, in one place."""

    largest_body: int = 16 * 2**30
    """Bytes of one body."""
    largest_part: int = 64 * 2**20
    """Bytes of one request that continues a body."""
    largest_other: int = 2**16
    """Bytes of any other request: pages and sign-in, and a message of somebody who has not signed in: a join."""
    largest_head: int = 2**14
    """Bytes of a request before its body."""
    connections: int = 500
    """Connections that may be open at once."""
    address_connections: int = 64
    """Connections from one address."""
    head_seconds: float = 15.0
    """Seconds in which the head of a request has to arrive."""
    body_seconds: float = 20.0
    """Seconds after which a body has to arrive, and an answer has to be read, at the slowest rate."""
    slowest: float = 1024.0
    """Bytes per second."""
    owner_bytes: int = 64 * 2**30
    """Bytes of an owner's bodies in one study that are still needed, together."""
    owner_bodies: int = 10_000
    longest_wait: float = 25.0
    """Seconds that a request for messages may wait."""
    look_again: float = 1.0
    """Seconds after which it looks by itself: another process over the same database may have made a message."""
    requests_per_second: float = 100.0
    """Requests of one caller, with a burst of four times as many."""
    joins_per_second: float = 5.0
    """Requests without a token from one address."""
    free_disk: int = 2**28
    """Bytes of the disk that stay free; uploads that need them are refused."""

    def of_request(self, method: str, path: str) -> int:
        """Bytes that a request may have."""
        if method == "POST" and path == "/v1/messages":
            return LARGEST_LETTER
        if method == "PUT" and re.fullmatch("/v1/studies/[^/]*/bodies/[^/]*", path):
            return self.largest_part
        return self.largest_other


class Bounded:
    """Refuses requests that are too large, or say their size in two ways, on every route."""

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        parts = [scope["raw_path"], scope["query_string"], *(part for header in scope["headers"] for part in header)]
        if sum(map(len, parts)) > self.limits.largest_head:
            await _refuse(send, 431, f"The request's head is larger than {self.limits.largest_head} bytes.")
            return
        most, told = self.limits.of_request(scope["method"], scope["path"]), dict(scope["headers"])
        if b"content-length" in told and b"transfer-encoding" in told:  # a proxy may see another request behind it
            await _refuse(send, 400, "The request says its size in two ways.", (b"connection", b"close"))
            return
        length = told.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > most:
            await _refuse(send, 413, _sentence(most))
            return
        size, begun = 0, False

        async def bounded_receive() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                raise TooLarge(_sentence(most))
            return message

        async def watched_send(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, bounded_receive, watched_send)
        except TooLarge:
            if begun:
                raise
            await _refuse(send, 413, _sentence(most))


def _sentence(most: int) -> str:
    return f"The request is larger than {most} bytes."


async def _refuse(send: Send, status: int, sentence: str, *more: tuple[bytes, bytes]) -> None:
    body = json.dumps({"error": "malformed" if status == 400 else "large", "sentence": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class TooManyRequests(OutsideError):
    """The caller asks too often, and should wait a second."""


class RateLimit:
    """Buckets by caller. Full buckets are forgotten, so the memory is bounded by the callers of the last seconds."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def check(self, caller: str) -> None:
        """Count one request; `TooManyRequests` if the bucket is empty."""
        now = time.monotonic()
        with self._lock:
            level, then = self._buckets.get(caller, (self._burst, now))
            level = min(self._burst, level + (now - then) * self._per_second)
            if len(self._buckets) > 10_000:
                self._forget(now)
            self._buckets[caller] = (max(level - 1, 0.0), now)
        if level < 1:
            raise TooManyRequests("Too many requests. Wait a second and go on.")

    def _forget(self, now: float) -> None:
        fill = self._burst / self._per_second
        self._buckets = {caller: known for caller, known in self._buckets.items() if now - known[1] < fill}
