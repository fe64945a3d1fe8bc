"""What a person sees on a terminal while something goes on."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

WORK = """
from blindlabel.cli.output import progress_bar, say
with progress_bar() as bar:
    bar.add_task("working", total=None)
    bar.refresh()
    say("a sentence")
"""


def test_a_line_said_during_progress_stands_alone() -> None:
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "80"}
    subprocess.run([sys.executable, "-c", WORK], stderr=theirs, env=environment, check=True)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other end is closed and all is read
        pass
    os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert "working" in plain
    assert "a sentence" in re.split(r"[\r\n]+", plain)
