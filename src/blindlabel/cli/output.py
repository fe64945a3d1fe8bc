"""How commands speak: results to standard output, everything else to standard error; with --json exactly one
document.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from blindlabel.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from blindlabel.parties.round_work import Report
    from blindlabel.protocol.happened import Happened
    from blindlabel.storage.workspace import Workspace

JsonFlag = Annotated[bool, Option("--json", help="Print one JSON document on standard output and nothing else there.")]
"""The --json option that every command with a result takes."""


@cache
def _console() -> Console:
    """One for all, so that a line said while a progress display is up stands above it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


AS_LOG = ContextVar("as_log", default=False)
"""Whether what is said goes to the log, as lines of JSON."""


def group(name: str, help: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(name=name, help=help, no_args_is_help=True)


def say(message: str = "", *, level: int = logging.INFO) -> None:
    """A line for the person, on standard error. Never interpreted as markup, since it may hold a user's text."""
    if AS_LOG.get():
        _log(level, "said", {"sentence": message})
    else:
        _console().print(message, markup=False, soft_wrap=True)


def log_to_stderr(*, said: bool) -> None:
    """From here on standard error is a log of one JSON object per line; with `said`, it includes what is said to
    people.
    """
    from blindlabel.transport.events import JsonLines

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("blindlabel", logging.INFO), ("uvicorn.error", logging.WARNING)):
        log = logging.getLogger(name)
        log.setLevel(level)
        log.handlers = [handler]
    AS_LOG.set(said)


def log_happened(study: str, happened: Happened) -> None:
    """Write down what happened in a study."""
    _log(logging.INFO, happened.what, {"study": study} | happened.facts)


def _log(level: int, event: str, facts: dict[str, object]) -> None:
    from blindlabel.transport.events import log_event

    log_event(logging.getLogger("blindlabel.study"), level, event, **facts)


def result(text: str) -> None:
    """A line of the result, on standard output."""
    sys.stdout.write(text + "\n")


def with_noun(count: int, one: str, many: str) -> str:
    """A number with its noun: 1 study, 2 studies."""
    return f"{count:,} {one if count == 1 else many}"


def result_json(document: Any) -> None:
    """The one JSON document of a command."""
    json.dump(document, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


def answer(json: bool, document: Any, lines: Iterable[str]) -> None:
    """The result of a command: its one JSON document, or these lines for a person."""
    if json:
        result_json(document)
    else:
        for line in lines:
            result(line)


def is_meant(question: str, option: str = "--yes") -> bool:
    """Ask a person yes or no. Where nobody can answer, the error names the option that says yes."""
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        raise InputError(f"{question} Nobody answered. Add {option} if you mean it.") from None


def sure(question: str, otherwise: str, yes: bool) -> None:
    """Go on if the person means it, or has said so with --yes; stop with a sentence otherwise."""
    if not yes and not is_meant(question):
        raise InputError(otherwise)


def progress_bar(*, time_left: bool = True) -> Progress:
    """A progress display on standard error; silent if that is no terminal. Without `time_left` if the work may end
    early, so that nobody can tell.
    """
    from rich import progress as rich

    columns = [rich.SpinnerColumn(), rich.TextColumn("{task.description}"), rich.BarColumn()]
    columns += [rich.TaskProgressColumn(), rich.TimeElapsedColumn()]
    if time_left:
        columns.append(rich.TimeRemainingColumn())
    console = _console()
    return rich.Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


class Phases:
    """Shows what is being done, one line per phase. What is shown of a phase never shrinks; a complete phase that
    begins again is a new line.
    """

    def __init__(self, bar: Progress, *, together: bool = False) -> None:
        self._bar, self._together = bar, together
        self._tasks: dict[str, TaskID] = {}
        self.shares: dict[str, float] = {}

    def show(self, phase: str, share: float, text: str = "") -> None:
        """Show how far a phase is (0 to 1)."""
        if self.shares.get(phase, 0.0) >= 1.0 > share and phase in self._tasks:
            self._bar.remove_task(self._tasks.pop(phase))
            del self.shares[phase]
        if phase not in self._tasks:
            for other in () if self._together else self._tasks.values():
                self._bar.update(other, visible=False)
            self._tasks[phase] = self._bar.add_task(phase, total=1.0)
        self.shares[phase] = min(1.0, max(share, self.shares.get(phase, 0.0)))
        shown = self._together or self.shares[phase] < 1.0
        self._bar.update(self._tasks[phase], completed=self.shares[phase], visible=shown, description=text or phase)


_SAID_EVERY = 0.5
"""Seconds between two reports to other processes on how far a phase is: each is a transaction."""


@contextmanager
def reporting(workspace: Workspace) -> Iterator[Report]:
    """Report what is going on as bars on the terminal, one for each phase, and in the workspace, where the web app
    reads it: when a phase begins or ends, and now and then in between.
    """
    with progress_bar() as bar:
        shown, told, last = Phases(bar), "", 0.0

        def report(phase: str, share: float, detail: str = "") -> None:
            nonlocal told, last
            text, now = f"{phase} · {detail}" if detail else phase, time.monotonic()
            shown.show(phase, share, text)
            share = shown.shares[phase]
            if phase != told or share >= 1.0 or now - last > _SAID_EVERY:
                workspace.say(phase, share, text)
                told, last = phase, now

        yield report


@contextmanager
def working_on(what: str) -> Iterator[None]:
    """Show that something is going on whose length nobody can tell, and how long it has taken."""
    with progress_bar() as bar:
        bar.add_task(what, total=None)
        yield
