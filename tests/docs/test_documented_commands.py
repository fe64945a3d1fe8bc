"""The documentation is true: every console example is run, and what it shows is what the command prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/reference/language.md", "docs/explanation/packed-engine.md"]
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass
class Example:
    command: str
    shown: list[str] = field(default_factory=list)


def examples(page: str) -> list[Example]:
    """`$ command` lines (with `> ` going on) and the output shown under them."""
    found: list[Example] = []
    for block in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Example(line[2:]))
            elif line.startswith("> "):
                found[-1].command += "\n" + line[2:]
            else:
                found[-1].shown.append(line)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_console_examples_do_what_the_page_shows(page: str, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    command = tools / "blindlabel"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m blindlabel.cli.main "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "200"}
    found = examples(page)
    assert found
    for example in found:
        done = subprocess.run(
            ["sh", "-c", example.command],
            cwd=tmp_path,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        printed = done.stdout.splitlines()
        if example.shown:
            assert sorted(printed) == sorted(example.shown), example.command  # the two streams may mix in another order
        else:
            assert done.returncode == 0, done.stdout
