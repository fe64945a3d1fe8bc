"""The experiment on estimates: its linkage is a real one, its samples are the product's, its figures are counted."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from typer.testing import CliRunner

from blindlabel.cli.main import app
from blindlabel.records.generator import Size, generate
from blindlabel.records.generator import write as write_tables
from blindlabel_lab.experiments.datasets import read_dataset
from blindlabel_lab.experiments.estimates import TIMES, Linkage, repeated, similarities


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    write_tables(generate("products", Size(150, 100), 3), place / "products")
    return place


@pytest.fixture(scope="module")
def linkage(data: Path) -> Linkage:
    return Linkage(read_dataset(data, "products"))


def test_the_list_is_by_similarity_and_linked_where_f_is_best(linkage: Linkage) -> None:
    scores = linkage.candidates.scores
    assert list(scores) == sorted(scores, reverse=True) and scores.min() >= 0 and scores.max() <= 1 + 1e-6
    assert len(linkage.cells) <= TIMES * linkage.candidates.linked.sum() and linkage.candidates.by_threshold
    true = set(linkage.dataset.matches)
    assert linkage.matches.tolist() == [cell in true for cell in linkage.cells]
    assert int(linkage.matches.sum()) + len(linkage.outside) == len(true)
    best = linkage.truth(len(linkage.outside))[2]
    scored = similarities(linkage.dataset)
    for count in range(1, len(scored), 7):
        if scored[count - 1][0] != scored[count][0]:
            assert 2 * sum(one[1:] in true for one in scored[:count]) / (count + len(true)) <= best


def test_uniform_rows_hold_the_pairs_of_their_tables(linkage: Linkage) -> None:
    found = linkage.uniform(60, Random(2))
    assert len(found.places) == 60 * 60
    assert found.outside == 150 * 150 - len(linkage.cells)
    true = [linkage.matches[place] for place in found.places[found.places >= 0]]
    assert found.kinds[found.places >= 0].tolist() == [int(one) for one in true]
    whole = linkage.uniform(150, Random(2))
    assert int(whole.kinds.sum()) == len(linkage.dataset.matches)


def test_figures_are_shares_of_draws(linkage: Linkage) -> None:
    places = np.flatnonzero(linkage.candidates.draw(10**6).drawn)
    assert len(places) == len(linkage.cells)
    all_of_it = repeated(lambda chance: linkage.drawn(10**6, chance), linkage.truth(0), 3, "x")
    assert (all_of_it["held"], all_of_it["bias"], all_of_it["half_width"]) == ([1, 1, 1], [0, 0, 0], [0, 0, 0])
    wrong = repeated(lambda chance: linkage.drawn(10**6, chance), [0.1, 0.1, 0.1], 3, "x")
    assert wrong["held"] == [0, 0, 0]


def test_blind_labels_are_of_four_kinds_and_checked_pairs_are_true(linkage: Linkage) -> None:
    kinds = linkage.blind()
    assert set(kinds.tolist()) <= {0, 1, 2, 3} and (kinds == 1).sum() > 20
    found = linkage.drawn(80, Random(1), kinds, checked=5)
    assert found.valued
    assert np.array_equal(found.checked[found.known], linkage.matches[found.places[found.known]])
    assert not linkage.drawn(80, Random(1), kinds).valued


def test_the_command_shows_every_set_and_sampling(data: Path, tmp_path: Path) -> None:
    options = ["experiment", "estimates", "--data", str(data), "--draws", "4", "--results", str(tmp_path)]
    shown = CliRunner().invoke(app, options)
    assert shown.exit_code == 0, shown.output
    document = json.loads((tmp_path / "estimates.json").read_text())
    assert list(document["datasets"]["products"]["cells"]) == ["100 pairs", "200 pairs", "400 pairs", "400 rows"]
    assert "held P / R / F" in shown.stdout and "400 rows" in shown.stdout
