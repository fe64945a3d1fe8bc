"""Figures that the documentation quotes: kept in a file, with the machine, the day and the commit they are of, and made
into its tables. A test holds the pages to the file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from blindlabel_lab.bench.machine import machine
from blindlabel_lab.bench.packed import PackedFigures

PLACE = re.compile(r"<!-- measured -->\n(.*?)<!-- end -->", re.DOTALL)
"""Where a page has the table."""
_SAME = ("agreement", "shape", "questions", "records", "length", "needles", "workers")
"""What makes a measurement the same as one before, which it replaces."""


def keep(path: Path, figures: PackedFigures, load: float) -> None:
    """Write figures into a file, in place of those of the same work."""
    known: list[dict[str, Any]] = json.loads(path.read_text("utf-8")) if path.exists() else []
    taken = {"date": datetime.now(UTC).date().isoformat(), "commit": _commit(), "machine": machine(), "load": load}
    made = figures.to_json() | taken
    others = [one for one in known if any(one[name] != made[name] for name in _SAME)]
    entries = sorted([*others, made], key=lambda one: (one["records"], one["questions"], *map(str, one.values())))
    path.write_text(json.dumps(entries, indent=1) + "\n", "utf-8")


def into_page(path: Path, page: Path) -> None:
    """Put the table of what was measured into a page, between its two comments."""
    made = "\n".join(table(json.loads(path.read_text("utf-8"))))
    whole = PLACE.sub(lambda _: f"<!-- measured -->\n\n{made}\n\n<!-- end -->", page.read_text("utf-8"))
    page.write_text(whole, "utf-8")


def _commit() -> str:
    """Of the repository that this runs from; empty outside of one."""
    command = ["git", "-C", os.path.dirname(__file__), "describe", "--always", "--dirty"]  # noqa: PTH120
    try:
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()  # noqa: S603
    except OSError:
        return ""


def table(entries: Iterable[dict[str, Any]]) -> list[str]:
    """The table of a page: a line a measurement, and under it what they were measured on."""
    lines = [
        "| questions × records | agreement, questions | processor seconds, of them opening the records | ms a pair |"
        " keys, records, answers | memory |",
        "|---|---|---|---|---|---|",
    ]
    entries = list(entries)
    for one in entries:
        seconds, pairs = one["seconds"], one["questions"] * one["records"]
        whole = 1000 * (seconds["evaluate"] / pairs + seconds["prepare"] / one["records"] ** 2)
        each = f"{1000 * seconds['total'] / pairs:.2f}" if one["questions"] == one["records"] else f"{whole:.2f} of all"
        size = ", ".join(f"{one['bytes'][part] / 1e6:.1f}" for part in ("keys", "records", "answers"))
        what = f"{one['agreement']}, `{one['shape']}`, {one['needles']} needles"
        lines.append(
            f"| {one['questions']:,} × {one['records']:,} | {what}"
            f" | {seconds['total']:.1f}, {seconds['prepare']:.1f} | {each} | {size} MB | {one['peak_rss_mb']:.0f} MB |"
        )
    taken = sorted({f"{one['machine']}; {one['kernel']}; {one['date']}, commit {one['commit']}" for one in entries})
    loads = [one["load"] for one in entries]
    wrong = sum(one["wrong_labels"] for one in entries)
    lines += ["", f"{'. '.join(taken)}. Load {min(loads):.0f} to {max(loads):.0f}; wrong labels: {wrong}."]
    return lines


if __name__ == "__main__":
    into_page(*map(Path, sys.argv[1:]))
