"""Pages whose commands are run in their order: ```sh blocks, those in the background, those that a person repeats, and
apps that a person stops.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from blindlabel.cli.main import run
from blindlabel.parties.joining import words_to_read_out
from blindlabel.storage.workspace import Workspace
from support.patience import PATIENCE, Patience
from support.study_parties import free_port, is_served

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```sh ?(background|app|repeat|)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TIMES = 4
"""As often as the page says that a block is repeated."""


def commands(page: Path) -> list[tuple[str, str]]:
    """Every command of a page, and how it runs: in the background, as an app, or to its end."""
    return [
        (kind, line)
        for kind, block in _BLOCK.findall(page.read_text("utf-8"))
        for line in block.splitlines() * (_TIMES if kind == "repeat" else 1)
    ]


def play(page: Path) -> None:
    """Run the commands of a page in the current folder; each must end with 0."""
    port, running = free_port(), []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        for kind, line in commands(page):
            command = _arguments(line, port)
            if kind == "app":
                _open_and_stop(command, environment)
            elif kind == "background":
                running.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
                if "serve" in command:
                    _wait_for(port)
            elif line.startswith("blindlabel "):  # in this process, which has imported everything already
                assert run(command[3:]) == 0, line
            else:
                subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=True)
    finally:
        for process in running:
            process.kill()
            process.wait()


def _open_and_stop(command: list[str], environment: dict[str, str]) -> None:
    """Start an app, look at it, and stop it as a person does, with Ctrl-C."""
    port = free_port()
    process = subprocess.Popen([*command, "--no-browser", "--port", str(port)], env=environment)
    try:
        _wait_for(port)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) in {0, 130, -signal.SIGINT}, command  # as a shell sees Ctrl-C
    finally:
        process.kill()
        process.wait()


def _arguments(line: str, port: int) -> list[str]:
    parts = shlex.split(line.replace("8470", str(port)))
    if "--words" in parts:  # what the other owner reads out on the telephone
        peer, at = parts[3], parts[parts.index("--at") + 1]
        name, _, carried = at.partition("-")
        other = Workspace.open(Path(f"{peer}-{carried}" if carried else peer))
        parts[parts.index("--words") + 1] = " ".join(words_to_read_out(other, name))
    if parts[0] == "sqlite3" and not shutil.which("sqlite3"):
        copied = parts[2].partition(" ")[2]
        script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))"
        return [sys.executable, "-c", script, parts[1], copied]
    return [sys.executable, "-m", "blindlabel.cli.main", *parts[1:]] if parts[0] == "blindlabel" else parts


def _wait_for(port: int) -> None:
    Patience().wait_until(lambda: is_served(port), lambda: "nothing is served")
