"""The packed engine beside the gates engine on the same questions and records, in one run on one machine.

The packed engine does all the work and every answer is checked against the plain meaning. The gates engine would take
weeks, so its time is an exact gate count times the time of a gate, measured in the same run on a whole `is_in`. What
cannot run here is null, and is named in "not_run".
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from blindlabel.engines.ask import EncryptedRecords
from blindlabel.engines.gates.compiling import compiled
from blindlabel.engines.gates.published import is_in_gates
from blindlabel.engines.interface import EngineError, Progress
from blindlabel.engines.registry import engine_named
from blindlabel.language.formula import evaluate
from blindlabel_lab.bench import gates
from blindlabel_lab.bench.machine import machine
from blindlabel_lab.bench.workload import NEEDLE_LENGTH, PUBLISHED_SECONDS, Workload, workload

LENGTHS = tuple(PUBLISHED_SECONDS)


def comparison(lengths: Sequence[int] = LENGTHS, size: int = 50, progress: Progress | None = None) -> dict[str, Any]:
    """One row a record length: size questions of five needles over size records."""
    report = progress or (lambda _phase, _share: None)
    not_run: list[dict[str, Any]] = []
    seconds: float | None = None
    measured: dict[str, Any] | None = None
    try:
        measured = gates.figures()
        seconds = gates.gate_seconds(measured)
    except EngineError as error:
        not_run.append({"engine": "gates", "reason": str(error)})
    report("gates", 1.0)
    rows = []
    for number, length in enumerate(lengths):
        work = workload(length, size)
        packed: float | None = None
        try:
            packed = packed_seconds(work)
        except (ImportError, AttributeError, EngineError) as error:
            not_run.append({"engine": "packed", "length": length, "reason": str(error)})
        rows.append(row(length, work, packed, seconds))
        report("packed", (number + 1) / len(lengths))
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "workload": (
            f"{size} questions of 5 needles of {NEEDLE_LENGTH} characters, a & b & c & (d | e), over {size} records"
        ),
        "clock": "processor seconds, so that other work on the machine counts for neither engine",
        "gate_seconds": None if seconds is None else round(seconds, 5),
        "gates_measured_on": None if measured is None else measured["is_in"],
        "rows": rows,
        "not_run": not_run,
    }


def row(length: int, work: Workload, packed: float | None, seconds: float | None) -> dict[str, Any]:
    """The figures of one record length; what could not be measured is None."""
    serial = None if seconds is None else serial_gates(work, length) * seconds
    clear = None if seconds is None else clear_needle_gates(work) * seconds
    return {
        "length": length,
        "packed_seconds": None if packed is None else round(packed, 3),
        "gates_serial_seconds": None if serial is None else round(serial),
        "gates_clear_needle_seconds": None if clear is None else round(clear),
        "ratio": None if packed is None or serial is None else round(serial / packed),
    }


def serial_gates(work: Workload, length: int) -> int:
    """Gates of the published circuit for all pairs: its `is_in` for each needle, and one gate for each of the
    connectives between them.
    """
    return (
        len(work.questions) * len(work.records) * (work.needles * is_in_gates(NEEDLE_LENGTH, length) + work.needles - 1)
    )


def clear_needle_gates(work: Workload) -> int:
    """Gates of the engine's own circuit for all pairs, with what the questions share, and the one that masks each
    answer.
    """
    return len(work.records) * (compiled(work.terms, work.questions).gates + len(work.questions))


def _processor_seconds() -> float:
    """Of this process and of those it started and waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def packed_seconds(work: Workload) -> float:
    """Processor seconds of the packed engine's evaluation, assist included; keys and encryption are not counted, as for
    the gates.
    """
    records = EncryptedRecords(engine_named("packed"), work.terms, work.records)
    start = _processor_seconds()
    answers = records.evaluate(work.questions)
    seconds = _processor_seconds() - start
    found = records.decrypt(answers, len(work.questions))
    expected = [[evaluate(question, record) for record in work.records] for question in work.questions]
    if found.tolist() != expected:
        raise EngineError("The packed engine gave a wrong answer, so its time means nothing.")
    return seconds
