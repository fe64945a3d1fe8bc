"""Kill -9 of any process of `blindlabel demo`, at random moments of its work on the packed engine: labels as in clear
evaluation.

`test_kill_at_any_moment.py` does the same on the plain engine, where a study is short and kills lie close together.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from blindlabel.storage.workspace import Workspace
from support.patience import Patience
from support.study_parties import clear_labels, told

KILLS = 10
KILLS_EACH = 8


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds the demo's processes in /proc")
def test_the_demo_gives_the_same_labels_whatever_is_killed(tmp_path: Path) -> None:
    chance, kills, demos = random.Random(7), 0, 0
    victims: set[str] = set()
    while kills < KILLS:
        demos += 1
        assert demos <= 6, "the demos end before anything can be killed"
        killed = one_demo(tmp_path / str(demos), chance, 1 + demos % 2, victims)
        kills += len(killed)
        victims |= set(killed)
    assert {"coordinator", "anna", "berta"} <= victims


def one_demo(folder: Path, chance: random.Random, workers: int, before: set[str]) -> list[str]:
    """Run a demo while killing its processes, those first that were not killed `before`; who was killed, in order."""
    folder.mkdir()
    killed: list[str] = []
    kept, patience = folder / "kept", Patience()
    command = [
        "demo",
        "--records",
        "8",
        "--seed",
        str(chance.randrange(1000)),
        "--workers",
        str(workers),
        "--keep",
        str(kept),
        "--json",
    ]
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        demo = subprocess.Popen([sys.executable, "-m", "blindlabel.cli.main", *command], stdout=out, stderr=err)
    try:
        while demo.poll() is None:
            patience.check((folder / "err").read_text)
            time.sleep(chance.uniform(0.1, 2.5))
            below = {victim: name for victim in descendants(demo.pid) if (name := party_of(victim))}
            if len(killed) < KILLS_EACH and below:
                new = [victim for victim, name in below.items() if name not in {*before, *killed}]
                victim = chance.choice(new or list(below))
                if kill(victim):
                    killed.append(below[victim])
    finally:
        for process in (
            [demo.pid, *descendants(demo.pid)] if demo.poll() is None else ()
        ):  # the demo first, so that it starts nothing again
            kill(process)
        demo.wait()
    assert demo.returncode == 0, (folder / "err").read_text()
    document = json.loads((folder / "out").read_text())
    assert document["restarts"] > 0 or not killed
    anna, berta = Workspace.open(kept / "anna"), Workspace.open(kept / "berta")
    expected = clear_labels(anna, berta)
    assert np.array_equal(anna.labels()["berta"], told(expected, "matches"))
    assert np.array_equal(berta.labels()["anna"], told(expected.T, "matches"))
    assert sum(one["agreed"] for one in document["rounds"]) == np.count_nonzero(expected)
    assert not anna.unsent()
    assert not berta.unsent()
    return killed


def descendants(process: int) -> list[int]:
    """All processes that a process has started, and theirs."""
    try:
        children = [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []
    return children + [below for child in children for below in descendants(child)]


def party_of(process: int) -> str:
    """Whose process it is: a party's own, or a worker that it started; nothing for one that is not (or no longer) a
    party's.
    """
    try:
        words = Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return ""
    if "--at" in words:
        return Path(words[words.index("--at") + 1]).name
    return "worker" if "spawn_main" in " ".join(words) else ""


def kill(process: int) -> bool:
    """Kill -9; whether it was there."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
