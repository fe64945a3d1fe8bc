"""The target tools' own readers take our files, where the tools are installed. Exact shapes are tested in
test_export.py without them.

None of them is a dependency of blindlabel: `make test-tools` installs those that install here into an environment of
their own, says which do not, and runs this file there.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blindlabel.export import AgreedTruth, LabelledPair, merged, read_ground_truth, write

pytestmark = pytest.mark.filterwarnings("ignore")  # other people's warnings are not ours to fix

WHOLE = AgreedTruth(
    "zeta",  # after `alpha` in the alphabet: a tool that sorts sides must not lose labels
    "alpha",
    tuple(LabelledPair(n, n, True, 1) for n in range(8))
    + tuple(LabelledPair(n, (n + 1) % 8, False, 2) for n in range(8)),
    ((0, 5),),
    {n: f"z{n}" for n in range(8)},
    {n: f"a{n}" for n in range(8)},
)


def as_merged() -> AgreedTruth:
    """As people get it: each owner's export has its own ids, and `blindlabel merge` joins the two."""
    with tempfile.TemporaryDirectory() as folder:
        exports = [
            read_ground_truth(write(export, "csv", Path(folder) / f"{number}.csv")[0])
            for number, export in enumerate((replace(WHOLE, ids_a=None), replace(WHOLE, ids_b=None)))
        ]
    return merged(*exports)


TRUTH = as_merged()
MATCHES = {(f"z{n}", f"a{n}") for n in range(8)}
DISTINCT = {(f"z{n}", f"a{(n + 1) % 8}") for n in range(8)}


def test_recordlinkage_reads_its_annotation(tmp_path: Path) -> None:
    recordlinkage = pytest.importorskip("recordlinkage", exc_type=ImportError)
    path, _ = write(TRUTH, "recordlinkage", tmp_path)
    annotation = recordlinkage.read_annotation_file(str(path))
    assert set(annotation.links) == MATCHES
    assert set(annotation.distinct) == DISTINCT
    assert annotation.unknown is None


def test_rltk_reads_its_ground_truth(tmp_path: Path) -> None:
    evaluation = pytest.importorskip("rltk.evaluation.ground_truth", exc_type=ImportError)
    path, _ = write(TRUTH, "rltk", tmp_path)
    truth = evaluation.GroundTruth()
    truth.load(str(path))
    assert all(truth.is_positive(*pair) for pair in MATCHES)
    assert all(truth.is_negative(*pair) for pair in DISTINCT)
    assert not truth.is_member("z0", "a5")


def test_pyjedai_reads_its_ground_truth(tmp_path: Path) -> None:
    datamodel = pytest.importorskip("pyjedai.datamodel", exc_type=ImportError)
    pandas = pytest.importorskip("pandas", exc_type=ImportError)
    path, _ = write(TRUTH, "pyjedai", tmp_path)
    tables = [pandas.DataFrame({"id": [f"{side}{n}" for n in range(8)], "name": "x"}) for side in "za"]
    data = datamodel.Data(
        dataset_1=tables[0],
        id_column_name_1="id",
        dataset_2=tables[1],
        id_column_name_2="id",
        ground_truth=pandas.read_csv(path, sep="|", engine="python"),
    )
    assert {(one, other) for one, others in data.duplicate_of.items() for other in others} == MATCHES


def test_py_entitymatching_reads_its_labelled_set(tmp_path: Path) -> None:
    matching = pytest.importorskip("py_entitymatching", exc_type=ImportError)
    pandas = pytest.importorskip("pandas", exc_type=ImportError)
    path, _ = write(TRUTH, "py_entitymatching", tmp_path)
    tables = [pandas.DataFrame({"id": [f"{side}{n}" for n in range(8)]}) for side in "za"]
    for table in tables:
        matching.set_key(table, "id")
    found = matching.read_csv_metadata(
        str(path), key="_id", ltable=tables[0], rtable=tables[1], fk_ltable="ltable_id", fk_rtable="rtable_id"
    )
    assert matching.get_key(found) == "_id"
    assert {(row.ltable_id, row.rtable_id) for row in found.itertuples() if row.label == 1} == MATCHES
    assert {(row.ltable_id, row.rtable_id) for row in found.itertuples() if row.label == 0} == DISTINCT


def splink_linker(splink: Any, pandas: Any) -> tuple[Any, Any]:
    """A linker of two tables named as the ground truth names them."""
    names = ["ann", "bob", "cem", "dan", "eva", "fay", "gus", "hal"]
    frames = {
        name: pandas.DataFrame(
            {"unique_id": [f"{name[0]}{n}" for n in range(8)], "name": [first, *names[1:]], "age": [*range(7), last]}
        )
        for name, first, last in (("zeta", "ann", 7), ("alpha", "anne", 70))  # so that no attribute always agrees
    }
    api = splink.DuckDBAPI()
    comparisons = __import__("splink.comparison_library", fromlist=["x"])
    settings = splink.SettingsCreator(
        link_type="link_only",
        comparisons=[comparisons.ExactMatch("name"), comparisons.ExactMatch("age")],
        blocking_rules_to_generate_predictions=[splink.block_on("name"), splink.block_on("age")],
    )
    tables = [api.register(frame, dataset_display_name=name) for name, frame in frames.items()]
    return splink.Linker(tables, settings), api


def test_splink_finds_every_label(tmp_path: Path) -> None:
    splink = pytest.importorskip("splink", minversion="5.0", exc_type=ImportError)
    pandas = pytest.importorskip("pandas", exc_type=ImportError)
    linker, api = splink_linker(splink, pandas)
    labels = api.register(pandas.read_csv(write(TRUTH, "splink", tmp_path)[0]))
    linker.training.estimate_u_using_random_sampling(max_pairs=1e4)
    matches = api.register(pandas.read_csv(write(TRUTH, "splink-matches", tmp_path)[0]))
    linker.training.estimate_m_from_pairwise_labels(matches)
    found = linker.evaluation.accuracy_analysis_from_labels_table(labels, output_type="table").as_record_list()
    assert {(row["p"], row["n"]) for row in found} == {(8.0, 8.0)}
    assert max(row["f1"] for row in found) == 1.0
