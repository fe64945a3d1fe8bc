"""A type has one canonical form for what people write in several ways, and leaves alone what it cannot read."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.errors import InputError
from blindlabel.records.preparation import STEPS, Recipe
from blindlabel.records.proposing import day_first, proposals, readable, together
from blindlabel.records.tables import Table
from blindlabel.records.types import TYPES, Conventions

ALL_STEPS = ("nfkc", "ascii", "strip_punctuation", "lower", "collapse_space")
HOSTILE = ["", " ", "9" * 10_000, "٣١٠٤٥٦٠٤٨٨", "31.02.", "1e308", "½", "+", "()", "\0", "--5", "5-" * 5000]


def canonical(kind: str, text: str, **agreed: object) -> str | None:
    return TYPES[kind].canonical(text, Conventions(**agreed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "written", "form"),
    [
        ("telephone", ["310/456-0488", "(310) 456 0488", "310.456.0488"], "3104560488"),
        ("telephone", ["+49 (0)30 123 456", "0049 30 123456", "+49-30-123456"], "+4930123456"),
        ("date", ["14-Oct-14", "October 14, 2014", "10/14/2014", "14.10.2014", "2014-10-14T00:00:00"], "2014-10-14"),
        ("date", ["Sept. 3, 1999", "3rd September 1999", "9/3/99", "19990903"], "1999-09-03"),
        ("year", ["1999", "1999.0", "'99", "14-Oct-99"], "1999"),
        ("number", ["1,299.00", "1299", "$1,299.00", "1.299,00", "1 299"], "1299"),
        ("number", ["-0.50", "- 0,5", "-00.5"], "-0.5"),
        ("code", ["ATC-2000", "ATC 2000", "ATC/2000"], "ATC2000"),
        ("name", ["Smith, John", "John Smith"], "John Smith"),
    ],
)
def test_what_people_write_in_several_ways_has_one_form(kind: str, written: list[str], form: str) -> None:
    assert {canonical(kind, text) for text in written} == {form}
    assert canonical(kind, form) == form


def test_what_the_text_does_not_say_is_agreed() -> None:
    assert canonical("telephone", "310-456-0488", country="1") == canonical("telephone", "+1 310 4560488", country="1")
    assert canonical("telephone", "1-310-456-0488", country="1") == "+13104560488"
    assert canonical("telephone", "030 123456", country="49") == "+4930123456"
    assert canonical("telephone", "02 1234567", country="39") == "+39021234567"  # Italy's zero is dialled
    assert canonical("date", "3/4/2014") == "2014-03-04"
    assert canonical("date", "3/4/2014", day_first=True) == "2014-04-03"
    assert canonical("date", "31.02.2014") is canonical("date", "2014-13-01") is None
    assert (canonical("year", "39"), canonical("year", "40"), canonical("year", "39", first_year=1900)) == (
        "2039",
        "1940",
        "1939",
    )
    assert (canonical("number", "1,299"), canonical("number", "1,299", decimal_comma=True)) == ("1299", "1.2990")


@pytest.mark.parametrize("kind", ["telephone", "date", "year", "number"])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_values_stay_text(kind: str, text: str) -> None:
    assert canonical(kind, text) is None
    steps = Recipe(("nfkc", "collapse_space"), (("a", kind),))
    assert steps.value("a", text) == Recipe(("nfkc", "collapse_space")).value("a", text)


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="0123456789 -/.,+()$€'abcOct\u2013\u00a0٣", max_size=16) | st.text(max_size=12),
    st.sampled_from(list(TYPES)),
    st.permutations(list(STEPS)),
    st.integers(0, 5),
    st.booleans(),
    st.sampled_from(["", "1", "39", "354"]),
)
def test_canonical_forms_are_idempotent(
    text: str, kind: str, order: list[str], count: int, flag: bool, country: str
) -> None:
    agreed = Conventions(country=country, day_first=flag, decimal_comma=flag)
    form = TYPES[kind].canonical(text, agreed)
    assert form is None or TYPES[kind].canonical(form, agreed) == form
    assert form is None or TYPES[kind].is_text or form.isascii()
    recipe = Recipe(tuple(order[:count]), (("a", kind),), agreed)
    read = recipe.read(TYPES[kind], text)
    if not TYPES[kind].is_text and read is not None and recipe.lowered == ("lower" in recipe.steps):
        assert recipe.value("a", read) == read


@settings(max_examples=200, deadline=None)
@given(st.dates(min_value=datetime.date(1000, 1, 1)), st.dates(min_value=datetime.date(1000, 1, 1)))
def test_two_dates_stay_two_however_they_are_written(one: datetime.date, other: datetime.date) -> None:
    ways = ("%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y", "%d %B %Y")
    forms = [{canonical("date", day.strftime(way).zfill(len("01/01/1000"))) for way in ways} for day in (one, other)]
    assert forms == [{one.isoformat()}, {other.isoformat()}]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_two_numbers_stay_two_however_they_are_written(one: int, other: int) -> None:
    for number in (one, other):
        written = (str(number), f"{number:,}", f"{number:,}.00", f"€ {number:,}".replace(",", "."))
        forms = {canonical("number", text) for text in written[:3]}
        assert forms == {str(number)}
    assert (canonical("number", f"{one:,}") == canonical("number", f"{other:,}")) == (one == other)


@settings(max_examples=200, deadline=None)
@given(st.integers(10**9, 10**10 - 1))
def test_a_telephone_keeps_its_digits(number: int) -> None:
    digits = str(number)
    area, local, last = digits[:3], digits[3:6], digits[6:]
    written = (f"({area}) {local}-{last}", f"{area}/{local}-{last}", f"{area}.{local}.{last}", digits)
    assert {canonical("telephone", text) for text in written} <= {digits, f"+{digits[2:]}"}


def test_values_that_cannot_be_read_are_counted() -> None:
    table = Table("t", ("1", "2", "3"), ("phone", "name"), (("310/456-0488", "a"), ("ask for Joe", "b"), ("", "c")))
    assert Recipe(ALL_STEPS, (("phone", "telephone"),)).unread(table) == {"phone": 1}
    with pytest.raises(InputError, match="no type 'fon' for phone"):
        Recipe.of(ALL_STEPS, {"phone": "fon"})


ROWS = (
    ("Ann Lee", "310/456-0488", "10/14/2014", "$1,299.00", "ATC-2000", "1999", "12 high street"),
    ("Bob Ray", "(212) 555-0100", "1/31/2015", "$79.99", "atc21-b", "2001", "3 low road"),
    ("Cy Poe", "415-777-9779", "12/2/2013", "$5.00", "x9", "2010", "77 long lane"),
)
NAMES = ("person", "phone", "born", "price", "model", "year", "street")


def test_types_are_proposed_from_the_table_with_what_they_change() -> None:
    table = Table("t", ("1", "2", "3"), NAMES, ROWS)
    found = {one.attribute: one for one in proposals(table, Recipe(ALL_STEPS))}
    assert {name: one.type for name, one in found.items()} == {
        "phone": "telephone",
        "born": "date",
        "price": "number",
        "model": "code",
        "year": "year",
    }
    assert str(found["phone"]) == (
        "phone looks like telephone: 3 of 3 values read. It changes 2: 310/456-0488 is 3104560488, not 310 4560488,"
        " (212) 555-0100 is 2125550100, not 212 5550100."
    )
    assert day_first(table, ["born"]) is False and day_first(table, ["phone"]) is None
    assert "telephone" in readable(table, Recipe(ALL_STEPS))["phone"]


def test_where_two_proposals_differ_it_is_said_and_nothing_is_taken() -> None:
    types, said = together(
        [{"phone": "telephone", "code": "code"}, {"code": "number"}],
        [{"phone": ["telephone"], "code": ["code"]}, {"phone": ["text", "telephone"], "code": ["code", "number"]}],
    )
    assert types == {"phone": "telephone"}
    assert said == {"code": "code looks like code and number; it is text unless --type decides."}
