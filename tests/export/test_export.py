"""Ground truth is written in the exact shapes that other tools read, discarded pairs apart, and what is ours reads
back.
"""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.cli.main import run
from blindlabel.errors import InputError, OutsideError
from blindlabel.export import FORMATS, AgreedTruth, LabelledPair, joined, merged, read_ground_truth, write
from blindlabel.records.table_files import write_csv

TRUTH = AgreedTruth(
    "north",
    "south",
    (LabelledPair(4, 7, True, 1), LabelledPair(4, 9, False, 2), LabelledPair(5, 9, True, 3)),
    ((5, 7),),
    ids_a={4: "n|4", 5: 'n,"5"'},
)
"""As the owner of `north` knows it: own ids, and places in the other sample."""

SHAPES = {
    "csv": 'record_north,record_south,label,round,id_north\n4,7,1,1,n|4\n4,9,0,2,n|4\n5,9,1,3,"n,""5"""\n',
    "splink": (
        "source_dataset_l,unique_id_l,source_dataset_r,unique_id_r,clerical_match_score\n"
        'north,n|4,south,7,1.0\nnorth,n|4,south,9,0.0\nnorth,"n,""5""",south,9,1.0\n'
    ),
    "splink-matches": (
        'source_dataset_l,unique_id_l,source_dataset_r,unique_id_r\nnorth,n|4,south,7\nnorth,"n,""5""",south,9\n'
    ),
    "py_entitymatching": '_id,ltable_id,rtable_id,label\n0,n|4,7,1\n1,n|4,9,0\n2,"n,""5""",9,1\n',
    "rltk": 'id1,id2,label\nn|4,7,True\nn|4,9,False\n"n,""5""",9,True\n',
    "pyjedai": 'D1|D2\n"n|4"|7\n"n,""5"""|9\n',
    "leipzig": 'idnorth,idsouth\nn|4,7\n"n,""5""",9\n',
}


@pytest.mark.parametrize("format", list(SHAPES))
def test_text_formats_have_exactly_the_shape_of_the_tool(format: str, tmp_path: Path) -> None:
    path, _ = write(TRUTH, format, tmp_path / "truth.csv")
    assert path.read_text(encoding="utf-8") == SHAPES[format]


@pytest.mark.parametrize("format", list(SHAPES))
def test_ids_of_the_second_owner_stand_in_every_format(format: str, tmp_path: Path) -> None:
    """Places and ids of the two sides are told apart: place 4 is n|4 on the left and s-nine on the right."""
    pairs = (LabelledPair(4, 5, True, 1), LabelledPair(5, 4, True, 1))
    truth = replace(TRUTH, pairs=pairs, discarded=(), ids_b={5: "s-5", 4: "s-nine"})
    path, _ = write(truth, format, tmp_path / "truth.csv")
    first, second = path.read_text(encoding="utf-8").splitlines()[1:]
    assert "n|4" in first and "s-5" in first and "s-nine" not in first
    assert "s-nine" in second and "s-5" not in second and "n|4" not in second


def test_the_recordlinkage_annotation_has_its_schema(tmp_path: Path) -> None:
    path, _ = write(TRUTH, "recordlinkage", tmp_path / "truth.json")
    document = json.loads(path.read_text())
    assert document["version"] == 1
    assert document["pairs"][1] == {
        "fields": [],
        "identifiers": {"a": {"dataset": "north", "record": "n|4"}, "b": {"dataset": "south", "record": 9}},
        "label": 0,
        "label_str": "Distinct",
    }
    assert [pair["label_str"] for pair in document["pairs"]] == ["Match", "Distinct", "Match"]


def test_json_and_parquet_hold_names_and_types(tmp_path: Path) -> None:
    document = json.loads(write(TRUTH, "json", tmp_path / "t.json")[0].read_text())
    assert document["datasets"] == {"a": "north", "b": "south"}
    assert document["pairs"][0] == {"record_north": 4, "record_south": 7, "label": True, "round": 1, "id_north": "n|4"}
    table = pq.read_table(write(TRUTH, "parquet", tmp_path / "t.parquet")[0])
    assert {field.name: str(field.type) for field in table.schema} == {
        "record_north": "int64",
        "record_south": "int64",
        "label": "bool",
        "round": "int32",
        "id_north": "string",
    }


