"""The owner's app as a server on this machine: one workspace, loopback only, behind a guard. `serve` runs until
stopped. It prints nothing itself; `on_ready` gets the links that let browsers in, one each.

The guard is an ASGI application around the app that lets in this machine's own browser and nobody else:

1. The `Host` must be one of the app's own addresses: a page that rebinds its name to 127.0.0.1 comes with its own name
   and is refused.
2. A request that names an `Origin`, or whose `Sec-Fetch-Site` says that another site caused it, must come from the
   app's own address; the one exception is following a link to a page, which carries no rights until rule 3 is met.
   Websockets need their `Origin`.
3. Every request needs the session cookie. A start link carries a token which is exchanged for that cookie by the first
   browser that opens it, and by no other; the cookie is HttpOnly and SameSite=Strict, and named after the instance,
   since all ports of 127.0.0.1 share their cookies. It holds a number for the browser and a keyed hash of that number,
   so it is good for as long as the workspace has its key, over restarts too.

What the app answers gets headers that forbid framing, sniffing, referrers, other sites' content and storing pages.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import threading
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from nicegui import ui
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blindlabel.errors import InputError, OutsideError
from blindlabel.export.formats import FORMATS, archive_of
from blindlabel.protocol.advice import so_far
from blindlabel.storage.workspace import Workspace
from blindlabel.web.app import OwnerApp
from blindlabel.web.owner_page import OwnerPage
from blindlabel.web.plots import agreement_plot, rounds_of_owner

# The guard

TOKEN = "token"  # noqa: S105 - the name of the parameter
BROWSER = "blindlabel.browser"
"""Under this name the application finds the browser's number in the scope of a request."""

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
# The framework compiles its templates in the browser, hence the two 'unsafe'; nothing can be loaded from or sent to
# anywhere else.
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src"
    " 'self' data:; font-src 'self' data:; connect-src 'self' {sockets}; form-action 'self'; frame-ancestors 'none';"
    " base-uri 'none'; object-src 'none'"
)


NO_LINK = (
    "This browser has not been let in yet. Open the link that <code>blindlabel owner annotate</code> printed in its"
    " window; it begins with this address and carries a token. Where the window is gone, stop the app and start it"
    " again: it prints a new link."
)
USED_LINK = (
    "This link has been used: it lets one browser in. Go on in the browser that opened it first. For another browser,"
    " stop the app and start <code>blindlabel owner annotate</code> again, with <code>--browsers 2</code> for two."
    " Nothing that was written is lost by that."
)
_HELP_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Not let in – blindlabel</title>'
    "<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:38rem;margin:3rem auto;padding:0 1rem}}</style>"
    "<main><h1>This browser is not let in</h1><p>{}</p></main></html>"
)


