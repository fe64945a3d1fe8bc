"""Tables: a set as data that can be asked by one inner product."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.allowed import check_record
from blindlabel.engines.interface import RecordError, Terms
from blindlabel.engines.packed.encoding.features import (
    SetTable,
    Tables,
    asking,
    check_sharing,
    features_of,
    interpolate,
    spare_columns,
    tables_of,
)
from blindlabel.engines.packed.residues import Residues
from blindlabel.language import Limits, Record, View
from blindlabel.language.functions import PREDICATES
from support.random_questions import random_text

LARGE, SMALL = 536690689, 114689
ALL = (
    *("is_in", "starts_with", "ends_with", "equals", "has_word", "is_empty", "sounds_like", "between", "far_from"),
    *("same_telephone", "near_date", "near_year"),
)


def _answers(tables: Tables, features: Residues, table: SetTable, element: str) -> bool:
    weights, fingerprint = asking(tables, table, element)
    t = np.uint64(tables.modulus)
    return int((weights * features[table.offset : table.end] % t).sum() % t) == fingerprint


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_a_table_holds_its_set_and_nothing_else(seed: int) -> None:
    random = Random(seed)
    terms = Terms((), functions=ALL, record_length=40)
    tables = tables_of(terms, LARGE)
    record = Record({}, random_text(random))
    features = features_of(tables, [record])[0]
    for table in tables.tables:
        elements = table.family.elements(record.text(table.view))
        for element in elements:
            assert _answers(tables, features, table, element)
        for element in ("another", "", "x" * 7, random_text(random)):
            assert _answers(tables, features, table, element) == (element in elements)


def test_colliding_points_lose_no_element() -> None:
    # In a field this small two of 390 elements share a point most of the time; the spare columns must tell them apart.
    random = Random(5)
    terms = Terms((), functions=("is_in",), record_length=400, case="lower")
    tables = tables_of(terms, SMALL)
    record = Record({}, "".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(400)))
    points = 0
    features = features_of(tables, [record])[0]
    t = np.uint64(SMALL)
    for table in tables.tables[6:10]:
        elements = table.family.elements(record.whole)
        asked = [asking(tables, table, element) for element in sorted(elements)]
        points += len(elements) - len({int(weights[1]) for weights, _ in asked})
        for weights, fingerprint in asked:
            assert int((weights * features[table.offset : table.end] % t).sum() % t) == fingerprint
    assert points > 0


def test_very_large_families_are_divided_and_lose_nothing() -> None:
    terms = Terms((), functions=("similar",), record_length=60, case="lower", limits=Limits(similar_distance=2))
    tables = tables_of(terms, LARGE)
    record = Record({}, "jonathan christopher sebastian maximilian alexandra fredericks"[:60])
    features = features_of(tables, [record])[0]
    family = PREDICATES["similar"].all_families(terms.limits)[1]
    assert len([table for table in tables.tables if table.family.name.startswith("edited-2/")]) > 8
    assert max(table.size for table in tables.tables) < 600
    elements = family.elements(record.whole)
    assert len(elements) > 2000
    for element in sorted(elements)[::17]:
        table = tables.find(View(), family.name, element)
        assert table is not None
        assert _answers(tables, features, table, element)
    for element in ("another", "x", "jonathon"):
        table = tables.find(View(), family.name, element)
        assert table is not None
        assert not _answers(tables, features, table, element)


def test_false_answers_are_as_rare_as_one_in_t() -> None:
    # With t = 114,689 about 1.7 of 200,000 foreign elements are expected to be found; more than 12 has probability
    # below 1e-6.
    terms = Terms((), functions=("has_word",), record_length=60, case="lower")
    tables = tables_of(terms, SMALL)
    table = tables.tables[0]
    records = [Record({}, f"alpha beta gamma delta number{i}") for i in range(200)]
    features = features_of(tables, records)[:, table.offset : table.end].astype(np.float64)
    wrong = 0
    for number in range(1000):
        weights, fingerprint = asking(tables, table, f"foreign{number}")
        products = (features.astype(np.uint64) * weights[None, :] % np.uint64(SMALL)).sum(axis=1) % np.uint64(SMALL)
        wrong += int((products == fingerprint).sum())
    assert wrong <= 12


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, LARGE - 1), min_size=1, max_size=12, unique=True), st.integers(0, 2**32))
def test_interpolation_goes_through_its_points(points: list[int], seed: int) -> None:
    random = Random(seed)
    values = [random.randrange(LARGE) for _ in points]
    found = interpolate(np.array([points], dtype=np.uint64), np.array([values], dtype=np.uint64), LARGE)[0].tolist()
    for point, value in zip(points, values):
        assert sum(c * pow(point, k, LARGE) for k, c in enumerate(found)) % LARGE == value


def test_features_do_not_show_how_long_a_record_is() -> None:
    terms = Terms((), functions=("is_in",), record_length=40)
    tables = tables_of(terms, LARGE)
    found = features_of(tables, [Record({}, ""), Record({}, "a"), Record({}, "abc " * 10)])
    assert found.shape == (3, tables.features)
    zeros = [set(np.flatnonzero(row == 0).tolist()) for row in found]
    assert len(zeros[0] ^ zeros[2]) <= 3 and len(zeros[1] ^ zeros[2]) <= 3, "what is not there is filled up"
    again = features_of(tables, [Record({}, "")])[0]
    assert np.count_nonzero(again == found[0]) <= len(zeros[0]) + 3, "by chance, so that no point is known to be free"


@pytest.mark.parametrize(
    ("record", "terms", "word"),
    [
        (Record({}, "x" * 41), Terms((), record_length=40), "has 41 characters"),
        (Record({}, "x" * 10_000), Terms((), record_length=148), "has 10000 characters"),
        (Record({"a": "x" * 21}, "x"), Terms(("a",), record_length=40, attribute_length=20), "attribute 'a'"),
        (Record({}, "Canon"), Terms((), case="lower"), "capital letters"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(record: Record, terms: Terms, word: str) -> None:
    with pytest.raises(RecordError, match=word):
        check_record(terms, record, 1)


def test_large_sets_get_more_spare_columns() -> None:
    assert spare_columns(148, LARGE) == 2
    assert spare_columns(10_000, LARGE) > spare_columns(1_000, LARGE) > spare_columns(10, LARGE)


NAMES = ("given", "surname", "town")


def _sharing_terms(**more: Any) -> Terms:
    return Terms(NAMES, functions=ALL, record_length=40, limits=Limits(needle_length=3), **more)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32))
def test_attributes_share_a_place_and_are_told_apart(seed: int) -> None:
    random = Random(seed)
    terms = _sharing_terms()
    tables = tables_of(terms, LARGE)
    record = Record.of({name: random_text(random)[:11] for name in NAMES})
    features = features_of(tables, [record])[0]
    asked = {element for table in tables.tables for element in table.family.elements(record.text(table.view))}
    for table in tables.tables:
        elements = table.family.elements(record.text(table.view))
        for element in sorted(asked)[:: max(1, len(asked) // 40)]:
            assert _answers(tables, features, table, element) == (
                element in elements and tables.find(table.view, table.family.name.partition("/")[0], element) == table
            )


def test_many_attributes_take_hardly_more_room_than_the_whole() -> None:
    terms = replace(_sharing_terms(), functions=("is_in", "has_word"))
    whole = tables_of(replace(terms, encode_attributes=False), LARGE).features
    assert tables_of(terms, LARGE).features == 2 * whole


def test_a_single_attribute_is_encoded_as_the_whole_that_it_is() -> None:
    one = Terms(("text",), functions=("is_in",), record_length=20)
    assert tables_of(one, LARGE).features == tables_of(replace(one, encode_attributes=False), LARGE).features
    with pytest.raises(RecordError, match="only attribute"):
        check_sharing(one, [Record({"text": "a"}, "b")])
    with pytest.raises(RecordError, match="43 characters together"):
        check_sharing(_sharing_terms(), [Record.of({"given": "x" * 37, "surname": "", "town": ""})])
