"""What the gates engine costs: time a gate, bytes a character, one whole published `is_in`, and what the publication's
experiments come to.

`measured()` needs OpenFHE in this process; `figures()` works in any environment by running this module in the gates
one. Every figure but those under "extrapolated" is measured; those are gate counts (exact) times the time of a gate
(measured in the same run).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from functools import lru_cache, partial
from typing import Any

from blindlabel.engines.interface import EngineError, EngineUnavailable, Terms
from blindlabel.language.formula import Atom, Formula
from blindlabel.language.record import Record, View
from blindlabel_lab.bench import published_circuit
from blindlabel_lab.bench.machine import machine
from blindlabel_lab.bench.published_circuit import used
from blindlabel_lab.bench.workload import NEEDLE_LENGTH, PUBLISHED_PAIRS, PUBLISHED_SECONDS, words
from blindlabel_lab.gates.binfhe import EncryptedGates
from blindlabel_lab.gates.circuits import run
from blindlabel_lab.gates.elsewhere import command, environment, find_python
from blindlabel_lab.gates.record_circuits import RecordBits, compiled

GATE_REPEATS = 12
TICK_REPEATS = 4
"""Gates of each kind in a tick of the clock: there are many ticks in a run."""
SHARING = 50
"""Needles that share one record in a study of 50 by 50."""


def figures() -> dict[str, Any]:
    """The measurements, made in the gates environment; EngineUnavailable where there is none."""
    run_there = command(find_python(), "blindlabel_lab.bench.gates")
    done = subprocess.run(run_there, env=environment(), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise EngineUnavailable(f"Measuring the gates engine failed: {last[0]}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def gate_seconds(figures: dict[str, Any]) -> float:
    """Processor seconds of a gate, averaged over the whole published circuit of a run."""
    seconds: float = figures["is_in"]["processor_seconds"] / figures["is_in"]["gates"]
    return seconds


def measured(needle: str = "on", text: str = "canon g7") -> dict[str, Any]:
    """All figures, with one whole `is_in` of this needle and text. Checks every answer."""
    library = EncryptedGates()
    (public, secret), key_wall, *_ = used(library.make_keys)
    key = library.secret_key(secret)
    bits = [library.encrypt_publicly(bit) for bit in (True, False)]
    gates = {name: _gate_time(partial(getattr(library, name), *bits)) for name in ("and_", "or_", "xor", "xnor")}
    (a, b), _, encrypting, _ = used(
        lambda: ([_encrypted(library, c) for c in needle], [_encrypted(library, c) for c in text])
    )
    whole = {"needle": len(needle), "record": len(text), **_is_in(library, key, a, b, needle in text)}
    seconds = gate_seconds({"is_in": whole})
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),  # noqa: UP017 - runs under Python 3.10
        "machine": machine(),
        "openfhe": str(getattr(library.module, "__version__", "unknown")),
        "parameters": "BinFHE STD128, GINX, public-key encryption, two-input gates",
        "key_seconds": round(key_wall, 2),
        "public_key_bytes": len(public),
        "gate_seconds": {**{name.rstrip("_"): value for name, value in gates.items()}, "average": round(seconds, 5)},
        "encrypt_bit_seconds": round(encrypting / (8 * (len(needle) + len(text))), 5),
        "bytes_per_character": {
            "openfhe": 8 * library.serialized_size(bits[0]),
            "packed": 8 * len(library.packed(bits[:1])),
        },
        "is_in": whole,
        "clear_needle": _clear_needle(library, key, needle, text),
        "extrapolated": extrapolated(seconds),
    }


def _gate_time(gate: Callable[[], Any], repeats: int = GATE_REPEATS) -> float:
    return round(used(lambda: [gate() for _ in range(repeats)]).here / repeats, 5)


def _encrypted(library: EncryptedGates, character: str) -> list[Any]:
    return [library.encrypt_publicly(bit) for bit in published_circuit.bits_of(character)[0]]


def _is_in(library: EncryptedGates, key: Any, a: list[Any], b: list[Any], expected: bool) -> dict[str, Any]:
    """The published circuit, serial."""
    found, wall, processor, _ = used(lambda: published_circuit.is_in(library, a, b))
    if library.decrypt(key, found) != expected:
        raise EngineError("The published is_in gave a wrong answer.")
    return {
        "gates": published_circuit.is_in_gates(len(a), len(b)),
        "seconds": round(wall, 3),
        "processor_seconds": round(processor, 3),
    }


class GateClock:
    """Times gates now and then, in the gates environment, while something else is measured here."""

    def __enter__(self) -> GateClock:
        run_there = command(find_python(), "blindlabel_lab.bench.gates", "clock")
        self._process = subprocess.Popen(  # noqa: S603
            run_there, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def _asked(self, what: str) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(what + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (OSError, ValueError) as error:
            raise EngineUnavailable("Measuring the gates engine failed: its process ended.") from error

    def tick(self) -> float:
        """Processor seconds of a gate just now, the mean of some of each kind."""
        return float(self._asked("tick"))

    def parallel(self) -> list[dict[str, Any]]:
        """The published circuit, serial beside parallel."""
        found: list[dict[str, Any]] = self._asked("parallel")
        return found


def _serve_clock() -> None:
    """The other end of a `GateClock`: a line in, a number out."""
    library = EncryptedGates()
    _, secret = library.make_keys()
    key = library.secret_key(secret)
    bits = [library.encrypt_publicly(bit) for bit in (True, False)]
    kinds = [partial(getattr(library, name), *bits) for name in ("and_", "or_", "xor", "xnor")]
    for line in sys.stdin:
        if line.strip() == "tick":
            answer: Any = sum(_gate_time(kind, TICK_REPEATS) for kind in kinds) / len(kinds)
        else:
            answer = published_circuit.factors(library, key, partial(_encrypted, library))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _terms(length: int) -> Terms:
    return Terms(attributes=(), record_length=length, encode_attributes=False, functions=("is_in",))


def _clear_needle(library: EncryptedGates, key: Any, needle: str, text: str) -> dict[str, Any]:
    """The engine's own circuit for the same question."""
    terms = _terms(len(text))
    circuit = compiled(terms, [Atom("is_in", (needle,), View())])
    inputs = dict(enumerate(library.encrypt_publicly(bit) for bit in RecordBits.of(terms).bits(Record({}, text))))
    (found,), wall, processor, _ = used(lambda: run(circuit.netlist, circuit.answers, inputs, library))
    if library.decrypt(key, found) != (needle in text):
        raise EngineError("The circuit for a clear needle gave a wrong answer.")
    return {"gates": circuit.gates, "seconds": round(wall, 3), "processor_seconds": round(processor, 3)}