class Guard:
    """Wraps an application; see the rules above."""

    def __init__(self, app: ASGIApp, *, port: int, tokens: Iterable[str], key: str, instance: str) -> None:
        self.app = app
        self.hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self.cookie = f"blindlabel-{instance}"
        self._tokens = list(tokens)
        self._used: list[str] = []
        self._key = key.encode()
        sockets = " ".join(f"ws://{host}" for host in sorted(self.hosts))
        self._headers = _HEADERS | {"content-security-policy": _POLICY.format(sockets=sockets)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        browser = self._browser(scope)
        token = self._token(scope)
        if not refusal and browser is None and token is None:
            refusal = NO_LINK
        if not refusal and browser is None and token in self._used:
            refusal = USED_LINK
        if refusal and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        elif refusal:
            helps = refusal in (NO_LINK, USED_LINK)
            page = {"content-type": "text/html; charset=utf-8"} if helps else {}
            await _answer(send, 403, _HELP_PAGE.format(refusal) if helps else refusal, self._headers | page)
        elif token is not None:
            await self._exchange(send, token, browser)
        else:
            await self.app({**scope, BROWSER: browser}, receive, self._with_headers(scope, send))

    def _refusal(self, scope: Scope) -> str | None:
        """Why this request is none of ours; None where it may be."""
        if _all(scope, "host") not in ([host] for host in self.hosts):
            return "This address is not the app's own."
        own = {f"http://{host}" for host in self.hosts}
        origins = _all(scope, "origin")
        if any(origin not in own for origin in origins) or (scope["type"] == "websocket" and not origins):
            return "Another site cannot use this app."
        caused_by = (_all(scope, "sec-fetch-site") or ["none"])[-1]
        followed_link = scope.get("method") == "GET" and _all(scope, "sec-fetch-mode") == ["navigate"]
        if caused_by not in ("none", "same-origin") and not (
            followed_link and _all(scope, "sec-fetch-dest") == ["document"]
        ):
            return "Another site cannot use this app."
        return None

    def _token(self, scope: Scope) -> str | None:
        """The start link's token that a request carries, used or not."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != "/":
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get(TOKEN, [""])[-1]
        return next((token for token in [*self._tokens, *self._used] if _same(given, token)), None)

    def _browser(self, scope: Scope) -> str | None:
        """The number of the browser whose cookie a request carries."""
        for header in _all(scope, "cookie"):
            cookies: SimpleCookie = SimpleCookie()
            try:
                cookies.load(header)
            except CookieError:
                continue
            number, _, proof = (cookies[self.cookie].value if self.cookie in cookies else "").partition(".")
            if number and _same(proof, self._proof(number)):
                return number
        return None

    def _proof(self, browser: str) -> str:
        return hmac.new(self._key, browser.encode(), hashlib.sha256).hexdigest()

    async def _exchange(self, send: Send, token: str, browser: str | None) -> None:
        """Give a browser its cookie, once, and take the token out of its address bar."""
        answer = {"location": "/", "cache-control": "no-store"}
        if browser is None:
            self._tokens.remove(token)
            self._used.append(token)
            number = secrets.token_hex(16)
            answer["set-cookie"] = f"{self.cookie}={number}.{self._proof(number)}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 303, "", self._headers | answer)

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        stored = scope["path"].startswith("/_nicegui/") or scope["path"].startswith("/static/")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = self._headers if stored else self._headers | {"cache-control": "no-store"}
                kept = [
                    (name, value)
                    for name, value in message.get("headers", [])
                    if name.decode("latin-1").lower() not in extra
                ]
                message = {**message, "headers": kept + _encoded(extra)}
            await send(message)

        return guarded


def _all(scope: Scope, name: str) -> list[str]:
    """Every value of a header, in lower case except for cookies."""
    wanted = name.encode()
    found = [value.decode("latin-1") for key, value in scope.get("headers", []) if key.lower() == wanted]
    return found if name == "cookie" else [value.strip().lower() for value in found]


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _answer(send: Send, status: int, text: str, headers: dict[str, str]) -> None:
    body = text.encode()
    fields = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), **headers}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(fields)})
    await send({"type": "http.response.body", "body": body})


# The server

HOST = "127.0.0.1"
RECONNECT = 3600.0
"""Seconds that a tab without connection is waited for, so that a machine that slept does not lose what its tab shows.
"""
_PORT = "web_port"
_STATIC = Path(__file__).parent / "browser"


def create_app(app: OwnerApp) -> FastAPI:
    """The application with all its routes. One a process: the framework has one page registry."""
    api = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @api.get("/plot.svg")
    def plot() -> Response:
        return Response(agreement_plot(so_far(rounds_of_owner(app.cache.state))), media_type="image/svg+xml")

    @api.get("/export/{peer}/{format}")
    def export(peer: str, format: str) -> Response:
        truth = app.truths().get(peer)
        if truth is None or format not in FORMATS:
            raise HTTPException(404, "There is no such export.")
        headers = {"Content-Disposition": f'attachment; filename="ground-truth-{peer}-{format}.zip"'}
        return Response(archive_of(truth, format), media_type="application/zip", headers=headers)

    @api.post("/upload")
    async def upload(name: str, request: Request) -> Response:
        try:
            return PlainTextResponse(await app.uploads.receive(name, request))
        except InputError as error:
            return PlainTextResponse(str(error), 413)

    _add_pages(app)
    from nicegui import app as framework  # noqa: PLC0415 - beside our own `app`

    framework.add_static_files("/static", _STATIC)
    ui.run_with(
        api,
        title="blindlabel",
        dark=None,
        language="en-US",
        reconnect_timeout=RECONNECT,
        tailwind=False,
        show_welcome_message=False,
        favicon=_FAVICON,
    )
    return api


def _add_pages(app: OwnerApp) -> None:
    def build(shown: OwnerApp, browser: str, record: int | None) -> None:
        ui.colors(
            primary="#0b5f66",
            secondary="#34495e",
            accent="#0b5f66",
            positive="#1b6e3c",
            negative="#a8281e",
            warning="#8a5a00",
        )
        ui.add_head_html('<link rel="stylesheet" href="/static/app.css">')
        OwnerPage(shown, browser, record)

    @ui.page("/", title=f"{app.workspace.agreement.name} – blindlabel")
    def page(request: Request, record: int | None = None) -> None:
        build(app, str(request.scope.get(BROWSER, "")), record)

    @ui.page("/practice", title="Practice – blindlabel")
    def practice(request: Request, record: int | None = None) -> Response | None:
        browser = str(request.scope.get(BROWSER, ""))
        name = app.cache.annotations.name_of(browser)
        found = app.practice_of(name) if name else None
        if found is None:
            return RedirectResponse("/")
        found.cache.annotations.name(browser, name)
        build(found, browser, record)
        return None


_FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5f66"/>'
    '<path d="M8 10h10M8 16h16M8 22h7" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>'
)


def serve(app: OwnerApp, *, port: int | None = None, browsers: int = 1, on_ready: Callable[[list[str]], None]) -> None:
    """Serve the app until stopped. Without a port, the one of last time where it is free, so that an open tab finds it
    again.
    """
    workspace = app.workspace
    listening = _listen(workspace, port)
    chosen: int = listening.getsockname()[1]
    workspace.remember(_PORT, str(chosen))
    tokens = [secrets.token_urlsafe(24) for _ in range(browsers)]
    app.prepare()
    instance = workspace.agreement.hash[:8] + workspace.name[:8].encode().hex()
    guard = Guard(create_app(app), port=chosen, tokens=tokens, key=_key(workspace), instance=instance)
    config = uvicorn.Config(
        guard, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)

    def ready() -> None:
        on_ready([f"http://{HOST}:{chosen}/?{TOKEN}={token}" for token in tokens])

    announcing = threading.Timer(0.0, _when_started, (server, ready))
    announcing.daemon = True
    announcing.start()
    server.run(sockets=[listening])


def _when_started(server: uvicorn.Server, then: Callable[[], None]) -> None:
    waiting = threading.Event()
    while not server.started and not server.should_exit:
        waiting.wait(0.02)
    if server.started:
        then()


def _listen(workspace: Workspace, port: int | None) -> socket.socket:
    """A listening socket on loopback."""
    wanted = port if port is not None else int(workspace.remembered(_PORT) or 0)
    for number in dict.fromkeys((wanted, 0) if port is None else (wanted,)):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, number))
        except OSError:
            listening.close()
            continue
        listening.listen(128)
        return listening
    raise OutsideError(f"Port {wanted} on {HOST} is in use. Choose another with --port.")


def _key(workspace: Workspace) -> str:
    """What browsers' cookies are made with. It stays over restarts, so that an open tab goes on working."""
    if not (workspace.folder / "web.key").exists():
        workspace.keep_secret("web", secrets.token_urlsafe(32).encode())
    return workspace.secret("web").decode()
