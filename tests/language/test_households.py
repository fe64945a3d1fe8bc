"""Where the criteria speak of one person, what members of a household share is not enough."""

from __future__ import annotations

import pytest

from blindlabel.language import Record
from blindlabel.language.suggestions import Suggester
from blindlabel.parties.questions import is_dated, personal_attributes

ATTRIBUTES = ("given_name", "surname", "date_of_birth", "address", "phone")
ONE_PERSON = "Two records match when they are about the same person."
SYLLABLES = ("an", "bel", "cor", "dan", "el", "fri", "gus", "hel", "ing", "jor", "kat", "lu")


def name(place: int) -> str:
    return SYLLABLES[place % 12] + SYLLABLES[(place // 12 + place) % 12] + SYLLABLES[(5 * place + 3) % 12]


def persons(count: int) -> list[Record]:
    """Persons of whom no two live together."""
    return [
        Record.of(
            {
                "given_name": name(place),
                "surname": name(7 * place + 60),
                "date_of_birth": f"{1930 + place}{1 + place % 12:02}{10 + place % 19}",
                "address": f"{3 * place + 2} {name(5 * place + 100)} street",
                "phone": str(61_000_000 + 7919 * place),
            }
        )
        for place in range(count)
    ]


def sister(record: Record) -> Record:
    return Record.of({**record.attributes, "given_name": "zebedee", "date_of_birth": "20010203"})


def passing(personal: list[str], rows: int, matching: float | None) -> int:
    """Of how many of fifty persons an invented sister gets through, in any round."""
    table = persons(rows)
    suggester = Suggester(table, ATTRIBUTES, lowered=True, personal=personal, matching=matching)
    asked = [(record, [suggester.suggest(record, round).chain for round in (1, 2, 3)]) for record in table[:50]]  # noqa: A001
    assert all(chain.fits(record) for record, chains in asked for chain in chains)
    return sum(any(chain.fits(sister(record)) for chain in chains) for record, chains in asked)


@pytest.mark.parametrize(("rows", "matching"), [(50, 0.5), (50, None), (600, 0.5), (600, 0.02), (600, None)])
def test_an_invented_sister_does_not_pass_where_the_criteria_speak_of_one_person(
    rows: int, matching: float | None
) -> None:
    personal = personal_attributes(ONE_PERSON, ATTRIBUTES)
    assert personal == ["given_name", "date_of_birth"]
    assert passing(personal, rows, matching) == 0
    assert passing([], 50, 0.5) > 12, "or the criteria would change nothing"


def test_whoever_has_another_telephone_is_still_found() -> None:
    table = persons(600)
    personal = personal_attributes(ONE_PERSON, ATTRIBUTES)
    suggester = Suggester(table, ATTRIBUTES, lowered=True, personal=personal, matching=0.02)
    changed = [Record.of({**one.attributes, "phone": "99123456"}) for one in table[:50]]
    assert all(suggester.suggest(one).chain.fits(other) for one, other in zip(table[:50], changed, strict=True))


@pytest.mark.parametrize(
    ("criteria", "attributes", "found"),
    [
        ("The same patient.", ("First Name", "dob", "street"), ["First Name", "dob"]),
        ("The same household.", ATTRIBUTES, []),
        ("The same product.", ATTRIBUTES, []),
        (ONE_PERSON, ("given_name", "age", "sex", "address"), ["given_name", "age", "sex"]),
        (ONE_PERSON, ("title", "release_date"), []),
    ],
)
def test_what_is_one_persons_own_is_known_by_criteria_and_names_of_attributes(
    criteria: str, attributes: tuple[str, ...], found: list[str]
) -> None:
    assert personal_attributes(criteria, attributes) == found
    assert is_dated(found) == any(name in ("dob", "date_of_birth") for name in found)
