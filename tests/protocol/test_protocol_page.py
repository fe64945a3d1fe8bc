"""docs/reference/protocol.md names what exists."""

from __future__ import annotations

import re
from pathlib import Path

from blindlabel.protocol import messages, refusals

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "protocol.md").read_text("utf-8")


def test_table_of_messages_has_every_kind() -> None:
    table = PAGE.split("## Messages")[1].split("## Any order")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(messages.KINDS)


def test_table_of_errors_names_codes_that_exist() -> None:
    table = PAGE.split("| code | meaning |")[1].split("## Rounds")[0]
    codes = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert len(codes) >= 10
    assert codes <= set(refusals.ALL)
