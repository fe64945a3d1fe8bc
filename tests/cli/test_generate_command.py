"""`blindlabel generate` writes the tables and says what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from blindlabel.cli.demo import generate
from blindlabel.errors import InputError


def run(*arguments: str) -> None:
    app = typer.Typer()
    app.command()(generate)
    app(args=list(arguments), standalone_mode=False)


def test_json_is_one_document_that_names_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("persons", "--rows", "20", "--overlap", "0.25", "--seed", "3", "--out", str(tmp_path), "--json")
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "kind": "persons",
        "seed": 3,
        "rows_a": 20,
        "rows_b": 20,
        "matches": 5,
        "files": [str(tmp_path / name) for name in ("a.csv", "b.csv", "matches.csv")],
    }
    assert (tmp_path / "a.csv").read_text().startswith("id,given_name,surname,sex,age,title,address_1,phone_number\n")
    assert len((tmp_path / "matches.csv").read_text().splitlines()) == 6


def test_half_of_the_rows_match_unless_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("products", "--rows", "10", "--out", str(tmp_path))
    assert capsys.readouterr().out.startswith("10 and 10 rows, 5 matches: ")


@pytest.mark.parametrize("arguments", [["--overlap", "1.5"], ["--overlap=-0.1"], ["--overlap", "nan"], ["--rows", "0"]])
def test_wrong_sizes_are_input_errors(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(InputError):
        run("persons", "--rows", "10", "--out", str(tmp_path / "none"), *arguments)
    assert not (tmp_path / "none").exists()
