"""`blindlabel language`, `help`, `completion` and `deploy`: the question language, the documentation without a network,
what a shell needs for completion, and the files of services.
"""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option
from typer.completion import get_completion_inspect_parameters, shell_complete

from blindlabel.cli.output import JsonFlag, result, result_json
from blindlabel.errors import InputError

_OVERVIEW = """\
A question is a small program about the other side's record, which you cannot see. It looks like this:

    $r = lower($r)                                   # ignore upper and lower case
    $brand = is_in("canon", $r)
    $range = is_in("24-70", $r) | is_in("2470", $r)
    ret $brand & $range & !is_in("24-105", $r)

$r          the other record; as a text, its attributes joined with " | "
$r.title    one attribute; $r["date of birth"] where the name is no plain word
$name = …   sets a variable; it can be set again
ret …       gives the answer, yes or no; the first one reached ends the question
& | !       and, or, not
+ *         count Booleans as 0 and 1, with weights: 3*is_in("x350", $r) + is_in("sony", $r) >= 3
>= > <= < ==  compare a count with a number
"text"      with \\" \\\\ \\n \\t \\uXXXX; numbers are 3 or 0.5; also true and false
# …         a comment, to the end of the line

From tightest: ! then * then + then comparisons then & then |; use ( ) where in doubt.

Functions (blindlabel language NAME tells more):
"""


def language(
    function: Annotated[str | None, Argument(help="A function to explain; without it, the whole language.")] = None,
    json: JsonFlag = False,
) -> None:
    """The question language: an overview, or one function."""
    from blindlabel.language.diagnostics import nearest
    from blindlabel.language.functions import FUNCTIONS

    if function is not None and function not in FUNCTIONS:
        close = nearest(function, FUNCTIONS)
        raise InputError(
            f"There is no function {function}."
            + (f" Did you mean {close}?" if close else f" There are {', '.join(FUNCTIONS)}.")
        )
    chosen = [FUNCTIONS[function]] if function else list(FUNCTIONS.values())
    if json:
        told = ("name", "signature", "summary", "details", "example")
        shown = [{n: getattr(one, n) for n in told} | {"result": one.result.value} for one in chosen]
        result_json({"functions": shown})
        return
    if function:
        one = chosen[0]
        result(f"{one.signature}\n\n{one.summary}\n\n{textwrap.fill(one.details, 100)}\n\nExample:\n    {one.example}")
        return
    result(_OVERVIEW)
    width = max(len(one.signature) for one in chosen)
    for one in chosen:
        result(f"  {one.signature:<{width}}  {one.summary}")


ASKED_BY_SHELL = "_BLINDLABEL_COMPLETE"
"""The variable with which a shell asks for completions."""


def _beside(name: str) -> Path:
    """A folder that is installed with the program, or beside it in the repository."""
    installed = Path(__file__).parents[1] / name
    return installed if installed.is_dir() else Path(__file__).parents[3] / name


def topics() -> dict[str, Path]:
    """Every page of the documentation by its name, in the order of its doors."""
    doors = ("tutorial", "how-to", "reference", "explanation", "laboratory")
    return {path.stem: path for door in doors for path in sorted((_beside("docs") / door).glob("*.md"))}


_DEPLOYED = {"systemd": "systemd/*.service", "containers": "[Cc]*", "logs": "logrotate"}


def deploy(
    what: Annotated[str, Argument(help=f"{', '.join(_DEPLOYED)}.")],
    to: Annotated[Path, Option(help="The folder to write into.")],
) -> None:
    """Write the files with which a coordinator or an owner runs as a service. Read them, and edit what is different."""
    if what not in _DEPLOYED:
        raise InputError(f"There are files for {', '.join(_DEPLOYED)}.")
    files = sorted(_beside("deploy").glob(_DEPLOYED[what]))
    if there := [to / file.name for file in files if (to / file.name).exists()]:
        raise InputError(f"{there[0]} already exists; nothing was written.")
    to.mkdir(parents=True, exist_ok=True)
    for file in files:
        result(str(shutil.copyfile(file, to / file.name)))


def help_(
    topic: Annotated[str | None, Argument(help="A page of the documentation. Default: lists them.")] = None,
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


def completion(context: typer.Context, shell: Annotated[str, Argument(help="bash, zsh or fish.")]) -> None:
    """Print the completion script of a shell: eval "$(blindlabel completion bash)"."""
    if shell not in ("bash", "zsh", "fish"):
        raise InputError("Completion is for bash, zsh or fish.")
    know_shells()
    shell_complete(context.find_root().command, {}, "blindlabel", ASKED_BY_SHELL, f"source_{shell}")


def know_shells() -> None:
    """Make Typer register its shells, which it does only with its own two completion options."""
    get_completion_inspect_parameters()
