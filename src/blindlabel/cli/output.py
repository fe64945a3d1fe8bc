"""How commands speak: results to standard output, everything else to standard error; with --json exactly one
document.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from blindlabel.errors import InputError

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else there.")
]
"""The --json option that every command with a result takes."""


def say(message: str = "", *, style: str | None = None) -> None:
    """A line for the person, on standard error. Never interpreted as markup, since it may hold a user's text."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, style=style, markup=False)


def result(text: str) -> None:
    """A line of the result, on standard output."""
    sys.stdout.write(text + "\n")


def result_json(document: Any) -> None:
    """The one JSON document of a command."""
    json.dump(document, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


def is_meant(question: str) -> bool:
    """Ask a person yes or no; where nobody can answer, the option that says yes is named."""
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        raise InputError(f"{question} Nobody answered; say --yes where this is meant.") from None


def progress_bar() -> Progress:
    """A progress display on standard error; silent where that is not a terminal."""
    console = Console(stderr=True)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def phases(bar: Progress) -> Callable[[str, float], None]:
    """Shows each phase of some work in a line of its own, as it is told about it."""
    tasks: dict[str, TaskID] = {}

    def show(phase: str, share: float) -> None:
        if phase not in tasks:
            tasks[phase] = bar.add_task(phase, total=1.0)
        bar.update(tasks[phase], completed=share)

    return show


@contextmanager
def working_on(what: str) -> Iterator[None]:
    """Show that something goes on whose length nobody can tell, and for how long it has."""
    with progress_bar() as bar:
        bar.add_task(what, total=None)
        yield
