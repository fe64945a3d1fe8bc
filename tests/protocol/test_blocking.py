"""Likely partners are found over doubly blinded keys, and nobody learns a key, a row or a frequency from them."""

from __future__ import annotations

import random
import secrets
from collections import Counter

import pytest

from blindlabel.envelope import identity
from blindlabel.envelope.identity import EnvelopeError
from blindlabel.language.record import Record
from blindlabel.protocol import blocking
from blindlabel.protocol.blocking import BlindedOffers, Extent, Offer
from blindlabel.protocol.refusals import NotFitting
from blindlabel.protocol.sampling import blocking_keys
from blindlabel.records.generator import Size, generate

ATTRIBUTES = ("given_name", "surname")
SECRET = b"s" * 32
OFFERS = 300


def scalar() -> bytes:
    return identity.scalar_of(secrets.token_bytes(32))


def records(seed: int, side: str) -> list[Record]:
    made = generate("persons", Size(400, 200), seed)
    table = made.a if side == "a" else made.b
    return [Record.of({name: table.row(row)[name] for name in ATTRIBUTES}) for row in range(len(table))]


def offers_of(side: str, wanted: int = OFFERS) -> list[Offer]:
    draw = blocking.drawn_from(side.encode())
    table = records(3, side)
    return blocking.filled_up(blocking.rare_keys(table, ATTRIBUTES, SECRET, wanted, draw), wanted, len(table), draw)


def exchanged(offers: list[Offer], mine: bytes, theirs: bytes) -> tuple[BlindedOffers, BlindedOffers]:
    """What the other owner gets, and what it hands to the coordinator."""
    first = blocking.offered(offers, b"study", mine)
    return first, blocking.blinded(blocking.points_of(first.body, len(offers)), theirs)


def test_partners_found_over_blinded_keys_are_rows_that_share_a_rare_key() -> None:
    left, right = offers_of("a"), offers_of("b")
    a, b = scalar(), scalar()
    offered, list_of_left = exchanged(left, a, b)
    _, list_of_right = exchanged(right, b, a)
    chosen = blocking.partners(list_of_left.points, list_of_right.points, 40)
    assert chosen.partners == 20
    assert len(chosen.first) == len(chosen.second) == 40
    passed_on = [list_of_left.origin[place] for place in chosen.first]  # by the other owner, who blinded this list
    keys = {left[offered.origin[place]].key for place in passed_on}
    assert len(keys & {one.key for one in right}) == chosen.partners


def test_keys_are_first_words_then_beginnings_of_four_letters_then_further_words() -> None:
    """Both owners must make the same keys: another length would find no partner over a version's change."""
    row = Record.of({"given_name": "Margarethe Anna", "surname": "Oppenheimer"})
    assert blocking_keys(row, ATTRIBUTES) == ["0:margarethe", "1:oppenheimer", "0:marg&1:oppe", "0:anna"]


def test_frequent_keys_are_never_offered() -> None:
    table = records(3, "a")
    offers = blocking.rare_keys(table, ATTRIBUTES, SECRET, 10_000, secrets.randbelow)
    rows = {key: 0 for one in table for key in blocking_keys(one, ATTRIBUTES)}
    counted = Counter(key for one in table for key in blocking_keys(one, ATTRIBUTES))
    assert len(offers) == sum(count <= blocking.MOST_ROWS for count in counted.values()) < len(rows)
    assert [one.key for one in offers] == sorted(one.key for one in offers)


def test_offers_are_as_many_as_agreed_and_the_same_when_made_again() -> None:
    few = blocking.filled_up(offers_of("a", 5), 60, 400, blocking.drawn_from(b"seed"))
    again = blocking.filled_up(offers_of("a", 5), 60, 400, blocking.drawn_from(b"seed"))
    assert few == again
    assert len({one.key for one in few}) == 60
    other = blocking.filled_up(offers_of("a", 5), 60, 400, blocking.drawn_from(b"another"))
    assert few[:5] == other[:5]
    assert not {one.key for one in few[5:]} & {one.key for one in other[5:]}


def test_a_dictionary_does_not_help_one_owner_and_the_coordinator() -> None:
    mine, theirs = scalar(), scalar()
    point = identity.blinded(identity.point_of(b"smith", b"study"), mine)
    seen = identity.blinded(point, theirs)  # what the coordinator has; the other owner knows `theirs` and `point`
    guess = identity.point_of(b"smith", b"study")
    assert identity.blinded(guess, theirs) not in (seen, point)
    assert identity.blinded(identity.blinded(guess, theirs), mine) == seen  # both numbers are needed


@pytest.mark.parametrize("point", [b"", b"\0" * 32, b"\1" + b"\0" * 31, b"\xff" * 32, b"x" * 31])
def test_what_is_no_point_of_the_group_is_refused(point: bytes) -> None:
    with pytest.raises(EnvelopeError):
        identity.blinded(point, scalar())


def test_a_list_of_another_size_is_refused() -> None:
    with pytest.raises(NotFitting):
        blocking.points_of(bytes(95), 3)


def test_a_key_that_stands_twice_counts_once() -> None:
    points = [bytes([number]) * 32 for number in range(6)]
    found = blocking.partners([points[0]] * 5 + [points[1]], [points[0], *points[2:]], 4)
    assert found.partners == 1
    assert len(found.first) == len(found.second) == 2


def test_places_say_nothing_about_which_of_them_have_a_partner() -> None:
    left, right = offers_of("a", 80), offers_of("b", 80)
    common = {one.key for one in left} & {one.key for one in right}
    early, chosen_ = 0, 0
    for _ in range(30):
        a, b = scalar(), scalar()
        offered, mine = exchanged(left, a, b)
        found = blocking.partners(mine.points, exchanged(right, b, a)[1].points, 20)
        places = sorted(mine.origin[place] for place in found.first)
        with_partner = [left[offered.origin[place]].key in common for place in places]
        early += sum(with_partner[: len(places) // 2])
        chosen_ += len(places)
    # A quarter: half have a partner, and half of those stand in the first half. 0.07 is 6.7 standard deviations.
    assert 0.18 < early / chosen_ < 0.32


def test_the_sample_holds_what_was_drawn_and_what_was_chosen() -> None:
    draw = random.Random(5).randrange
    assert blocking.sampled((1, 4), [4, 7, 9], 20, 4, draw) == (1, 4, 7, 9)
    more = blocking.sampled((1, 4), [4], 20, 4, draw)
    assert len(more) == 4
    assert {1, 4} < set(more)
    assert len(blocking.sampled((1, 4), range(20), 20, 4, draw)) == 4


def test_half_of_the_sample_stays_uniform_and_half_of_the_rest_are_decoys() -> None:
    extent = Extent(50, 0.5, 1)
    assert (extent.uniform(1000), extent.chosen(1000, 1000), extent.offers(1000, 1000)) == (25, 24, 1000)
    assert (extent.uniform(6), extent.chosen(6, 1000), extent.offers(6, 1000)) == (3, 2, 120)
    assert Extent(50, 0.5, 4).chosen(1000, 1000) == 6
