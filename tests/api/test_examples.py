"""Every script and notebook in examples/ runs, in a process of its own and in an empty folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.documented_python import ROOT

EXAMPLES = ROOT / "examples"
SAID = {
    "first_steps.py": "by hand: ['Canon 2470 lens']",
    "study_by_folder.py": "discarded\nhospital's h1 is at the clinic, too\nhospital's h3 is at the clinic, too\n",
    "rehearsal.py": "written: ground_truth.csv, ground_truth.discarded.csv",
}


CHANCE = "import random, runpy, secrets, sys; secrets._sysrand = random.Random(1); sys.argv = sys.argv[1:];"
"""Draws pairs alike in every run; keys stay secret ones."""


def run(code: list[str], folder: Path) -> str:
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(EXAMPLES)}
    done = subprocess.run(
        [sys.executable, "-W", "error", *code], cwd=folder, env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(SAID))
def test_script_runs_and_says_what_it_should(script: str, tmp_path: Path) -> None:
    assert SAID[script] in run([str(EXAMPLES / script)], tmp_path)


def test_every_script_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*SAID, "case_studies.py", "better_linkage.py"}


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "needs"), [("splink", "splink"), ("anonlink", "clkhash")])
def test_blind_labels_choose_a_better_threshold_than_a_guess(tool: str, needs: str, tmp_path: Path) -> None:
    """clkhash takes no pandas of today, so `make test-tools` has it in an environment of its own."""
    pytest.importorskip(needs)
    done = run(["-W", "ignore", "-c", f"{CHANCE} runpy.run_path(sys.argv[0], run_name='__main__')",
                str(EXAMPLES / "better_linkage.py"), tool], tmp_path)  # fmt: skip
    assert_better(done)


def assert_better(printed: str) -> None:
    """Labels alone give bands, checked pairs values whose intervals hold, and a threshold as good as a guess or better;
    true labels of the same pairs would not have chosen much better.
    """
    said = dict(re.findall(r"^(.+?): precision (.*)$", printed, re.MULTILINE))
    assert set(said) == {"blind labels", "blind labels and checked pairs", "true labels"}
    assert all(figure.startswith(("band", "cannot say")) for figure in re.split("; recall |; F ", said["blind labels"]))
    assert re.match(r"\d\.\d{3}, \d\.\d{3} to \d\.\d{3}; recall", said["blind labels and checked pairs"])
    chosen = {what: float(f) for what, f in re.findall(r"^threshold by (.*): F (.*)$", printed, re.MULTILINE)}
    checked = chosen["blind labels and checked pairs"]
    assert checked >= chosen["a guess"] - 0.005 and checked >= chosen["true labels"] - 0.05


@pytest.mark.slow
def test_case_studies_come_out_as_the_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "laboratory" / "case-studies.md").read_text("utf-8")
    shown = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    assert run([str(EXAMPLES / "case_studies.py")], tmp_path) == shown


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted(path.name for path in EXAMPLES.glob("*.ipynb")))
def test_notebook_runs_from_its_first_cell_to_its_last(notebook: str, tmp_path: Path) -> None:
    if notebook == "better_linkage.ipynb":
        pytest.importorskip("splink")
    cells = json.loads((EXAMPLES / notebook).read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5 and any("plt.show()" in cell for cell in code)
    script = tmp_path / "notebook.py"
    script.write_text("\n\n".join(code), encoding="utf-8")
    if notebook == "better_linkage.ipynb":
        started = ["-W", "ignore", "-c", f"{CHANCE} runpy.run_path(sys.argv[0])", str(script)]
        assert_better(run(started, tmp_path))
        return
    printed = run([str(script)], tmp_path)
    assert "the same when encrypted: True" in printed
    assert printed.count("round ") >= 3
