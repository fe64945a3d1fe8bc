"""Gates of up to three inputs: the values of the two-input netlist and of the plain meaning, by fewer gates. Runs
without OpenFHE.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.gates import predicates
from blindlabel.engines.gates.circuit import FALSE, TRUE, ClearGates, Literal, Netlist, all_of, any_of, negated, run
from blindlabel.engines.gates.compiling import compiled
from blindlabel.engines.gates.mapping import ClearThresholds, Mapped, mapped
from blindlabel.engines.gates.predicates import TextCircuits
from blindlabel.engines.gates.sharing import shared
from blindlabel.engines.interface import Terms
from blindlabel.language.formula import Atom, Formula
from blindlabel.language.record import View


def held_to_the_netlist(netlist: Netlist, outputs: Sequence[Literal], inputs: int) -> Mapped:
    """Every input, both ways; and no gate that OpenFHE could not evaluate."""
    result = mapped(netlist, outputs)
    for bits in itertools.product((False, True), repeat=inputs):
        values = dict(enumerate(bits))
        assert result.run(values, ClearThresholds()) == run(netlist, outputs, values, ClearGates())
    known = 1 + len(result.inputs)
    for place, gate in enumerate(result.gates):
        nodes = [part >> 1 for part in gate.inputs]
        assert len(nodes) in (2, 3) and 1 <= gate.at_least <= len(nodes)
        assert len(set(nodes)) == len(nodes), "OpenFHE refuses a gate on one ciphertext twice"
        assert all(0 < node < known + place for node in nodes), "no constants, and nothing that comes later"
    return result


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_random_netlists_keep_their_values(data: st.DataObject) -> None:
    netlist = Netlist()
    literals = [netlist.constant(False), *(netlist.input(i) for i in range(6))]
    gates = [netlist.and_, netlist.and_, netlist.or_, netlist.xor]
    for _ in range(data.draw(st.integers(0, 40))):
        a, b = (data.draw(st.sampled_from(literals)) ^ data.draw(st.integers(0, 1)) for _ in range(2))
        literals.append(data.draw(st.sampled_from(gates))(Literal(a), Literal(b)))
    outputs = [Literal(data.draw(st.sampled_from(literals)) ^ data.draw(st.integers(0, 1))) for _ in range(3)]
    result = held_to_the_netlist(netlist, outputs, 6)
    xors = sum(netlist.nodes[number].kind == "xor" for number in netlist.needed(outputs))
    assert len(result.gates) <= netlist.gate_count(outputs) + 2 * xors, (
        "only XOR may take more gates: it has none of its own"
    )


@pytest.mark.parametrize("literals", range(1, 12))
def test_an_and_of_k_literals_takes_half_as_many_gates(literals: int) -> None:
    for join in (all_of, any_of):
        netlist = Netlist()
        bits = [Literal(netlist.input(i) ^ i % 2) for i in range(literals)]
        assert len(held_to_the_netlist(netlist, [join(netlist, bits)], literals).gates) == literals // 2


def test_a_character_takes_three_gates_and_less_where_others_share() -> None:
    def characters(*codes: int) -> Mapped:
        netlist = Netlist()
        text = TextCircuits(netlist, [[netlist.input(place) for place in range(8)]])
        outputs = [text.has_one_of(0, frozenset({code})) for code in codes]
        return held_to_the_netlist(netlist, outputs, 7)

    assert [len(characters(code).gates) for code in (1, 65, 127)] == [3, 3, 3]
    letters = tuple(range(ord("a"), ord("z") + 1))
    assert len(characters(*letters).gates) <= 1.5 * len(letters)


@pytest.mark.parametrize("signs", range(8))
def test_a_full_adder_is_three_majorities(signs: int) -> None:
    netlist = Netlist()
    bits = [Literal(netlist.input(i) ^ (signs >> i & 1)) for i in range(3)]
    outputs = predicates.total(netlist, (1, 1, 1), bits)
    assert netlist.gate_count(outputs) == 5
    result = held_to_the_netlist(netlist, outputs, 3)
    assert [gate.at_least for gate in result.gates] == [2, 2, 2]


def test_two_of_three_is_one_gate() -> None:
    netlist = Netlist()
    bits = [netlist.input(i) for i in range(3)]
    output = predicates.within(netlist, predicates.total(netlist, (1, 1, 1), bits), 2, 3)
    assert len(held_to_the_netlist(netlist, [output], 3).gates) == 1


@pytest.mark.parametrize("weights", [(1, 1), (1,) * 8, (2, 1, 1), (3, 1, 2, 2), (5, 7, 1, 1, 4)])
def test_counts_keep_their_values(weights: tuple[int, ...]) -> None:
    for low, high in itertools.product(range(sum(weights) + 1), repeat=2):
        netlist = Netlist()
        bits = [Literal(netlist.input(i) ^ i % 2) for i in range(len(weights))]
        output = predicates.within(netlist, predicates.total(netlist, weights, bits), low, high)
        result = mapped(netlist, [output])
        for values in itertools.product((False, True), repeat=len(weights)):
            total = sum(weight for place, weight in enumerate(weights) if values[place] ^ (place % 2 == 1))
            assert result.run(dict(enumerate(values)), ClearThresholds()) == [low <= total <= high]


def test_constants_and_bare_inputs_need_no_gate() -> None:
    netlist = Netlist()
    bit = netlist.input(7)
    result = mapped(netlist, [TRUE, FALSE, bit, negated(bit), bit])
    assert (result.inputs, result.gates) == ((7,), ())
    assert result.run({7: True}, ClearThresholds()) == [True, False, True, False, True]


def test_an_and_of_a_bit_and_its_negation_is_false_without_a_gate() -> None:
    netlist = Netlist()
    a, b, c = (netlist.input(i) for i in range(3))
    never = netlist.and_(netlist.and_(a, b), netlist.and_(negated(a), c))
    assert held_to_the_netlist(netlist, [never, netlist.or_(never, b)], 3).gates == ()


def test_progress_counts_every_gate() -> None:
    netlist = Netlist()
    result = mapped(netlist, [all_of(netlist, [netlist.input(i) for i in range(7)])])
    heard: list[int] = []
    result.run(dict.fromkeys(range(7), True), ClearThresholds(), heard.append)
    assert heard == [1, 2, 3]


@pytest.mark.parametrize(
    ("function", "gain"), [("is_in", 2.0), ("ends_with", 2.0), ("has_word", 1.6), ("sounds_like", 1.6)]
)
def test_fewer_gates_for_a_needle_of_six(function: str, gain: float) -> None:
    terms = Terms((), record_length=46, encode_attributes=False, functions=(function,))
    circuit = compiled(terms, [Atom(function, ("camera",), View())])
    assert circuit.two_input_gates > gain * circuit.gates


def test_needles_share_what_stands_at_any_of_their_places() -> None:
    terms = Terms((), record_length=20, encode_attributes=False)
    one: list[Formula] = [Atom("is_in", ("abcdef",), View())]
    other: list[Formula] = [Atom("is_in", ("xbcdey",), View())]
    alone = compiled(terms, one).gates + compiled(terms, other).gates
    assert compiled(terms, one + other).gates < 0.75 * alone


@settings(max_examples=200, deadline=None)
@given(st.lists(st.frozensets(st.integers(0, 9), min_size=1, max_size=7), max_size=8))
def test_sharing_changes_no_and_and_costs_no_gate(ands: list[frozenset[int]]) -> None:
    made: dict[int, frozenset[int]] = {}

    def meaning(literals: frozenset[int]) -> frozenset[int]:
        return frozenset().union(*(made.get(literal, {literal}) for literal in literals))

    def new(few: tuple[int, ...]) -> int:
        made[100 + len(made)] = meaning(frozenset(few))
        return 99 + len(made)

    result = shared(dict(enumerate(ands)), new)
    assert [meaning(result[number]) for number in range(len(ands))] == ands
    assert sum(len(one) // 2 for one in result.values()) + len(made) <= sum(len(one) // 2 for one in ands)
