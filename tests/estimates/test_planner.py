"""Planned widths are those that one gets, within 30 %, on lists of every shape."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from blindlabel.estimates.planner import from_list, from_rows, list_of, plans
from support.linkages import SHAPES, bounds, drawing, linkage, true_measures


@pytest.mark.parametrize("size", [(1000, 5, 200), (300, 10, 100), (200, 3, 100)])
@pytest.mark.parametrize("shape", SHAPES)
def test_planned_widths_are_near_simulated_ones(shape: str, size: tuple[int, int, int]) -> None:
    linked, times, pairs = size
    candidates, matches = linkage(shape, linked, times)
    precision, recall, _ = true_measures(candidates, matches)
    chance = Random(5)
    found = np.array([bounds(drawing(candidates, matches, pairs, chance)) for _ in range(20)])[:, :2]
    simulated = ((found[:, :, 2] - found[:, :, 1]) / 2).mean(axis=0)
    planned = from_list(list_of(linked, linked * times), pairs, precision, recall)
    assert [planned.precision_width, planned.recall_width] == pytest.approx(simulated, rel=0.3)


def test_uniform_rows_are_planned_by_their_few_matches() -> None:
    planned = from_rows((2000, 2000), 1000, 400, 0.9, 0.9)
    assert (planned.pairs, planned.records) == (160_000, 400)
    assert planned.matches == pytest.approx(1000 * 0.9 / 0.9 * 0.04)  # 40: where uniform samples begin to be of use
    assert 0.08 < planned.recall_width < 0.12


def test_the_smallest_sample_is_planned_or_the_largest_where_none_will_do() -> None:
    candidates = list_of(500, 2500)
    for width in (0.2, 0.1, 0.05):
        planned = plans(candidates, (1000, 1000), width)[0]
        assert max(planned.precision_width, planned.recall_width) <= width
        less = from_list(candidates, planned.pairs * 9 // 10, 0.9, 0.9)
        assert max(less.precision_width, less.recall_width) > width
    assert plans(list_of(5, 10), (100, 100), 0.01)[0].pairs == 10
    assert plans(list_of(5, 10), (100, 100), 0.01)[1].records == 100
