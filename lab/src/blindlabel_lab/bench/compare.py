"""The packed engine beside the gates engine on the same questions and records, in one run on one machine.

The packed engine does all the work and every answer is checked against the plain meaning. The gates engine would take
weeks, so its time is an exact gate count times the time of a gate. Other work on a machine makes even processor seconds
longer, so the two are measured in alternation: some gates, a round of questions, some gates, and so on. A ratio is of
one measurement and the gates around it; the smallest and the largest are reported beside the median. What cannot run
here is null, and is named in "not_run".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from statistics import median
from typing import Any

from blindlabel.engines.ask import EncryptedRecords
from blindlabel.engines.interface import EngineError, Progress, Working
from blindlabel.engines.registry import engine_named
from blindlabel.language.formula import evaluate
from blindlabel.protocol.comparing import HASH_BYTES
from blindlabel_lab.bench.agreed import DEFAULT, LEAST
from blindlabel_lab.bench.gates import GateClock
from blindlabel_lab.bench.machine import machine, processor_seconds
from blindlabel_lab.bench.published_circuit import is_in_gates
from blindlabel_lab.bench.workload import (
    NEEDLE_LENGTH,
    PUBLISHED_PARALLEL,
    PUBLISHED_SECONDS,
    SHAPES,
    Workload,
    workload,
)
from blindlabel_lab.gates.elsewhere import find_python
from blindlabel_lab.gates.record_circuits import compiled

LENGTHS = tuple(PUBLISHED_SECONDS)
FULL = (53, 148)
"""Lengths at which five needles, and the default agreement, are measured as well."""
AGREEMENTS = {LEAST: "is_in alone", DEFAULT: "default agreement"}
REPEATS = 2


@dataclass(frozen=True)
class Round:
    """One round of questions in one direction: processor seconds and bytes by part."""

    seconds: dict[str, float]
    bytes: dict[str, int]


Once = Callable[[list[Any], Callable[[], Any]], Any]
"""Given a key and some work: what was kept of it, else what it gives now."""


def comparison(
    lengths: Sequence[int] = LENGTHS,
    size: int = 50,
    progress: Progress | None = None,
    full: Sequence[int] = FULL,
    agreements: Sequence[str] = tuple(AGREEMENTS),
    once: Once = lambda _key, work: work(),
) -> dict[str, Any]:
    """One row a record length, shape of questions and agreement: size questions over size records. One needle under
    the first agreement, as published, at all lengths; the rest at those in `full`. Rows that `once` knows are not
    measured again.
    """
    report = progress or (lambda _phase, _share: None)
    wanted = [
        (length, shape, said)
        for said in agreements
        for length in lengths
        for shape in SHAPES
        if length in full or (SHAPES[shape] == 1 and said == agreements[0])
    ]
    not_run: list[dict[str, Any]] = []
    rows, parallel = [], None
    with _Clock() as clock:
        if clock.reason is not None:
            not_run.append({"engine": "gates", "reason": clock.reason})
        for number, (length, shape, said) in enumerate(wanted):
            agreement = AGREEMENTS.get(said, said)
            report(f"{length} characters, {shape}, {agreement}", number / (len(wanted) + 1))
            work = workload(length, size, shape, said)
            key = [length, size, shape, agreement, clock.reason is None]
            known = {"length": length, "shape": shape, "agreement": agreement}
            try:
                measuring = partial(_measured, length, work, clock)
                rows.append(known | once(key, measuring))
            except (ImportError, AttributeError, EngineError) as error:
                not_run.append({"engine": "packed", "length": length, "shape": shape, "reason": str(error)})
                rows.append(known | row(length, work, [], []))
        if clock.reason is None:
            report("the published circuit, serial and parallel", len(wanted) / (len(wanted) + 1))
            parallel = once(["parallel"], lambda: clock.started().parallel())
    ticks = [tick for one in rows for tick in one["gate_seconds"]]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "workload": f"{size} questions over {size} records, needles of {NEEDLE_LENGTH} characters",
        "clock": "processor seconds of one core; gates and rounds of questions measured in alternation",
        "gate_seconds": {"median": median(ticks), "least": min(ticks), "most": max(ticks)} if ticks else None,
        "parallel": parallel,
        "published_parallel": PUBLISHED_PARALLEL,
        "rows": rows,
        "not_run": not_run,
    }


class _Clock:
    """The clock of gates, started when it is first looked at; `reason` says why there is none."""

    def __enter__(self) -> _Clock:
        self._stack = ExitStack()
        self._clock: GateClock | None = None
        self.reason: str | None = None
        try:
            find_python()
        except EngineError as error:
            self.reason = str(error)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def started(self) -> GateClock:
        """The clock, running; the first tick is for warming up."""
        if self._clock is None:
            self._clock = self._stack.enter_context(GateClock())
            self._clock.tick()
        return self._clock

    def ticks(self) -> list[float]:
        """The time of a gate just now, or nothing where there is no clock."""
        return [self.started().tick()] if self.reason is None else []


def _measured(length: int, work: Workload, clock: _Clock) -> dict[str, Any]:
    """A row: gates, a round, gates, a round, gates."""
    ticks, rounds = clock.ticks(), []
    for _ in range(REPEATS):
        rounds.append(packed_round(work))
        ticks += clock.ticks()
    return row(length, work, rounds, ticks)


def row(length: int, work: Workload, rounds: Sequence[Round], ticks: Sequence[float]) -> dict[str, Any]:
    """The figures of one workload; what could not be measured is None. `ticks` are the times of a gate before, between
    and after the rounds.
    """
    seconds = [one.seconds["evaluate"] for one in rounds]
    gates = serial_gates(work, length)
    around = [gates * (before + after) / 2 for before, after in itertools.pairwise(ticks)]
    ratios = [taken / one for taken, one in zip(around, seconds)]
    whole = [taken / sum(one.seconds.values()) for taken, one in zip(around, rounds)]
    gate = median(ticks) if ticks else None
    published = PUBLISHED_SECONDS.get(length) if work.needles == 1 else None
    return {
        "needles": work.needles,
        "packed_seconds": round(median(seconds), 3) if seconds else None,
        "packed_spread": [round(min(seconds), 3), round(max(seconds), 3)] if seconds else None,
        "seconds": rounds[-1].seconds if rounds else None,
        "bytes": rounds[-1].bytes if rounds else None,
        "gates_serial_seconds": None if gate is None else round(gates * gate),
        "gates_clear_needle_seconds": None if gate is None else round(clear_needle_gates(work) * gate),
        "ratio": round(median(ratios)) if ratios else None,
        "ratio_of_all": round(median(whole)) if whole else None,
        "ratio_spread": [round(min(ratios)), round(max(ratios))] if ratios else None,
        "published_seconds": published,
        "gate_seconds": [round(tick, 5) for tick in ticks],
    }


def serial_gates(work: Workload, length: int) -> int:
    """Gates of the published circuit for all pairs: its `is_in` for each needle, and one gate for each of the
    connectives between them.
    """
    return (
        len(work.questions) * len(work.records) * (work.needles * is_in_gates(NEEDLE_LENGTH, length) + work.needles - 1)
    )


def clear_needle_gates(work: Workload) -> int:
    """Gates of the engine's own circuit for all pairs, with what the questions share, and the one that pads each
    answer.
    """
    return len(work.records) * (compiled(work.terms, work.questions).gates + len(work.questions))


def packed_round(work: Workload) -> Round:
    """A round on the packed engine in one direction: keys, records, evaluation, opening."""
    seconds: dict[str, float] = {}
    last = sum(processor_seconds())

    def passed(phase: str) -> None:
        nonlocal last
        now = sum(processor_seconds())
        seconds[phase] = seconds.get(phase, 0.0) + now - last
        last = now

    working = Working(progress=lambda phase, share: passed(phase) if share else None)
    engine = engine_named("packed")
    records = EncryptedRecords(engine, work.terms, work.records, working=working)
    answers = records.evaluate(work.questions)
    found = records.open(answers, len(work.questions))
    passed("open")
    expected = [[evaluate(question, record) for record in work.records] for question in work.questions]
    if found.tolist() != expected:
        raise EngineError("The packed engine gave a wrong answer, so its time means nothing.")
    values = len(work.questions) * len(work.records) * (engine.outcomes(work.terms) - 1)
    moved = {
        "keys": len(records.keys.public),
        "records": sum(map(len, records.parcels)),
        "answers": sum(len(one.parcel) for one in answers),
        "lists": 2 * HASH_BYTES * values,
    }
    return Round({phase: round(value, 3) for phase, value in seconds.items()}, moved)
