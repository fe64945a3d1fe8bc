"""The packed side of `bench compare`, small: it answers right, and says what it took."""

from __future__ import annotations

from blindlabel_lab.bench.compare import packed_round, row
from blindlabel_lab.bench.workload import workload


def test_the_packed_side_of_the_comparison_answers_right_and_says_what_it_took() -> None:
    work = workload(46, 3, "five, one OR")
    made = packed_round(work)  # an error where one answer is wrong
    assert {"keys", "encrypt", "prepare", "evaluate", "open"} <= made.seconds.keys()
    assert all(made.bytes[part] > 0 for part in ("keys", "records", "answers", "lists"))
    assert row(46, work, [made], [0.01, 0.01])["ratio"] > 0
