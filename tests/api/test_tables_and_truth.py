"""Tables from memory are those from files; ground truth is scored, framed and exported; what is wrong is a sentence."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import blindlabel as bl
from blindlabel.api.ground_truth import scores
from blindlabel.export import read_ground_truth
from blindlabel.records.generator import Size, generate

ROWS: list[dict[str, Any]] = [
    {"id": "x", "name": "Ann", "age": 31, "born": datetime.date(1999, 1, 2), "score": 0.5},
    {"id": "y", "name": None, "age": None, "born": None, "score": float("nan")},
]
TEXTS = (("Ann", "31", "1999-01-02", "0.5"), ("", "", "", ""))


def test_midnights_are_dates_and_an_index_called_id_is_the_id_from_frame_and_parquet_alike(tmp_path: Path) -> None:
    born, seen = pd.to_datetime(["2014-10-02", None]), pd.to_datetime(["2014-10-02 08:30", "2014-10-03 00:00"])
    frame = pd.DataFrame({"born": born, "seen": seen}, index=pd.Index(["x", "y"], name="id"))
    frame.to_parquet(tmp_path / "own.parquet")
    polar = pl.DataFrame({"id": ["x", "y"], "born": [*born[:1].to_pydatetime(), None], "seen": seen.to_pydatetime()})
    for source in (frame, tmp_path / "own.parquet", polar):
        table = bl.read_table(source)
        assert (table.ids, table.attributes) == (("x", "y"), ("born", "seen"))
        assert table.rows == (("2014-10-02", "2014-10-02T08:30:00"), ("", "2014-10-03T00:00:00"))


@pytest.mark.parametrize(
    "source",
    [
        ROWS,
        pl.DataFrame(ROWS),
        pd.DataFrame(ROWS).astype({"age": "Int64"}),
        pd.DataFrame(ROWS).convert_dtypes(),
        pd.DataFrame(ROWS, dtype=object),
    ],
    ids=["dictionaries", "polars", "pandas", "pandas with missing values", "pandas of objects"],
)
def test_a_table_is_the_same_from_dictionaries_polars_and_pandas(source: Any) -> None:
    table = bl.read_table(source, name="people")
    assert (table.name, table.ids, table.attributes) == ("people", ("x", "y"), ("name", "age", "born", "score"))
    assert table.rows == TEXTS
    assert list(table) == [table.row(0), table.row(1)]


def test_a_table_in_memory_is_the_table_of_the_file_it_was_written_to(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["1", "2"], "name": ["a b", "ß"], "n": [1, 2]})
    frame.write_csv(tmp_path / "people.csv")
    frame.write_parquet(tmp_path / "people.parquet")
    expected = bl.read_table(frame, name="people")
    assert bl.read_table(tmp_path / "people.csv") == expected
    assert bl.read_table(str(tmp_path / "people.parquet")) == expected
    assert bl.read_table(expected) is expected


def test_columns_are_chosen_renamed_and_may_be_numbers() -> None:
    frame = pd.DataFrame([["x", "Ann", np.float64(2.0)]])
    table = bl.read_table(frame, id_column="0", attributes={"name": "1", "n": "2"})
    assert (table.ids, table.row(0)) == (("x",), {"name": "Ann", "n": "2"})


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ([], {}, "no attribute column"),
        ([{"name": "a"}, ["b"]], {}, "list of dictionaries"),
        (17, {}, "list of dictionaries"),
        ([{"id": "1", "name": "a"}, {"id": "1", "name": "b"}], {}, "must be unique"),
        ([{"name": object()}], {}, "row 1: a value of type object"),
        ([{"name": "a"}], {"attributes": ["nam"]}, "Did you mean 'name'"),
        ([{"name": "a"}], {"attributes": ["name", "name"]}, "named twice"),
        (pl.DataFrame({"name": [], "n": []}), {}, "no rows"),
        (pl.DataFrame({"name": [{"a": 1}]}), {}, "column 'name'"),
        ("/nowhere/people.csv", {}, "people.csv"),
    ],
)
def test_what_is_no_table_is_refused_with_a_sentence(source: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(bl.InputError, match=said):
        bl.read_table(source, **options)


def test_asking_checks_questions_and_attributes() -> None:
    table = bl.read_table([{"name": "canon"}])
    assert bl.ask('ret is_in("canon", $r.name)', table, "plain").tolist() == [[True]]
    assert bl.ask([], table, "plain").shape == (0, 1)
    with pytest.raises(bl.InputError, match="Did you mean name"):
        bl.ask('ret is_in("x", $r.nam)', table, "plain")
    with pytest.raises(bl.InputError, match="no function"):
        bl.ask(bl.Question('ret nothing("x", $r)'), table, "plain")
    with pytest.raises(bl.InputError, match="no attribute 'brand'"):
        bl.ask(bl.Question('ret is_in("x", $r.brand)'), table, "packed")
    with pytest.raises(bl.InputError, match="no engine"):
        bl.ask("ret true", table, "other")


@pytest.fixture(scope="module")
def rehearsed() -> tuple[bl.GroundTruth, list[tuple[str, str]]]:
    made = generate("persons", Size(30, 20), 4)
    return bl.rehearse(made.a, made.b), list(made.matches)


def test_a_rehearsal_labels_nearly_all_pairs_and_mostly_right(
    rehearsed: tuple[bl.GroundTruth, list[tuple[str, str]]],
) -> None:
    truth, known = rehearsed
    assert len(truth.pairs) + len(truth.discarded) == 900
    last = truth.score(known)
    assert last == truth.score(known, round=3)
    assert last.agreement >= truth.score(known, round=1).agreement
    assert last.f > 0.6
    assert truth.score([]).precision == 0.0


def test_only_chosen_rows_take_part_and_keep_their_ids() -> None:
    a = bl.read_table([{"id": own, "name": own} for own in "uvw"], name="a")
    b = bl.read_table([{"id": own, "name": own} for own in "xvw"], name="b")
    truth = bl.rehearse(a, b, writers=(lambda r, _: f'ret equals("{r.whole}", $r)',) * 2, rows=([1, 2], [2]))
    assert [(row["id_a"], row["id_b"], row["label"]) for row in truth.to_rows()] == [
        ("v", "w", False),
        ("w", "w", True),
    ]
    with pytest.raises(bl.InputError, match="no row 10"):
        bl.rehearse(a, b, rows=([9], [0]))
    with pytest.raises(bl.InputError, match="rounds"):
        bl.rehearse(a, b, rounds=0)
    with pytest.raises(bl.InputError, match="no attribute in common"):
        bl.rehearse(a, [{"title": "x"}])


def test_labels_become_a_frame_of_pandas(rehearsed: tuple[bl.GroundTruth, list[tuple[str, str]]]) -> None:
    truth, _ = rehearsed
    frame = truth.to_pandas()
    assert list(frame.columns) == ["record_a", "record_b", "id_a", "id_b", "label", "round"]
    assert frame.to_dict("records") == list(truth.to_rows())


def test_records_to_ask_are_counted_on_each_side_once() -> None:
    """One record of the first owner stands on both open pairs, two of the second do."""
    labels = np.array([[0, 0, 2], [2, 2, 2]], dtype=np.uint8)
    found = scores(labels, np.zeros((2, 3), dtype=np.bool_))
    assert (found.records_to_ask, found.records, found.agreed) == (1 + 2, 5, 4)


def test_exported_truth_is_read_again_and_scores_the_same(
    rehearsed: tuple[bl.GroundTruth, list[tuple[str, str]]], tmp_path: Path
) -> None:
    truth, known = rehearsed
    written, beside = truth.export("json", tmp_path / "new" / "folder")
    assert beside.exists()
    again = bl.GroundTruth.of(read_ground_truth(written))
    assert again.score(known) == truth.score(known)
    assert again.score(known, round=1) == truth.score(known, round=1)
    with pytest.raises(bl.InputError, match="no format"):
        truth.export("other", tmp_path)
    with pytest.raises(bl.InputError, match="from 1"):
        truth.score(known, round=0)


def test_suggestions_are_made_for_the_rows_that_are_named_and_say_how_far_they_are() -> None:
    table = bl.read_table([{"id": f"p{number}", "name": f"lamp model{number}x", "price": "9"} for number in range(9)])
    told: list[float] = []
    every = bl.suggest(table)
    some = bl.suggest(table, rows=[7, 2], progress=lambda _, share: told.append(share))
    assert [one.text for one in some] == [every[7].text, every[2].text]
    assert [one.text for one in bl.suggest(table, ids=["p7", "p2"])] == [one.text for one in some]
    assert told == [0.5, 1.0]
    for wrong in ({"rows": [9]}, {"ids": ["p9"]}, {"rows": [0], "ids": ["p0"]}, {"matching": 0.0}):
        with pytest.raises(bl.InputError):
            bl.suggest(table, **wrong)
