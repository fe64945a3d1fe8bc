"""The coordinator over HTTP: an application that carries messages and bodies in and out. No rules of the protocol here.

- `POST /v1/messages` takes one message; a join needs no token (it proves the invitation), everything else the token of
  its sender.
- `GET /v1/studies/{study}/messages` gives the caller's messages after a number, waiting for one if asked to.
- `PUT /v1/studies/{study}/bodies/{hash}` takes the next part of a body, `GET …/arrived` says how much of the caller's
  own upload has arrived, `GET` gives a body or a range of it.
- `GET /health` says that the database answers, and how the coordinator's own work goes.

Bodies go straight to disk and can be continued at any byte. Everything has a size limit, and every caller a rate limit.
Logs are lines of JSON with method, route, status, sizes and times; never any content, token or address with a secret.

Beside it the coordinator's own work goes on (`background`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blindlabel import __version__
from blindlabel.errors import InputError, OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol import messages
from blindlabel.protocol.invitation import token_hash
from blindlabel.protocol.letters import LARGEST_LETTER
from blindlabel.protocol.refusals import ProtocolError, WrongSender, WrongStudy
from blindlabel.protocol.shape import Blob
from blindlabel.protocol.standing import Known, Life
from blindlabel.storage.files import PIECE, BodyDamaged, WrongOffset
from blindlabel.transport.background import Background
from blindlabel.transport.events import Counted, failure, log_event
from blindlabel.transport.replies import CHECK, LIFE, Accepted, Arrived, Health, Refusal, Waiting, asked, checksum
from blindlabel.transport.server_limits import Bounded, RateLimit, ServerLimits, TooLarge, TooManyRequests

log = logging.getLogger("blindlabel.server")

_STATUS = {
    "malformed": 400, "version": 400, "study": 404, "sender": 403, "receiver": 403, "round": 409, "replayed": 409,
    "early": 425, "life": 409, "content": 422, "refused": 400,
}  # fmt: skip

_LIVES = 1000
"""Characters of the names of lives that are read from one request."""

StudyHash = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The agreement's hash.")]
BodyHash = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="BLAKE2b of the body, 32 bytes in hexadecimal.")]
Length = Annotated[int, Query(ge=0, le=2**42, description="Length of the whole body.")]
Offset = Annotated[int, Query(ge=0, le=2**42, description="Where the request begins in the body.")]
Authorization = Annotated[str | None, Header(description="`Bearer` and the owner's token.")]
_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_BINARY = {"requestBody": {"content": _BYTES, "required": True}}

_STRANGER = "The message carries no token that is known here, and is no join."


@dataclass
class _Server:
    """What the routes share."""

    coordinator: CoordinatorParty
    limits: ServerLimits
    callers: RateLimit = field(init=False)
    strangers: RateLimit = field(init=False)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.callers = RateLimit(self.limits.requests_per_second, 4 * self.limits.requests_per_second)
        self.strangers = RateLimit(self.limits.joins_per_second, 4 * self.limits.joins_per_second)

    async def is_known(self, request: Request, authorization: str | None, study: str | None = None) -> str | None:
        """The owner whose token this is, in this study or any; None for a stranger, and strangers are slowed."""
        _check(request, asked(request.method, request.scope["path"], request.scope["query_string"], request.headers))
        kind, _, token = (authorization or "").partition(" ")
        if kind == "Bearer" and 20 <= len(token) <= 100:
            hashed = token_hash(token)
            owner = await run_in_threadpool(self.coordinator.store.owner_of_token, study, hashed)
            if owner is not None:
                self.callers.check(hashed)
                request.state.known = True
                return owner
        self.strangers.check(_address(request))
        return None

    async def caller(self, request: Request, study: str, authorization: str | None) -> str:
        """The owner of this study whose token this is."""
        owner = await self.is_known(request, authorization, study)
        if owner is None:
            raise WrongSender("The request carries no token of this study.")
        request.state.owner, request.state.study = owner, study[:12]
        name, *before = request.headers.get(LIFE, "")[:_LIVES].split() or [""]
        if name:
            life = Life(name=name[:64], before=tuple(before))
            await run_in_threadpool(self.coordinator.check_life, study, owner, life)
        return owner

    def wake(self) -> None:
        """Let requests that wait for messages look again."""
        self.news.set()
        self.news = asyncio.Event()


def create_app(
    coordinator: CoordinatorParty,
    limits: ServerLimits | None = None,
    counted: Counted | None = None,
    background: Background | None = None,
) -> FastAPI:
    """The application; the coordinator's own work goes on while it runs, and is waited for when it stops."""
    server = _Server(coordinator, limits or ServerLimits())
    background = background or Background(coordinator)

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(coordinator.store.remove_orphans)
        working = asyncio.create_task(background.run(lambda: server.news, server.wake))
        yield
        background.stop()
        server.wake()
        await working

    app = FastAPI(title="blindlabel coordinator", version=__version__, lifespan=life, docs_url=None, redoc_url=None)
    app.state.coordinator = coordinator
    app.add_exception_handler(ProtocolError, _refuse)
    app.add_exception_handler(OutsideError, _refuse)
    app.add_exception_handler(InputError, _refuse)
    app.add_exception_handler(ClientDisconnect, lambda *_: Response(status_code=408))  # nobody reads it
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
        if trouble := background.trouble():
            raise CannotServe(trouble)
        request.state.idle = True
        open_studies = sum(1 for row in studies if not row.ended)
        return Health(status="well", version=__version__, studies=open_studies, last_look=background.last_look)

    return app