@pytest.mark.parametrize("format", list(FORMATS))
def test_discarded_pairs_stand_in_their_own_file_and_nowhere_else(format: str, tmp_path: Path) -> None:
    path, discarded = write(TRUTH, format, tmp_path)
    assert path.name == f"ground_truth{FORMATS[format].suffix}"
    assert discarded.read_text() == 'record_north,record_south,id_north\n5,7,"n,""5"""\n'
    without = AgreedTruth("north", "south", TRUTH.pairs, (), TRUTH.ids_a)
    other, none = write(without, format, tmp_path / "without" / path.name)
    if format != "parquet":
        assert other.read_bytes() == path.read_bytes()
    assert none.read_text() == "record_north,record_south,id_north\n"
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_what_is_ours_reads_back(format: str, tmp_path: Path) -> None:
    path, _ = write(TRUTH, format, tmp_path)
    assert read_ground_truth(path) == TRUTH
    assert read_ground_truth(path, dataset_a="east").dataset_a == "east"
    nothing = AgreedTruth("north", "south", ())
    assert read_ground_truth(write(nothing, format, tmp_path)[0]) == nothing


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


@st.composite
def truths(draw: st.DrawFn) -> AgreedTruth:
    cells = draw(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), unique=True, min_size=1, max_size=10))
    cut = draw(st.integers(1, len(cells)))
    pairs = tuple(LabelledPair(i, j, draw(st.booleans()), draw(st.integers(1, 5))) for i, j in cells[:cut])
    ids = [draw(st.none() | st.fixed_dictionaries({cell[side]: names for cell in cells})) for side in (0, 1)]
    return AgreedTruth("a", "b", pairs, tuple(cells[cut:]), ids[0], ids[1])


def test_line_ends_inside_ids_survive(tmp_path: Path) -> None:
    odd = AgreedTruth("a", "b", (LabelledPair(0, 0, True, 1),), ((1, 0),), {0: "x\ry", 1: "\n"}, {0: " \r\n "})
    for known in ("csv", "json", "parquet"):
        assert read_ground_truth(write(odd, known, tmp_path)[0]) == odd


@settings(max_examples=40, deadline=None)
@given(truths(), st.sampled_from(["csv", "json", "parquet"]))
def test_any_ground_truth_reads_back(tmp_path_factory: pytest.TempPathFactory, truth: AgreedTruth, format: str) -> None:
    path, _ = write(truth, format, tmp_path_factory.mktemp("truth"))
    assert read_ground_truth(path) == truth


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.csv", "record_a,record_b\n1,2\n", "no column 'label'"),
        ("t.csv", "record_a,record_b,label,round\n1,2,maybe,1\n", "unknown value"),
        ("t.csv", "record_a,record_b,label,round\n-1,2,1,1\n", "-1 is no position"),
        ("t.csv", "record_a,record_b,label,round\nx,2,1,1\n", "invalid literal"),
        ("t.csv", "record_a,record_b,label,round\n1,2,1,1\n1,2,0,1\n", "twice"),
        ("t.csv", "i,j,label,round\n1,2,1,1\n", "two columns that begin with record_"),
        ("t.json", "[]", "not a ground truth file"),
        ("t.json", "{", "not a ground truth file"),
        ("t.json", '{"format": "blindlabel ground truth", "version": 1}', "version 1"),
        (
            "t.json",
            '{"format": "blindlabel ground truth", "version": 3, "datasets": {"a": "x", "b": "y"}, "pairs": [3]}',
            "not an object",
        ),
        (
            "t.json",
            (
                '{"format": "blindlabel ground truth", "version": 3, "datasets": {"a": "x", "b": "y"}, "pairs":'
                ' [{"record_x": 1, "record_y": 2}]}'
            ),
            "'label' is missing",
        ),
        ("t.parquet", "no parquet", "cannot be read as Parquet"),
    ],
)
def test_what_is_no_ground_truth_is_refused(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as caught:
        read_ground_truth(tmp_path / name)
    assert sentence in str(caught.value)


def test_missing_files_and_formats_are_named(tmp_path: Path) -> None:
    for name in ("none.csv", "none.json", "none.parquet"):
        with pytest.raises(InputError, match="There is no file"):
            read_ground_truth(tmp_path / name)
    with pytest.raises(InputError, match="no format 'xml'"):
        write(TRUTH, "xml", tmp_path / "t")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutsideError, match="cannot be made"):
        write(TRUTH, "csv", tmp_path / "file" / "below" / "t.csv")


