from __future__ import annotations

import pytest

from blindlabel.errors import InputError
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement_text import to_text


def test_written_agreement_reads_back_the_same() -> None:
    made = agreements.new(
        'odd "name" \\ with\nlines\x7f',
        ["a", "b-2"],
        ["name", "date of birth", 'quoted "x"'],
        sampling={"method": "rows", "records": 3, "rows": {"a": [1, 2], "b-2": [0]}},
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
        ({"sampling": {"method": "enriched"}}, "needs the attributes"),
        ({"sampling": {"method": "rows", "rows": {"a": [1]}}}, "b needs between 1 and 50"),
        ({"encoding": {"functions": ["nothing"]}}, "there is no 'nothing'"),
        ({"encoding": {"whole": False, "attributes": False}}, "nothing could be asked"),
        ({"budget": {"records_asked": 10}}, "do not suffice"),
        ({"version": 9}, "speaks version 1"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, object], said: str) -> None:
    values: dict[str, object] = {"owners": ["a", "b"], "attributes": ["name"]} | changes
    with pytest.raises(InputError, match=said):
        agreements.new("s", **values)  # type: ignore[arg-type]


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
