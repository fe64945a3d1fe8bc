"""A records' owner that lies when it opens. It sees values with the asker's pads on them and says what it likes in
their place; it does not know the pads. So it can refuse any answer, and with it take back an exclusion or an exception,
but it makes no yes where the points were missed, unless it guesses a pad: once in t tries.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from blindlabel.engines.interface import Outcome, Terms, Values, outcomes
from blindlabel.engines.packed.residues import uniform
from blindlabel.engines.packed.rings import RINGS
from blindlabel.language import Limits, Record
from support.packed_rounds import ENGINE, Round, asked

TERMS = Terms(
    ("a",), record_length=8, records=16, case="lower", encode_attributes=False, functions=("is_in",),
    limits=Limits(needle_length=1), profile=(1,), exclusions=1, unless=1,
)  # fmt: skip
RECORDS = [Record.of({"a": "".join(some)}) for some in product(("", "a"), ("", "b"), ("", "c"), ("", "d"))]
QUESTION = 'ret is_in("a", $r) & (!is_in("b", $r) | is_in("c", $r))'
T = np.uint64(RINGS[0].modulus)


@pytest.fixture(scope="module")
def round_() -> tuple[Values, Values]:
    """What the records' owner opens, and the pads that it never sees."""
    one, count = Round(TERMS), len(RECORDS)
    one.run(RECORDS, asked(QUESTION))
    return (ENGINE.open(TERMS, one.keys.secret, one.answers, 1, count), ENGINE.pad_values(TERMS, one.pads, 1, count))


def truth() -> list[Outcome]:
    found = []
    for record in RECORDS:
        reached, excluded, restored = (letter in record.whole for letter in "abc")
        below = (Outcome.RESTORED if restored else Outcome.EXCLUDED) if excluded else Outcome.YES
        found.append(below if reached else Outcome.NO)
    return found


def said(opened: Values, pads: Values) -> list[int]:
    return [int(one) for one in outcomes(opened == pads)[0]]


def changed(opened: Values, *places: int) -> Values:
    """The opener's list with other values at these places."""
    lied = opened.copy()
    for place in places:
        lied[place] = (lied[place] + np.uint64(1)) % T
    return lied


def test_an_opener_can_force_a_no(round_: tuple[Values, Values]) -> None:
    opened, pads = round_
    assert said(opened, pads) == truth()
    assert said(changed(opened, 0), pads) == [Outcome.NO] * len(RECORDS)


def test_an_opener_can_undo_an_exclusion_and_an_exception(round_: tuple[Values, Values]) -> None:
    """It does not learn from which pairs, and does so to all that it changes: a yes all the same is then clearly a
    yes, and without the last value an exception is a no.
    """
    opened, pads = round_
    reached = [one != Outcome.NO for one in truth()]
    assert said(changed(opened, 1), pads) == [Outcome.YES if yes else Outcome.NO for yes in reached]
    assert said(changed(opened, 2), pads) == [Outcome.EXCLUDED if one == Outcome.RESTORED else one for one in truth()]


def test_an_opener_makes_no_yes_where_the_points_were_missed(round_: tuple[Values, Values]) -> None:
    """What it could say that does not need the pad: what it opened, in another order, shifted, or anything."""
    opened, pads = round_
    missed = np.array([one == Outcome.NO for one in truth()])
    tries = hits = 0
    lies = [np.zeros_like(opened), np.roll(opened, 1, axis=2), np.roll(opened, 1, axis=0), opened[:, :, ::-1]]
    lies += [(opened + np.uint64(shift)) % T for shift in range(1, 500)]
    lies += [uniform(opened.size, int(T)).reshape(opened.shape) for _ in range(500)]
    for lie in lies:
        found = outcomes(lie == pads)[0][missed]
        tries, hits = tries + found.size, hits + int(np.count_nonzero(found))
    assert tries > 8_000
    assert hits <= 1, "a pad is guessed once in 16 million tries"


def test_the_chance_of_a_guess_is_one_in_t() -> None:
    """At t = 5, over all pads and all that is under them: a value that does not depend on the pad is equal to it in one
    case of t, whatever was opened.
    """
    t = 5
    for y, shift in product(range(1, t), range(t)):
        equal = sum((y * a + pad + shift) % t == pad for a in range(t) for pad in range(t))
        assert equal == t  # of t², the opener's best included: a is nobody's alone, so y·a is uniform
