"""Enriched sampling: how well an owner knows which of its chosen keys the other has. Half of what is chosen are decoys,
but an owner tells decoys apart that fall on keys of its own making. `docs/reference/protocol.md` says these figures.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from blindlabel.envelope import identity
from blindlabel.language.record import Record
from blindlabel.protocol import blocking
from blindlabel.protocol.blocking import Extent, Offer
from blindlabel.records.generator import Size, generate

EXTENT = Extent(50, 0.5, 1)
ATTRIBUTES = ("given_name", "surname")
SAID = (Path(__file__).parent.parent.parent / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")


def believed(own: list[Offer], others: list[Offer], made_up: set[bytes]) -> tuple[int, int]:
    """Of the owner's chosen keys, those that it did not make up, and how many of these the other really has."""
    mine, theirs = (identity.scalar_of(secrets.token_bytes(32)) for _ in range(2))
    offered = blocking.offered(own, b"study", mine)
    blinded = blocking.blinded(offered.points, theirs)
    across = blocking.blinded(blocking.offered(others, b"study", theirs).points, mine)
    chosen = blocking.partners(blinded.points, across.points, EXTENT.chosen(len(own), len(others)))
    keys = {own[offered.origin[blinded.origin[place]]].key for place in chosen.first} - made_up
    return len(keys), len(keys & {one.key for one in others})


def junk(number: int) -> list[Offer]:
    return [Offer(secrets.token_bytes(32), 0) for _ in range(number)]


def test_a_cheat_that_offers_guesses_and_junk_is_told_which_guesses_are_right() -> None:
    offers, names = EXTENT.offers(1000, 1000), [Offer(secrets.token_bytes(32), 0) for _ in range(40)]
    filling = junk(offers - 40)
    told = right = 0
    for _ in range(3):
        one, really = believed(names + filling, names[:20] + junk(offers - 20), {each.key for each in filling})
        told, right = told + one, right + really
    assert told >= 30 and right / told > 0.9, "decoys fall on what it made up"
    assert "a cheating owner that offers guessed names among junk knows of up to half of the chosen, nearly always rightly, that the other has them" in " ".join(SAID.split())  # fmt: skip  # noqa: E501
    honest = names + junk(offers - 40)
    one, really = believed(honest, names[:20] + junk(offers - 20), set())
    assert 2 * really == one, "who makes nothing up knows of half"


@pytest.mark.parametrize(
    ("rows", "least", "most", "times"),
    [(100, 0.74, 0.9, 20), (300, 0.54, 0.71, 20), (1000, 0.5, 0.5, 2)],  # without fill-ups nothing is left to chance
)
def test_an_honest_owner_of_a_small_table_knows_its_fill_ups(rows: int, least: float, most: float, times: int) -> None:
    made = generate("persons", Size(rows, rows // 2), 5)
    offers = EXTENT.offers(rows, rows)
    sides = [
        [Record.of({name: table.row(row)[name] for name in ATTRIBUTES}) for row in range(len(table))]
        for table in (made.a, made.b)
    ]
    told = right = 0  # its share has a standard deviation of .02, so that the bounds are four of them away
    for _ in range(times):
        secret, draw = secrets.token_bytes(32), blocking.drawn_from(secrets.token_bytes(32))
        own, others = ([*blocking.rare_keys(side, ATTRIBUTES, secret, offers, draw)] for side in sides)
        lists = [blocking.filled_up(side, offers, rows, draw) for side in (own, others)]
        one, really = believed(lists[0], lists[1], {each.key for each in lists[0]} - {each.key for each in own})
        told, right = told + one, right + really
    assert least <= right / told <= most
    assert "of a table of 100 rows about four in five, of 300 rows three in five, of 1,000 rows half" in " ".join(
        SAID.split()
    )
