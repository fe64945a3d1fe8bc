"""Lists of candidates are read with a sentence for everything wrong, cut as the design says, drawn from by chance."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blindlabel.errors import InputError
from blindlabel.estimates import Candidates, read_candidates
from support.linkages import linkage


def written(folder: Path, text: str, name: str = "list.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("row_a,score\n1,0.5\n", {"threshold": 0.5}, "no column 'row_b'"),
        ("row_a,row_b,score\n1,2,0.5\n", {}, "by a threshold or by a column linked"),
        ("row_a,row_b,score,linked\n1,2,0.5,1\n", {"threshold": 0.5}, "by a threshold or by a column linked"),
        ("row_a,row_b,score\n0,0,0.5\n-1,2,0.5\n", {"threshold": 0.5}, "pair 2: '-1' is no row"),
        ("row_a,row_b,score\n1.0,2,0.5\n", {"threshold": 0.5}, "'1.0' is no row"),
        ("row_a,row_b,score\n¹,2,0.5\n", {"threshold": 0.5}, "is no row"),
        ("row_a,row_b,score\n,2,0.5\n", {"threshold": 0.5}, "'' is no row"),
        ("row_a,row_b,score\n1,9,0.5\n", {"threshold": 0.5, "rows": (5, 9)}, "row 9 is not in the second table, which"),
        ("row_a,row_b,score\n5,1,0.5\n", {"threshold": 0.5, "rows": (5, 9)}, "row 5 is not in the first table"),
        ("row_a,row_b,score\n1,2,0.5\n1,2,0.7\n", {"threshold": 0.5}, "pair 2: it is in the list twice"),
        ("row_a,row_b,score\n1,2,nan\n", {"threshold": 0.5}, "'nan' is not a finite number"),
        ("row_a,row_b,score\n1,2,inf\n", {"threshold": 0.5}, "'inf' is not a finite number"),
        ("row_a,row_b,score\n1,2,high\n", {"threshold": 0.5}, "'high' is not a finite number"),
        ("row_a,row_b,score,linked\n1,2,0.5,maybe\n", {}, "'maybe' is not 1 or 0"),
        ("row_a,row_b,score\n1,2,0.4\n", {"threshold": 0.5}, "no pair that is linked"),
        ("row_a,row_b,score\n", {"threshold": 0.5}, "no pair that is linked"),
        ("row_a,row_b,score\n1,07,0.5\n", {"threshold": 0.5}, "'07' is no row"),
        ("id_a,id_b,score\nx,,0.5\n", {"threshold": 0.5}, "'' is no id"),
        ("id_a,row_b,score\nx,1,0.5\n", {"threshold": 0.5}, "no column 'id_b'"),
        ("id_a,id_b,score\nx,y,1_0\n", {"threshold": 0.5}, "'1_0' is not a finite number"),
        ("id_a,id_b,score\nx,y,1e999\n", {"threshold": 0.5}, "'1e999' is not a finite number"),
    ],
)
def test_what_is_wrong_with_a_list_is_said(
    tmp_path: Path, text: str, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_candidates(written(tmp_path, text), **options)  # type: ignore[arg-type]
    assert sentence in str(caught.value)


def test_the_hash_is_of_the_list_and_not_of_its_file(tmp_path: Path) -> None:
    first = read_candidates(written(tmp_path, "row_a,row_b,score\n1,2,0.5\n3,4,0.9\n"), threshold=0.6)
    other = read_candidates(
        written(tmp_path, "score,row_b,row_a,name,linked\n0.90,4,3,x,TRUE\n5e-1,2,1,y,false\n", "other.csv")
    )
    pq.write_table(pa.table({"row_a": [1, 3], "row_b": [2, 4], "score": [0.5, 0.9]}), tmp_path / "list.parquet")
    assert first.hash == other.hash == read_candidates(tmp_path / "list.parquet", threshold=0.6).hash
    changed = "row_a,row_b,score\n1,2,0.5\n3,4,0.8\n"
    for text, threshold in ((changed, 0.6), (changed.replace("0.8", "0.9").replace("3", "5"), 0.6)):
        assert read_candidates(written(tmp_path, text), threshold=threshold).hash != first.hash
    assert read_candidates(written(tmp_path, "row_a,row_b,score\n1,2,0.5\n3,4,0.9\n"), threshold=0.5).hash != first.hash


def test_strata_are_those_of_the_design() -> None:
    candidates, _ = linkage("steep", 1000, 5)
    assert [len(part) for part in candidates.strata] == [500, 250, 250, 250, 500, 1000, 2250]
    assert sorted(place for part in candidates.strata for place in part) == list(range(5000))


def test_equal_scores_are_never_cut_apart() -> None:
    for linked, times in ((1000, 20), (30, 3), (7, 9)):
        candidates, _ = linkage("ties", linked, times)
        parts = [set(candidates.scores[part]) for part in candidates.strata]
        assert sum(map(len, parts)) == len(set(candidates.scores))


def test_two_fifths_are_drawn_above_and_three_at_least_everywhere() -> None:
    candidates, _ = linkage("steep", 1000, 20)
    given = candidates.allocation(200)
    assert (sum(given), sum(given[:3])) == (200, 80)
    assert given[:3] == [40, 20, 20]
    below = given[3:]
    assert below == sorted(below)  # larger strata lie further down
    assert below[-1] / below[0] == pytest.approx((11250 / 250) ** 0.5, rel=0.2)
    assert min(candidates.allocation(30)) == 3


@pytest.mark.parametrize(("linked", "times", "pairs"), [(5, 1, 200), (200, 1, 50), (3, 30, 60), (1, 2, 1)])
def test_short_lists_are_drawn_as_far_as_they_go(linked: int, times: int, pairs: int) -> None:
    candidates, _ = linkage("flat", linked, times)
    given = candidates.allocation(pairs)
    assert all(0 < count <= len(part) for count, part in zip(given, candidates.strata))
    assert sum(given) >= min(pairs, linked * times)


def test_every_pair_of_a_stratum_is_as_likely() -> None:
    candidates, _ = linkage("flat", 8, 3)
    chance, often = Random(4), Counter[int]()
    for _ in range(2000):
        often.update(np.flatnonzero(candidates.draw(12, chance.randrange).drawn).tolist())
    for part, wanted in zip(candidates.strata, candidates.allocation(12)):
        shares = [often[place] / 2000 for place in part.tolist()]
        assert max(abs(share - wanted / len(part)) for share in shares) < 0.05


def test_unless_told_otherwise_chance_is_the_systems() -> None:
    candidates, _ = linkage("flat", 500, 4)
    assert not np.array_equal(candidates.draw(50).drawn, candidates.draw(50).drawn)


def test_a_choice_of_the_linkage_is_told_from_a_threshold() -> None:
    rows = (("0", "0"), ("0", "1"), ("1", "1"))
    for linked, by_threshold in (([1, 1, 0], True), ([1, 0, 1], False), ([1, 1, 1], True)):
        assert (
            Candidates(rows, np.array([3.0, 2.0, 1.0]), np.array(linked, dtype=np.bool_)).by_threshold == by_threshold
        )
