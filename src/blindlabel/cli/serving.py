"""How `blindlabel coordinator serve` serves, over HTTP with uvicorn or from a folder, and `owner annotate` the owner's
web app on this machine.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import ipaddress
import signal
import socket
import ssl
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blindlabel.cli.output import result, say, with_noun
from blindlabel.cli.stores import workspace_at
from blindlabel.errors import InputError, OutsideError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from blindlabel.parties.coordinator import CoordinatorParty
    from blindlabel.transport.front import Front
    from blindlabel.transport.server_limits import ServerLimits
    from blindlabel.web.app import OwnerApp


def _check_keys(coordinator: CoordinatorParty) -> None:
    """Refuse to start if studies could not be served: owners would only find out one request at a time."""
    for sentence in coordinator.unserved().values():
        raise InputError(f"{sentence} Nothing is served without the studies' keys.")


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        raise OutsideError(f"Port {port} on {host} cannot be opened: {reason}. Choose another with --port.") from error


def server_limits(given: list[str]) -> ServerLimits:
    """The server's limits: the defaults, except for what was given as name=value."""
    from blindlabel.transport.server_limits import ServerLimits

    limits = dataclasses.asdict(ServerLimits())
    for one in given:
        name, _, value = one.partition("=")
        try:
            limits[name] = type(limits[name])(value)
        except (KeyError, ValueError) as error:
            known = ", ".join(f"{name}={value:g}" for name, value in limits.items())
            raise InputError(f"--limit {one} is not a limit of the server. Its limits are: {known}.") from error
    return ServerLimits(**limits)


def server_front(limits: ServerLimits, proxies: list[str], certificate: Path | None, key: Path | None) -> Front:
    """What takes the server's connections, with TLS if there is a certificate."""
    from blindlabel.transport.front import Front

    if (certificate is None) != (key is None):
        raise InputError("TLS needs both --certificate and --key.")
    try:
        networks, context = [ipaddress.ip_network(one) for one in proxies], None
    except ValueError as error:
        raise InputError(f"--proxy takes an address or a network of a proxy: {error}.") from error
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(certificate, key)
        except OSError as error:
            raise InputError(f"{certificate} and {key} cannot be used for TLS: {error}.") from error
    return Front(limits, networks, context)


def serve_http(
    coordinator: CoordinatorParty,
    home: Path,
    host: str,
    port: int,
    front: Front,
    figures: tuple[str, int] | None = None,
) -> None:
    """Serve until stopped."""
    import uvicorn

    from blindlabel.transport.events import Counted, listening
    from blindlabel.transport.server import create_app

    if front.tls is None and host not in ("127.0.0.1", "::1", "localhost"):
        say("NOTE: serving without TLS beyond this machine. Put a TLS proxy in front, or give --certificate and --key.")
    _check_keys(coordinator)
    listener, counted = _bound(host, port), Counted()
    address = f"{'https' if front.tls else 'http'}://{host}:{port}/"
    app = create_app(coordinator, front.limits, counted)
    _add_page(app, coordinator, home, address)
    say(f"Serving {with_noun(len(coordinator.store.studies()), 'study', 'studies')} on {address} Stop with Ctrl-C.")
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        **front.settings,
    )
    with listener, contextlib.ExitStack() as stack:
        if figures is not None:
            stack.enter_context(listening(coordinator, counted, figures[1], figures[0]))
        server = uvicorn.Server(config)
        server.run(sockets=[listener])
    if not server.started:
        raise OutsideError("The server could not start; the lines above say why.")


def _add_page(app: FastAPI, coordinator: CoordinatorParty, home: Path, address: str) -> None:
    """The page for the coordinator's people, if what it needs is installed."""
    try:
        from blindlabel.web.coordinator_page import add_page
    except ModuleNotFoundError:
        say("The coordinator's page needs the extra `web`: pip install 'blindlabel[web]'. Serving without it.")
        return
    add_page(app, coordinator)
    say(f"The coordinator's page is {address}; `blindlabel coordinator code --at {home}` prints the code to sign in.")


def serve_folder(coordinator: CoordinatorParty, via: str, *, once: bool) -> None:
    """Read and answer what is in the folder, until stopped."""
    from blindlabel.transport.folder import FolderServer

    if not via.startswith("folder:"):
        raise InputError("--via takes folder:/path; without it the studies are served over HTTP.")
    folder = Path(via.removeprefix("folder:"))
    _check_keys(coordinator)
    server = FolderServer(coordinator, folder)
    say(
        f"Serving {with_noun(len(coordinator.store.studies()), 'study', 'studies')} from {folder}."
        + ("" if once else " Stop with Ctrl-C.")
    )
    server.serve(once=once)
    say(f"Did what could be done. If {folder} is not shared, carry it (or what is new in it) to the owners.")


def annotate(at: Path, *, browser: bool, run: bool, **where: Any) -> None:
    """Serve the app of a workspace until Ctrl-C."""
    from blindlabel.web.app import OwnerApp

    workspace = workspace_at(at)
    with running_beside(at) if run else contextlib.nullcontext():
        serve_app(OwnerApp(workspace), browser=browser, **where)


def serve_app(
    app: OwnerApp, *, browser: bool, quiet: bool = False, around: Callable[[Any], Any] = lambda app: app, **where: Any
) -> None:
    """Serve until Ctrl-C; open a browser with the app's link, or only print the links (`quiet`: not as the result).
    `where` has the fields of `Serving`.
    """
    try:
        from blindlabel.web.owner_server import Serving, serve
    except ModuleNotFoundError as error:
        raise InputError("The web app needs the extra `web`: pip install 'blindlabel[web]'.") from error
    serving = Serving(**where)
    if not serving.address and serving != Serving(port=serving.port, browsers=serving.browsers):
        raise InputError("--host, --proxy and --user-header are for an app that others reach: add --serve.")

    def ready(links: list[str]) -> None:
        for link in links:
            (say if quiet else result)(link)
        sys.stdout.flush()
        if serving.address:
            known = f"are known by {serving.header}, which the proxy sets"
            who = known if serving.header else "sign in with their accounts"
            say(f"People open {serving.address} and {who}. The proxy finds it at {serving.host} {serving.port or ''}")
            return
        each = "this link in a browser" if len(links) == 1 else "each of these links in a browser of its own"
        say(f"Open {each} on this machine; a link lets one browser in. Stop with Ctrl-C; everything is kept.")
        if browser:
            webbrowser.open(links[0])

    # The server raises a signal again once it has stopped; as an exception it also lets the other process be
    # stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    serve(app, serving, on_ready=ready, around=around)


@contextlib.contextmanager
def running_beside(at: Path) -> Iterator[None]:
    """`owner run` as a process of its own, because evaluation would slow down the pages."""
    beside = subprocess.Popen([sys.executable, "-m", "blindlabel.cli.main", "owner", "run", "--at", str(at)])  # noqa: S603
    try:
        yield
    finally:
        beside.terminate()
        beside.wait(20)
