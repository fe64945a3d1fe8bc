"""Both owners prepare alike; what is too long is refused by position or cut as agreed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.errors import InputError
from blindlabel.language import Record, words
from blindlabel.records.preparation import (
    DEFAULT_STEPS,
    STEPS,
    Lengths,
    Recipe,
    TooLongError,
    check_lengths,
    check_steps,
    fit,
    prepare_table,
    prepare_text,
)
from blindlabel.records.tables import Table

TABLE = Table("people", ("7", "8"), ("given", "surname"), (("Zoë", "O'Neil-Smith"), ("", "")))


@pytest.mark.parametrize(
    ("step", "text", "prepared"),
    [
        ("nfkc", "ﬁne Ａ1 e\u0301", "fine A1 é"),
        ("ascii", "Müller Москва", "Muller Moskva"),
        ("collapse_space", " a\t\u00a0 b\n", "a b"),
        ("strip_punctuation", "O'Neil-Smith, J. (PS/LX) 5€", "ONeilSmith  J   PS LX  5 "),
        ("lower", "ÉCOLE ß", "école ß"),
    ],
)
def test_each_step_does_what_it_says(step: str, text: str, prepared: str) -> None:
    assert prepare_text(text, [step]) == prepared


def test_steps_run_in_the_order_given() -> None:
    assert prepare_text("É…", ["ascii", "strip_punctuation"]) == "E   "
    assert prepare_text("É…", ["strip_punctuation", "ascii"]) == "E "


def test_the_default_keeps_unicode_and_case() -> None:
    assert prepare_text("  Zoë  Müller ", DEFAULT_STEPS) == "Zoë Müller"


def test_unknown_and_repeated_steps_are_refused() -> None:
    assert check_steps(iter(STEPS)) == tuple(STEPS)
    with pytest.raises(InputError, match=r"no preparation step 'nkfc'. Did you mean 'nfkc'"):
        check_steps(["nkfc"])
    with pytest.raises(InputError, match="'lower' is named twice"):
        check_steps(["lower", "lower"])


def test_a_record_has_the_agreed_attributes_in_the_agreed_order() -> None:
    record = Recipe(("strip_punctuation", "lower")).record(TABLE.row(0), ["surname", "given", "age"])
    assert dict(record.attributes) == {"surname": "oneilsmith", "given": "zoë", "age": ""}
    assert record.whole == "oneilsmith | zoë | "


def test_too_long_is_refused_with_position_and_length() -> None:
    record = Record.of({"given": "abcdef", "surname": "gh"})
    assert fit(record, Lengths(record_length=11, attribute_length=6), 3) is record
    with pytest.raises(TooLongError, match=r"encodes 5 .*row 4 \(its given has 6 characters\)"):
        fit(record, Lengths(record_length=11, attribute_length=5), 3)
    with pytest.raises(TooLongError, match=r"encodes 10 .*row 5 \(the whole record has 11 characters\)"):
        fit(record, Lengths(record_length=10), 4)


def test_every_row_that_is_too_long_is_named_at_once_and_those_that_are_cut_are_counted() -> None:
    rows = [Record.of({"given": "a" * size, "surname": ""}) for size in (3, 9, 4, 12)]
    with pytest.raises(TooLongError, match=r"2 rows are too long .* row 4 .*12 characters\), row 2 .*\(12 for"):
        check_lengths(rows, Lengths(record_length=20, attribute_length=5))
    cut = check_lengths(rows, Lengths(record_length=20, attribute_length=5, too_long="cut"))
    assert [one.position for one in cut] == [1, 3]


def test_cutting_cuts_attributes_first_then_the_whole_and_with_it_its_attributes() -> None:
    record = Record.of({"given": "abcdef", "surname": "ghijkl"})
    cut = fit(record, Lengths(record_length=8, attribute_length=4, too_long="cut"), 0)
    assert dict(cut.attributes) == {"given": "abcd", "surname": "g"}
    assert cut.whole == "abcd | g"
    three = fit(Record.of({"a": "abcdef", "b": "ghij", "c": "k"}), Lengths(14, too_long="cut"), 0)
    assert three.whole == "abcdef | gh | " == " | ".join(three.attributes.values())  # the engine adds up the same


def test_the_whole_may_be_any_length_where_only_attributes_are_encoded() -> None:
    record = Record.of({"given": "abcdef", "surname": "ghijkl"})
    assert fit(record, Lengths(record_length=8, encode_whole=False), 0) is record
    assert fit(record, Lengths(record_length=5, too_long="cut", encode_whole=False), 0).whole == "abcde | ghijk"


def test_rows_of_a_table_are_prepared_in_the_order_asked() -> None:
    records = prepare_table(TABLE, [1, 0], ["given", "surname"], Recipe(("lower",)), Lengths(148))
    assert [record.whole for record in records] == [" | ", "zoë | o'neil-smith"]
    with pytest.raises(InputError, match="people has no attribute 'age'"):
        prepare_table(TABLE, [0], ["age"], Recipe(), Lengths(148))


@pytest.mark.parametrize("text", ["x" * 10_000, "a\0b", "👩‍👩‍👧 ok", "\u0301", "ﷺ" * 50])
def test_odd_texts_pass_every_step_and_limit(text: str) -> None:
    prepared = fit(Recipe(tuple(STEPS)).record({"a": text}, ["a"]), Lengths(148, too_long="cut"), 0)
    assert len(prepared.whole) <= 148


def test_where_lower_case_is_certain() -> None:
    assert Recipe(("nfkc", "lower", "collapse_space")).lowered
    assert not Recipe(("lower", "ascii")).lowered
    assert not Recipe(("nfkc",)).lowered


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40), st.permutations(list(STEPS)), st.integers(0, 5))
def test_preparation_promises_hold_for_any_text(text: str, order: list[str], count: int) -> None:
    steps = order[:count]
    prepared = prepare_text(text, steps)
    if Recipe(tuple(steps)).lowered:
        assert words.lower(prepared) == prepared
    if steps and steps[-1] == "collapse_space":
        assert prepared == " ".join(prepared.split())
    if steps and steps[-1] == "ascii":
        assert prepared.isascii()
