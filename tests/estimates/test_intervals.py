"""Limits of shares are exact, and what is made of them stays where it belongs."""

from __future__ import annotations

from math import comb, inf, isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.estimates.intervals import Piece, exact, measures, quotient, total


def tail(share: float, drawn: int, first: int, last: int) -> float:
    """The chance of this many matches, counted out."""
    return sum(comb(drawn, x) * share**x * (1 - share) ** (drawn - x) for x in range(first, last + 1))


@pytest.mark.parametrize("drawn", [1, 3, 20, 200])
def test_limits_are_those_of_the_binomial_distribution(drawn: int) -> None:
    for matches in sorted({0, 1, drawn // 3, drawn - 1, drawn}):
        low, high = exact(matches, drawn)
        assert low == 0 if matches == 0 else tail(low, drawn, matches, drawn) == pytest.approx(0.025, rel=1e-6)
        assert high == 1 if matches == drawn else tail(high, drawn, 0, matches) == pytest.approx(0.025, rel=1e-6)


def test_known_limits() -> None:
    assert exact(0, 0) == (0, 1)
    assert exact(0, 1000, 0.05)[1] * 1000 == pytest.approx(3.0, abs=0.01)  # the rule of three
    assert exact(4.5, 10)[0] == pytest.approx((exact(4, 10)[0] + exact(5, 10)[0]) / 2, abs=0.01)


def test_what_rounding_leaves_of_a_number_does_no_harm() -> None:
    for dust in (1e-16, 1e-14, 1e-11):
        assert exact(59 - dust, 59) == pytest.approx(exact(59, 59))
        assert exact(dust, 59) == pytest.approx(exact(0, 59))
        assert exact(59 + dust, 59)[1] == 1


def test_what_was_drawn_whole_is_certain() -> None:
    assert total([Piece(10, 10, 7)], False) == (7, 7, 7)
    assert total([Piece(10, 9, 7)], False)[1] < 70 / 9


def test_better_pieces_bound_worse_ones_below_the_line_alone() -> None:
    pieces = [Piece(100, 40, 0), Piece(1000, 3, 0)]
    assert total(pieces, True)[2] < 0.2 * total(pieces, False)[2]


def test_a_quotient_of_known_parts_is_known_and_one_by_nothing_has_no_limit() -> None:
    assert quotient((3, 3, 3), (4, 4, 4)) == pytest.approx((0.75, 0.75))
    assert quotient((3, 2, 4), (1, 0, 2))[1] == inf
    low, high = quotient((3, 2, 4), (10, 9, 20))  # the upper limit is two times the value: no division by nothing
    assert 0 < low < 0.3 < high


pieces = st.lists(
    st.integers(1, 2000).flatmap(
        lambda size: st.integers(1, min(size, 60)).flatmap(
            lambda drawn: st.floats(0, drawn).map(lambda matches: Piece(size, drawn, matches))
        )
    ),
    max_size=5,
)


@settings(max_examples=40)
@given(pieces.filter(len), pieces, st.tuples(st.floats(0, 50), st.floats(0, 50)))
def test_nothing_is_ever_not_a_number_or_out_of_bounds(
    above: list[Piece], below: list[Piece], further: tuple[float, float]
) -> None:
    linked = sum(piece.size for piece in above)
    for value, low, high in measures(total(above, False, further), total(below, True, further), linked):
        assert isfinite(value)
        assert 0 <= low <= value <= high <= 1
