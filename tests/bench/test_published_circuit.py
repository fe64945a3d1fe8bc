"""The publication's circuits on clear bits: right answers, and exactly the gates that its algorithms come to."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel_lab.bench import published_circuit
from support.clear_gates import ClearGates


def text_of(matrix: list[list[bool]]) -> str:
    return "".join(chr(int("".join("01"[bit] for bit in byte), 2)) for byte in matrix)


def test_a_character_is_eight_bits_most_significant_first() -> None:
    assert ["".join("01"[bit] for bit in byte) for byte in published_circuit.bits_of("C")] == ["01000011"]


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab", max_size=4), st.text(alphabet="abc", max_size=8))
def test_is_in_finds_what_is_there(needle: str, text: str) -> None:
    gates = ClearGates()
    assert published_circuit.is_in(gates, published_circuit.bits_of(needle), published_circuit.bits_of(text)) == (
        needle in text
    )
    assert gates.count == published_circuit.is_in_gates(len(needle), len(text))


def test_is_in_sees_the_first_and_the_last_character() -> None:
    for needle in ("c", "n", "ca", "on", "canon"):
        assert published_circuit.is_in(
            ClearGates(), published_circuit.bits_of(needle), published_circuit.bits_of("canon")
        )


@pytest.mark.parametrize(("needle", "text", "gates"), [(6, 46, 4223), (6, 53, 4944), (6, 118, 11639), (6, 148, 14729)])
def test_gate_counts_of_the_published_experiments(needle: int, text: int, gates: int) -> None:
    assert published_circuit.is_in_gates(needle, text) == gates
    clear = ClearGates()
    published_circuit.is_in(clear, published_circuit.bits_of("a" * needle), published_circuit.bits_of("b" * text))
    assert clear.count == gates
    assert clear.counts["xnor"] == 8 * needle * (text - needle + 1)


def test_byte_equal_tells_all_characters_apart() -> None:
    for a, b in itertools.product(range(0, 128, 5), range(128)):
        one, other = published_circuit.bits_of(chr(a))[0], published_circuit.bits_of(chr(b))[0]
        assert published_circuit.byte_equal(ClearGates(), one, other) == (a == b)


@pytest.mark.parametrize("code", range(128))
def test_case_changes_letters_only(code: int) -> None:
    character = chr(code)
    assert text_of(published_circuit.lower(ClearGates(), published_circuit.bits_of(character))) == character.lower()
    assert text_of(published_circuit.upper(ClearGates(), published_circuit.bits_of(character))) == character.upper()


def test_case_costs_thirty_gates_a_character() -> None:
    for change in (published_circuit.lower, published_circuit.upper):
        gates = ClearGates()
        change(gates, published_circuit.bits_of("Canon"))
        assert gates.count == 30 * len("Canon")


def test_choose_takes_a_where_the_condition_holds() -> None:
    for condition, a, b in itertools.product((False, True), repeat=3):
        assert published_circuit.choose(ClearGates(), condition, [a], [b]) == [a if condition else b]


def test_comparisons_with_constants_are_exact() -> None:
    for code, bound in itertools.product(range(0, 128, 3), range(256)):
        byte = published_circuit.bits_of(chr(code))[0]
        assert published_circuit.greater(ClearGates(), byte, bound) == (code > bound)
        assert published_circuit.less(ClearGates(), byte, bound) == (code < bound)
