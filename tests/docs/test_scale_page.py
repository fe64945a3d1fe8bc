"""docs/how-to/scale.md is true: its commands are run against a real PostgreSQL, those that serve are checked to be what
the program takes.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.storage.secret_files import PASSPHRASE_VARIABLE
from support.postgres import Server

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```sh ?(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, list[str]]]:
    """Every block of commands with its kind: to run, `serve` (runs for ever), or only `shown`."""
    page = (ROOT / "docs" / "how-to" / "scale.md").read_text("utf-8")
    return [(kind, body.splitlines()) for kind, body in _BLOCK.findall(page)]


def test_commands_of_the_page_run(
    tmp_path: Path,
    postgres: Server,
    postgres_database: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(PASSPHRASE_VARIABLE, raising=False)
    monkeypatch.setenv("BLINDLABEL_DATABASE", postgres_database)
    monkeypatch.setenv("PATH", f"{postgres.programs}:{os.environ['PATH']}")
    with postgres.fresh_database() as restored:
        monkeypatch.setenv("RESTORED_DATABASE", restored)
        lines = [line for kind, body in blocks() if kind == "" for line in body]
        assert len(lines) == 7
        for line in lines:
            if line.startswith("blindlabel "):
                words = [os.path.expandvars(word) for word in shlex.split(line)]
                assert run(words[1:]) == 0, (line, capfd.readouterr().err)
            else:
                done = subprocess.run(["sh", "-c", line], check=False, capture_output=True, text=True)
                assert done.returncode == 0, (line, done.stderr)
        assert capfd.readouterr().out.count("persons (") == 2, (
            "the study stands in the database and in the restored one"
        )


@pytest.mark.parametrize("line", [line for kind, body in blocks() if kind == "serve" for line in body])
def test_serving_commands_of_the_page_are_what_the_program_takes(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*shlex.split(line)[1:], "--help"]) == 0
    assert run([*shlex.split(line)[1:], "--no-such-option", "--help"]) == 2, "an unknown option must be noticed"
