"""The commands of docs/how-to/operations.md, run in their order."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.export import read_ground_truth
from blindlabel.parties.joining import words_to_read_out
from blindlabel.records.generator import Size, generate
from blindlabel.records.generator import write as write_tables
from blindlabel.storage.workspace import Workspace
from support.patience import PATIENCE, Patience
from support.study_parties import free_port

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "operations.md"
BLOCK = re.compile(r"^```sh( background)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> list[tuple[bool, str]]:
    """Every command of the guide, and whether it runs in the background."""
    return [
        (bool(background), line)
        for background, block in BLOCK.findall(GUIDE.read_text("utf-8"))
        for line in block.splitlines()
    ]


def arguments(line: str, port: int) -> list[str]:
    parts = shlex.split(line.replace("8470", str(port)))
    if "--words" in parts:  # what the other owner reads out on the telephone
        peer, at = parts[3], parts[parts.index("--at") + 1]
        name, _, carried = at.partition("-")
        other = Workspace.open(Path(f"{peer}-{carried}" if carried else peer))
        parts[parts.index("--words") + 1] = " ".join(words_to_read_out(other, name))
    if parts[0] == "sqlite3" and not shutil.which("sqlite3"):
        copied = parts[2].partition(" ")[2]
        script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))"
        return [sys.executable, "-c", script, parts[1], copied]
    return [sys.executable, "-m", "blindlabel.cli.main", *parts[1:]] if parts[0] == "blindlabel" else parts


@pytest.mark.slow
def test_every_command_of_the_guide_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shutil.which("openssl"), "the guide makes a certificate with openssl; install it to run this test"
    write_tables(generate("persons", Size(6, 4), 2), tmp_path / "tables")
    shutil.copy(tmp_path / "tables" / "b.csv", tmp_path / "tables" / "c.csv")
    port, running = free_port(), []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        for background, line in commands():
            command = arguments(line, port)
            if background:
                running.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
                if "serve" in command:
                    wait_for(port)
                continue
            if line.startswith("blindlabel "):  # in this process, which has imported everything already
                code = run(command[3:])
            else:
                code = subprocess.run(
                    command, env=environment, capture_output=True, timeout=PATIENCE, check=False
                ).returncode
            assert code == 0, f"{line}\n{capsys.readouterr()}"
    finally:
        for process in running:
            process.kill()
            process.wait()
    for name in ("berta-labels.csv", "clara-labels-berta.csv", "anna-carried.csv"):
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


def wait_for(port: int) -> None:
    def serves() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    Patience().wait_until(serves, lambda: "the coordinator does not serve")
