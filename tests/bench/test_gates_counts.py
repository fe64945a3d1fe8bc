"""What the benchmarks of the gates engine count and extrapolate. The measurements themselves are run by hand and by
`make gates`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from blindlabel.engines.registry import rules_named
from blindlabel.language.formula import atoms_of, evaluate
from blindlabel_lab.bench import compare, gates, published_circuit
from blindlabel_lab.bench.compare import Round
from blindlabel_lab.bench.published_circuit import bits_of, is_in
from blindlabel_lab.bench.workload import PUBLISHED_SECONDS, SHAPES, workload
from support.clear_gates import ClearGates

SECONDS = 0.04


def test_extrapolation_is_gates_times_seconds_times_pairs() -> None:
    row = gates.extrapolated(SECONDS, [46])[0]
    clear = ClearGates()
    is_in(clear, bits_of("needle"), bits_of("r" * 46))
    assert (row["record"], row["gates_per_pair"], row["seconds"]) == (46, clear.count, round(clear.count * 0.04 * 2500))
    assert row["published_seconds"] == PUBLISHED_SECONDS[46]
    for name in ("clear_needle", "clear_needle_shared"):
        assert row[f"{name}_seconds"] == pytest.approx(row[f"{name}_gates_per_pair"] * 0.04 * 2500, rel=0.01)
    assert (
        row["clear_needle_shared_gates_per_pair"] < row["clear_needle_gates_per_pair"] / 3 < row["gates_per_pair"] / 9
    )


def test_the_workload_has_both_answers_and_the_length_asked_for() -> None:
    work = workload(46, 10)
    answers = [evaluate(question, record) for question in work.questions for record in work.records]
    assert len(work.records) == len(work.questions) == 10
    assert {len(record.whole) for record in work.records} == {46}
    assert len(answers) == 100 and not all(answers)


ONE = Round({"evaluate": 2.0}, {})


def test_what_could_not_run_is_null_in_its_row() -> None:
    work = workload(46, 2)
    without_gates = compare.row(46, work, [ONE], [])
    assert without_gates["packed_seconds"] == 2.0
    assert {without_gates[key] for key in ("gates_serial_seconds", "gates_clear_needle_seconds", "ratio")} == {None}
    assert compare.row(46, work, [], [SECONDS])["ratio"] is None


def test_the_ratio_is_of_the_same_work_and_of_the_gates_around_it() -> None:
    row = compare.row(46, workload(46, 2), [ONE, ONE], [SECONDS, SECONDS, 3 * SECONDS])
    gates_of_all = 4 * (5 * 4223 + 4)
    assert row["gates_serial_seconds"] == round(gates_of_all * 0.04)
    assert row["ratio_spread"] == [round(gates_of_all * 0.04 / 2.0), round(gates_of_all * 0.08 / 2.0)]
    assert row["gates_clear_needle_seconds"] < row["gates_serial_seconds"] / 3


def test_one_needle_stands_beside_one_and_five_beside_five() -> None:
    rows = {shape: compare.row(46, workload(46, 2, shape), [ONE], [SECONDS, SECONDS]) for shape in SHAPES}
    assert rows["one needle"]["gates_serial_seconds"] == round(4 * 4223 * 0.04)
    assert rows["one needle"]["published_seconds"] == PUBLISHED_SECONDS[46]
    assert rows["five, one NOT"]["published_seconds"] is None
    assert rows["five, one NOT"]["gates_serial_seconds"] == rows["five, one OR"]["gates_serial_seconds"]


def test_joining_bounds_how_much_faster_the_parallel_circuit_can_be() -> None:
    assert published_circuit.most_by_gates(1, 8, 1) == pytest.approx(8 * 18 / (8 * 16 + 7))
    assert published_circuit.most_by_gates(1, 8, 8) == pytest.approx(8 * 18 / (16 + 7))
    assert published_circuit.most_by_gates(6, 148, 10**6) < 18, "the joining is serial"


def test_rows_that_were_kept_are_not_measured_again() -> None:
    asked: list[list[Any]] = []

    def kept(key: list[Any], _work: Callable[[], Any]) -> Any:
        asked.append(key)
        row = compare.row(46, workload(46, 2, "one needle"), [ONE], [SECONDS, 2 * SECONDS])
        return [] if key == ["parallel"] else row

    document = compare.comparison((46,), 2, full=(46,), once=kept)
    assert [row["shape"] for row in document["rows"]] == [*SHAPES, *SHAPES]
    assert [key[:4] for key in asked[:3]] == [[46, 2, shape, "is_in alone"] for shape in SHAPES]
    assert document["gate_seconds"] == {"median": pytest.approx(1.5 * SECONDS), "least": SECONDS, "most": 2 * SECONDS}


def test_every_shape_fits_the_default_agreement_and_is_said_of_its_own_record() -> None:
    for shape in SHAPES:
        work = workload(53, 3, shape, "default")
        assert [rules_named("packed").refuse(work.terms, question) for question in work.questions] == [None] * 3
        for question, record in zip(work.questions, work.records):
            assert len(set(atoms_of(question))) == SHAPES[shape]
            assert "OR" in shape or evaluate(question, record)


def test_the_time_of_a_gate_is_that_of_a_whole_circuit() -> None:
    assert gates.gate_seconds({"is_in": {"gates": 200, "processor_seconds": 8.0}}) == SECONDS


def test_what_runs_under_the_python_of_the_gates_needs_no_protocol() -> None:
    """That environment has Python 3.10 and few libraries: no tomllib, no database."""
    said = (
        "import sys, blindlabel_lab.bench.gates; print([m for m in sys.modules if m.startswith('blindlabel.protocol')])"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
