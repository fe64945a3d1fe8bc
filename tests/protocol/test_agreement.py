from __future__ import annotations

import pytest

from blindlabel.engines.interface import RecordError, Terms
from blindlabel.engines.plain import PlainEngine
from blindlabel.errors import InputError
from blindlabel.language import Question
from blindlabel.language.record import Record
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import to_text
from blindlabel.records.preparation import Recipe, prepare_table
from blindlabel.records.tables import Table


def test_written_agreement_reads_back_the_same() -> None:
    made = agreements.new(
        'odd "name" \\ with\nlines\x7f',
        ["a", "b-2"],
        ["name", "date of birth", 'quoted "x"'],
        sampling={"method": "rows", "records": 3, "rows": {"a": [1, 2], "b-2": [0]}},
        preparation={"types": {"date of birth": "date", 'quoted "x"': "code"}, "country": "49", "day_first": True},
        encoding={"engine": "plain", "attribute_length": 20},
        budget={"records_asked": 9},
    )
    again = agreements.from_text(to_text(made))
    assert again == made
    assert again.hash == made.hash


def test_hash_depends_on_values_not_on_text() -> None:
    made = agreements.new("s", ["a", "b"], ["name"])
    text = to_text(made)
    stripped = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert agreements.from_text(stripped).hash == made.hash
    assert agreements.from_text(text.replace("rounds = 3", "rounds = 4")).hash != made.hash


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError) as raised:
        agreements.from_text('name = 3\nowners = ["Anna"]\nfoo = 1\n[limits]\nnesting = 0\n', source="x.toml")
    said = str(raised.value)
    for part in ("x.toml", "name:", "owners.0:", "foo is not a setting", "salt is missing", "limits.nesting:"):
        assert part in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"owners": ["a"]}, "at least two"),
        ({"owners": ["a", "a"]}, "stands twice"),
        ({"owners": ["a", "coordinator"]}, "no owner can be called"),
        ({"attributes": []}, "at least one"),
        ({"deadline": "2030-02-31"}, "there is no day"),
        ({"preparation": {"steps": ["nfcc"]}}, "Did you mean"),
        ({"preparation": {"types": {"name": "phone"}}}, "no type 'phone' for name"),
        ({"preparation": {"types": {"other": "date"}}}, "'other' is not one of the attributes"),
        ({"preparation": {"country": "+49"}}, "is not a country code"),
        ({"sampling": {"method": "enriched"}}, "needs the attributes"),
        ({"sampling": {"method": "rows", "rows": {"a": [1]}}}, "b needs between 1 and 50"),
        ({"encoding": {"functions": ["nothing"]}}, "there is no 'nothing'"),
        ({"encoding": {"whole": False, "attributes": False}}, "nothing could be asked"),
        ({"budget": {"records_asked": 10}}, "do not suffice"),
        ({"version": 9}, "speaks version 2"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, object], said: str) -> None:
    values: dict[str, object] = {"owners": ["a", "b"], "attributes": ["name"]} | changes
    with pytest.raises(InputError, match=said):
        agreements.new("s", **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", ["counting = false", "questions = 'any'", "probes = 2", "inner_gates = 1"])
def test_settings_of_ways_that_are_gone_are_refused_by_name(setting: str) -> None:
    text = to_text(agreements.new("s", ["a", "b"], ["name"])).replace("[encoding]", f"[encoding]\n{setting}")
    with pytest.raises(InputError, match=f"encoding.{setting.split()[0]} is not a setting of an agreement"):
        agreements.from_text(text)


def test_an_agreement_of_an_older_version_is_refused_in_one_sentence() -> None:
    text = to_text(agreements.new("s", ["a", "b"], ["name"])).replace(
        "version = 2", 'version = 1\nkeys = "coordinator"'
    )
    with pytest.raises(InputError, match="older version") as raised:
        agreements.from_text(text, source="x.toml")
    assert str(raised.value).count("\n") == 0 and "make a new one" in str(raised.value)


def test_differences_are_named_with_their_place() -> None:
    one = agreements.new("s", ["a", "b"], ["name"])
    other = agreements.from_text(
        to_text(one).replace("records = 50", "records = 60").replace('too_long = "refuse"', 'too_long = "cut"')
    )
    assert agreements.compare(one, one) == []
    assert agreements.compare(one, other) == [
        'preparation.too_long: "refuse" here, "cut" there',
        "sampling.records: 50 here, 60 there",
    ]


def test_terms_carry_hash_salt_and_case() -> None:
    made = agreements.new("s", ["a", "b"], ["name"], preparation={"steps": ["nfkc", "lower"]})
    terms = made.terms()
    assert terms.agreement_hash.hex() == made.hash
    assert terms.salt.hex() == made.salt
    assert terms.case == "lower"
    assert terms.limits.needle_length == made.limits.needle_length


def test_agreement_without_whole_records_takes_records_of_any_length_together() -> None:
    """Found from outside: `encoding.whole = false` still refused records by the whole's length."""
    made = agreements.new("s", ["a", "b"], ["name", "city"], encoding={"whole": False, "record_length": 6})
    table = Table("t", ("1",), ("name", "city"), (("abcdef", "ghijkl"),))
    record = prepare_table(table, [0], ["name", "city"], Recipe(()), made.lengths())[0]
    assert record.whole == "abcdef | ghijkl"
    keys = PlainEngine().make_keys(made.terms())
    [parcel] = PlainEngine().encrypt(made.terms(), keys.secret, [record], 1)
    assert b"abcdef | ghijkl" not in parcel
    for long in ({"name": "abcdefg", "city": ""}, {"name": "", "city": "abcdefg"}):
        with pytest.raises(RecordError, match="7 characters"):
            list(PlainEngine().encrypt(made.terms(), keys.secret, [Record.of(long)], 1))


@pytest.mark.parametrize(
    ("encoding", "text"), [({"whole": False}, 'ret is_in("a", $r)'), ({"attributes": False}, 'ret is_in("a", $r.name)')]
)
def test_plain_engine_refuses_what_is_not_encoded(encoding: dict[str, bool], text: str) -> None:
    terms = agreements.new("s", ["a", "b"], ["name"], encoding=encoding).terms()
    asked = Question(text, attributes=("name",)).formula
    assert asked is not None
    assert "does not encode" in (PlainEngine().refuse(terms, asked) or "")
    assert PlainEngine().refuse(Terms(("name",)), asked) is None
