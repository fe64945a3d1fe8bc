"""The packed side of `bench compare`, small: it answers right, and says what it took."""

from __future__ import annotations

from blindlabel_lab.bench.compare import packed_round, row
from blindlabel_lab.bench.workload import workload
from blindlabel_lab.experiments.tables import TABLES


def test_the_packed_side_of_the_comparison_answers_right_and_says_what_it_took() -> None:
    work = workload(46, 3, "five, one OR")
    made = packed_round(work)  # an error where one answer is wrong
    assert {"keys", "encrypt", "prepare", "evaluate", "open"} <= made.seconds.keys()
    assert all(made.bytes[part] > 0 for part in ("keys", "records", "answers", "lists"))
    one = row(46, work, [made], [0.01, 0.01])
    assert one["ratio"] > one["ratio_of_all"] > 0, "with keys, encrypting and opening it is less"
    known = {"length": 46, "shape": "five, one OR", "agreement": "is_in alone"}
    [(head, shown)] = TABLES["computation"]({"rows": [known | one]})
    ratios = [
        shown[head.index(name)] for name in ("published circuit / packed (spread)", "with keys, encrypting and opening")
    ]
    assert ratios[0].partition(" ")[0] == f"{one['ratio']:,}" and ratios[1] == f"{one['ratio_of_all']:,}"
