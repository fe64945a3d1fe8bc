"""Running the command as a user would, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from support.patience import PATIENCE


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one document it must be."""
        return json.loads(self.out)


Command = Callable[..., Finished]


@pytest.fixture
def blindlabel() -> Command:
    """Runs `blindlabel` with these arguments."""

    def run(*arguments: str, given: str | bytes = "") -> Finished:
        given = given.encode() if isinstance(given, str) else given
        command = [sys.executable, "-m", "blindlabel.cli.main", *map(str, arguments)]
        done = subprocess.run(command, input=given, capture_output=True, timeout=PATIENCE, check=False)
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
