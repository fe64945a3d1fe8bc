"""Private folders of the engines' libraries: nothing of a killed process is left, nothing of a living one is
touched.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from blindlabel.engines import scratch


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="who is alive is read from /proc")
def test_folders_of_killed_processes_are_removed_and_those_of_living_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "MEMORY", tmp_path)
    code = (
        "from blindlabel.engines import scratch; import pathlib, os, sys; scratch.MEMORY = pathlib.Path(sys.argv[1])\n"
    )
    code += "folder = scratch.make_folder(); (folder / 'secret').write_bytes(b'key'); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    assert (left / "secret").exists()
    assert left.stat().st_mode & 0o777 == 0o700
    other = tmp_path / "blindlabel-scratch-readme-x"
    other.mkdir()
    mine = scratch.make_folder()
    assert f"-{os.getpid()}-" in mine.name
    assert set(tmp_path.iterdir()) == {other, mine}
