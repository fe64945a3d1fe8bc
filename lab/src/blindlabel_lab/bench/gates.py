"""What the gates engine costs: time a gate, bytes a character, one whole published `is_in`, and what the publication's
experiments come to.

`measured()` needs OpenFHE in this process; `figures()` works in any environment by running this module in the gates
one. Every figure but those under "extrapolated" is measured; those are gate counts (exact) times the time of a gate
(measured in the same run).

What is at the top is of the publication's circuit, with two-input gates; "engine" is the engine as it is, with gates of
up to three inputs. With the needle in clear both kinds are measured in turns on one question, so that "gain" is a ratio
of one run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from blindlabel.engines.gates import published
from blindlabel.engines.gates.circuit import run
from blindlabel.engines.gates.compiling import Compiled, compiled
from blindlabel.engines.gates.forking import is_in_parallel
from blindlabel.engines.gates.layout import Layout
from blindlabel.engines.gates.library import Context, ThresholdGates, TwoInputGates
from blindlabel.engines.gates.remote import command, environment, find_python
from blindlabel.engines.interface import EngineError, EngineUnavailable, Terms
from blindlabel.language.formula import Atom, Formula
from blindlabel.language.record import Record, View
from blindlabel_lab.bench.machine import machine
from blindlabel_lab.bench.workload import NEEDLE_LENGTH, PUBLISHED_PAIRS, PUBLISHED_SECONDS, words

GATE_REPEATS = 12
CLEAR_REPEATS = 3
SHARING = 50
"""Needles that share one record in a study of 50 by 50."""


def figures() -> dict[str, Any]:
    """The measurements, made in the gates environment; EngineUnavailable where there is none."""
    python = find_python()
    done = subprocess.run(  # noqa: S603
        command(python, "blindlabel_lab.bench.gates"), env=environment(), capture_output=True, text=True, check=False
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


@dataclass(frozen=True)
class GateSeconds:
    """Processor seconds of a gate, averaged over a whole circuit."""

    two_input: float
    engine: float
    """With up to three inputs, negations included."""


def gate_seconds(figures: dict[str, Any]) -> GateSeconds:
    """Those of a run."""
    clear = figures["clear_needle"]
    return GateSeconds(
        figures["is_in"]["processor_seconds"] / figures["is_in"]["gates"], clear["processor_seconds"] / clear["gates"]
    )


def measured(needle: str = "on", text: str = "canon g7") -> dict[str, Any]:
    """All figures, with one whole `is_in` of this needle and text. Checks every answer."""
    two_input, engine = TwoInputGates(), ThresholdGates()
    (public, secret), key_wall, _ = _timed(two_input.make_keys)
    key = two_input.secret_key(secret)
    bits = [two_input.encrypt(bit) for bit in (True, False)]
    gates = {name: _gate_time(partial(getattr(two_input, name), *bits)) for name in ("and_", "or_", "xor", "xnor")}
    (a, b), _, encrypting = _timed(
        lambda: ([_encrypted(two_input, c) for c in needle], [_encrypted(two_input, c) for c in text])
    )
    whole = {"needle": len(needle), "record": len(text), **_is_in(two_input, key, a, b, needle in text)}
    of_engine = _engine(engine)
    clear = _clear_needle(two_input, key, engine, engine.secret_key(of_engine.pop("secret_key")), needle, text)
    seconds = gate_seconds({"is_in": whole, "clear_needle": clear})
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "openfhe": str(getattr(two_input.module, "__version__", "unknown")),
        "parameters": "BinFHE STD128, GINX, public-key encryption, two-input gates",
        "key_seconds": round(key_wall, 2),
        "public_key_bytes": len(public),
        "gate_seconds": {
            **{name.rstrip("_"): value for name, value in gates.items()},
            "average": round(seconds.two_input, 5),
        },
        "encrypt_bit_seconds": round(encrypting / (8 * (len(needle) + len(text))), 5),
        "bytes_per_character": _character_bytes(two_input),
        "engine": {**of_engine, "gate_seconds": {**of_engine["gate_seconds"], "average": round(seconds.engine, 5)}},
        "is_in": whole,
        "clear_needle": clear,
        "extrapolated": extrapolated(seconds),
    }


def _gate_time(gate: Callable[[], Any]) -> float:
    _, _, seconds = _timed(lambda: [gate() for _ in range(GATE_REPEATS)])
    return round(seconds / GATE_REPEATS, 5)


def _character_bytes(library: Context) -> dict[str, int]:
    bit = library.encrypt(True)
    return {"openfhe": 8 * library.serialized_size(bit), "packed": 8 * len(library.packed([bit]))}


def _engine(engine: ThresholdGates) -> dict[str, Any]:
    """The figures of the engine's own gates; its secret key is for the caller alone."""
    (public, secret), key_wall, _ = _timed(engine.make_keys)
    bits, _, encrypting = _timed(lambda: [engine.encrypt(bit) for bit in (True, False, True) * GATE_REPEATS])
    kinds = {"and3": (3, 3), "or3": (1, 3), "majority": (2, 3), "and": (2, 2), "or": (1, 2)}
    gates = {
        name: _gate_time(partial(engine.at_least, least, bits[:inputs])) for name, (least, inputs) in kinds.items()
    }
    return {
        "parameters": "BinFHE STD128_3, GINX, public-key encryption, gates of up to three inputs",
        "key_seconds": round(key_wall, 2),
        "public_key_bytes": len(public),
        "secret_key": secret,
        "gate_seconds": {**gates, "not": _gate_time(lambda: engine.not_(bits[0]))},
        "encrypt_bit_seconds": round(encrypting / len(bits), 5),
        "bytes_per_character": _character_bytes(engine),
    }


