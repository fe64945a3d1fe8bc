"""Minutes a record, learning and suggestions taken, from an annotation log small enough to do by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blindlabel.cli.main import run
from blindlabel.errors import InputError
from blindlabel_lab.experiments.learning import learning, read_log, timed

HEAD = "visit,annotator,round,record,opened,typed,suggested,suggestion,saved,question,source,changed,verdict,id\n"


def visit(number: int, record: int, opened: float, saved: float | None, source: str = "person", round: int = 1) -> str:
    changed = "0.5" if source == "changed" else "0.0" if source == "suggested" else ""
    text = "" if saved is None else "ret true"
    saved_text = "" if saved is None else str(saved)
    return f"{number},Ada,{round},{record},{opened},,,,{saved_text},{text},{source},{changed},,x{record}\n"


def log(folder: Path, *visits: str) -> Path:
    path = folder / "log.csv"
    path.write_text(HEAD + "".join(visits))
    return path


def test_time_of_a_record_is_that_of_its_visits_and_what_was_left_alone_is_bounded(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        visit(1, 4, 0, 120),
        visit(2, 5, 130, None),
        visit(3, 5, 200, 230, "suggested"),
        visit(4, 4, 300, 360, "changed"),
        visit(5, 6, 1000, 9000),
        visit(6, 4, 10_000, 10_030, round=2),
    )
    found = [(one.round, one.record, one.position, one.minutes, one.saves, one.source) for one in timed(read_log(path))]
    assert found == [
        (1, 4, 1, 3.0, 2, "changed"),
        (1, 5, 2, 0.5, 1, "suggested"),
        (1, 6, 3, 10.0, 1, "person"),
        (2, 4, 1, 0.5, 1, "person"),
    ]


def test_somebody_has_learned_before_five_quick_records_in_a_row(tmp_path: Path) -> None:
    minutes = [5, 4, 3, 0.5, 0.5, 2, 0.5, 0.5, 0.5]
    path = log(tmp_path, *(visit(n, n, 1000 * n, 1000 * n + 60 * taken) for n, taken in enumerate(minutes)))
    one = learning([path])["people"]["Ada"]
    assert one["learned_after_minutes"] == pytest.approx(9)  # 3, 0.5, 0.5, 2, 0.5 are the first with such a median
    assert one["by_position"]["1"] == pytest.approx(5)
    assert one["minutes_a_record"] == pytest.approx(sum(minutes) / 9)
    slow = log(tmp_path, *(visit(n, n, 1000 * n, 1000 * n + 90) for n in range(6)))
    assert learning([slow])["people"]["Ada"]["learned_after_minutes"] is None


def test_command_prints_a_table_and_draws_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path, *(visit(n, n, 100 * n, 100 * n + 30, "suggested") for n in range(12)))
    common = ["experiment", "learning", str(path), "--results", str(tmp_path)]
    assert run(common) == 0
    assert "suggestions taken" in capsys.readouterr().out
    assert (tmp_path / "learning.png").stat().st_size > 1000
    assert run([*common, "--no-plots", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["together"]["suggestions_taken"] == 12


def test_what_is_no_log_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no annotation log"):
        read_log(tmp_path / "x.csv")
    with pytest.raises(InputError, match="Nobody has saved"):
        learning([log(tmp_path, visit(1, 1, 0, None))])
