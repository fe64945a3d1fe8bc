"""The list of planted bugs (`scripts/mutants`) fits the code: every bug can be planted, and its tests are there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MUTANTS = tomllib.loads((ROOT / "scripts" / "mutants.toml").read_text())["mutant"]


def test_there_are_enough_of_every_kind() -> None:
    assert len(MUTANTS) >= 40 and len({one["name"] for one in MUTANTS}) == len(MUTANTS)
    assert {one["area"] for one in MUTANTS} == {
        "protocol",
        "storage",
        "transport",
        "parties",
        "points",
        "keys",
        "reviewer",
    }


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one["name"].replace(" ", "-"))
def test_bug_can_be_planted(mutant: dict[str, object]) -> None:
    """Whoever changes the code around a planted bug moves the bug with it."""
    text = (ROOT / "src" / "blindlabel" / str(mutant["file"])).read_text()
    assert text.count(str(mutant["old"])) == 1 and mutant["old"] != mutant["new"]
    compile(text.replace(str(mutant["old"]), str(mutant["new"])), str(mutant["file"]), "exec")
    tests = mutant["tests"]
    assert isinstance(tests, list) and tests
    for test in tests:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text()
