"""The coordinator's server with something added to it, on loopback in a thread."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import uvicorn
from fastapi import FastAPI

from blindlabel.parties.coordinator import Coordinator
from blindlabel.transport.server import create_app
from blindlabel.web.rehearsal import free_port


@contextlib.contextmanager
def serving(coordinator: Coordinator, add: Callable[[FastAPI], None]) -> Iterator[str]:
    """The address of the server while the block runs."""
    app, port = create_app(coordinator), free_port()
    add(app)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started and time.monotonic() < until:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
