"""A coordinator has no engine: whatever it is told to do, no process of it loads a homomorphic library, nor the parts
of the packed engine that need one.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from blindlabel.parties.joining import TableOptions, join
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.storage.secret_files import read_invitation
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderTransport
from support.patience import PATIENCE, Patience
from support.study_parties import FIRST_WORDS, confirm_all, free_port, is_served, write_person_tables

FORBIDDEN = ("tenseal", "openfhe", "blindlabel.engines.packed.seal", "blindlabel.engines.packed.running")
CAUGHT = 99
COMMAND = f"""
import os, sys

class Guard:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in {FORBIDDEN!r}):
            print("a coordinator imports", name, file=sys.stderr, flush=True)
            os._exit({CAUGHT})  # not an ImportError, which somebody might pass over

sys.meta_path.insert(0, Guard())
from blindlabel.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", COMMAND, *map(str, arguments)]


def played(*arguments: object) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own."""
    return subprocess.run(command(*arguments), check=False, capture_output=True, text=True, timeout=PATIENCE)


def coordinator(*arguments: object) -> str:
    """One command of the coordinator; what it says."""
    done = played("coordinator", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def serving(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """The coordinator's server while the block runs."""
    with subprocess.Popen(command("coordinator", "serve", *arguments)) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_every_command_of_a_coordinator_works_where_no_homomorphic_library_can_be_loaded(tmp_path: Path) -> None:
    home, shared, file = tmp_path / "home", tmp_path / "shared", tmp_path / "agreement.toml"
    shared.mkdir()
    named = ("--name", "persons", "--owners", "anna,berta", "--attributes", "given_name,surname")
    coordinator("new", file, *named, "--records", 4, "--rounds", 1, "--engine", "packed", "--record-length", 40)
    file.write_text(re.sub(r"^profile = .*$", "profile = [1, 1]", file.read_text(), flags=re.MULTILINE))  # soon asked
    assert json.loads(coordinator("check", file, "--json"))["account"]["parties"]
    coordinator("invite", file, "--at", home, "--to", tmp_path / "inv", "--address", f"folder:{shared}")
    owners = []
    for name, table in zip(("anna", "berta"), write_person_tables(tmp_path, rows=4)):
        invitation = read_invitation(tmp_path / "inv" / f"{name}.invitation")
        workspace = join(Workspace.create(tmp_path / name), invitation, TableOptions(table))
        owners.append(OwnerParty(workspace, FolderTransport(shared, letters_of(workspace), name)))
    with serving("--at", home, "--via", f"folder:{shared}") as process:
        patience, over = Patience(), [False]
        while not all(over):
            over = [run(owner, FIRST_WORDS, once=True, tell=lambda _: None) for owner in owners]
            confirm_all(owners)
            assert process.poll() is None
            patience.check(lambda: [owner.next_steps() for owner in owners])
            time.sleep(0.05)
    (status,) = json.loads(coordinator("status", "--at", home, "--json"))
    assert status["ended"] and status["history"][0]["figures"]["pairs"] == 16
    assert played("export", home, "--to", tmp_path / "labels.csv").returncode == 0
    assert len((tmp_path / "labels.csv").read_text().splitlines()) > 1
    port = free_port()
    with serving("--at", home, "--port", port) as process:
        Patience().wait_until(lambda: process.poll() is not None or is_served(port))
        assert coordinator("health", "--address", f"http://127.0.0.1:{port}") and process.poll() is None


def test_a_forbidden_import_is_caught(tmp_path: Path) -> None:
    """The judge is judged."""
    (tmp_path / "t.csv").write_text("name\nx\n")
    done = played("try", 'ret is_in("x", $r)', tmp_path / "t.csv", "--engine", "packed")
    assert done.returncode == CAUGHT and "a coordinator imports" in done.stderr
