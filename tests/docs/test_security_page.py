"""docs/explanation/security.md is short and has the figures of the account; it and the argument behind it name tests
that exist; SECURITY.md is there and names no person.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from blindlabel.parties.accounting import account_of
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.account import SHARE, Exposure, key_bits, sampling_bits

ROOT = Path(__file__).parents[2]
SHORT = (ROOT / "docs" / "explanation" / "security.md").read_text("utf-8")
BEHIND = (ROOT / "docs" / "explanation" / "security-argument.md").read_text("utf-8")
ATTACKS = (ROOT / "docs" / "laboratory" / "attacks.md").read_text("utf-8")

ENRICHED = agreements.new(
    "t", ["anna", "berta"], ["name"], sampling={"method": "enriched", "blocking": ["name"]}
).exposure


def test_the_page_is_short_and_begins_with_the_adversaries() -> None:
    assert len(SHORT.split()) <= 1_050
    assert re.findall(r"^## (.*)", SHORT, re.M)[0] == "Adversaries and bits"


def test_figures_of_the_default_agreement_are_those_of_its_account() -> None:
    agreement = agreements.new("bits", ["anna", "berta"], ["name"])
    account = account_of(agreement)
    coordinator, asks, asked, record, together, copy = account.entries
    table = SHORT.split("## Adversaries and bits")[1].split("\n## ")[0]
    rows = {cells[1].strip(): cells[2] for line in table.splitlines() if len(cells := line.split("|")) > 4}
    for who, bits in (
        ("an owner that asks, honest or cheating", asks.cheating),
        ("the same, about one record", record.cheating),
        ("the same, about one key", account.key.spent),
        ("an owner whose records are asked, honest or cheating", asked.cheating),
        ("the coordinator, honest", coordinator.honest),
        ("the coordinator, cheating", coordinator.cheating),
        ("two owners, about a third", 2 * (asks.cheating or 0)),
        ("the coordinator and an owner, both honest, pooling what they hold", together.honest),
        ("a cheating owner and a later copy of the coordinator's folder and keys, or its backup", copy.cheating),
    ):
        assert re.search(rf"(?<![\d,]){bits:,} bits", rows[who]), (who, bits)
    assert f"can lose {account.key.bears:,}" in rows["the same, about one key"]
    behind = (
        f"every record | {asks.cheating:,} |", f"{account.key.spent} of {account.key.bears:,}, and no key twice",
        f"{coordinator.honest:,} to {coordinator.cheating:,} (four", f"{sampling_bits(ENRICHED)} bits at 50 × 50",
    )  # fmt: skip
    assert [one for one in behind if one not in BEHIND + ATTACKS] == []
    three = account_of(agreements.new("bits", ["anna", "berta", "clara"], ["name"]))
    (others,) = (one for one in three.entries if one.party == "owner, of a pairing of two others")
    assert f"{others.cheating} bits" in rows["a third owner, about a pairing of two others"]


def test_sizes_that_a_ring_can_bear_are_those_of_the_account() -> None:
    shown = re.findall(r"^\| (?:N = \d+)? ?\|[^|]*\|[^|]*\| ([\d,]+)(?: bits)? \| ([\d,]+)", BEHIND, re.M)
    assert len(shown) == 6
    exposure = Exposure(records=50, owners=2, rounds=3, most_yes=5, release="matches", outcomes=4)
    for bears, records in ((int(one.replace(",", "")), int(other.replace(",", ""))) for one, other in shown):
        spent = [SHARE * key_bits(exposure, size, size) for size in (records, records + 1)]
        assert spent[0] <= bears < spent[1], (bears, records)


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", SHORT + BEHIND + ATTACKS))
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.M)
    }
    assert len(named) >= 40
    assert named - there == set()


def test_every_promise_has_a_test() -> None:
    table = ATTACKS.split("## Promises and the tests that guard them")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) >= 20 and all("`test_" in row for row in rows)


def lines_of(page: str) -> list[str]:
    """How the rows and points of the page begin, but for its assumptions, which nothing can test."""
    said = page.split("\n## Assumptions")[0]
    rows = [cell.strip() for cell in re.findall(r"^\| ([^|]+)\|", said, re.M)]
    points = [label.rstrip(".") for label in re.findall(r"^- \*\*([^*]+)\*\*", said, re.M)]
    return [*(row for row in rows if row != "adversary"), *points, "These bounds are information"]


def test_every_line_of_the_page_has_a_test() -> None:
    table = ATTACKS.split("## Behind the security page")[1].split("\n## ")[0]
    tests = dict(re.findall(r"^\| ([^|]+) \| (`test_.*) \|$", table, re.M))
    assert len(lines_of(SHORT)) >= 24 and lines_of(SHORT)[-1] in SHORT
    assert set(lines_of(SHORT)) == set(tests)
    assert lines_of("| a stranger | nothing |\n- **Timing.** None.\n")[:-1] == ["a stranger", "Timing"]


def test_files_that_the_page_names_are_there() -> None:
    for name in (
        "scripts/make-vectors",
        "scripts/fuzz",
        "scripts/lattice",
        "scripts/simulate",
        "scripts/audit",
        "SECURITY.md",
        "tests/vectors",
    ):
        assert (ROOT / name).exists(), name
    assert "@" not in (ROOT / "SECURITY.md").read_text("utf-8")


def flat(page: str) -> str:
    """A page without its line ends."""
    return " ".join(page.split())


def test_the_table_of_attacks_on_rings_is_what_the_script_prints() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "lattice")], capture_output=True, text=True, check=True
    )
    assert done.stdout in ATTACKS
    default = account_of(agreements.new("bits", ["anna", "berta"], ["name"])).key.bears
    row = next(line for line in done.stdout.splitlines() if f"| 360 | {default // 2:,} |" in line)
    gates, core = (round(float(cell)) for cell in row.split("|")[5:7])
    assert gates >= 128
    assert f"; {gates} for the default agreement after the most that can be spent of a key, {core} by core-SVP" in flat(
        SHORT
    )
    assert f"{gates} bits in gates and {core} in core-SVP for the default agreement" in flat(BEHIND)