def test_a_truth_that_contradicts_itself_cannot_be_made() -> None:
    pair = LabelledPair(1, 2, True, 1)
    for pairs, discarded, ids, name in (
        ((pair, LabelledPair(1, 2, False, 1)), (), None, "b"),
        ((pair,), ((1, 2),), None, "b"),
        ((pair,), (), {2: "x"}, "b"),
        ((pair,), (), None, "a"),
    ):
        with pytest.raises(ValueError):
            AgreedTruth("a", name, pairs, discarded, ids)


def of_owner(truth: AgreedTruth, side: str) -> AgreedTruth:
    """The truth as one owner exports it: with its own ids alone."""
    return replace(truth, ids_b=None) if side == "a" else replace(truth, ids_a=None)


BOTH = replace(TRUTH, ids_b={7: "s7", 9: "s9"})


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
@pytest.mark.parametrize("only", [False, True])
def test_exports_of_two_owners_merge_into_pairs_of_ids(format: str, only: bool, tmp_path: Path) -> None:
    whole = BOTH if not only else replace(BOTH, pairs=tuple(BOTH.matches()), discarded=(), only_matches=True)
    read = [
        read_ground_truth(write(of_owner(whole, side), format, tmp_path / side / f"t.{format}")[0]) for side in "ab"
    ]
    assert merged(*read) == merged(*reversed(read)) == whole
    assert (tmp_path / "a" / "t.discarded.csv").exists() != only


def test_exports_that_do_not_belong_together_are_not_merged() -> None:
    mine, theirs = of_owner(BOTH, "a"), of_owner(BOTH, "b")
    for other, sentence in (
        (replace(theirs, dataset_b="west"), "different pairings"),
        (replace(theirs, pairs=theirs.pairs[:-1]), "different things about 1 pairs"),
        (replace(theirs, discarded=()), "different things"),
        (replace(theirs, study="b" * 16), "exports of different studies"),
        (replace(BOTH, ids_a={4: "other", 5: "x"}), "different ids for the same rows of north"),
    ):
        with pytest.raises(InputError, match=sentence):
            merged(mine, other)


def test_labels_are_joined_with_the_ids_of_both_owners_and_of_no_other_study(tmp_path: Path) -> None:
    truth = replace(BOTH, ids_a=None, ids_b=None, study="a" * 16)
    labels, _ = write(truth, "csv", tmp_path / "labels.csv")
    assert read_ground_truth(labels) == truth
    files = {}
    for name, ids, study in (
        ("north", BOTH.ids_a, "a" * 16),
        ("south", BOTH.ids_b, "a" * 16),
        ("other", BOTH.ids_b, "b" * 16),
        ("few", {7: "s7"}, "a" * 16),
    ):
        owner = "north" if name == "north" else "south"
        lines = [(number, own, study) for number, own in (ids or {}).items()]
        files[name] = tmp_path / f"{name}.csv"
        write_csv(files[name], (f"record_{owner}", f"id_{owner}", "study"), lines)
    assert joined([labels, files["north"], files["south"]]) == replace(BOTH, study="a" * 16)
    assert joined([labels, files["south"], files["north"]]) == replace(BOTH, study="a" * 16)
    for paths, sentence in (
        ([labels, files["north"], files["other"]], "The ids in other.csv are not of this study"),
        ([labels, files["north"], files["few"]], "few.csv lacks the id of a record of south that is labelled"),
        ([labels, files["north"]], "Nothing here has the ids of south"),
        (
            [write(replace(truth, dataset_a="x", dataset_b="y"), "csv", tmp_path / "xy.csv")[0], files["north"]],
            "not of",
        ),
    ):
        with pytest.raises(InputError, match=sentence):
            joined(paths)
    (tmp_path / "two.csv").write_text("record_a,record_b,label,round,study\n1,2,1,1,x\n1,3,1,1,y\n")
    with pytest.raises(InputError, match="its lines are of several studies"):
        read_ground_truth(tmp_path / "two.csv")