@lru_cache(maxsize=32)
def clear_needle_gates(length: int, needles: int) -> float:
    """Gates a needle of the engine's own circuit, when this many needles are asked of one record of this length."""
    if needles == 1:  # one needle's count depends on its letters: take the average over many
        return sum(_gates_for(length, [needle]) for needle in words(SHARING, 1)) / SHARING
    return _gates_for(length, words(needles, 1)) / needles


def _gates_for(length: int, needles: list[str]) -> int:
    questions: list[Formula] = [Atom("is_in", (needle,), View()) for needle in needles]
    return compiled(_terms(length), questions).gates


def extrapolated(seconds: float, lengths: Iterable[int] = tuple(PUBLISHED_SECONDS)) -> list[dict[str, Any]]:
    """The publication's experiments at these seconds a gate: one needle of six characters, 2,500 pairs."""
    rows = []
    for length in lengths:
        serial = published_circuit.is_in_gates(NEEDLE_LENGTH, length)
        row: dict[str, Any] = {
            "needle": NEEDLE_LENGTH,
            "record": length,
            "pairs": PUBLISHED_PAIRS,
            "gates_per_pair": serial,
            "seconds_per_pair": round(serial * seconds, 2),
            "seconds": round(serial * seconds * PUBLISHED_PAIRS),
            "published_seconds": PUBLISHED_SECONDS[length],
        }
        for name, needles in (("clear_needle", 1), ("clear_needle_shared", SHARING)):
            gates = clear_needle_gates(length, needles)
            row[f"{name}_gates_per_pair"] = round(gates)
            row[f"{name}_seconds"] = round(gates * seconds * PUBLISHED_PAIRS)
        rows.append(row)
    return rows


if __name__ == "__main__":
    if sys.argv[1:] == ["clock"]:
        _serve_clock()
    else:
        json.dump(measured(), sys.stdout)
