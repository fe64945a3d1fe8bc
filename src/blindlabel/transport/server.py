"""The coordinator over HTTP: an application that carries messages and bodies in and out. No rules of the protocol here.

- `POST /v1/messages` takes one message; a join needs no token (it proves the invitation), everything else the token of
  its sender.
- `GET /v1/studies/{study}/messages` gives the caller's messages after a number, waiting for one if asked to.
- `PUT /v1/studies/{study}/bodies/{hash}` takes the next part of a body, `GET …/arrived` says how much of the caller's
  own upload has arrived, `GET` gives a body or a range of it.
- `GET /health` says that the database answers.

Bodies go straight to disk and can be continued at any byte. Everything has a size limit, every caller a rate limit.
Logs are lines of JSON with method, route, status, sizes and times; never a content, a token or an address with a
secret.

Beside it the coordinator's own work goes on: every study's, soon after a message came, and now and then anyway. Studies
are worked on at the same time, so that a large one does not hold up the others.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blindlabel import __version__
from blindlabel.errors import InputError, OutsideError
from blindlabel.protocol import messages
from blindlabel.protocol.interfaces import Service
from blindlabel.protocol.invitation import token_hash
from blindlabel.protocol.refusals import ProtocolError, WrongSender, WrongStudy
from blindlabel.protocol.shape import Blob
from blindlabel.protocol.standing import Known
from blindlabel.storage.files import PIECE, BodyDamaged, WrongOffset
from blindlabel.transport.events import Counted, failure, log_event
from blindlabel.transport.replies import Accepted, Arrived, Health, Refusal, Waiting
from blindlabel.transport.server_limits import Bounded, RateLimit, ServerLimits, TooLarge, TooManyRequests

log = logging.getLogger("blindlabel.server")

_STATUS = {
    "malformed": 400, "version": 400, "study": 404, "sender": 403, "receiver": 403, "round": 409, "replayed": 409,
    "early": 425, "life": 409,
    "content": 422, "refused": 400,
}  # fmt: skip

StudyHash = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The agreement's hash.")]
BodyHash = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="BLAKE2b of the body, 32 bytes in hexadecimal.")]
Length = Annotated[int, Query(ge=0, le=2**42, description="Length of the whole body.")]
Offset = Annotated[int, Query(ge=0, le=2**42, description="Where the request begins in the body.")]
Authorization = Annotated[str | None, Header(description="`Bearer` and the owner's token.")]
_BINARY = {
    "requestBody": {
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "required": True,
    }
}


@dataclass
class _Server:
    """What the routes share."""

    coordinator: Service
    limits: ServerLimits
    callers: RateLimit = field(init=False)
    strangers: RateLimit = field(init=False)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.callers = RateLimit(self.limits.requests_per_second, 4 * self.limits.requests_per_second)
        self.strangers = RateLimit(self.limits.joins_per_second, 4 * self.limits.joins_per_second)

    async def caller(self, request: Request, study: str, authorization: str | None) -> str:
        """The owner whose token this is."""
        kind, _, token = (authorization or "").partition(" ")
        if kind != "Bearer" or not 20 <= len(token) <= 100:
            self.strangers.check(_address(request))
            raise WrongSender("The request carries no token.")
        hashed = token_hash(token)
        owner = await run_in_threadpool(self.coordinator.store.owner_of_token, study, hashed)
        if owner is None:
            self.strangers.check(_address(request))
            raise WrongSender("The token is not one of this study.")
        self.callers.check(hashed)
        request.state.owner, request.state.study = owner, study[:12]
        if life := request.headers.get("Blindlabel-Life", "")[:64]:
            await run_in_threadpool(self.coordinator.check_life, study, owner, life)
        return owner

    def wake(self) -> None:
        """Let requests that wait for messages look again."""
        self.news.set()
        self.news = asyncio.Event()


def create_app(coordinator: Service, limits: ServerLimits | None = None, counted: Counted | None = None) -> FastAPI:
    """The application; its background task does the coordinator's own work."""
    server = _Server(coordinator, limits or ServerLimits())

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(coordinator.store.remove_orphans)
        working = asyncio.create_task(work_for_ever(coordinator, lambda: server.news, server.wake))
        yield
        working.cancel()

    app = FastAPI(title="blindlabel coordinator", version=__version__, lifespan=life, docs_url=None, redoc_url=None)
    app.state.coordinator = coordinator
    app.add_exception_handler(ProtocolError, _refuse)
    app.add_exception_handler(OutsideError, _refuse)
    app.add_exception_handler(InputError, _refuse)
    app.add_middleware(Bounded, limits=server.limits)
    app.add_middleware(_Logged, counted=counted or Counted())
    refusals: dict[int | str, dict[str, Any]] = {
        code: {"model": Refusal} for code in (400, 403, 404, 409, 413, 422, 425, 429, 503, 507)
    }
    _add_message_routes(app, server, refusals)
    _add_body_routes(app, server, refusals)
    _add_upload_route(app, server, refusals)

    @app.get("/health", responses={503: {"model": Refusal}})
    async def health(request: Request) -> Health:
        unserved = await run_in_threadpool(coordinator.unserved)
        if unserved:
            raise CannotServe(f"{len(unserved)} of the studies cannot be served: their keys cannot be read.")
        free = coordinator.store.free()
        if free < server.limits.free_disk:
            raise DiskFull("The coordinator's disk is full. Its operator has to make room.")
        studies = await run_in_threadpool(coordinator.store.studies)
        request.state.idle = True
        return Health(status="well", version=__version__, studies=sum(1 for row in studies if not row.ended))

    return app


