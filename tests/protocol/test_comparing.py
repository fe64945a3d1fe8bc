"""Two lists of keyed hashes: equal exactly where the values are, and only for what they were made for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import Outcome
from blindlabel.protocol import comparing
from blindlabel.protocol.comparing import Direction
from blindlabel.protocol.refusals import NotFitting
from blindlabel.protocol.shape import blob_of

DIRECTION = Direction("ab" * 32, 2, "anna", "berta", (0, 2), (1, 3, 4), blob_of(b"records"), blob_of(b"answers"))
SECRET = bytes(range(32))
VALUES = np.arange(6, dtype=np.uint64).reshape(1, 2, 3)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 2), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32))
def test_outcomes_are_those_of_equal_values(values: int, questions: int, records: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    direction = dataclasses.replace(DIRECTION, asked=tuple(range(questions)), served=tuple(range(records)))
    pads = chance.integers(0, 3, (values, questions, records), dtype=np.uint64)
    opened = chance.integers(0, 3, (values, questions, records), dtype=np.uint64)
    one, other = comparing.hashes(pads, SECRET, direction), comparing.hashes(opened, SECRET, direction)
    found = comparing.compared(one, other, questions, records)
    for i in range(questions):
        for j in range(records):
            yes = pads[0, i, j] == opened[0, i, j]
            excluded = yes and values == 2 and pads[1, i, j] == opened[1, i, j]
            assert found[i, j] == (Outcome.EXCLUDED if excluded else Outcome.YES if yes else Outcome.NO)


@pytest.mark.parametrize(
    "changes",
    [
        {"agreement": "cd" * 32}, {"round": 3}, {"asker": "clara"}, {"holder": "clara"}, {"asked": (0, 1)},
        {"served": (1, 3, 5)}, {"served": (3, 1, 4)}, {"records": blob_of(b"other")}, {"answers": blob_of(b"other")},
    ],
)  # fmt: skip
def test_lists_made_for_anything_else_have_no_equal_hash(changes: dict[str, object]) -> None:
    other = dataclasses.replace(DIRECTION, **changes)  # type: ignore[arg-type]
    one, two = comparing.hashes(VALUES, SECRET, DIRECTION), comparing.hashes(VALUES, SECRET, other)
    assert not comparing.compared(one, two, 2, 3).any()


def test_equal_values_of_different_pairs_have_different_hashes() -> None:
    made = comparing.hashes(np.zeros((2, 2, 3), dtype=np.uint64), SECRET, DIRECTION)
    assert len({made[at : at + 8] for at in range(0, len(made), 8)}) == 12


def test_another_secret_gives_no_equal_hash() -> None:
    one, two = comparing.hashes(VALUES, SECRET, DIRECTION), comparing.hashes(VALUES, SECRET[::-1], DIRECTION)
    assert not comparing.compared(one, two, 2, 3).any()


def test_lists_of_wrong_size_are_refused() -> None:
    made = comparing.hashes(VALUES, SECRET, DIRECTION)
    for one, other in ((made, made[:-8]), (made[:-8], made[:-8]), (made * 4, made * 4), (b"", b"")):
        with pytest.raises(NotFitting):
            comparing.compared(one, other, 2, 3)
    assert comparing.compared(b"", b"", 0, 3).shape == (0, 3)


def test_commitment_hides_and_binds() -> None:
    salt = bytes(32)
    assert comparing.commitment(salt, blob_of(b"a")) == comparing.commitment(salt, blob_of(b"a"))
    assert comparing.commitment(salt, blob_of(b"a")) != comparing.commitment(salt, blob_of(b"b"))
    assert comparing.commitment(salt, blob_of(b"a")) != comparing.commitment(b"1" * 32, blob_of(b"a"))
