"""docs/security.md names tests that exist, and every message kind; SECURITY.md is there and names no person."""

from __future__ import annotations

import re
from pathlib import Path

from blindlabel.protocol import messages

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.M)
    }
    assert len(named) >= 40
    assert named - there == set()


def test_every_promise_has_a_test() -> None:
    table = PAGE.split("## Promises and the tests that guard them")[1].split("## Keys")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) >= 20 and all("`test_" in row for row in rows)


def test_every_kind_of_message_stands_in_the_table_of_what_is_learnt() -> None:
    table = PAGE.split("## Who learns what")[1].split("## What is not protected")[0]
    learnt = set(re.findall(r"^\| (\w+)", table, re.M))
    assert set(messages.KINDS) - {"relay", "assisted", "again"} <= learnt


def test_files_that_the_page_names_are_there() -> None:
    for name in (
        "scripts/make-vectors",
        "scripts/fuzz",
        "scripts/simulate",
        "scripts/audit",
        "SECURITY.md",
        "tests/vectors",
    ):
        assert (ROOT / name).exists(), name
    assert "@" not in (ROOT / "SECURITY.md").read_text("utf-8")
