"""Suggested questions: always valid, deterministic, from the own table alone, and good enough to label with."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed import PackedEngine
from blindlabel.language import Limits, Record, interpret, read_question
from blindlabel.language.formula import Count, Disjunction, atoms_of, in_order
from blindlabel.language.suggestions import Suggester
from blindlabel.language.suggestions.alternatives import conjunctions
from blindlabel.language.suggestions.needles import Needle, pieces, words_in_order
from blindlabel.language.suggestions.suggester import DEFAULT_FUNCTIONS
from blindlabel.language.suggestions.weighing import Asked

PRODUCTS = [
    {"name": name, "price": price}
    for name, price in (
        ("Sony Turntable - PSLX350H", "99"),
        ("Sony Cyber-shot black digital camera - DSCW150B", "199"),
        ("Sony Cyber-shot silver digital camera - DSCW120S", "179"),
        ("Canon black ink cartridge - PG50", "20"),
        ("Canon black ink cartridge - PG40", "19"),
        ("Canon color ink cartridge - CL41", "24"),
        ("Denon Stereo Tuner - TU1500RD", ""),
        ("Bose Acoustimass 5 Series III Speaker System - AM53BK", "399"),
    )
]


def records(rows: list[dict[str, str]]) -> list[Record]:
    return [Record.of(row) for row in rows]


def answer(question: str, record: Record, attributes: list[str]) -> bool:
    checked = read_question(question, attributes=attributes)
    assert checked.ok, checked.diagnostics
    return interpret(checked.question, record)


def test_suggestion_finds_the_same_thing_written_otherwise_and_not_its_sibling() -> None:
    suggester = Suggester(records(PRODUCTS), ["name", "price"])
    question = suggester.suggest(Record.of(PRODUCTS[1])).question
    other = Record.of({"name": "Sony DSC-W150 digital camera - black - DSCW150/B", "price": ""})
    sibling = Record.of({"name": "Sony DSC-W120 digital camera - silver", "price": "179"})
    stranger = Record.of({"name": "Denon tuner TU-1500RD", "price": "99"})
    assert answer(question, other, ["name", "price"])
    assert not answer(question, sibling, ["name", "price"])
    assert not answer(question, stranger, ["name", "price"])


def test_a_question_is_true_of_its_own_record_in_every_round() -> None:
    table = records(PRODUCTS)
    suggester = Suggester(table, ["name", "price"])
    for record in table:
        for number in (1, 2, 3, 7):
            assert answer(suggester.suggest(record, number).question, record, ["name", "price"])


def test_later_rounds_ask_for_less() -> None:
    table = records(PRODUCTS)
    suggester = Suggester(table, ["name", "price"])

    def share(number: int) -> float:
        formula = read_question(suggester.suggest(table[1], number).question).formula
        assert isinstance(formula, Count)
        return formula.low / formula.total

    assert share(1) > share(2) > share(3)


def test_the_same_table_gives_the_same_suggestions_whatever_was_asked_before() -> None:
    table = records(PRODUCTS)
    one, other = Suggester(table, ["name", "price"]), Suggester(table, ["name", "price"])
    forward = [one.suggest(record, number) for record in table for number in (1, 2, 3)]
    backward = [other.suggest(record, number) for record in reversed(table) for number in (3, 2, 1)]
    assert forward == backward[::-1]


def test_only_the_named_attributes_are_looked_at() -> None:
    with_id = [{**row, "id": f"truth-{number}"} for number, row in enumerate(PRODUCTS)]
    hidden = Suggester(records(with_id), ["name", "price"])
    for number, row in enumerate(with_id):
        plain = Suggester(records(PRODUCTS), ["name", "price"]).suggest(Record.of(PRODUCTS[number]))
        assert hidden.suggest(Record.of(row)) == plain
        assert "truth" not in plain.question


def test_an_empty_record_gives_a_question_that_says_no() -> None:
    empty = Record.of({"name": "", "price": ""})
    suggestion = Suggester([*records(PRODUCTS), empty], ["name", "price"]).suggest(empty)
    assert not answer(suggestion.question, empty, ["name", "price"])
    assert suggestion.why.endswith(".")


def test_a_question_asked_before_is_not_suggested_again() -> None:
    table = records(PRODUCTS)
    suggester = Suggester(table, ["name", "price"])
    asked: list[str] = []
    for _ in range(4):
        question = suggester.suggest(table[0], 2, asked).question
        assert question not in asked
        asked.append(question)


def test_no_lower_is_written_where_records_are_lower_case_already() -> None:
    lowered = [{name: text.lower() for name, text in row.items()} for row in PRODUCTS]
    suggestion = Suggester(records(lowered), ["name", "price"], lowered=True).suggest(Record.of(lowered[0]))
    assert "lower" not in suggestion.question
    assert read_question(suggestion.question, lowered=True).diagnostics == ()


def test_suggestions_need_nothing_that_an_agreement_does_not_encode_by_default() -> None:
    assert tuple(DEFAULT_FUNCTIONS) == Terms(attributes=("name",)).functions


@pytest.mark.parametrize("functions", [{"has_word"}, {"is_in"}, {"sounds_like"}, {"equals"}, {"starts_with"}, set()])
def test_only_allowed_functions_are_used(functions: set[str]) -> None:
    table = records(PRODUCTS)
    suggester = Suggester(table, ["name", "price"], functions=functions)
    for record in table:
        checked = read_question(suggester.suggest(record).question)
        assert checked.formula is not None
        assert {atom.function for atom in atoms_of(checked.formula)} <= functions


def test_without_counting_a_conjunction_is_suggested() -> None:
    table = records(PRODUCTS)
    suggester = Suggester(table, ["name", "price"], counting=False)
    for record in table:
        formula = read_question(suggester.suggest(record).question).formula
        assert formula is not None
        assert not any(isinstance(node, Count) for node in in_order(formula))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.integers(1, 60), st.integers(1, 5))
def test_conjunctions_accept_only_what_the_count_accepts(weights: list[int], threshold: int, most: int) -> None:
    asked = [
        Asked(Needle("is_in", f"n{place}"), weight, 0) for place, weight in enumerate(sorted(weights, reverse=True))
    ]
    chosen = conjunctions(asked, threshold, most)
    assert bool(chosen) == (sum(weights) >= threshold)
    assert len(chosen) <= most
    assert len(set(chosen)) == len(chosen)
    for needles in chosen:
        assert sum(one.weight for one in needles) >= threshold
        # none is there for nothing, unless it takes more needles than are looked at
        assert sum(one.weight for one in needles) - min(one.weight for one in needles) < threshold or len(
            needles
        ) == len(asked)


def test_alternatives_are_asked_where_the_agreement_has_room_and_the_engine_takes_them() -> None:
    table = [
        Record.of({"name": f"{first} {last} {1000 + 37 * number}"})
        for number, (first, last) in enumerate(product(("anna", "bert", "carla", "dora"), ("berg", "stein", "wald")))
    ]
    terms = Terms(
        ("name",),
        record_length=40,
        encode_attributes=False,
        functions=("is_in",),
        counting=False,
        negation=False,
        records=1000,
    )
    suggester = Suggester(
        table, ["name"], functions=("is_in",), limits=terms.limits, counting=False, negation=False, alternatives=2
    )
    several = 0
    for record in table:
        for number in (1, 2, 3):
            question = read_question(
                suggester.suggest(record, number).question, attributes=["name"], limits=terms.limits
            )
            assert question.ok
            assert question.formula is not None
            assert interpret(question.question, record)
            assert PackedEngine().refuse(terms, question.formula) is None
            several += isinstance(question.formula, Disjunction)
    assert several > len(table)


def test_only_single_attributes_are_asked_where_the_whole_record_is_not_encoded() -> None:
    table = records(PRODUCTS)
    formula = read_question(Suggester(table, ["name", "price"], whole=False).suggest(table[0]).question).formula
    assert formula is not None
    assert all(atom.view.attribute for atom in atoms_of(formula))


def test_long_words_are_cut_so_that_no_piece_is_longer_than_agreed() -> None:
    assert pieces("kxts3282b", 16) == ["kxts", "3282b"]
    assert pieces("tuner", 16) == ["tuner"]
    assert pieces("turntable", 16) == ["turn", "table"]
    assert "".join(pieces("x" * 100, 3)) == "x" * 100
    assert all(len(piece) <= 3 for piece in pieces("x" * 100, 3))


hostile = st.text(
    alphabet=st.one_of(
        st.sampled_from('aA0"\\|$#\n\t -éßİǅ中\u0301\u200d\U0001f600'), st.characters(exclude_categories=["Cs"])
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(hostile, hostile), min_size=1, max_size=6),
    needle_length=st.integers(0, 20),
    total_weight=st.integers(1, 64),
    predicates=st.integers(1, 20),
    number=st.integers(1, 5),
    lowered=st.booleans(),
)
def test_every_suggestion_reads_without_error_within_any_limits(
    rows: list[tuple[str, str]], needle_length: int, total_weight: int, predicates: int, number: int, lowered: bool
) -> None:
    attributes = ["name", 'date of "birth"']
    limits = Limits(needle_length=needle_length, total_weight=total_weight, predicates=predicates)
    table = [Record.of(dict(zip(attributes, row))) for row in rows]
    suggester = Suggester(table, attributes, limits=limits, lowered=lowered)
    for record in table:
        suggestion = suggester.suggest(record, number)
        checked = read_question(suggestion.question, attributes=attributes, limits=limits, lowered=lowered)
        assert checked.ok, (suggestion.question, checked.diagnostics)
        assert suggestion.why


@settings(max_examples=60, deadline=None)
@given(hostile)
def test_words_are_those_of_the_language(text: str) -> None:
    from blindlabel.language import words

    assert frozenset(words_in_order(text)) == words.words(text)


def test_a_large_table_takes_milliseconds_a_record() -> None:
    import time

    table = [
        Record.of({"name": f"thing {number} of kind {number % 97} model m{number * 7919 % 100003}"})
        for number in range(65_000)
    ]
    start = time.process_time()
    suggester = Suggester(table, ["name"])
    for record in table[:100]:
        suggester.suggest(record)
    assert time.process_time() - start < 10


def test_a_name_that_came_back_is_asked_for_by_its_sound_too() -> None:
    people = records(
        [
            {"given": "catherine", "born": "19990312"},
            {"given": "robert", "born": "19870101"},
            {"given": "", "born": "19870102"},
        ]
    )
    suggester = Suggester(people, ["given", "born"], lowered=True)
    assert "sounds_like" not in suggester.suggest(people[0]).question
    assert 'sounds_like("catherine", $r.given)' in suggester.suggest(people[0], round=2).question
    assert '"1999"' in suggester.suggest(people[0]).question  # a date falls into year and day
    assert "$r.given" not in suggester.suggest(people[2], round=2).question  # what is missing asks for nothing
