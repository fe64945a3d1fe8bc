"""Forked processes of the gates engine: results in order, and no endless waiting for a process that was killed. Runs
without OpenFHE.
"""

from __future__ import annotations

import os
import signal

import pytest

from blindlabel.engines.gates import forking
from blindlabel.engines.interface import WorkerLost


def _work(shared: int, task: int) -> int:
    if task == shared:
        os.kill(os.getpid(), signal.SIGKILL)
    return task * task


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers: int) -> None:
    assert list(forking.in_forks(_work, -1, range(7), workers)) == [task * task for task in range(7)]


def test_a_killed_process_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "_LOOK_AFTER", 0.2)
    with pytest.raises(WorkerLost, match="was killed"):
        list(forking.in_forks(_work, 3, range(7), 2))
