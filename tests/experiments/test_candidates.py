"""Hard pairs: reading sets, labelling by first agreement, figures, and the command as a user runs it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from blindlabel.cli.main import app
from blindlabel.errors import InputError
from blindlabel.protocol.labels import no_labels, open_counts, settle
from blindlabel.records.generator import PRODUCT_ATTRIBUTES, Size, generate
from blindlabel_lab.experiments.candidates import (
    PUBLISHED,
    SOURCES,
    Study,
    candidates_folder,
    figures,
    names_in,
    read_candidates,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of candidate pairs from generated products: every match, and for each row some random other rows."""
    place = tmp_path_factory.mktemp("data")
    made = generate("products", Size(60, 40), 3)
    target = place / "candidates" / "products"
    target.mkdir(parents=True)
    for stem, table in (("a", made.a), ("b", made.b)):
        lines = [",".join(["id", *table.attributes])]
        lines += [
            ",".join([own, *(f'"{value}"' for value in row)]) for own, row in zip(table.ids, table.rows, strict=True)
        ]
        (target / f"{stem}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    matches = set(made.matches)
    chooser = random.Random(1)
    others = {(one, chooser.choice(made.b.ids)) for one in made.a.ids for _ in range(3)} - matches
    rows = [(a, b, 1) for a, b in sorted(matches)] + [(a, b, 0) for a, b in sorted(others)]
    (target / "pairs.csv").write_text("id_a,id_b,label\n" + "".join(f"{a},{b},{label}\n" for a, b, label in rows))
    return place


def test_a_set_is_found_in_its_subfolder_and_read_with_its_labels(folder: Path) -> None:
    place = candidates_folder(folder)
    assert place == folder / "candidates"
    assert names_in(place) == ["products"]
    given = read_candidates(place, "products")
    assert given.dataset.attributes == PRODUCT_ATTRIBUTES
    assert sum(given.truth) == 40
    assert len(given.pairs) == len(given.truth) > 100


def test_labels_are_those_of_the_protocol(folder: Path) -> None:
    given = read_candidates(candidates_folder(folder), "products")
    study = Study(given)
    ours = study.rounds(3)
    rows, columns = map(len, given.dataset.records)
    labels = no_labels(rows, columns)
    for number in (1, 2, 3):
        asked = [[int(i) for i in np.flatnonzero(open_counts(labels, axis=side))] for side in (0, 1)]
        says = [
            np.array(
                [[study.answer(side, own, other, number) for other in asked[1 - side]] for own in asked[side]],
                dtype=np.uint8,
            ).reshape(len(asked[side]), len(asked[1 - side]))
            for side in (0, 1)
        ]
        labels = settle(labels, number, asked[0], says[0], asked[1], says[1], most_yes=rows + columns).labels
        for place, (a, b) in enumerate(given.pairs):
            expected = None if labels[a, b] == 0 else bool(labels[a, b] & 1)
            assert ours[number - 1][place] == expected


def test_a_pair_never_agreed_counts_as_no_match() -> None:
    found = figures([True, True, None, False, None], [True, False, True, True, False])
    assert (found.precision, found.recall) == (1 / 2, 1 / 3)
    assert found.f1 == pytest.approx(0.4)
    assert found.discarded == 2


def test_the_command_writes_one_document_with_figures_readability_and_what_others_reached(
    folder: Path, tmp_path: Path
) -> None:
    done = CliRunner().invoke(
        app, ["experiment", "candidates", "--data", str(folder), "--results", str(tmp_path), "--json"]
    )
    assert done.exit_code == 0, done.output
    document = json.loads((tmp_path / "candidates.json").read_text())
    [one] = document["datasets"].values()
    assert len(one["rounds"]) == 3
    assert one["rounds"][-1]["f1"] >= 0.8
    for side in ("a", "b"):
        read = one["readability"][side]
        assert read["conditions_most"] <= 8
        assert read["points_most"] <= 4
        assert read["whole_words_or_values"] >= 0.9
    assert set(document["published"]["sources"]) == set(SOURCES) == set(PUBLISHED["abt-buy"])


def test_what_is_wrong_with_a_folder_is_a_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no set x"):
        read_candidates(candidates_folder(folder), "x")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for stem in ("a", "b"):
        (damaged / f"{stem}.csv").write_text("id,name\n1,x\n")
    (damaged / "pairs.csv").write_text("id_a,id_b,label\n1,1,maybe\n")
    with pytest.raises(InputError, match="labels are 0 and 1"):
        read_candidates(tmp_path, "damaged")


def test_the_same_tables_written_otherwise_give_the_same_labels(folder: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["experiment", "invariance", "--data", str(folder), "--results", str(tmp_path), "--json"]
    )
    assert done.exit_code == 0, done.output
    [one] = json.loads((tmp_path / "invariance.json").read_text())["datasets"].values()
    assert len(one["f1"]) == 8 and one["f1"]["as it is"] >= 0.8
    assert one["moved"] == 0
