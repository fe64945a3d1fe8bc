"""`blindlabel demo --web`: a generated study on this machine, half annotated, with every party's pages to click through
alone.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path

from blindlabel.cli.output import result, say
from blindlabel.errors import InputError, OutsideError

_COMMAND = [sys.executable, "-m", "blindlabel.cli.main"]


def demo_web(*, records: int, engine: str, rounds: int, seed: int, keep: Path | None, browser: bool = True) -> None:
    """Serve a coordinator with its page and two owners with their apps until Ctrl-C. Half of the questions are written
    already.
    """
    try:
        from blindlabel.web.local_study import free_port, prepared_for_web
        from blindlabel.web.owner_server import HOST
    except ModuleNotFoundError as error:
        raise InputError("The web app needs the extra `web`: pip install 'blindlabel[web]'.") from error
    with contextlib.ExitStack() as stack:
        folder = (
            keep.resolve()
            if keep
            else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="blindlabel-demo-")))
        )
        port = free_port()
        say("Making two tables, keys and encrypted records …")
        made = prepared_for_web(
            folder, records=records, engine=engine, rounds=rounds, seed=seed, address=f"http://{HOST}:{port}"
        )
        say(
            "Finish the open questions of both owners, hand both rounds in, and watch the coordinator's page. Stop with"
            " Ctrl-C."
        )
        serve_all(folder, [workspace.folder for workspace in made.workspaces], port, browser=browser)


def serve_all(folder: Path, workspaces: Sequence[Path], port: int, *, browser: bool) -> None:
    """Serve the coordinator of a folder and the owners' apps, each in a process, until Ctrl-C; prints every link."""
    from blindlabel.web.owner_server import HOST

    links = []
    home = folder / "coordinator"
    with contextlib.ExitStack() as stack:
        stack.enter_context(_process("coordinator", "serve", "--at", str(home), "--port", str(port)))
        for workspace in workspaces:
            arguments = ["owner", "annotate", "--at", str(workspace), "--no-browser", "--run"]
            app = stack.enter_context(_process(*arguments, answers=True))
            links.append((workspace.name, _first_line(app)))
        code = subprocess.run(  # noqa: S603
            [*_COMMAND, "coordinator", "code", "--at", str(home)], capture_output=True, text=True, check=True
        )
        for name, link in links:
            result(f"{name}: {link}")
        result(f"coordinator: http://{HOST}:{port}/ (code {code.stdout.strip()})")
        sys.stdout.flush()
        if browser:
            for _, link in links:
                webbrowser.open(link)
            webbrowser.open(f"http://{HOST}:{port}/")
        _wait()


def _wait() -> None:
    """Until Ctrl-C, or until the process is told to end; a shell that started it in the background had it ignore the
    first.
    """
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)


@contextlib.contextmanager
def _process(*arguments: str, answers: bool = False) -> Iterator[subprocess.Popen[str]]:
    """A party as a process of its own; stopped with everything that it started."""
    output = subprocess.PIPE if answers else subprocess.DEVNULL
    process = subprocess.Popen([*_COMMAND, *arguments], stdout=output, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        raise OutsideError("An owner's app did not start.")
    return line
