from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import Outcomes
from blindlabel.protocol import labels, sampling
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.refusals import NotFitting
from blindlabel_lab.simulation.judging import agreed_pairs


def test_figures_of_a_worked_example() -> None:
    tally = Tally(both=20, first_only=5, second_only=10, neither=15)  # the example of Cohen's kappa in many textbooks
    assert tally.percent == 70.0
    assert tally.kappa == pytest.approx(0.4)
    # Gwet: pi = (25 + 30) / 100 = 0.55, chance = 2 * 0.55 * 0.45 = 0.495
    assert tally.ac1 == pytest.approx((0.7 - 0.495) / (1 - 0.495))


def test_kappa_fails_and_ac1_does_not_when_matches_are_rare() -> None:
    tally = Tally(both=0, first_only=1, second_only=1, neither=98)
    assert tally.kappa == pytest.approx(-0.0101, abs=1e-3)
    assert tally.ac1 is not None
    assert tally.ac1 > 0.97


def test_edge_cases_are_defined() -> None:
    assert (Tally().percent, Tally().kappa, Tally().ac1) == (None, None, None)
    assert Tally(neither=7).kappa is None
    assert Tally(both=7).kappa is None
    assert Tally(neither=7).ac1 == 1.0
    assert Tally(first_only=5).kappa == 0.0
    assert Tally(first_only=5, second_only=5).kappa == -1.0
    assert Tally(both=1, neither=1).kappa == 1.0


def test_pair_once_agreed_keeps_its_label_and_round() -> None:
    start = labels.no_labels(1, 2)
    yes, no = said([[1, 0]]), said([[1], [1]])
    first = labels.settle(start, 1, [0], yes, [0, 1], no, most_yes=5)
    assert first.labels.tolist() == [[3, 0]]
    assert (first.tally.both, first.tally.second_only) == (1, 1)
    later = labels.settle(first.labels, 2, [0], said([[0]]), [1], said([[0]]), most_yes=5)
    assert later.labels.tolist() == [[3, 4]]
    assert later.tally == Tally(neither=1)


def test_later_answers_about_an_agreed_pair_change_nothing() -> None:
    """A record that is asked again for one pair answers about all of them."""
    first = labels.settle(labels.no_labels(2, 2), 1, [0, 1], said([[1, 0], [0, 0]]), [0, 1], said([[1, 0], [1, 0]]), 5)
    assert first.labels.tolist() == [[3, 0], [2, 2]]
    turned = labels.settle(first.labels, 2, [0, 1], said([[0, 1], [1, 1]]), [0, 1], said([[0, 1], [1, 1]]), 5)
    assert turned.labels.tolist() == [[3, 5], [2, 2]]
    assert turned.tally == Tally(both=1), "agreed pairs are not counted again"


def said(rows: list[list[int]]) -> Outcomes:
    return np.array(rows, dtype=np.uint8)


def test_too_loose_question_labels_nothing_and_its_record_comes_back() -> None:
    settled = labels.settle(
        labels.no_labels(2, 3), 1, [0, 1], said([[1, 1, 1], [1, 0, 0]]), [0, 1, 2], said([[1, 1], [1, 0], [0, 0]]), 2
    )
    assert settled.loose == ((0,), ())
    assert settled.disagreed == ((), ()), "the other side need not write anything"
    assert settled.labels.tolist() == [[0, 0, 0], [3, 2, 2]]
    assert settled.tally == Tally(both=1, neither=2, loose=3)


def test_record_that_many_questions_say_yes_to_is_set_aside_and_nobody_writes_anew_for_it() -> None:
    """Six yeses to one record made fifty of fifty records open again."""
    eye = np.eye(50, dtype=np.uint8)
    one, two = eye.copy(), eye.copy()
    one[0:6, 7] = 1
    settled = labels.settle(labels.no_labels(50, 50), 1, range(50), one, range(50), two, 5)
    assert (settled.aside, settled.loose, settled.disagreed) == (((), (7,)), ((), ()), ((), ()))
    assert not labels.open_counts(settled.labels, axis=0).any() and not labels.open_counts(settled.labels, axis=1).any()
    assert set(settled.labels[:, 7].tolist()) == {labels.ASIDE}
    assert not labels.is_agreed(settled.labels)[:, 7].any()
    assert settled.tally == Tally(both=49, neither=50 * 49 - 49, loose=50)
    assert labels.released(settled.labels, "labels")[:, 7].tolist() == [0] * 50
    assert np.array_equal(labels.from_bytes(settled.labels.tobytes(), 50, 50), settled.labels)


