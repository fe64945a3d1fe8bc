"""Every long tool starts and ends well at its smallest size, so that none can rot between two campaigns."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


def campaign() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("campaign", str(SCRIPTS / "campaign"))
    spec = importlib.util.spec_from_loader("campaign", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


TOOLS: dict[str, list[str]] = campaign().TOOLS


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_tool_runs_at_its_smallest_size(tool: str) -> None:
    done = subprocess.run([sys.executable, SCRIPTS / tool, *TOOLS[tool]], capture_output=True, text=True, check=False)
    assert done.returncode in (0, campaign().MISSING), done.stderr
    assert done.stderr.strip(), "it says what it found"


@pytest.mark.whole
@pytest.mark.parametrize(("ends", "code"), [(0, 0), (1, 1), (3, 0)], ids=["well", "found something", "cannot run here"])
def test_campaign_says_what_its_tools_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, ends: int, code: int
) -> None:
    module = campaign()
    (tmp_path / "scripts").mkdir()
    for name, ended in (("one", 0), ("other", ends)):
        text = f"import sys\nprint('{name} with', *sys.argv[1:], file=sys.stderr)\nsys.exit({ended})\n"
        (tmp_path / "scripts" / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "TOOLS", {"one": [], "other": []})
    monkeypatch.setattr(sys, "argv", ["campaign", "--minutes", "2"])
    assert module.main() == code
    said = capsys.readouterr().out.splitlines()
    assert "one with --seconds 60" in said[0] and "other with --seconds 120" in said[1], "what one does not need"
    assert ("well" in said[1], "FOUND" in said[1], "NOT RUN" in said[1]) == (ends == 0, ends == 1, ends == 3)
