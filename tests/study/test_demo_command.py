"""`blindlabel demo`: processes, HTTP, the packed engine, and the document that scripts read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blindlabel.cli.demonstration import SHARED, Demonstration, _agreement
from blindlabel.cli.main import run
from blindlabel.export import read_ground_truth
from blindlabel.records.generator import Size, generate
from blindlabel.storage.workspace import Workspace
from support.study_parties import clear_labels, told


@pytest.mark.slow
def test_demo_labels_with_the_packed_engine_as_clear_evaluation_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    assert run(["demo", "--records", "6", "--keep", str(kept), "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert {"records", "pairs", "rounds", "precision", "recall", "f", "seconds", "bytes", "labels_path"} <= set(
        document
    )
    assert (document["records"], document["pairs"]) == (6, 36)
    assert document["engine"] == "packed"
    assert "compared automatically" in said.err
    assert "Round 1: " in said.err and "of 36 open pairs agreed" in said.err
    anna, berta = Workspace.open(kept / "anna"), Workspace.open(kept / "berta")
    expected = clear_labels(anna, berta)
    assert np.array_equal(anna.labels()["berta"], told(expected, "matches"))
    truth = read_ground_truth(Path(document["labels_path"]))
    assert len(truth.pairs) == sum(one["agreed"] for one in document["rounds"])


def test_demo_refuses_a_folder_with_something_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("x")
    assert run(["demo", "--keep", str(tmp_path)]) == 1
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["packed", "gates"])
def test_the_agreement_of_the_demo_holds_for_either_engine(engine: str) -> None:
    plan = Demonstration(3, engine)
    agreement = _agreement(plan, generate("persons", Size(plan.rows, int(SHARED * plan.rows)), plan.seed))
    assert set(agreement.sampling.blocking) <= set(agreement.attributes)
    assert agreement.encoding.engine == engine
