"""The tutorial is played as it stands, to the end: what it says comes out does come out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blindlabel.export import read_ground_truth
from support.guides import DOCS, play

PAGE = DOCS / "tutorial" / "first-study.md"


@pytest.mark.slow
def test_the_tutorial_ends_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (script,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    Path("link.py").write_text(script)
    play(PAGE)
    printed = capsys.readouterr().out
    assert len(Path("candidates.csv").read_text().splitlines()) == 1 + 127, "as many as the page says"
    matches = read_ground_truth(tmp_path / "matches.csv")
    assert matches.pairs and all(pair.label for pair in matches.pairs)
    assert "over" in printed and "cannot say" in printed and "50 would do" in printed
