"""Likely partners are found over doubly blinded keys, and nobody learns a key, a row or a frequency from them."""

from __future__ import annotations

import secrets
from collections import Counter

import pytest

from blindlabel.envelope import blinding
from blindlabel.envelope.errors import EnvelopeError
from blindlabel.language.record import Record
from blindlabel.protocol import blocking
from blindlabel.protocol.blocking import Offered, Tagged
from blindlabel.protocol.errors import NotFitting
from blindlabel.protocol.sampling import blocking_keys
from blindlabel.records.generator import Size, generate

ATTRIBUTES = ("given_name", "surname")
SECRET = b"s" * 32


def records(seed: int, side: str) -> list[Record]:
    made = generate("persons", Size(400, 200), seed)
    table = made.a if side == "a" else made.b
    return [Record.of({name: table.row(row)[name] for name in ATTRIBUTES}) for row in range(len(table))]


def exchanged(offered: list[Offered], mine: bytes, theirs: bytes) -> tuple[list[Tagged], dict[bytes, int]]:
    tags = {secrets.token_bytes(blocking.TAG_BYTES): one for one in offered}
    points = [(blinding.blinded(blinding.point_of(one.key, b"study"), mine), tag) for tag, one in tags.items()]
    return [Tagged(blinding.blinded(point, theirs), tag) for point, tag in points], {
        tag: one.row for tag, one in tags.items()
    }


def test_partners_found_over_blinded_keys_are_rows_that_share_a_rare_key() -> None:
    first, second = records(3, "a"), records(3, "b")
    a, b = blinding.new_scalar(), blinding.new_scalar()
    left = blocking.offers(first, ATTRIBUTES, SECRET, 300)
    right = blocking.offers(second, ATTRIBUTES, SECRET, 300)
    sent, rows = exchanged(left, a, b)
    other, _ = exchanged(right, b, a)
    chosen = blocking.partners(sent, other, 40)
    assert chosen.confirmed == 20
    assert len(chosen.first) == len(chosen.second) == 40
    common = {one.key for one in left} & {one.key for one in right}
    by_row = {one.row for one in left if one.key in common}
    assert sum(rows[tag] in by_row for tag in chosen.first) >= chosen.confirmed


def test_frequent_keys_are_never_offered() -> None:
    table = records(3, "a")
    counted = Counter(blocking._keyed(key, SECRET)[:8] for one in table for key in blocking_keys(one, ATTRIBUTES))
    offered = blocking.offers(table, ATTRIBUTES, SECRET, 10_000)
    assert offered
    assert max(counted[one.key] for one in offered) <= blocking.MOST_ROWS < max(counted.values())
    assert [one.key for one in offered] == sorted(one.key for one in offered)


def test_a_dictionary_does_not_help_one_owner_and_the_coordinator() -> None:
    mine, theirs = blinding.new_scalar(), blinding.new_scalar()
    point = blinding.blinded(blinding.point_of(b"smith", b"study"), mine)
    seen = blinding.blinded(point, theirs)  # what the coordinator has; the other owner knows `theirs` and `point`
    guess = blinding.point_of(b"smith", b"study")
    assert blinding.blinded(guess, theirs) not in (seen, point)
    assert blinding.blinded(blinding.blinded(guess, theirs), mine) == seen  # both numbers are needed


@pytest.mark.parametrize("point", [b"", b"\0" * 32, b"\1" + b"\0" * 31, b"\xff" * 32, b"x" * 31])
def test_what_is_no_point_of_the_group_is_refused(point: bytes) -> None:
    with pytest.raises(EnvelopeError):
        blinding.blinded(point, blinding.new_scalar())


def test_a_key_that_stands_twice_is_refused() -> None:
    point = blinding.random_point()
    twice = [Tagged(point, b"1" * 16), Tagged(point, b"2" * 16)]
    with pytest.raises(NotFitting):
        blocking.partners(twice, twice, 2)


def test_an_owner_cannot_tell_equal_points_from_decoys_by_their_order() -> None:
    first = [Tagged(blinding.random_point(), bytes([number]) * 16) for number in range(40)]
    second = first[:20] + [Tagged(blinding.random_point(), bytes([100 + number]) * 16) for number in range(20)]
    equal = {one.tag for one in first[:20]}
    before = sum(sum(tag in equal for tag in blocking.partners(first, second, 20).first[:10]) for _ in range(60))
    assert 200 < before < 400  # 300 expected, standard deviation about 9