def _encrypted(library: Context, character: str) -> list[Any]:
    return [library.encrypt(bit) for bit in published.bits_of(character)[0]]


def _is_in(library: TwoInputGates, key: Any, a: list[Any], b: list[Any], expected: bool) -> dict[str, Any]:
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


def _clear_needle(
    two_input: TwoInputGates, key: Any, engine: ThresholdGates, engine_key: Any, needle: str, text: str
) -> dict[str, Any]:
    """The engine's own circuit for the same question, as it is and by two-input gates, in turns."""
    terms = _terms(len(text))
    circuit = compiled(terms, [Atom("is_in", (needle,), View())])
    bits = Layout.of(terms).bits(Record({}, text))
    narrow, wide = (
        {number: library.encrypt(bit) for number, bit in enumerate(bits)} for library in (two_input, engine)
    )
    spent: dict[str, list[tuple[float, float]]] = {"two_input": [], "engine": []}
    for _ in range(CLEAR_REPEATS):
        (one,), *seconds = _timed(lambda: run(circuit.netlist, circuit.answers, narrow, two_input))
        spent["two_input"].append((seconds[0], seconds[1]))
        (other,), *seconds = _timed(lambda: circuit.mapped.run(wide, engine))
        spent["engine"].append((seconds[0], seconds[1]))
        if {two_input.decrypt(key, one), engine.decrypt(engine_key, other)} != {needle in text}:
            raise EngineError("The circuit for a clear needle gave a wrong answer.")
    (wall, processor), (engine_wall, engine_processor) = (
        [sum(column) / CLEAR_REPEATS for column in zip(*spent[name])] for name in ("two_input", "engine")
    )
    return {
        "gates": circuit.gates,
        "seconds": round(engine_wall, 3),
        "processor_seconds": round(engine_processor, 3),
        "two_input": {
            "gates": circuit.two_input_gates,
            "seconds": round(wall, 3),
            "processor_seconds": round(processor, 3),
        },
        "gain": round(processor / engine_processor, 2),
    }


@dataclass(frozen=True)
class GateCounts:
    """Gates of the engine's own circuits for one needle of one record."""

    engine: float
    two_input: float


@lru_cache(maxsize=32)
def clear_needle_gates(length: int, needles: int) -> GateCounts:
    """Gates a needle, when so many needles are asked of one record of this length."""
    # one needle's count depends on its letters: take the average over many
    counted = [
        _gates_for(length, part)
        for part in ([[word] for word in words(SHARING, 1)] if needles == 1 else [words(needles, 1)])
    ]
    asked = len(counted) * needles
    return GateCounts(sum(one.gates for one in counted) / asked, sum(one.two_input_gates for one in counted) / asked)


def _gates_for(length: int, needles: list[str]) -> Compiled:
    questions: list[Formula] = [Atom("is_in", (needle,), View()) for needle in needles]
    return compiled(_terms(length), questions)


def extrapolated(seconds: GateSeconds, lengths: Iterable[int] = tuple(PUBLISHED_SECONDS)) -> list[dict[str, Any]]:
    """The publication's experiments: one needle of six characters, 2,500 pairs."""
    rows = []
    for length in lengths:
        serial = published.is_in_gates(NEEDLE_LENGTH, length)
        row: dict[str, Any] = {
            "needle": NEEDLE_LENGTH,
            "record": length,
            "pairs": PUBLISHED_PAIRS,
            "gates_per_pair": serial,
            "seconds_per_pair": round(serial * seconds.two_input, 2),
            "seconds": round(serial * seconds.two_input * PUBLISHED_PAIRS),
            "published_seconds": PUBLISHED_SECONDS[length],
        }
        for name, needles in (("clear_needle", 1), ("clear_needle_shared", SHARING)):
            counts = clear_needle_gates(length, needles)
            row |= {
                f"{name}_gates_per_pair": round(counts.engine),
                f"{name}_seconds": round(counts.engine * seconds.engine * PUBLISHED_PAIRS),
                f"{name}_two_input_gates_per_pair": round(counts.two_input),
                f"{name}_two_input_seconds": round(counts.two_input * seconds.two_input * PUBLISHED_PAIRS),
            }
        rows.append(row)
    return rows


if __name__ == "__main__":
    json.dump(measured(), sys.stdout)