def _add_message_routes(app: FastAPI, server: _Server, refusals: dict[int | str, dict[str, Any]]) -> None:
    coordinator, limits = server.coordinator, server.limits

    @app.post("/v1/messages", responses=refusals, openapi_extra=_BINARY)
    async def post_message(request: Request, authorization: Authorization = None) -> Accepted:
        known = await server.is_known(request, authorization)
        if not known and int(request.headers.get("Content-Length", 0)) > limits.largest_other:
            raise WrongSender(_STRANGER)  # too large for a join: nothing of it is read
        letter = await _body(request, LARGEST_LETTER if known else limits.largest_other)
        _check(request, checksum(letter), of_content=True)
        wire = await run_in_threadpool(coordinator.unseal, letter)
        message = messages.parse(wire).message
        if not known and message.kind != "join":
            raise WrongSender(_STRANGER)
        if message.kind != "join" and await server.caller(request, message.study, authorization) != message.sender:
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
        mark: Annotated[str, Query(max_length=64, description="Comes back with the answer.")] = "",
        written: Annotated[int, Query(ge=0, le=2**31 - 1, description="Saved questions of the caller's round.")] = 0,
        wait: Annotated[float, Query(ge=0, le=3600)] = 0,
        authorization: Authorization = None,
    ) -> Waiting:
        owner = await server.caller(request, study, authorization)
        known = Known(received=after, latest=latest, has=has, mark=mark, written=written)
        standing = await run_in_threadpool(coordinator.hears, study, owner, known)
        until, waited = time.monotonic() + min(wait, limits.longest_wait), False
        while True:
            news = server.news
            found = await run_in_threadpool(coordinator.store.outgoing, study, owner, after)
            left = 0.0 if hasattr(request.state, "is_stopping") else until - time.monotonic()
            if found or left <= 0 or await request.is_disconnected():
                request.state.idle = not found
                if waited:  # what was true when the request came may have changed
                    standing = await run_in_threadpool(coordinator.hears, study, owner, known)
                letters = coordinator.letters(study, owner)
                answer = Waiting(messages=[letters.seal(wire).decode() for wire in found], standing=standing)
                return answer.model_copy(update={"check": answer.checked()})
            waited = True
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), min(left, limits.look_again))


def _add_body_routes(app: FastAPI, server: _Server, refusals: dict[int | str, dict[str, Any]]) -> None:
    coordinator = server.coordinator

    @app.get("/v1/studies/{study}/bodies/{hash}/arrived", responses=refusals)
    async def get_arrived(
        request: Request, study: StudyHash, hash: BodyHash, length: Length, authorization: Authorization = None
    ) -> Arrived:
        owner = await server.caller(request, study, authorization)
        bodies, blob = coordinator.store.bodies(study), Blob(hash=hash, length=length)
        received = await run_in_threadpool(bodies.received, blob, owner)
        # all bytes may be there and not yet checked, if a process died over it
        complete = await run_in_threadpool(bodies.has_from, blob, owner)
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
        if coordinator.store.free() - length < limits.free_disk:
            raise DiskFull("The coordinator's disk is full. Its operator has to make room; then send again.")
        announce = partial(coordinator.store.announce, study, owner, blob, limits.owner_bytes, limits.owner_bodies)
        if not await run_in_threadpool(announce):
            raise TooLarge("Your uploads to this study are more than the coordinator takes. Ask its operator.")
        received = offset
        async for piece in _pieces(request):
            received = await run_in_threadpool(bodies.append, blob, received, [piece], owner)
        if length == 0 or received == offset:
            received = await run_in_threadpool(bodies.append, blob, offset, [], owner)
        return Arrived(received=received, complete=received == length)


class CannotServe(OutsideError):
    """The server is up, but cannot do its work."""


class DiskFull(OutsideError):
    """No room for a body."""


class RequestDamaged(OutsideError):
    """A request was changed on its way."""


_OUTSIDE = {
    TooManyRequests: (429, "rate"), TooLarge: (413, "large"), BodyDamaged: (422, "damaged"),
    RequestDamaged: (422, "damaged"), WrongOffset: (409, "offset"), DiskFull: (507, "disk"),
}  # fmt: skip


def _check(request: Request, found: str, *, of_content: bool = False) -> None:
    """Refuse a request that says another checksum than the one that was found. A life always says them."""
    said = request.headers.get(CHECK, "").partition(" ")
    if (said[0] or LIFE in request.headers) and said[2 if of_content else 0] != found:
        raise RequestDamaged("The request was changed on its way.")


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """The request's body in pieces of about a megabyte."""
    held = bytearray()
    async for chunk in request.stream():
        held += chunk
        if len(held) >= PIECE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


async def _body(request: Request, most: int) -> bytes:
    """All of the request's body."""
    held = bytearray()
    async for chunk in request.stream():
        held += chunk
        if len(held) > most:
            raise TooLarge(f"The message is larger than {most} bytes.")
    return bytes(held)


async def _refuse(_request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, ProtocolError):
        status, code = _STATUS[error.code], error.code
    else:
        status, code = _OUTSIDE.get(type(error), (503, "outside"))
    if status >= 500:
        log_event(log, logging.ERROR, "failed", **failure(error))
    own = "The coordinator cannot use its own files now. Its operator has to look."
    said = {"error": code, "sentence": own if isinstance(error, InputError) else str(error)}
    return JSONResponse(said, status, {"Retry-After": "1"} if status == 429 else {})


class _Logged:
    """Counts every request once its answer has been sent, and logs it, except for polls that bring nothing: the log of
    a waiting study must not grow.
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
