"""The owner's app as a server: one workspace, behind the guard (`web.guard`). It listens on loopback, for this
machine's own browsers, unless it is served to other machines behind a proxy. `serve` runs until stopped. It prints
nothing itself; `on_ready` gets the links that let browsers in, one each.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_network
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from nicegui import ui
from starlette.types import ASGIApp

from blindlabel.errors import InputError, OutsideError, reason
from blindlabel.export.formats import FORMATS, archive_of
from blindlabel.protocol.figures import so_far
from blindlabel.storage.access import Access, Session
from blindlabel.storage.workspace import Workspace
from blindlabel.web.app import OwnerApp
from blindlabel.web.guard import SESSION, TOKEN, Door, Guard
from blindlabel.web.owner_page import OwnerPage
from blindlabel.web.pages import STYLE, agreement_plot, rounds_of_owner, said_as_page

HOST = "127.0.0.1"
RECONNECT = 3600.0
"""Seconds to wait for a disconnected tab, so that a machine that slept does not lose what its tab shows.
"""
_PORT = "web_port"
_STATIC = Path(__file__).parent / "browser"


def create_app(app: OwnerApp) -> FastAPI:
    """The application with all its routes. One per process: the framework has one page registry."""
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

    _add_pages(app)
    from nicegui import app as framework  # noqa: PLC0415 - beside our own `app`

    for one in (api, framework):
        one.add_exception_handler(404, partial(said_as_page, style=STYLE))
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
    def build(shown: OwnerApp, session: Session, record: int | None) -> None:
        ui.colors(
            primary="#0b5f66",
            secondary="#34495e",
            accent="#0b5f66",
            positive="#1b6e3c",
            negative="#a8281e",
            warning="#8a5a00",
        )
        ui.add_head_html('<link rel="stylesheet" href="/static/app.css">')
        OwnerPage(shown, session, record)

    @ui.page("/", title=f"{app.workspace.agreement.name} – blindlabel")
    def page(request: Request, record: int | None = None) -> None:
        build(app, request.scope[SESSION], record)

    @ui.page("/practice", title="Practice – blindlabel")
    def practice(request: Request, record: int | None = None) -> Response | None:
        session = request.scope[SESSION]
        found = app.practice_of(session.name) if session.name else None
        if found is None:
            return RedirectResponse("/")
        build(found, session, record)
        return None


_FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5f66"/>'
    '<path d="M8 10h10M8 16h16M8 22h7" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>'
)


@dataclass(frozen=True)
class Serving:
    """Where the app listens, and for whom."""

    host: str = HOST
    """An address, or the path of a socket in the file system."""
    port: int | None = None
    """None: the same as last time if it is free, so that an open tab finds it again."""
    browsers: int = 1
    address: str = ""
    """Where people on other machines find it, through a proxy with TLS; empty: only this machine's browsers."""
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    header: str = ""
    """The header in which the proxy says who somebody is; empty: people have accounts."""

    def door(self, port: int) -> Door:
        """Whom the guard lets in."""
        if not self.address:
            return Door(frozenset({f"http://{HOST}:{port}", f"http://localhost:{port}"}))
        origin = self.address.lower().rstrip("/")
        if not re.fullmatch(r"https://([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d+)?", origin):
            raise InputError("--serve takes the address that people open: https://name, without a path.")
        try:
            networks = tuple(ip_network(one) for one in self.proxies)
        except ValueError as error:
            raise InputError(f"--proxy takes an address or a network of a proxy: {error}.") from error
        return Door(frozenset({origin.removesuffix(":443")}), networks, self.header)


def serve(
    app: OwnerApp,
    serving: Serving,
    *,
    on_ready: Callable[[list[str]], None],
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
) -> None:
    """Serve the app until stopped; `around` puts another application between it and the guard."""
    serving.door(0)  # errors in it are reported before anything is opened
    workspace = app.workspace
    access = Access(workspace.database)
    if serving.address and not serving.header and not access.accounts():
        raise InputError("Nobody could sign in. Make accounts with `blindlabel owner accounts add`, or --user-header.")
    with _listening(workspace, serving) as listener:
        chosen = 0 if listener.family == socket.AF_UNIX else int(listener.getsockname()[1])
        workspace.remember(_PORT, str(chosen))
        app.prepare()
        tokens = [] if serving.address else [secrets.token_urlsafe(24) for _ in range(serving.browsers)]
        instance = workspace.agreement.hash[:8] + workspace.name[:8].encode().hex()
        guard = Guard(around(create_app(app)), access, serving.door(chosen), tokens=tokens, instance=instance)
        config = uvicorn.Config(
            guard,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)

        def ready() -> None:
            on_ready([f"http://{HOST}:{chosen}/?{TOKEN}={token}" for token in tokens])

        announcing = threading.Timer(0.0, _when_started, (server, ready))
        announcing.daemon = True
        announcing.start()
        server.run(sockets=[listener])


def _when_started(server: uvicorn.Server, then: Callable[[], None]) -> None:
    waiting = threading.Event()
    while not server.started and not server.should_exit:
        waiting.wait(0.02)
    if server.started:
        then()


def _listening(workspace: Workspace, serving: Serving) -> socket.socket:
    """A listening socket. One in the file system is also open to the group of its folder, to which the proxy may
    belong.
    """
    if serving.host.startswith("/"):
        with contextlib.suppress(FileNotFoundError):
            if Path(serving.host).is_socket():
                Path(serving.host).unlink()
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(serving.host)
            Path(serving.host).chmod(0o660)
        except OSError as error:
            raise OutsideError(f"{serving.host} cannot be opened: {reason(error)}.") from error
        listener.listen(128)
        return listener
    wanted = serving.port if serving.port is not None else int(workspace.remembered(_PORT) or 0)
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    for number in dict.fromkeys((wanted, 0) if serving.port is None else (wanted,)):
        with contextlib.suppress(OSError):
            return socket.create_server((serving.host, number), family=family, backlog=128)
    raise OutsideError(f"Port {wanted} on {serving.host} is in use, or not this machine's. Choose another with --port.")
