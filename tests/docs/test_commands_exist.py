"""Every `blindlabel` command line that a page shows is one that the program takes: command, subcommand and options
exist.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from blindlabel.cli.main import app, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
_IN_TEXT = re.compile(r"`(blindlabel [^`]+)`")
_IN_BLOCK = re.compile(r"^(?:    |\$ )?(blindlabel .+)$", re.MULTILINE)


def command_lines(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.partition(" #")[0].partition(" | ")[0] for line in (*_IN_TEXT.findall(text), *_IN_BLOCK.findall(text))]


def wrong_in(line: str) -> str | None:
    """What the program does not know in a command line; None if it knows everything."""
    try:
        words = shlex.split(line.replace("…", ""))[1:]
    except ValueError:  # a quotation that goes on in the next line
        words = line.split()[1:]
    command: Any = typer.main.get_command(app)  # typer brings a click of its own
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        name = words.pop(0)
        if name not in command.commands:
            return name
        command = command.commands[name]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {
        "--help",
        "-h",
    }
    options = [word.partition("=")[0] for word in words if re.fullmatch(r"-{1,2}[a-z][a-z-]*(=.*)?", word)]
    return next((option for option in options if option not in known), None)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shown_commands_exist(page: Path) -> None:
    assert {line: wrong for line in command_lines(page) if (wrong := wrong_in(line)) is not None} == {}


def test_the_pages_show_commands_and_wrong_ones_would_be_found() -> None:
    assert sum(len(command_lines(page)) for page in PAGES) > 80
    assert wrong_in("blindlabel demo --records 3 --json") is None
    assert wrong_in("blindlabel demo --rekords 3") == "--rekords"
    assert wrong_in("blindlabel owner dance") == "dance"


@pytest.mark.slow
def test_the_experiment_on_generated_data_runs_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of docs/laboratory/experiments.md that need no benchmark set; the others are the same commands on other
    data.
    """
    monkeypatch.chdir(tmp_path)
    shown = [
        line
        for line in command_lines(ROOT / "docs" / "laboratory" / "experiments.md")
        if "data/persons" in line or line.endswith("--data data")
    ]
    assert len(shown) == 2
    for line in shown:
        assert run(line.split()[1:]) == 0
    assert json.loads(Path("results/quality.json").read_text())["datasets"]["persons"]["final"]["f"] > 0.9
