"""The gates engine's circuits on clear bits: same answers as the plain meaning, and gates counted. Runs without
OpenFHE.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import QuestionError, RecordError, Terms
from blindlabel.language import words
from blindlabel.language.formula import Atom, Formula, Negation, evaluate
from blindlabel.language.functions import PREDICATES
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record, View
from blindlabel_lab.gates import GatesRules, circuits
from blindlabel_lab.gates.circuits import Netlist, run
from blindlabel_lab.gates.record_circuits import CODE_GROWTH, RecordBits, compiled
from support.clear_gates import ClearGates
from support.random_formulas import ATTRIBUTES, questions, records

LIMITS = Limits(similar_distance=2)
TERMS = Terms(ATTRIBUTES, record_length=24, attribute_length=9, functions=tuple(PREDICATES), limits=LIMITS)


def answer(question: Formula, record: Record, terms: Terms = TERMS) -> bool:
    circuit = compiled(terms, [question])
    inputs = dict(enumerate(RecordBits.of(terms).bits(record)))
    gates = ClearGates()
    (value,) = run(circuit.netlist, circuit.answers, inputs, gates)
    assert gates.count == circuit.gates
    return value


def one_text(text: str, length: int | None = None) -> tuple[Record, Terms]:
    terms = Terms(
        (),
        record_length=len(text) if length is None else length,
        encode_attributes=False,
        functions=tuple(PREDICATES),
        limits=LIMITS,
    )
    return Record({}, text), terms


@settings(max_examples=200, deadline=None)
@given(questions, records)
def test_circuits_answer_as_the_plain_meaning_does(question: Formula, record: Record) -> None:
    assert answer(question, record) == evaluate(question, record)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.text(alphabet="ab", min_size=14, max_size=17),
    st.text(alphabet="ab ", min_size=0, max_size=21),
    st.sampled_from([1, 2]),
)
@example("a" * 16, "a" * 17, 1)
@example("a" * 15, "a" * 17, 2)
@example("a" * 15, "b " + "a" * 16, 1)
@example("a" * 17, "b " + "a" * 17, 1)
def test_similar_treats_long_words_as_the_plain_meaning_does(word: str, text: str, distance: int) -> None:
    record, terms = one_text(text, 21)
    question = Atom("similar", (word, distance), View())
    assert answer(question, record, terms) == evaluate(question, record)


@pytest.mark.slow
@pytest.mark.parametrize("function", ["is_in", "starts_with", "ends_with", "equals", "has_word"])
def test_every_short_needle_in_every_short_text_is_found_as_it_should_be(function: str) -> None:
    for text in ("".join(letters) for n in range(4) for letters in itertools.product("aB ", repeat=n)):
        record, terms = one_text(text, 3)
        for needle in ("".join(letters) for n in (1, 2) for letters in itertools.product("aAB ", repeat=n)):
            for seen in ("exact", "lower", "upper"):
                question = Atom(function, (needle,), View(None, seen))
                assert answer(question, record, terms) == evaluate(question, record), (function, needle, text, seen)


@pytest.mark.parametrize("code", range(128))
def test_every_ascii_character_is_told_apart(code: int) -> None:
    record, terms = one_text(chr(code), 2)
    for question in (
        *(
            Atom("is_in", (chr(other),), View(None, seen))
            for other in range(128)
            for seen in ("exact", "lower", "upper")
        ),
        Atom("is_empty", (), View()),
        Atom("has_word", (chr(code),), View()),
    ):
        assert answer(question, record, terms) == evaluate(question, record)


def test_comparison_with_a_constant_is_exact_for_every_number_and_bound() -> None:
    for bound in range(-1, 20):
        netlist = Netlist()
        output = circuits.at_least(netlist, [netlist.input(place) for place in range(4)], bound)
        for number in range(16):
            bits = {place: bool(number >> place & 1) for place in range(4)}
            assert run(netlist, [output], bits, ClearGates()) == [number >= bound]


@pytest.mark.parametrize("weights", [(1,), (1, 1, 1), (3, 1, 2), (5, 7, 1, 1, 4), (1,) * 7])
def test_adders_sum_weights(weights: tuple[int, ...]) -> None:
    netlist = Netlist()
    outputs = circuits.total(netlist, weights, [netlist.input(i) for i in range(len(weights))])
    for bits in itertools.product((False, True), repeat=len(weights)):
        values = run(netlist, outputs, dict(enumerate(bits)), ClearGates())
        assert sum(value << place for place, value in enumerate(values)) == sum(
            w for w, bit in zip(weights, bits) if bit
        )


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_netlist_folds_and_shares_without_changing_values(data: st.DataObject) -> None:
    netlist = Netlist()
    signals = [netlist.constant(False), *(netlist.input(i) for i in range(3))]
    for _ in range(8):
        gate = data.draw(st.sampled_from([netlist.and_, netlist.or_, netlist.xor, netlist.xnor]))
        a, b = (data.draw(st.sampled_from(signals)) for _ in range(2))
        signals += [gate(a, b), netlist.not_(a)]
    before = len(netlist.nodes)
    bits = {i: data.draw(st.booleans()) for i in range(3)}
    values = dict(zip(signals, run(netlist, signals, bits, ClearGates())))
    clear = ClearGates()
    for a, b in itertools.product(signals, repeat=2):
        for gate, meaning in (
            (netlist.and_, clear.and_),
            (netlist.xor, clear.xor),
            (netlist.or_, clear.or_),
            (netlist.xnor, clear.xnor),
        ):
            signal = gate(a, b)
            assert run(netlist, [signal], bits, ClearGates()) == [meaning(values[a], values[b])]
    assert before <= len(netlist.nodes)
    for node in netlist.nodes[1:]:
        if node.kind != "input":
            assert node.a >> 1 != node.b >> 1 and node.a > 1 and node.b > 1, (
                "OpenFHE refuses a gate on one ciphertext twice"
            )


def test_padding_is_never_matched_and_length_does_not_change_the_circuit() -> None:
    question = Atom("is_in", ("\x00",), View())
    for text in ("", "a", "a\x00"):
        record, terms = one_text(text, 5)
        assert answer(question, record, terms) == ("\x00" in text)
    layout = RecordBits.of(one_text("", 5)[1])
    assert len(layout.bits(Record({}, ""))) == len(layout.bits(Record({}, "abcde"))) == layout.size


def test_needles_share_the_comparisons_of_a_position() -> None:
    terms = Terms((), record_length=46, encode_attributes=False)
    one = compiled(terms, [Atom("is_in", ("camera",), View())]).gates
    lowered = compiled(terms, [Atom("is_in", ("camera",), View(None, "lower"))]).gates
    both = compiled(terms, [Atom("is_in", ("camera",), View()), Atom("is_in", ("camcorder",), View())]).gates
    alone = compiled(terms, [Atom("is_in", ("camcorder",), View())]).gates
    assert lowered <= one < 1300, "the published circuit has 4223"
    assert both < 0.8 * (one + alone)


def test_a_record_outside_ascii_is_refused_with_a_sentence() -> None:
    record, terms = one_text("café", 5)
    with pytest.raises(RecordError, match=r"U\+00E9.*ASCII only"):
        RecordBits.of(terms).bits(record)


def test_a_record_beyond_the_public_length_is_refused() -> None:
    record, terms = one_text("abcdef", 5)
    with pytest.raises(RecordError, match="6 characters, and the agreement encodes 5"):
        RecordBits.of(terms).bits(record)


def test_questions_outside_the_terms_are_refused_with_the_reason() -> None:
    terms = Terms(("name",), functions=("is_in",), encode_whole=False)
    atom = Atom("is_in", ("a",), View("name"))
    assert GatesRules().refuse(terms, atom) is None
    assert "does not encode whole records" in str(GatesRules().refuse(terms, Atom("is_in", ("a",), View())))
    assert "does not encode has_word" in str(GatesRules().refuse(terms, Atom("has_word", ("a",), View("name"))))
    assert "no attribute 'year'" in str(GatesRules().refuse(terms, Atom("is_in", ("a",), View("year"))))
    with pytest.raises(QuestionError, match="Question 2: This agreement does not encode whole records"):
        compiled(terms, [atom, Negation(Atom("is_in", ("a",), View()))])


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ABCDEGHKLMNPQRSTWXY eoiaf1x", max_size=12))
@example("x" * 12)
@example("ax bx cx")
def test_phonetic_codes_of_a_text_fit_their_field(text: str) -> None:
    record, terms = one_text(text)
    RecordBits.of(terms).bits(record)
    assert all(len(words.phonetic_code(word)) <= CODE_GROWTH * len(word) for word in words.words_of(text))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (Atom(function, (value,), View(None, case)), text)
        for function, values, texts in (
            ("same_telephone", ("310/456-0488", "+49 4560488"), ("(310) 456 0488", "a 4560488, 1234567", "0488", "")),
            ("near_date", ("1980-05-07", "20010203"), ("1980-05-17 x", "on 1980-07-05", "2001-12-03", "2001", "")),
            ("near_year", (1998, 1000, 2999), ("in 1999", "999 1001", "3000", "x1999", "2998-01-01")),
        )
        for value in values
        for text in texts
        for case in ("exact", "upper")
    ],
)
def test_telephones_dates_and_years_are_found_as_in_the_plain_text(question: Atom, text: str) -> None:
    record, terms = one_text(text, 20)
    assert answer(question, record, terms) == evaluate(question, record)


def test_far_from_holds_beyond_its_bounds() -> None:
    for text, number in itertools.product(("20.1", "20", "45.5", "x", "-9", "99999999999"), (0, 8, 20, 60, 10**7)):
        record, terms = one_text(text, 11)
        question = Atom("far_from", (Fraction(number),), View())
        assert answer(question, record, terms) == evaluate(question, record)


def test_between_holds_at_its_bounds() -> None:
    for text, low, high in itertools.product(
        ("1999", "-2.5", "x", "99999999999"), (-3, 0, 1999, 2**40), (-2, 1999, 2**41)
    ):
        record, terms = one_text(text, 11)
        question = Atom("between", (Fraction(low), Fraction(high)), View())
        assert answer(question, record, terms) == evaluate(question, record)