def _add_message_routes(app: FastAPI, server: _Server, refusals: dict[int | str, dict[str, Any]]) -> None:
    coordinator, limits = server.coordinator, server.limits

    @app.post("/v1/messages", responses=refusals, openapi_extra=_BINARY)
    async def post_message(request: Request, authorization: Authorization = None) -> Accepted:
        wire = await _body(request, messages.LARGEST)
        message = messages.parse(wire).message
        if message.kind == "join":
            server.strangers.check(_address(request))
        elif await server.caller(request, message.study, authorization) != message.sender:
            raise WrongSender("The token belongs to another owner than the message's sender.")
        new = await run_in_threadpool(coordinator.receive, wire)
        server.wake()
        return Accepted(new=new)

    @app.get("/v1/studies/{study}/messages", responses=refusals)
    async def get_messages(
        request: Request,
        study: StudyHash,
        after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
        latest: Annotated[str, Query(max_length=64, description="The digest of that message.")] = "",
        has: Annotated[str, Query(max_length=64, description="The tag of the caller's messages, as told.")] = "",
        wait: Annotated[float, Query(ge=0, le=3600)] = 0,
        authorization: Authorization = None,
    ) -> Waiting:
        owner = await server.caller(request, study, authorization)
        known = Known(received=after, latest=latest, has=has)
        standing = await run_in_threadpool(coordinator.hears, study, owner, known)
        until = time.monotonic() + min(wait, limits.longest_wait)
        while True:
            news = server.news
            found = await run_in_threadpool(coordinator.store.outgoing, study, owner, after)
            left = until - time.monotonic()
            if found or left <= 0:
                request.state.idle = not found
                return Waiting(messages=[wire.decode() for wire in found], standing=standing)
            try:  # another process over the same database may have made a message, so look again now and then
                await asyncio.wait_for(news.wait(), min(left, 1.0))
            except TimeoutError:
                continue


def _add_body_routes(app: FastAPI, server: _Server, refusals: dict[int | str, dict[str, Any]]) -> None:
    coordinator = server.coordinator

    @app.get("/v1/studies/{study}/bodies/{hash}/arrived", responses=refusals)
    async def get_arrived(
        request: Request, study: StudyHash, hash: BodyHash, length: Length, authorization: Authorization = None
    ) -> Arrived:
        owner = await server.caller(request, study, authorization)
        bodies, blob = coordinator.store.bodies(study), Blob(hash=hash, length=length)
        received = await run_in_threadpool(bodies.received, blob, owner)
        complete = await run_in_threadpool(
            bodies.has_from, blob, owner
        )  # all bytes may be there and not checked yet, where a process died over it
        return Arrived(received=received, complete=complete)

    @app.get("/v1/studies/{study}/bodies/{hash}", responses=refusals, response_class=Response)
    async def get_body(
        request: Request, study: StudyHash, hash: BodyHash, offset: Offset = 0, authorization: Authorization = None
    ) -> Response:
        owner = await server.caller(request, study, authorization)
        blob = await run_in_threadpool(coordinator.store.fetchable, study, owner, hash)
        if blob is None or offset > blob.length:
            raise WrongStudy("There is no such body for this owner.")
        pieces = coordinator.store.bodies(study).read(blob, offset)
        headers = {"Content-Length": str(blob.length - offset)}
        return StreamingResponse(pieces, media_type="application/octet-stream", headers=headers)


def _add_upload_route(app: FastAPI, server: _Server, refusals: dict[int | str, dict[str, Any]]) -> None:
    coordinator, limits = server.coordinator, server.limits

    @app.put("/v1/studies/{study}/bodies/{hash}", responses=refusals, openapi_extra=_BINARY)
    async def put_body(
        request: Request,
        study: StudyHash,
        hash: BodyHash,
        length: Length,
        offset: Offset = 0,
        authorization: Authorization = None,
    ) -> Arrived:
        owner = await server.caller(request, study, authorization)
        if length > limits.largest_body:
            raise TooLarge(f"The body is larger than {limits.largest_body} bytes.")
        bodies, blob = coordinator.store.bodies(study), Blob(hash=hash, length=length)
        announce = partial(coordinator.store.announce, study, owner, blob, limits.owner_bytes, limits.owner_bodies)
        if not await run_in_threadpool(announce):
            raise TooLarge("Your uploads to this study are more than the coordinator takes. Ask its operator.")
        if coordinator.store.free() - length < limits.free_disk:
            raise DiskFull("The coordinator's disk is full. Its operator has to make room; then send again.")
        received = offset
        async for piece in _pieces(request, limits.largest_part):
            received = await run_in_threadpool(bodies.append, blob, received, [piece], owner)
        if length == 0 or received == offset:
            received = await run_in_threadpool(bodies.append, blob, offset, [], owner)
        return Arrived(received=received, complete=received == length)


