"""Chains say exactly what their formula says, and come back from the text they are written as."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.language import Question, format_question
from blindlabel.language.chain import Chain, chain_of, text_of
from blindlabel.language.formatter import format_expression
from blindlabel.language.formula import Formula, evaluate
from blindlabel.language.record import Record
from support.random_formulas import records as small_records
from support.random_questions import QuestionMaker, random_record

ATTRIBUTES = ("name", "year")
FOUR = " + ".join(f'is_in("{letter}", $r)' for letter in "abcd")


def formula(text: str) -> Formula:
    checked = Question(text, attributes=ATTRIBUTES)
    assert checked.formula is not None, checked.problems
    return checked.formula


def shape(chain: Chain | None) -> tuple[list[int], int, int, int] | None:
    if chain is None:
        return None
    points = sorted((one.points for one in chain.conditions), reverse=True)
    return points, chain.bar, len(chain.exclusions), len(chain.unless)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('ret is_in("a", $r)', ([1], 1, 0, 0)),
        ('ret is_in("a", $r) & is_in("b", $r)', ([1, 1], 2, 0, 0)),
        ('ret is_in("a", $r) | is_in("b", $r)', ([1, 1], 1, 0, 0)),
        ('ret is_in("a", $r) & (is_in("b", $r) | is_in("c", $r)) & !is_in("d", $r)', ([1, 1], 2, 1, 0)),
        ('ret 3*is_in("a", $r) + 2*is_in("b", $r) + is_in("c", $r) >= 4', ([3, 2, 1], 4, 0, 0)),
        ('ret is_in("z", $r) | 3*is_in("a", $r) + 2*is_in("b", $r) + is_in("c", $r) >= 4', ([4, 3, 2, 1], 4, 0, 0)),
        ('ret is_in("z", $r) & 3*is_in("a", $r) + 2*is_in("b", $r) + is_in("c", $r) >= 4', ([3, 3, 2, 1], 7, 0, 0)),
        ('ret 2*is_in("a", $r) + is_in("b", $r) + is_in("d", $r) + 9*!is_in("c", $r) >= 11', ([2, 1, 1], 2, 1, 0)),
        ('ret !(is_in("a", $r) | is_in("b", $r))', ([], 0, 2, 0)),
        ("ret false", ([], 1, 0, 0)),
        ('ret 2*is_in("a", $r) + is_in("b", $r) + !is_in("c", $r) >= 2', ([2, 1], 1, 1, 1)),
        ('ret is_in("a", $r) + is_in("b", $r) + is_in("c", $r) == 2', ([1, 1, 1], 2, 1, 0)),
        ('ret is_in("a", $r) | !is_in("b", $r) & is_in("c", $r)', ([1, 1], 1, 1, 1)),
        ('ret (is_in("a", $r) | !is_in("b", $r)) & is_in("c", $r)', ([1], 1, 1, 1)),
        ('ret choose(is_in("a", $r), is_in("b", $r), is_in("c", $r))', ([1, 1], 1, 1, 1)),
        ('ret is_in("a", $r) & is_in("b", $r) | is_in("c", $r) & is_in("d", $r)', ([1, 1], 1, 0, 0)),
        (f"ret {FOUR} == 2 | {FOUR} == 4", ([1, 1, 1, 1], 2, 4, 1)),
    ],
)
def test_a_chain_is_recognised_by_meaning(text: str, wanted: tuple[list[int], int, int, int] | None) -> None:
    assert shape(chain_of(formula(text))) == wanted


def test_one_meaning_has_one_chain_however_it_is_written() -> None:
    spellings = (
        'ret is_in("a", $r) & !is_in("b", $r) | !is_in("a", $r) & is_in("b", $r)',
        'ret (is_in("a", $r) | is_in("b", $r)) & !(is_in("a", $r) & is_in("b", $r))',
        'ret is_in("a", $r) + is_in("b", $r) == 1',
        'ret choose(is_in("a", $r), !is_in("b", $r), is_in("b", $r))',
    )
    found = {Question(text).explain() for text in spellings}
    assert found == {'any of:\n  is_in("a", $r)\n  is_in("b", $r)\nbut not if:\n  is_in("a", $r) & is_in("b", $r)'}


def test_a_question_that_excepts_from_exceptions_or_has_too_many_conditions_is_no_chain() -> None:
    parity = f"ret {FOUR} == 1 | {FOUR} == 3"
    assert chain_of(formula(parity)) is None
    many = " | ".join(f'is_in("a{number}", $r)' for number in range(17))
    assert chain_of(formula(f"ret {many}")) is None
    assert Question(parity).explain() == parity + "\n"


def test_an_and_of_many_predicates_is_one_condition_of_a_table() -> None:
    many = " & ".join(f'is_in("a{number}", $r)' for number in range(40))
    found = chain_of(formula(f'ret {many} | is_in("b", $r)'))
    assert found is not None
    assert [len(one.atoms) for one in found.conditions] == [40, 1]


def random_points(random: Random, records: list[Record]) -> str:
    """A sum with a bar, perhaps with musts, exclusions, exceptions; or any question."""
    maker = QuestionMaker(random, records, ATTRIBUTES)
    if random.random() < 0.2:
        return format_question(maker.question())

    def call() -> str:
        return format_expression(maker.predicate(0))

    parts = []
    for _ in range(random.randint(1, 5)):
        part = call() if random.random() < 0.8 else f"({call()} | {call()})"
        parts.append(f"{random.randint(1, 4)}*{part}" if random.random() < 0.7 else part)
    text = f"{' + '.join(parts)} >= {random.randint(1, 9)}"
    for _ in range(random.randint(0, 2)):
        text += random.choice(
            [f" & !{call()}", f" & {call()}", f" & !({call()} | {call()})", f" & (!{call()} | {call()})"]
        )
    return "ret " + (f"{call()} | {text}" if random.random() < 0.2 else text)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.lists(small_records, min_size=1, max_size=4))
def test_a_chain_answers_as_its_formula_and_comes_back_from_its_text(seed: int, more: list[Record]) -> None:
    random = Random(seed)
    records = [random_record(random, ATTRIBUTES) for _ in range(4)] + more
    checked = Question(random_points(random, records), attributes=ATTRIBUTES)
    if checked.formula is None:
        return
    for chain in (chain_of(checked.formula), checked.chain):
        if chain is None:
            continue
        again = formula(text_of(chain))
        for record in records:
            assert chain.fits(record) == evaluate(checked.formula, record) == evaluate(again, record)


def test_points_and_bar_stay_as_a_person_wrote_them() -> None:
    text = (
        '$r = lower($r)\nret 4*is_in("a", $r) + 2*(has_word("b", $r.name) | has_word("c", $r)) >= 6 & !is_in("d", $r)\n'
    )
    checked = Question(text, attributes=ATTRIBUTES)
    assert checked.formula is not None
    assert shape(chain_of(checked.formula)) == ([1, 1], 2, 1, 0)
    assert checked.chain is not None
    assert shape(checked.chain) == ([4, 2], 6, 1, 0)
    assert text_of(checked.chain) == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('ret !is_in("a", $r)', "loose"),
        ('ret !is_in("a", $r) | is_in("b", $r)', "loose"),
        ('ret is_in("a", $r) & !is_in("b", $r)', None),
        ('ret is_in("a", $r) | !is_in("a", $r)', "constant"),
    ],
)
def test_a_question_that_says_yes_to_whatever_lacks_something_is_warned_of(text: str, code: str | None) -> None:
    checked = Question(text)
    assert checked.ok
    assert [one.code for one in checked.problems] == ([] if code is None else [code])


def test_a_written_condition_that_changes_nothing_yet_is_still_there() -> None:
    """A person who adds a word to a question sees it, whatever the bar is at that moment."""
    written = Question('ret 3*has_word("smith", $r) + has_word("anna", $r) >= 2 & !has_word("tv", $r)').chain
    assert written is not None
    assert [(one.atoms[0].arguments, one.points) for one in written.conditions] == [(("smith",), 3), (("anna",), 1)]
    assert (written.bar, len(written.exclusions)) == (2, 1)
