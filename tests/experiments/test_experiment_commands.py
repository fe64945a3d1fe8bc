"""`blindlabel suggest` and `blindlabel experiment …` as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from blindlabel.api.ground_truth import Scores
from blindlabel.records.generator import Size, generate, write
from blindlabel_lab.experiments import results
from blindlabel_lab.experiments.published import IN_THE_PUBLICATION
from blindlabel_lab.experiments.results import Results
from support.patience import PATIENCE


def blindlabel(*arguments: object, code: int = 0) -> tuple[str, str]:
    command = [sys.executable, "-m", "blindlabel.cli.main", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    write(generate("products", Size(120, 60), 2), place / "products")
    return place


def test_suggest_prints_questions_that_check_accepts(folder: Path, tmp_path: Path) -> None:
    table = folder / "products" / "a.csv"
    document: dict[str, Any] = json.loads(blindlabel("suggest", table, "--attributes", "name,brand", "--json")[0])
    assert len(document["suggestions"]) == 120
    assert document["attributes"] == ["name", "brand"]
    one = document["suggestions"][0]
    question = tmp_path / "question.txt"
    question.write_text(one["question"])
    blindlabel("check", question, "--attributes", "name,brand")
    shown, _ = blindlabel("suggest", table, "--attributes", "name,brand", "--id", one["id"])
    assert one["why"] in shown and one["question"].strip() in shown
    assert one["id"] not in one["question"]


def test_suggest_says_what_is_wrong_in_a_sentence(folder: Path) -> None:
    table = folder / "products" / "a.csv"
    assert "no column" in blindlabel("suggest", table, "--attributes", "colour", code=1)[1]
    assert "empty name" in blindlabel("suggest", table, "--attributes", "name,", code=1)[1]
    assert "no row with the id" in blindlabel("suggest", table, "--id", "nobody", code=1)[1]


def test_quality_prints_one_document_of_the_agreed_shape(folder: Path, tmp_path: Path) -> None:
    out, _ = blindlabel(
        "experiment", "quality", "--data", folder, "--samples", 1, "--json", "--results", tmp_path, "--no-plots"
    )
    document = json.loads(out)
    keys = {field.name for field in fields(Scores)}
    figures = document["datasets"]["products"]
    assert len(figures["rounds"]) == 3
    assert all(set(one) == keys for one in [*figures["rounds"], figures["final"]])
    assert json.loads((tmp_path / "quality.json").read_text()) == document


def test_all_writes_the_report_with_tables_commands_and_figures(folder: Path, tmp_path: Path) -> None:
    run_all = ("experiment", "all", "--data", folder, "--samples", 1, "--no-costs", "--results", tmp_path)
    said = blindlabel(*run_all)[1]
    assert "1 of 6: records is done" in said and "6 of 6: oracles is done" in said
    report = (tmp_path / "report.md").read_text()
    for name in ("records", "quality", "quality-published", "oracles", "tokens", "missing"):
        command = f"blindlabel experiment {name.partition('-')[0]} --data"
        assert command in report
        assert (tmp_path / f"{name}.json").exists()
    for figure in ("records", "quality", "agreement", "quality-published-quality", "tokens", "importance", "missing"):
        assert (tmp_path / f"{figure}.png").stat().st_size > 1000
        assert (tmp_path / f"{figure}.svg").read_text().startswith("<?xml")
        assert f"]({figure}.svg)" in report
    for figure in ("quality", "agreement", "oracles"):
        assert "simulated experts" in (tmp_path / f"{figure}.svg").read_text(), "a picture says that nobody wrote these"
    assert "*Scores after each round" in report and "What this run took" in report
    assert all(what in report for what, _ in IN_THE_PUBLICATION)
    assert "simulated" in report and "--prepare published" in report
    tokens = (tmp_path / "tokens-products.csv").read_text().splitlines()
    assert tokens[0] == "token,occurrences,asked" and any(not line.endswith(",0") for line in tokens[1:])


def test_records_are_counted_by_length_in_steps_of_fifteen(folder: Path, tmp_path: Path) -> None:
    out, _ = blindlabel("experiment", "records", "--data", folder, "--results", tmp_path, "--no-plots", "--json")
    one = json.loads(out)["datasets"]["products"]
    assert (one["entities"], one["matches"]) == ([120, 120], 60)
    assert sum(one["lengths"].values()) == 240 and list(one["lengths"])[:3] == ["1", "16", "31"]
    assert one["selected"]["pairs"] == one["selected"]["entities"][0] * one["selected"]["entities"][1]


def test_data_lists_the_known_sets_and_others_with_checksums(folder: Path) -> None:
    document = json.loads(blindlabel("experiment", "data", "--data", folder, "--json")[0])
    rows = {row["name"]: row for row in document["datasets"]}
    assert list(rows) == ["abt-buy", "amazon-google", "dblp-scholar", "dblp-acm", "febrl", "products"]
    assert not rows["abt-buy"]["found"] and rows["abt-buy"]["files"]["a"]["expected"]
    assert rows["products"]["found"] and len(rows["products"]["files"]["a"]["sha256"]) == 64
    assert "matches.csv" in document["how_to_place"]


def test_a_missing_folder_or_set_is_a_sentence(folder: Path, tmp_path: Path) -> None:
    assert "There is no folder" in blindlabel("experiment", "quality", "--data", tmp_path / "none", code=1)[1]
    assert "There is no set x" in blindlabel("experiment", "quality", "--data", folder, "--dataset", "x", code=1)[1]
    assert "There is no engine" in blindlabel("experiment", "quality", "--data", folder, "--engine", "magic", code=1)[1]


def test_what_an_interrupted_run_had_finished_is_used_again(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        for sample in (1, 2):
            Results(tmp_path).once("samples", ["set", sample], partial(_interrupted_at_2, sample))
    assert Results(tmp_path).once("samples", ["set", 1], lambda: "again") == "sample 1"
    assert Results(tmp_path).once("samples", ["set", 2], lambda: "again") == "again"


def _interrupted_at_2(number: int) -> str:
    if number == 2:
        raise KeyboardInterrupt
    return f"sample {number}"


def test_costs_are_measured_anew_when_the_engines_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engines = tmp_path / "engines"
    engines.mkdir()
    (engines / "one.py").write_text("SPEED = 1\n")
    monkeypatch.setattr(results, "_COSTS", (engines,))
    before = Results(tmp_path / "kept")
    before.keep(results.COSTS, ["row"], 1)
    before.keep("samples", ["row"], 1)
    (engines / "one.py").write_text("SPEED = 2\n")
    after = Results(tmp_path / "kept")
    assert after.kept(results.COSTS, ["row"]) is None and after.kept("samples", ["row"]) == 1


def test_labels_of_uniform_samples_are_measured_beside_the_published_kind(folder: Path, tmp_path: Path) -> None:
    asked = ("experiment", "prevalence", "--data", folder, "--samples", 1, "--records", 60, "--results", tmp_path)
    document: dict[str, Any] = json.loads(blindlabel(*asked, "--json")[0])
    one = document["datasets"]["products"]
    assert one["pairs"] == 3600 and 0 < one["matches"] < 60
    assert [each["right"] <= each["labelled"] for each in one["by_round"]] == [True] * 3
    labelled, right = (sum(each[what] for each in one["by_round"]) for what in ("labelled", "right"))
    assert right == round(one["right"] * labelled) == round(one["found"] * one["matches"])
    assert one["right"] >= 0.8 and one["found"] >= 0.5
    assert one["published"]["precision"] >= 0.8
