"""`blindlabel owner annotate`: the owner's web app on this machine."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from blindlabel.cli.opening import workspace_at
from blindlabel.cli.output import result, say
from blindlabel.errors import InputError


def annotate(at: Path, *, port: int | None, browser: bool, browsers: int, run: bool) -> None:
    """Serve the app until Ctrl-C; open a browser with its link, or only print the links."""
    workspace = workspace_at(at)
    try:
        from blindlabel.web.owner_server import serve
    except ModuleNotFoundError as error:
        raise InputError("The web app needs the extra `web`: pip install 'blindlabel[web]'.") from error

    def ready(links: list[str]) -> None:
        for link in links:
            result(link)
        sys.stdout.flush()
        each = "this link in a browser" if len(links) == 1 else "each of these links in a browser of its own"
        say(f"Open {each} on this machine; a link lets one browser in. Stop with Ctrl-C; everything is kept.")
        if browser:
            webbrowser.open(links[0])

    # The server raises a signal again once it has stopped; as an exception it lets the process beside be stopped as
    # well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with _running_beside(at) if run else contextlib.nullcontext():
        serve(workspace, port=port, browsers=browsers, on_ready=ready)


@contextlib.contextmanager
def _running_beside(at: Path) -> Iterator[None]:
    """`owner run` as a process of its own, since evaluation would make the pages wait."""
    beside = subprocess.Popen([sys.executable, "-m", "blindlabel.cli.main", "owner", "run", "--at", str(at)])  # noqa: S603
    try:
        yield
    finally:
        beside.terminate()
        beside.wait(20)
