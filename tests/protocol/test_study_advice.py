"""What a coordinator is told about a study: every sentence goes when its evidence goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from blindlabel.protocol.figures import Tally, advice, agreed_of_all, headline, of_round, so_far

GOOD = Tally(both=20, first_only=2, second_only=3, neither=2475)
ASKED = {"anna": 50, "berta": 50}


def told(rounds: list[Tally], *questions: int) -> list[str]:
    asked = [ASKED, *({"anna": number} for number in questions)]
    return advice(rounds, [{"anna berta": one} for one in rounds], asked)


def test_a_good_first_round_is_not_warned_of_and_says_nothing_of_later_ones() -> None:
    assert told([GOOD]) == told([GOOD], 5) == told([]) == []


def test_loose_questions_are_named_by_what_shows_them() -> None:
    yes = told([GOOD + Tally(first_only=40)])
    assert len(yes) == 1 and "anna's 50 questions said yes to 62 pairs, 1.2 each" in yes[0]
    aside = told([GOOD + Tally(loose=7)])
    assert len(aside) == 1 and aside[0].startswith("7 pairs of round 1 were set aside")
    apart = told([Tally(both=3, first_only=20, second_only=20, neither=2457)])
    assert len(apart) == 1 and "Kappa of round 1 is 0.12 (3 pairs with yes on both sides, 40 with" in apart[0]


def test_stopping_is_advised_where_the_next_round_asks_much_and_settles_little() -> None:
    little = told([GOOD, Tally(both=1, first_only=4)], 8, 7)
    assert little == [
        "Round 2 settled 1 of 5 open pairs. At that rate the next one asks 7 questions and settles about 1 of 4:"
        " consider closing the study (blindlabel coordinator close)."
    ]
    assert told([GOOD, Tally(both=4, first_only=30, neither=66)], 8, 7) == [], "that is worth its questions"
    assert told([GOOD, Tally(both=1, first_only=4)], 8) == [], "no further round is planned"


def test_matches_of_later_rounds_are_counted_apart() -> None:
    assert headline([]) == ""
    assert headline([GOOD]) == "20 matches, 2,475 settled as no match; 5 of 2,500 pairs are not settled."
    rounds = [GOOD, Tally(both=2, neither=1, first_only=2)]
    matches = "22 matches (20 agreed in round 1, 2 later), 2,476 settled as no match"
    assert headline(rounds) == f"{matches}; 2 of 2,500 pairs are not settled."
    assert headline(rounds, over=True) == f"{matches}; 2 of 2,500 pairs were discarded."
    single = Tally(both=1, first_only=1)
    assert headline([single]) == "1 match, 0 settled as no match; 1 of 2 pairs is not settled."
    assert headline([single], over=True).endswith("1 of 2 pairs was discarded.")


COUNTS = st.integers(0, 50)


@given(st.tuples(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS), st.data())
def test_all_pairs_are_counted_after_every_round_and_agreement_never_falls(
    counts: tuple[int, ...], data: st.DataObject
) -> None:
    both, first, second, neither, loose = counts
    rounds = [Tally(both=both, first_only=first, second_only=second, neither=neither, loose=loose)]
    for _ in range(3):  # a later round asks the open pairs
        left = rounds[-1].disagreed + rounds[-1].loose
        both = data.draw(st.integers(0, left))
        neither = data.draw(st.integers(0, left - both))
        first = data.draw(st.integers(0, left - both - neither))
        rounds.append(Tally(both=both, neither=neither, first_only=first, loose=left - both - neither - first))
    grown = so_far(rounds)
    assert {one.pairs + one.loose for one in grown} == {rounds[0].pairs + rounds[0].loose}
    assert [one.agreed for one in grown] == sorted(one.agreed for one in grown)


def test_a_share_is_called_all_only_where_it_is_all() -> None:
    assert agreed_of_all(Tally(both=1, neither=4094, first_only=1)) == "99.9 %", "4,095 of 4,096"
    assert agreed_of_all(Tally(both=1, neither=4095)) == "100 %"
    assert agreed_of_all(Tally(both=1, neither=4095, loose=50)) == "98.7 %", "what was set aside is not agreed on"
    assert agreed_of_all(Tally()) == "–"


def test_figures_of_a_round_are_of_all_pairs_until_then() -> None:
    first, second = GOOD, Tally(both=1, first_only=4)
    assert of_round([first]) == (
        "2,495 of 2,500 open pairs agreed, 20 as matches; of all pairs 99.8 %, kappa 0.888, AC1 0.998"
    )
    assert of_round([first, second]) == (
        "1 of 5 open pairs agreed, 1 as a match; of all pairs 99.8 %, kappa 0.912, AC1 0.998"
    ), "one pair of five is no collapse"
    assert "kappa –" in of_round([Tally(neither=100)]), "nothing says whether that is more than chance"