def test_merging_by_command_writes_every_format_with_both_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(write(of_owner(BOTH, side), "csv", tmp_path / f"{side}.csv")[0]) for side in "ab"]
    assert run(["merge", *files, "--format", "rltk", "--to", str(tmp_path / "both.csv")]) == 0
    assert (tmp_path / "both.csv").read_text() == 'id1,id2,label\nn|4,s7,True\nn|4,s9,False\n"n,""5""",s9,True\n'
    assert "records of south by id and place" in capsys.readouterr().err


MATRIX = np.array([[3, 4], [0, 7]], dtype=np.uint8)
"""The pairs of TRUTH as labels: the round and the label in a byte, 0 for a pair that was discarded."""


def test_a_matrix_of_labels_is_the_same_truth_as_its_pairs(tmp_path: Path) -> None:
    viewed = AgreedTruth.of_matrix(("north", "south"), MATRIX, ((4, 5), (7, 9)), (TRUTH.ids_a, None))
    assert tuple(viewed.pairs) == TRUTH.pairs
    assert tuple(viewed.discarded) == TRUTH.discarded
    assert viewed.matches() == TRUTH.matches()
    assert (len(viewed.pairs), len(viewed.discarded)) == (3, 1)
    assert [viewed.pairs[place] for place in (0, 1, 2, -1)] == [*TRUTH.pairs, TRUTH.pairs[-1]]
    assert list(viewed.pairs[1:]) == list(TRUTH.pairs[1:])
    with pytest.raises(IndexError):
        viewed.pairs[3]
    for known in FORMATS:
        same = [
            write(truth, known, tmp_path / name / "t")[0].read_bytes() for name, truth in (("a", TRUTH), ("b", viewed))
        ]
        assert same[0] == same[1]
    for positions, ids in (
        (((4, 4), (7, 9)), (None, None)),
        (((4, 5), (7,)), (None, None)),
        (((4, 5), (7, 9)), ({4: "x"}, None)),
    ):
        with pytest.raises(ValueError):
            AgreedTruth.of_matrix(("north", "south"), MATRIX, positions, ids)


@pytest.mark.parametrize("format", ["csv", "json", "splink", "recordlinkage", "rltk", "py_entitymatching"])
def test_large_truths_are_written_without_making_all_their_pairs(format: str, tmp_path: Path) -> None:
    rows = 150
    matrix = np.full((rows, rows), 2, dtype=np.uint8)
    matrix[::7] = 0
    truth = AgreedTruth.of_matrix(("north", "south"), matrix, (range(rows), range(rows)))
    write(TRUTH, format, tmp_path / "first")  # imports what it needs
    tracemalloc.start()
    path, _ = write(truth, format, tmp_path / "truth")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 0
    assert peak < 500_000  # 19,000 pairs as objects alone are more than 1.5 MB


def test_every_format_is_described() -> None:
    assert set(FORMATS) >= {
        "csv",
        "json",
        "parquet",
        "splink",
        "splink-matches",
        "recordlinkage",
        "py_entitymatching",
        "rltk",
        "pyjedai",
    }
    assert all(name == known.name and known.description.endswith(".") for name, known in FORMATS.items())
