"""Intervals hold what they promise, on lists of every shape; seeds are fixed: every run judges the same draws."""

from __future__ import annotations

from functools import cache
from random import Random
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pytest

from support.linkages import SHAPES, blind_labels, bounds, checked, drawing, linkage, true_measures

SIZES = ((1000, 5, 200), (120, 4, 100), (40, 2, 50))
"""Linked pairs, how many times as long the list is, pairs drawn. The last is a short list."""
DRAWS = 300


@cache
def repeated(shape: str, size: tuple[int, int, int], checks: int = 0) -> tuple[npt.NDArray[np.float64], ...]:
    """Share of draws whose interval holds the truth, mean error and mean half width, each for precision, recall, F."""
    linked, times, pairs = size
    candidates, matches = linkage(shape, linked, times)
    true, chance, kinds = (
        np.array(true_measures(candidates, matches)),
        Random(f"{shape} {size}"),
        blind_labels(matches, 3),
    )
    found = []
    for _ in range(DRAWS):
        one = drawing(candidates, matches, pairs, chance, kinds if checks else None)
        found.append(bounds(checked(one, matches, checks, chance) if checks else one))
    value, low, high = np.array(found).transpose(2, 0, 1)
    held = (low <= true + 1e-9) & (true <= high + 1e-9)
    return held.mean(axis=0), (value - true).mean(axis=0), ((high - low) / 2).mean(axis=0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_true_labels_hold_in_every_cell(shape: str, size: tuple[int, int, int]) -> None:
    held, error, width = repeated(shape, size)
    assert held.min() >= 0.9
    if size == SIZES[0]:
        assert np.abs(error).max() <= 0.02
        assert width.max() <= 0.11  # not by being wide: the design has .07 and .10


def test_intervals_of_true_labels_hold_on_average() -> None:
    assert fmean(repeated(shape, size)[0].mean() for shape in SHAPES for size in SIZES) >= 0.95


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_erring_labels_hold_with_checked_pairs(shape: str) -> None:
    held, error, width = repeated(shape, SIZES[0], checks=20)
    assert held.min() >= 0.92
    assert np.abs(error).max() <= 0.02
    assert width.max() <= 0.25


def test_erring_labels_alone_are_wrong_by_more_than_chance() -> None:
    """Why there is no value without checked pairs: taken as they are, the same labels miss the truth."""
    candidates, matches = linkage("steep", 1000, 5)
    kinds = blind_labels(matches, 3) == 1
    one = drawing(candidates, kinds, 200, Random(7))
    assert not bounds(one)[0][1] <= true_measures(candidates, matches)[0] <= bounds(one)[0][2]