class CannotServe(OutsideError):
    """The server is up, and cannot do its work."""


class DiskFull(OutsideError):
    """No room for a body."""


async def _pieces(request: Request, most: int) -> AsyncIterator[bytes]:
    """The request's body in pieces of about a megabyte."""
    held, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise TooLarge(f"The request is larger than {most} bytes.")
        held += chunk
        if len(held) >= PIECE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


async def _body(request: Request, most: int) -> bytes:
    return b"".join([piece async for piece in _pieces(request, most)])


async def _refuse(_request: Request, error: Exception) -> JSONResponse:
    headers = {}
    if isinstance(error, ProtocolError):
        status, code = _STATUS[error.code], error.code
    elif isinstance(error, TooManyRequests):
        status, code, headers = 429, "rate", {"Retry-After": "1"}
    elif isinstance(error, (TooLarge, BodyDamaged, WrongOffset)):
        status, code = {TooLarge: (413, "large"), BodyDamaged: (422, "damaged"), WrongOffset: (409, "offset")}[
            type(error)
        ]
    else:
        status, code = (507, "disk") if isinstance(error, DiskFull) else (503, "outside")
        log_event(log, logging.ERROR, "failed", **failure(error))
    sentence = (
        "The coordinator cannot use its own files now. Its operator has to look."
        if isinstance(error, InputError)
        else str(error)
    )
    return JSONResponse({"error": code, "sentence": sentence}, status, headers)


class _Logged:
    """Counts every request once its answer has been sent, and writes a line for it; none for a poll that brings
    nothing, so that the log of a study that waits does not grow.
    """

    def __init__(self, app: ASGIApp, counted: Counted) -> None:
        self.app = app
        self.counted = counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, sizes, status = time.perf_counter(), {"in": 0, "out": 0}, 0

        async def counted_receive() -> Message:
            message = await receive()
            sizes["in"] += len(message.get("body", b""))
            return message

        async def counted_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    (b"cache-control", b"no-store"),
                    (b"x-content-type-options", b"nosniff"),
                ]
            sizes["out"] += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, counted_receive, counted_send)
        finally:
            known, route = scope.get("state", {}), getattr(scope.get("route"), "path", "")
            seconds = time.perf_counter() - began
            self.counted.request(route, status, seconds, sizes["in"], sizes["out"])
            facts = {"method": scope["method"], "route": route, "status": status, "ms": round(1000 * seconds, 1)}
            facts |= {**sizes, "study": known.get("study", ""), "owner": known.get("owner", "")}
            log_event(log, logging.DEBUG if known.get("idle") else logging.INFO, "request", **facts)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


# The coordinator's own work


_PAUSE = 2.0
"""Seconds between two looks when nothing came, and after a failure."""
_AT_ONCE = 4
"""Studies that are worked on at the same time."""


async def work_for_ever(coordinator: Service, news: Callable[[], asyncio.Event], wake: Callable[[], None]) -> None:
    """Do every study's work. `news` gives the event that the next message sets; `wake` tells those who wait for
    messages that there may be some.
    """
    underway: set[str] = set()
    again: set[str] = set()
    """Those of them for which something may have come since they were looked at."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def work(study: str) -> None:
        """One study's work; one that fails waits, and is tried again."""
        failed = True
        while failed or study in again:
            again.discard(study)
            async with turns:
                done, failed = await run_in_threadpool(_work_once, coordinator, study)
            if done:
                wake()
            if failed:
                await asyncio.sleep(_PAUSE)
        underway.discard(study)

    async with asyncio.TaskGroup() as group:
        while True:
            coming = news()
            for study in await run_in_threadpool(_open_studies, coordinator):
                if study in underway:
                    again.add(study)
                else:
                    underway.add(study)
                    group.create_task(work(study))
            try:
                await asyncio.wait_for(coming.wait(), _PAUSE)
            except TimeoutError:
                continue


def _open_studies(coordinator: Service) -> list[str]:
    try:
        return [row.study for row in coordinator.store.studies() if not row.ended]
    except OutsideError as error:  # the database does not answer
        _log_failed_work(error)
        return []


def _work_once(coordinator: Service, study: str) -> tuple[bool, bool]:
    """One study's work; whether anything was done, and whether it failed."""
    try:
        return coordinator.work(study), False
    except WrongStudy:  # deleted meanwhile
        return False, False
    except Exception as error:  # whatever it is, the others' work goes on, and this one is tried again
        _log_failed_work(error, study)
        return False, True


def _log_failed_work(error: Exception, study: str = "") -> None:
    log_event(log, logging.ERROR, "work failed", study=study[:12], **failure(error))