def test_five_yeses_set_nothing_aside() -> None:
    one, two = np.eye(50, dtype=np.uint8), np.eye(50, dtype=np.uint8)
    one[0:5, 7] = 1
    one[7, 7] = 0
    settled = labels.settle(labels.no_labels(50, 50), 1, range(50), one, range(50), two, 5)
    assert settled.aside == ((), ())
    assert settled.disagreed == ((0, 1, 2, 3, 4, 7), (7,))


def test_questions_that_would_set_half_a_sample_aside_all_come_back_instead() -> None:
    one, two = np.eye(20, dtype=np.uint8), np.eye(20, dtype=np.uint8)
    one[:6] = 1
    settled = labels.settle(labels.no_labels(20, 20), 1, range(20), one, range(20), two, 5)
    assert settled.loose == (tuple(range(20)), ()) and settled.aside == ((), ())
    assert settled.disagreed == ((), ()), "so the other side keeps its questions"
    assert not settled.labels.any()


def test_record_that_is_set_aside_makes_no_question_too_loose() -> None:
    """Else five known records and one more would tell of each question whether it fits that one."""
    one, two = np.zeros((50, 50), dtype=np.uint8), np.eye(50, dtype=np.uint8)
    one[:, 0:5] = 1
    one[::2, 9] = 1
    settled = labels.settle(labels.no_labels(50, 50), 1, range(50), one, range(50), two, 5)
    assert settled.loose == ((), ()) and settled.aside == ((), (0, 1, 2, 3, 4, 9))


def test_yes_but_for_an_exclusion_is_a_no() -> None:
    settled = labels.settle(labels.no_labels(1, 1), 1, [0], said([[2]]), [0], said([[0]]), 5)
    assert settled.labels.tolist() == [[2]]


def test_open_pair_whose_record_was_not_asked_is_an_error() -> None:
    with pytest.raises(NotFitting):
        labels.settle(labels.no_labels(1, 2), 1, [0], said([[1]]), [0], said([[1]]), 5)


@pytest.mark.parametrize("stripe", [1, 7, labels.STRIPE])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**32))
def test_rounds_agree_with_a_naive_count(
    monkeypatch: pytest.MonkeyPatch, stripe: int, rows: int, columns: int, rounds: int, seed: int
) -> None:
    monkeypatch.setattr(labels, "STRIPE", stripe)
    chance = np.random.default_rng(seed)
    matrix = labels.no_labels(rows, columns)
    naive: dict[tuple[int, int], tuple[bool, int]] = {}
    for number in range(1, rounds + 1):
        first = np.flatnonzero(labels.open_counts(matrix, axis=0))
        second = np.flatnonzero(labels.open_counts(matrix, axis=1))
        one = (chance.random((len(first), len(second))) < 0.5).astype(np.uint8)
        two = (chance.random((len(second), len(first))) < 0.5).astype(np.uint8)
        matrix = labels.settle(matrix, number, first.tolist(), one, second.tolist(), two, columns + rows).labels
        for x, i in enumerate(first.tolist()):
            for y, j in enumerate(second.tolist()):
                if (i, j) not in naive and one[x, y] == two[y, x]:
                    naive[(i, j)] = (bool(one[x, y]), number)
    assert {(i, j): (label, number) for i, j, label, number in agreed_pairs(matrix)} == naive
    assert np.count_nonzero(matrix == 0) == rows * columns - len(naive)
    assert np.array_equal(labels.from_bytes(matrix.tobytes(), rows, columns), matrix)


@pytest.mark.parametrize("data", [b"\1", b"\xcb", b"\0\0"])
def test_impossible_labels_are_refused(data: bytes) -> None:
    with pytest.raises(NotFitting):
        labels.from_bytes(data, 1, 1)


def test_uniform_sample_is_uniform() -> None:
    chance = random.Random(1)
    counts = np.zeros(10)
    for _ in range(4000):
        chosen = sampling.uniform(10, 3, chance.randrange)
        assert len(set(chosen)) == 3
        assert list(chosen) == sorted(chosen)
        counts[list(chosen)] += 1
    assert abs(counts / 4000 - 0.3).max() < 0.04
    assert sampling.uniform(4, 9) == (0, 1, 2, 3)
