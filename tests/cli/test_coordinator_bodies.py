"""`blindlabel coordinator bodies` says and settles where large bodies are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blindlabel.cli.main import run


def test_place_for_bodies_is_said_and_settled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BLINDLABEL_DATABASE", raising=False)
    home = str(tmp_path / "coordinator")
    first, second = f"file://{tmp_path}/first", f"file://{tmp_path}/second"
    assert run(["coordinator", "bodies", "--at", home]) == 1
    assert "not a coordinator's folder" in capsys.readouterr().err
    assert run(["coordinator", "bodies", "--at", home, first]) == 0
    assert capsys.readouterr().out.strip() == first
    assert run(["coordinator", "bodies", "--at", home, second]) == 1
    assert f"kept at {first}" in capsys.readouterr().err
    assert run(["coordinator", "bodies", "--at", home, second, "--copied", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"url": second, "folder": f"{home}/bodies"}
    assert run(["coordinator", "bodies", "--at", home, "memory://here", "--copied"]) == 1
    assert run(["coordinator", "bodies", "--at", home, "nosuch://here", "--copied"]) == 1
    capsys.readouterr()
    assert run(["coordinator", "bodies", "--at", home]) == 0
    assert capsys.readouterr().out.strip() == second
