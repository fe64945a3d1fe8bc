"""What the pages say a round costs is what was measured: their tables are those that docs/measured.json makes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from blindlabel.cli.main import run
from blindlabel.engines.interface import TermsError
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.protocol import figures
from blindlabel_lab.bench.measured import PLACE, table
from blindlabel_lab.bench.packed import agreement_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
_MEASURED: list[dict[str, Any]] = json.loads((DOCS / "measured.json").read_text("utf-8"))


def test_the_table_is_made_from_what_was_measured() -> None:
    (found,) = PLACE.findall((DOCS / "laboratory" / "speed.md").read_text("utf-8"))
    wanted = "\n".join(table(_MEASURED))
    assert found.strip() == wanted, f"the table should be\n{wanted}"


def test_every_figure_says_what_it_is_of() -> None:
    assert len(_MEASURED) >= 5
    for one in _MEASURED:
        assert one["wrong_labels"] == 0
        assert all(one[name] for name in ("machine", "date", "commit", "kernel", "parameters", "agreement"))


def test_the_largest_study_is_what_the_account_allows() -> None:
    page = (DOCS / "how-to" / "scale.md").read_text("utf-8")
    wanted = r"\*\*([\d,]+) × \1\*\*.*?about \*\*(\d+) minutes\*\*.*?\*\*([\d.]+) core hours\*\*"
    said = re.search(wanted, page, re.DOTALL)
    assert said is not None
    records = int(said[1].replace(",", ""))
    seconds = room_of(agreement_of("default", "count", records, 148, 8).terms()).seconds()
    assert round(seconds / 60) == int(said[2])
    assert round(seconds * 3 * 2 / 3600, 1) == float(said[3])
    with pytest.raises(TermsError, match="withstand the loss"):
        room_of(agreement_of("default", "count", records + 1, 148, 8).terms())


def test_figures_are_kept_with_where_they_come_from(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "measured.json"
    command = ["bench", "packed", "--records", "2", "--agreement", "least", "--length", "16", "--to", str(kept)]
    for _ in range(2):
        assert run(command) == 0, capfd.readouterr().err
    (entry,) = json.loads(kept.read_text())  # the second in place of the first
    assert entry["records"] == 2 and entry["machine"] and entry["date"]
    assert "| 2 × 2 | least, `or`, 5 needles |" in "\n".join(table([entry]))


def test_an_agreement_is_measured_as_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    agreed = str(tmp_path / "a.toml")
    settings = ["--name", "ours", "--owners", "anna,berta", "--attributes", "given_name,surname", "--records", "2"]
    assert run(["coordinator", "new", agreed, *settings]) == 0
    capfd.readouterr()
    assert run(["bench", "packed", "--agreement", agreed, "--records", "2", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["agreement"], found["records"], found["wrong_labels"]) == ("ours", 2, 0)
    assert run(["bench", "scale", "--agreement", agreed, "--sizes", "3", "--workers", "1", "--json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)["rows"]
    assert (row["records"], row["wrong_labels"], row["labels_checked"]) == (3, 0, 9)


def test_what_is_said_of_later_matches_is_what_trials_found() -> None:
    trials: dict[str, Any] = json.loads((DOCS / "prevalence.json").read_text("utf-8"))
    sets = trials["datasets"]
    assert len(sets) == 4 and (trials["records"], trials["samples"], trials["seed"]) == (300, 4, 0)
    first, *later = ([one["by_round"][number] for one in sets.values()] for number in range(3))
    assert tuple(sum(one[what] for one in first) for what in ("right", "labelled")) == figures.FIRST_RIGHT
    assert tuple(sum(one[what] for of in later for one in of) for what in ("right", "labelled")) == figures.LATER_RIGHT
    (right, of), (right_later, of_later) = figures.FIRST_RIGHT, figures.LATER_RIGHT
    assert right / of > right_later / of_later, "or the sentence says the opposite of what was seen"
    page = (DOCS / "laboratory" / "experiments.md").read_text("utf-8")
    for name, one in sets.items():
        rounds = one["by_round"]
        late = " of ".join(str(sum(each[what] for each in rounds[1:])) for what in ("right", "labelled"))
        row = f"| {name} | {one['matches']} | {one['right']:.3f} | {one['found']:.3f} | {rounds[0]['right']} of"
        assert f"{row} {rounds[0]['labelled']} | {late} |" in page.replace("\n", " "), (row, late)
