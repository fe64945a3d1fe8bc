"""The owner's app as a server on this machine: one workspace, loopback only, behind the guard.

`serve` runs until stopped. It prints nothing itself; `on_ready` gets the links that let browsers in, one each.
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse
from nicegui import ui

from blindlabel.errors import InputError, OutsideError
from blindlabel.export.formats import FORMATS, archive_of
from blindlabel.storage.secret_files import read_secret, write_secret
from blindlabel.storage.workspace import Workspace
from blindlabel.web.app import OwnerApp
from blindlabel.web.guard import BROWSER, TOKEN, Guard
from blindlabel.web.owner_page import OwnerPage
from blindlabel.web.plots import agreement_plot, rounds_of_owner

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
        return Response(agreement_plot(rounds_of_owner(app.cache.state)), media_type="image/svg+xml")

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

    @ui.page("/", title=f"{app.workspace.agreement.name} – blindlabel")
    def page(request: Request, record: int | None = None) -> None:
        ui.colors(
            primary="#0b5f66",
            secondary="#34495e",
            accent="#0b5f66",
            positive="#1b6e3c",
            negative="#a8281e",
            warning="#8a5a00",
        )
        ui.add_head_html('<link rel="stylesheet" href="/static/app.css">')
        OwnerPage(app, str(request.scope.get(BROWSER, "")), record)

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


_FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5f66"/>'
    '<path d="M8 10h10M8 16h16M8 22h7" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>'
)


def serve(
    workspace: Workspace, *, port: int | None = None, browsers: int = 1, on_ready: Callable[[list[str]], None]
) -> None:
    """Serve the app until stopped. Without a port, the one of last time where it is free, so that an open tab finds it
    again.
    """
    listening = _listen(workspace, port)
    chosen: int = listening.getsockname()[1]
    workspace.remember(_PORT, str(chosen))
    tokens = [secrets.token_urlsafe(24) for _ in range(browsers)]
    app = OwnerApp(workspace)
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
    path = workspace.folder / "web.key"
    if not path.exists():
        write_secret(path, secrets.token_urlsafe(32).encode())
    return read_secret(path).decode()
