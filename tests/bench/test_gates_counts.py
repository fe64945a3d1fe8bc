"""What the benchmarks of the gates engine count and extrapolate. The measurements themselves are run by hand and by
`make gates`.
"""

from __future__ import annotations

import pytest

from blindlabel.engines.gates.circuit import ClearGates
from blindlabel.engines.gates.published import bits_of, is_in
from blindlabel.language.formula import evaluate
from blindlabel_lab.bench import compare, gates
from blindlabel_lab.bench.workload import PUBLISHED_SECONDS, workload

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


def test_what_could_not_run_is_null_in_its_row() -> None:
    work = workload(46, 2)
    assert compare.row(46, work, 2.0, None) == {
        "length": 46,
        "packed_seconds": 2.0,
        "gates_serial_seconds": None,
        "gates_clear_needle_seconds": None,
        "ratio": None,
    }
    assert compare.row(46, work, None, SECONDS)["ratio"] is None


def test_the_ratio_is_of_the_same_work() -> None:
    row = compare.row(46, workload(46, 2), 2.0, SECONDS)
    assert row["gates_serial_seconds"] == round(4 * (5 * 4223 + 4) * 0.04)
    assert row["ratio"] == round(4 * (5 * 4223 + 4) * 0.04 / 2.0)
    assert row["gates_clear_needle_seconds"] < row["gates_serial_seconds"] / 3


def test_the_time_of_a_gate_is_that_of_a_whole_circuit() -> None:
    assert gates.gate_seconds({"is_in": {"gates": 200, "processor_seconds": 8.0}}) == SECONDS
