"""`blindlabel help` and `blindlabel completion`: the documentation without a network, and words for the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.completion import get_completion_inspect_parameters, shell_complete

from blindlabel.cli.output import result
from blindlabel.errors import InputError

ASKED_BY_SHELL = "_BLINDLABEL_COMPLETE"
"""The variable by which a shell asks for words."""
_INSTALLED = Path(__file__).parents[1] / "docs"
_IN_THE_REPOSITORY = Path(__file__).parents[3] / "docs"


def topics() -> dict[str, Path]:
    """Every page of the documentation by its name; installed with the program, or beside it in the repository."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _IN_THE_REPOSITORY
    return {path.stem: path for path in sorted(folder.glob("*.md"))}


def help_(
    topic: Annotated[str | None, typer.Argument(help="A page of the documentation. Default: lists them.")] = None,
) -> None:
    """Print a page of the documentation, for machines without a network."""
    known = topics()
    if topic is None:
        for name, path in known.items():
            result(f"{name:18}{path.read_text('utf-8').splitlines()[0].lstrip('# ')}")
        return
    if topic not in known:
        raise InputError(f"There is no page {topic!r}. There are {', '.join(known)}.")
    result(known[topic].read_text("utf-8").rstrip())


def completion(context: typer.Context, shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print what a shell needs to complete commands and options: eval "$(blindlabel completion bash)"."""
    if shell not in ("bash", "zsh", "fish"):
        raise InputError("Completion is for bash, zsh or fish.")
    know_shells()
    shell_complete(context.find_root().command, {}, "blindlabel", ASKED_BY_SHELL, f"source_{shell}")


def know_shells() -> None:
    """Typer registers its shells where its own two options for completion are made, and nowhere else."""
    get_completion_inspect_parameters()
