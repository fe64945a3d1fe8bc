"""Reading questions for commands: from a file, from standard input (`-`), or given as text."""

from __future__ import annotations

import sys
from pathlib import Path

from blindlabel.errors import InputError
from blindlabel.language.limits import Limits

_MOST_BYTES = Limits().question_bytes * 16
"""More than any question may have, so that a mistaken file name does not fill the memory."""


def read_source(name: str) -> str:
    """The text of a question file; `-` is standard input."""
    try:
        if name == "-":
            content = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"There is no file {name}.") from None
    except (IsADirectoryError, PermissionError) as problem:
        raise InputError(f"{name} cannot be read: {problem.strerror}.") from None
    if len(content) > _MOST_BYTES:
        raise InputError(f"{name} is larger than any question can be.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise InputError(f"{name} is not UTF-8 text (byte {problem.start}); save it as UTF-8.") from None


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # a question may be longer than any file name can be
        return False


def question_source(argument: str) -> tuple[str, str]:
    """A question given on the command line, as (name to show, source): a file, `-`, or the question itself."""
    looks_like_source = "\n" in argument or " " in argument.strip() or argument.strip().startswith(("ret", "$", "#"))
    if argument == "-" or not looks_like_source or _exists(argument):
        return argument, read_source(argument)
    return "question", argument


def listed(text: str, option: str) -> list[str]:
    """The names in an option that takes several, separated by commas; none of an empty one."""
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    if not all(names):
        raise InputError(f"{option} has an empty name in {text!r}.")
    return names


def attribute_list(given: str | None) -> list[str] | None:
    """The attributes that --attributes names; None where it is not given."""
    if given is None:
        return None
    names = listed(given, "--attributes")
    if not names:
        raise InputError("--attributes names no attribute; give them separated by commas.")
    return names
