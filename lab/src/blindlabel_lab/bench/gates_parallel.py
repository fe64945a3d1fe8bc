"""The published circuit in parallel against the serial one: how many times faster, on how many processes.

Serial and parallel runs alternate, and a factor is of two runs that followed each other. Wall seconds say what this
machine gave just then, other work included. The factor *with a core for each process* is what the same runs would have
taken there: processor seconds of the serial run, over those of the joining process and an equal share of what the forks
used. It needs no idle machine, and can be told for more processes than there are cores. What is possible at all is
known by gate counts, since the joining is serial.

Runs in the gates environment (Python 3.10).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

from blindlabel.engines.interface import EngineError
from blindlabel_lab.bench.published_circuit import is_in, is_in_gates, is_in_parallel
from blindlabel_lab.gates.binfhe import EncryptedGates

NEEDLE, TEXT = "on", "canon"
"""Eight comparisons of characters: an equal share for two, four and eight processes."""
PUBLISHED_CORES = 8
REPEATS = 2
_BYTE_GATES = 16


def most_by_gates(needle: int, text: int, processes: int) -> float:
    """The largest factor there can be: all gates, over the longest share of the comparisons and the joining of them."""
    positions = text - needle + 1
    longest = -(-positions * needle // processes)
    joining = positions * (needle - 1) + positions - 1
    return is_in_gates(needle, text) / (_BYTE_GATES * longest + joining)


def factors(library: EncryptedGates, key: Any, encrypted: Callable[[str], list[Any]]) -> list[dict[str, Any]]:
    """Measured on as many processes as there are cores, and as the publication had; every answer is checked."""
    a, b = ([encrypted(character) for character in text] for text in (NEEDLE, TEXT))
    counts = sorted({max(2, os.cpu_count() or 1), PUBLISHED_CORES})
    pairs: dict[int, list[tuple[_Used, _Used]]] = {count: [] for count in counts}
    for _ in range(REPEATS):
        for count in counts:
            serial, parallel = _Used(), _Used()
            answers = [
                serial.by(partial(is_in, library, a, b)),
                parallel.by(partial(is_in_parallel, library, a, b, workers=count)),
            ]
            if {library.decrypt(key, answer) for answer in answers} != {NEEDLE in TEXT}:
                raise EngineError("The published is_in gave a wrong answer.")
            pairs[count].append((serial, parallel))
    return [_figures(count, some) for count, some in pairs.items()]


class _Used:
    """Wall seconds, and processor seconds of this process and of its forks."""

    def by(self, work: Callable[[], Any]) -> Any:
        wall, before = time.perf_counter(), os.times()
        result = work()
        after = os.times()
        self.wall = time.perf_counter() - wall
        self.here = after.user + after.system - before.user - before.system
        self.forks = after.children_user + after.children_system - before.children_user - before.children_system
        return result


def _figures(processes: int, pairs: Sequence[tuple[_Used, _Used]]) -> dict[str, Any]:
    wall = [serial.wall / parallel.wall for serial, parallel in pairs]
    own = [serial.here / (parallel.here + parallel.forks / processes) for serial, parallel in pairs]
    return {
        "processes": processes,
        "cores": os.cpu_count(),
        "factor_here": round(median(wall), 2),
        "factor_here_spread": [round(min(wall), 2), round(max(wall), 2)],
        "factor_own_cores": round(median(own), 2),
        "factor_own_cores_spread": [round(min(own), 2), round(max(own), 2)],
        "most_by_gates": round(most_by_gates(len(NEEDLE), len(TEXT), processes), 2),
        "most_by_gates_6_in_148": round(most_by_gates(6, 148, processes), 2),
    }
