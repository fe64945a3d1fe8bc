"""From a list of candidates to figures by command: draw, label, estimate."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from blindlabel.cli.main import run
from blindlabel.estimates import read_candidates
from blindlabel.estimates.estimating import TOLD
from blindlabel.export import AgreedTruth, LabelledPair, write
from support.linkages import labelled, linkage

CANDIDATES, MATCHES = linkage("steep", 300, 5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A list with what was drawn, labels of it, and checked pairs."""
    drawn = CANDIDATES.draw(200, Random(1).randrange)
    drawn.write(tmp_path / "drawn.csv")
    write(labelled(drawn, MATCHES.astype(np.int64)), "csv", tmp_path / "labels.csv")
    pairs = tuple(LabelledPair(int(n), int(n), bool(MATCHES[n]), 1) for n in np.flatnonzero(drawn.drawn))
    write(AgreedTruth("anna", "berta", pairs), "csv", tmp_path / "checked.csv")
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    assert run(["coordinator", *map(str, arguments)]) == code
    found = capsys.readouterr()
    return found.out, found.err.replace("\n", " ")


def test_pairs_are_drawn_into_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(f"{n},{2 * n},{1 - n / 100}\n" for n in range(100))
    (tmp_path / "list.csv").write_text(f"row_a,row_b,score\n{lines}")
    options = ("--pairs", 30, "--threshold", 0.8, "--rows", 100, 200, "--to", tmp_path / "drawn.csv")
    out, err = printed(capsys, "draw", tmp_path / "list.csv", *options)
    assert out.splitlines()[0].startswith("linked, scores 0.91 to 1: 6 of 10 pairs")
    assert "30 pairs of 30 and 30 records" in err
    drawn = read_candidates(tmp_path / "drawn.csv")
    assert (int(drawn.drawn.sum()), drawn.hash in err) == (30, True)
    document = json.loads(printed(capsys, "draw", tmp_path / "list.csv", *options, "--json")[0])
    assert (document["pairs"], document["hash"], document["records"][1]) == (30, drawn.hash, 30)
    _, err = printed(capsys, "draw", tmp_path / "list.csv", *options, "--rows", 100, 150, code=1)
    assert "not in the second table" in err


def test_labels_alone_are_shown_as_bands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, "estimate", folder / "drawn.csv", folder / "labels.csv")
    first, second, third, *curve = out.splitlines()
    assert first.startswith("precision band 0.") and second.startswith("recall    band 0.") and third.startswith("F ")
    assert all("P band" in line and "R band" in line for line in curve)
    assert "A band, not an interval" in err and "Recall is within the list" in err and TOLD in err


def test_checked_pairs_give_values_a_document_and_a_picture(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = (folder / "drawn.csv", folder / "labels.csv", "--checked", folder / "checked.csv")
    out, err = printed(capsys, "estimate", *files, "--plot", folder / "curve.svg")
    assert out.startswith("precision 0.8") or out.startswith("precision 0.9")
    assert "A band" not in err
    picture = ElementTree.parse(folder / "curve.svg").getroot()
    bands = [one.get("points", "").split() for one in picture.iter("{http://www.w3.org/2000/svg}polygon")]
    document: dict[str, Any] = json.loads(printed(capsys, "estimate", *files, "--json")[0])
    assert [len(points) for points in bands] == [2 * len(document["curve"])] * 2
    assert document["told"] == TOLD
    for point in (document, *document["curve"]):
        for name in ("precision", "recall", "f"):
            assert 0 <= point[name]["low"] <= point[name]["value"] <= point[name]["high"] <= 1


def test_a_list_that_changed_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = (folder / "drawn.csv", folder / "labels.csv", "--hash", read_candidates(folder / "drawn.csv").hash)
    assert printed(capsys, "estimate", *files)[0].startswith("precision band")
    text = (folder / "drawn.csv").read_text()
    (folder / "drawn.csv").write_text(text.replace("\n0,0,1.0,", "\n0,0,1.1,"))
    out, err = printed(capsys, "estimate", *files, code=1)
    assert (out, "drawn.csv is not the list with this hash" in err) == ("", True)


def test_what_cannot_be_said_is_said_in_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = read_candidates(folder / "drawn.csv")
    write(labelled(drawn, np.zeros(len(MATCHES), dtype=np.int64)), "csv", folder / "none.csv")
    out, _ = printed(capsys, "estimate", folder / "drawn.csv", folder / "none.csv")
    assert "recall    cannot say: certain matches among the drawn pairs: 0; 10 would do." in out


def test_a_plan_has_both_ways_to_sample_and_what_they_take(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ("plan", "--rows", 2000, 3000, "--linked", 1000, "--list", 5000, "--width", 0.1)
    pairs, rows = json.loads(printed(capsys, *wanted, "--json")[0])
    assert (pairs["sampling"], rows["sampling"]) == ("candidates", "uniform")
    assert 0.09 < max(pairs["precision_width"], pairs["recall_width"]) <= 0.1
    assert 150 < pairs["pairs"] < 220  # the design: .07 and .10 with 200
    assert rows["records"] > 2 * pairs["records"] and rows["pairs"] == rows["records"] ** 2
    assert pairs["expert_hours"] == pairs["records"] / 40 and pairs["owner_bits"] < rows["owner_bits"]
    out, _ = printed(capsys, *wanted)
    assert out.splitlines()[0].split() == ["sampling", "candidates", "uniform"]
    large = ("plan", "--rows", 20000, 30000, "--linked", 5000, "--list", 25000)
    out, err = printed(capsys, *large)
    assert out.splitlines()[-1].startswith("coordinator_bits") and out.splitlines()[-1].split()[1:][1] == "–"
    assert "uniform: A key would have to withstand the loss of" in err
    _, err = printed(capsys, "plan", "--rows", 10, 10, "--linked", 50, "--list", 20, code=1)
    assert "at least the linked pairs" in err
