"""The commands of docs/how-to/operations.md, run in their order."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from blindlabel.export import read_ground_truth
from blindlabel.records.generator import Size, generate
from blindlabel.records.generator import write as write_tables
from support.guides import DOCS, play


@pytest.mark.slow
def test_every_command_of_the_guide_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shutil.which("openssl"), "the guide makes a certificate with openssl; install it to run this test"
    write_tables(generate("persons", Size(6, 4), 2), tmp_path / "tables")
    play(DOCS / "how-to" / "operations.md")
    for name in ("berta-labels.csv", "anna-carried.csv"):
        exported = read_ground_truth(tmp_path / name)
        assert exported.only_matches and all(pair.label for pair in exported.pairs)  # a small sample may hold no match
    exported = read_ground_truth(tmp_path / "berta-labels.csv")
    assert len(read_ground_truth(tmp_path / "labels.json").pairs) > 30, "the coordinator has all labels"
    merged = (tmp_path / "pairs.csv").read_text().splitlines()
    assert len(merged) == len(exported.pairs) + 1 and "unique_id_l" in merged[0]
    labelled = (tmp_path / "labels-splink.csv").read_text().splitlines()
    assert len(labelled) == len(read_ground_truth(tmp_path / "labels.json").pairs) + 1
    assert not (tmp_path / "anna").exists()
    assert (tmp_path / "anna-carried").exists()
