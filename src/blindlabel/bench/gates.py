"""What the gates engine costs: time a gate, bytes a character, one whole published `is_in`, and what the publication's experiments come to.

`measured()` needs OpenFHE in this process; `figures()` works in any environment by running this module in the gates one. Every figure
but those under "extrapolated" is measured; those are gate counts (exact) times the time of a gate (measured in the same run).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from blindlabel.bench.machine import machine
from blindlabel.bench.workload import NEEDLE_LENGTH, PUBLISHED_PAIRS, PUBLISHED_SECONDS, words
from blindlabel.engines.gates import published
from blindlabel.engines.gates.circuit import run
from blindlabel.engines.gates.compiling import compiled
from blindlabel.engines.gates.forking import is_in_parallel
from blindlabel.engines.gates.layout import Layout
from blindlabel.engines.gates.library import Context
from blindlabel.engines.gates.remote import command, environment, find_python
from blindlabel.engines.interface import EngineError, EngineUnavailable, Terms
from blindlabel.language.formula import Atom, Formula
from blindlabel.language.record import Record, View

GATE_REPEATS = 12
SHARING = 50
"""Needles that share one record in a study of 50 by 50."""


def figures() -> dict[str, Any]:
    """The measurements, made in the gates environment; EngineUnavailable where there is none."""
    python = find_python()
    done = subprocess.run(  # noqa: S603
        command(python, "blindlabel.bench.gates"), env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise EngineUnavailable(f"Measuring the gates engine failed: {last[0]}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result, wall seconds and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - processor


def measured(needle: str = "on", text: str = "canon g7") -> dict[str, Any]:
    """All figures, with one whole `is_in` of this needle and text. Checks every answer."""
    library = Context()
    (public, secret), key_wall, _ = _timed(library.make_keys)
    key = library.secret_key(secret)
    bits = [library.encrypt(bit) for bit in (True, False, True)]
    gates = {}
    for name, gate in (("and", library.and_), ("or", library.or_), ("xor", library.xor), ("xnor", library.xnor)):
        _, _, seconds = _timed(lambda gate=gate: [gate(bits[0], bits[1]) for _ in range(GATE_REPEATS)])  # type: ignore[misc]
        gates[name] = round(seconds / GATE_REPEATS, 5)
    (a, b), _, encrypting = _timed(lambda: ([_encrypted(library, c) for c in needle], [_encrypted(library, c) for c in text]))
    raw = library.serialized_size(bits[0])
    packed = len(library.packed(bits[:1]))
    whole = {"needle": len(needle), "record": len(text), **_is_in(library, key, a, b, needle in text)}
    gate_seconds = whole["processor_seconds"] / whole["gates"]
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": machine(),
        "openfhe": str(getattr(library.module, "__version__", "unknown")),
        "parameters": "BinFHE STD128, GINX, public-key encryption, two-input gates",
        "key_seconds": round(key_wall, 2),
        "public_key_bytes": len(public),
        "gate_seconds": {**gates, "average": round(gate_seconds, 5)},
        "encrypt_bit_seconds": round(encrypting / (8 * (len(needle) + len(text))), 5),
        "bytes_per_character": {"openfhe": 8 * raw, "packed": 8 * packed},
        "is_in": whole,
        "clear_needle": _clear_needle(library, key, needle, text),
        "extrapolated": extrapolated(gate_seconds),
    }


def _encrypted(library: Context, character: str) -> list[Any]:
    return [library.encrypt(bit) for bit in published.bits_of(character)[0]]


def _is_in(library: Context, key: Any, a: list[Any], b: list[Any], expected: bool) -> dict[str, Any]:
    """The published circuit, serial and over two processes."""
    found, wall, processor = _timed(lambda: published.is_in(library, a, b))
    parallel, parallel_wall, _ = _timed(lambda: is_in_parallel(library, a, b, workers=2))
    if {library.decrypt(key, found), library.decrypt(key, parallel)} != {expected}:
        raise EngineError("The published is_in gave a wrong answer.")
    return {
        "gates": published.is_in_gates(len(a), len(b)),
        "seconds": round(wall, 3),
        "processor_seconds": round(processor, 3),
        "seconds_two_processes": round(parallel_wall, 3),
    }


def _terms(length: int) -> Terms:
    return Terms(attributes=(), record_length=length, encode_attributes=False, functions=("is_in",))


def _clear_needle(library: Context, key: Any, needle: str, text: str) -> dict[str, Any]:
    """The engine's own circuit for the same question."""
    terms = _terms(len(text))
    circuit = compiled(terms, [Atom("is_in", (needle,), View())])
    inputs = dict(enumerate(library.encrypt(bit) for bit in Layout.of(terms).bits(Record({}, text))))
    (found,), wall, processor = _timed(lambda: run(circuit.netlist, circuit.answers, inputs, library))
    if library.decrypt(key, found) != (needle in text):
        raise EngineError("The circuit for a clear needle gave a wrong answer.")
    return {"gates": circuit.gates, "seconds": round(wall, 3), "processor_seconds": round(processor, 3)}


def clear_needle_gates(length: int, needles: int) -> float:
    """Gates a needle of the engine's own circuit, when so many needles are asked of one record of this length."""
    if needles == 1:  # one needle's count depends on its letters: take the average over many
        return sum(clear_needle_gates_of(length, [needle]) for needle in words(SHARING, 1)) / SHARING
    return clear_needle_gates_of(length, words(needles, 1)) / needles


def clear_needle_gates_of(length: int, needles: list[str]) -> int:
    """Gates for these needles together."""
    questions: list[Formula] = [Atom("is_in", (needle,), View()) for needle in needles]
    return compiled(_terms(length), questions).gates


def extrapolated(gate_seconds: float) -> list[dict[str, Any]]:
    """The publication's experiments: one needle of six characters, 2,500 pairs."""
    rows = []
    for length, seconds in PUBLISHED_SECONDS.items():
        serial = published.is_in_gates(NEEDLE_LENGTH, length)
        alone, shared = clear_needle_gates(length, 1), clear_needle_gates(length, SHARING)
        rows.append(
            {
                "needle": NEEDLE_LENGTH,
                "record": length,
                "pairs": PUBLISHED_PAIRS,
                "gates_per_pair": serial,
                "seconds_per_pair": round(serial * gate_seconds, 2),
                "seconds": round(serial * gate_seconds * PUBLISHED_PAIRS),
                "published_seconds": seconds,
                "clear_needle_gates_per_pair": round(alone),
                "clear_needle_seconds": round(alone * gate_seconds * PUBLISHED_PAIRS),
                "clear_needle_shared_gates_per_pair": round(shared),
                "clear_needle_shared_seconds": round(shared * gate_seconds * PUBLISHED_PAIRS),
            }
        )
    return rows


if __name__ == "__main__":
    json.dump(measured(), sys.stdout)
