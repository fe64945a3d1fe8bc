"""Generated tables have the promised sizes, truth, errors and missing rates, and the same seed gives the same
tables.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blindlabel as bl
from blindlabel.errors import InputError
from blindlabel.records import generator
from blindlabel.records.generator import KINDS, MISSING, PERSON_ATTRIBUTES, GeneratedTables, Size, generate, write
from blindlabel.records.preparation import DEFAULT_STEPS, Recipe
from blindlabel.records.proposing import recipe_for
from blindlabel.records.tables import Table, read_table


@pytest.fixture(scope="module")
def persons() -> GeneratedTables:
    return generate("persons", Size(rows=6000, duplicates=3000, copies=5), seed=7)


def test_missing_rates_are_those_of_the_publication(persons: GeneratedTables) -> None:
    for column, attribute in enumerate(PERSON_ATTRIBUTES):
        rows = persons.a.rows + persons.b.rows
        missing = sum(not row[column] for row in rows) / len(rows)
        expected = MISSING[attribute]
        deviation = (expected * (1 - expected) / len(rows)) ** 0.5
        assert missing == pytest.approx(expected, abs=5 * deviation), (
            attribute
        )  # 0.5 points for the rarest, 2.3 for title


def test_every_match_is_about_rows_of_both_tables_and_most_share_something(persons: GeneratedTables) -> None:
    assert len(set(persons.matches)) == 3000
    recipe = Recipe.of((), {"phone_number": "telephone"})
    a, b = (recipe.rows(table, PERSON_ATTRIBUTES) for table in (persons.a, persons.b))
    shared = [
        sum(
            one == other != ""
            for one, other in zip(
                a[persons.a.position(i)].attributes.values(), b[persons.b.position(j)].attributes.values()
            )
        )
        for i, j in persons.matches
    ]
    assert sum(count >= 2 for count in shared) / len(shared) > 0.95
    assert (
        sum(
            one != other
            for i, j in persons.matches
            for one, other in [(persons.a.row(persons.a.position(i)), persons.b.row(persons.b.position(j)))]
        )
        > 1500
    )


def test_a_row_has_no_more_copies_than_allowed(persons: GeneratedTables) -> None:
    copies: dict[str, int] = {}
    for i, _ in persons.matches:
        copies[i] = copies.get(i, 0) + 1
    assert 2 <= max(copies.values()) <= 5
    single = generate("persons", Size(rows=50, duplicates=50), seed=1)
    assert sorted(i for i, _ in single.matches) == sorted(single.a.ids)


def test_ids_and_order_do_not_tell_the_truth(persons: GeneratedTables) -> None:
    assert len({*persons.a.ids, *persons.b.ids}) == 12_000
    assert all(len(own) == 9 and own.isdigit() for own in persons.a.ids + persons.b.ids)
    matched = {j for _, j in persons.matches}
    first_half = sum(own in matched for own in persons.b.ids[:3000])
    assert 1350 < first_half < 1650  # 1500 expected, standard deviation 27


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_seed_decides_everything(kind: str) -> None:
    size = Size(rows=40, duplicates=20)
    assert generate(kind, size, 3) == generate(kind, size, 3)
    assert generate(kind, size, 3) != generate(kind, size, 4)


@pytest.mark.parametrize("kind", list(KINDS))
def test_files_are_read_back_as_they_were_made(kind: str, tmp_path: Path) -> None:
    made = generate(kind, Size(rows=30, duplicates=10), 5)
    paths = write(made, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["a.csv", "b.csv", "matches.csv"]
    assert read_table(paths[0]) == made.a
    assert read_table(paths[1]) == made.b
    matches = read_table(paths[2], id_column="id_b")
    assert tuple((row[0], own) for own, row in zip(matches.ids, matches.rows)) == made.matches


def test_files_are_not_replaced_unless_told(tmp_path: Path) -> None:
    made = generate("persons", Size(rows=2, duplicates=1), 5)
    write(made, tmp_path)
    with pytest.raises(InputError, match=r"a\.csv already exists"):
        write(made, tmp_path)
    write(made, tmp_path, replace=True)
    with pytest.raises(InputError, match="is a file, not a folder"):
        write(made, tmp_path / "a.csv")


@pytest.mark.parametrize("size", [Size(0, 0), Size(10, 11), Size(10, -1), Size(10, 5, 0), Size(2_000_000, 0)])
def test_impossible_sizes_are_refused(size: Size) -> None:
    with pytest.raises(InputError):
        generate("persons", size, 1)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="no kind 'pets' to generate; there are persons, products"):
        generate("pets", Size(1, 1), 1)


@settings(max_examples=100, deadline=None)
@given(
    st.text("abcdefghijklmnopqrstuvwxyz 0123456789", min_size=1, max_size=12).filter(lambda text: text.strip()),
    st.integers(),
)
def test_an_error_changes_a_little_and_never_empties(text: str, seed: int) -> None:
    for error in (generator.typing_error, generator.scanning_error, generator.hearing_error, generator.spacing_error):
        changed = error(Random(seed), text)
        assert changed
        if error is not generator.spacing_error:
            assert abs(len(changed) - len(text)) <= 2


def test_each_error_kind_happens() -> None:
    random = Random(1)
    for error, text, expected in (
        (generator.typing_error, "smith", {"smth", "smithj", "snith", "msith"}),
        (generator.scanning_error, "lo", {"1o", "l0", "io"}),
        (generator.hearing_error, "phil", {"fil", "phill"}),
        (generator.spacing_error, "mill road", {"millroad", "road mill"}),
    ):
        assert expected <= {error(random, text) for _ in range(2000)}


# Two houses


TYPED = {"persons": {"phone_number": "telephone"}, "products": {"price": "number", "model": "code", "released": "date"}}


def looks(table: Table, attribute: str) -> set[str]:
    """The values of an attribute, every digit a 9 and every run of letters an x."""
    place = table.attributes.index(attribute)
    return {re.sub("[a-z]+", "x", re.sub("[0-9]", "9", row[place])) for row in table.rows if row[place]}


def test_two_houses_write_telephones_dates_codes_and_prices_in_their_own_formats() -> None:
    persons, products = (generate(kind, Size(rows=200, duplicates=100), 1) for kind in ("persons", "products"))
    assert "99 99999999" in looks(persons.a, "phone_number")
    assert "(99) 9999-9999" in looks(persons.b, "phone_number")
    assert looks(products.a, "released") == {"9999-99-99"}
    assert looks(products.b, "released") == {"99.99.9999"}
    assert "x-999" in looks(products.a, "model")
    assert "x 999" in looks(products.b, "model")
    assert {"999.99", "9,999.99"} >= looks(products.a, "price") - {"9.99", "99.99"}
    assert {"999", "999,99"} <= looks(products.b, "price")


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_types_that_are_proposed_make_both_houses_values_alike(kind: str) -> None:
    made = generate(kind, Size(rows=200, duplicates=200), 1)
    assert dict(recipe_for((made.a, made.b), made.a.attributes, DEFAULT_STEPS).types) == TYPED[kind]
    recipe = Recipe.of((), TYPED[kind])
    for attribute in TYPED[kind]:
        pairs = [(made.a.row(made.a.position(i)), made.b.row(made.b.position(j))) for i, j in made.matches]
        written = [(one[attribute], other[attribute]) for one, other in pairs if one[attribute] and other[attribute]]
        alike = sum(recipe.value(attribute, one) == recipe.value(attribute, other) for one, other in written)
        assert alike > 0.65 * len(written)
        assert sum(one == other for one, other in written) < 0.4 * len(written)


@pytest.mark.parametrize("kind", list(KINDS))
def test_labels_are_better_where_the_types_are_agreed_on(kind: str) -> None:
    typed, as_text = [], []
    for seed in (2, 3):
        made = generate(kind, Size(rows=60, duplicates=30), seed)
        typed.append(bl.rehearse(made.a, made.b, types=TYPED[kind]).score(made.matches).f_strict)
        as_text.append(bl.rehearse(made.a, made.b).score(made.matches).f_strict)
    assert sum(typed) > 0.06 + sum(as_text)
