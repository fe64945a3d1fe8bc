"""The Python examples of a page: blocks that are run one after the other in one namespace, and what they print."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block of Python and the output that the page shows under it; None if it shows none."""

    code: str
    shown: str | None


def examples(page: str, heading: str = "") -> list[Example]:
    """The examples of a page, behind a heading."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = text[text.index(heading) :]
    found = [Example(match[1], match[2]) for match in _BLOCK.finditer(text)]
    assert found, f"{page} has no Python examples"
    return found


def run(found: list[Example], namespace: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run the examples and compare what they print with what the page shows. Returns what they defined."""
    names: dict[str, Any] = {"__name__": "__main__"} if namespace is None else namespace
    for example in found:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.code, "example", "exec"), names)
        if example.shown is not None:
            assert printed.getvalue() == example.shown
    return names
