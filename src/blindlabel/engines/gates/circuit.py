"""Circuits as data: an abstract set of gates, and a netlist that shares equal gates and folds constants.

Pure: knows nothing of encryption, so the same circuits run on clear bits (counting gates, tested exhaustively, under
any Python) and on OpenFHE. Circuits are functions over a `Gates`; `Netlist` implements it by writing gates down,
`EncryptedGates` in `library` on ciphertexts, and the tests on `bool`.

In a netlist a bit is a *literal*: twice the number of a node, plus one where it is negated. Negation is free on every
backend, so there are only two kinds of gate, AND and XOR, and OR is an AND of negations. Node 0 is the constant false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NewType, Protocol, TypeVar

Bit = TypeVar("Bit")


class Gates(Protocol[Bit]):
    """What a circuit may use. Two-input gates cost one bootstrapping each; `not_` and `constant` cost nothing."""

    def constant(self, value: bool) -> Bit: ...
    def not_(self, a: Bit) -> Bit: ...
    def and_(self, a: Bit, b: Bit) -> Bit: ...
    def or_(self, a: Bit, b: Bit) -> Bit: ...
    def xor(self, a: Bit, b: Bit) -> Bit: ...
    def xnor(self, a: Bit, b: Bit) -> Bit: ...


def all_of(gates: Gates[Bit], bits: Sequence[Bit]) -> Bit:
    """A balanced tree of AND gates; true for no bits at all."""
    return _tree(bits, gates.and_) if bits else gates.constant(True)


def any_of(gates: Gates[Bit], bits: Sequence[Bit]) -> Bit:
    """A balanced tree of OR gates; false for no bits at all."""
    return _tree(bits, gates.or_) if bits else gates.constant(False)


def _tree(bits: Sequence[Bit], gate: Callable[[Bit, Bit], Bit]) -> Bit:
    level = list(bits)
    while len(level) > 1:  # neighbours pair up, so that equal stretches become equal gates and a netlist shares them
        level = [gate(level[i], level[i + 1]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return level[0]


Literal = NewType("Literal", int)

FALSE = Literal(0)
TRUE = Literal(1)


def negated(literal: Literal) -> Literal:
    """The same bit, turned round."""
    return Literal(literal ^ 1)


@dataclass(frozen=True)
class Node:
    """An input (by its number) or a gate with two different, non-constant literals."""

    kind: str
    a: int
    b: int


class Netlist:
    """A growing list of gates in which equal gates are one and constants have disappeared. It implements
    `Gates[Literal]`.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = [Node("constant", 0, 0)]
        self._known: dict[Node, int] = {}

    def input(self, number: int) -> Literal:
        """The bit that the input of this number brings."""
        return self._literal(Node("input", number, 0))

    def constant(self, value: bool) -> Literal:
        return TRUE if value else FALSE

    def not_(self, a: Literal) -> Literal:
        return negated(a)

    def and_(self, a: Literal, b: Literal) -> Literal:
        if a > b:
            a, b = b, a
        if a == FALSE or a == negated(b):
            return FALSE
        if a in (TRUE, b):
            return b
        return self._literal(Node("and", a, b))

    def or_(self, a: Literal, b: Literal) -> Literal:
        return negated(self.and_(negated(a), negated(b)))

    def xor(self, a: Literal, b: Literal) -> Literal:
        turned = (a ^ b) & 1  # negations move to the output, so that equal gates look equal
        first, second = sorted((a & ~1, b & ~1))
        if first == second:
            return Literal(turned)
        if first == FALSE:
            return Literal(second ^ turned)
        return Literal(self._literal(Node("xor", first, second)) ^ turned)

    def xnor(self, a: Literal, b: Literal) -> Literal:
        return negated(self.xor(a, b))

    def _literal(self, node: Node) -> Literal:
        number = self._known.get(node)
        if number is None:
            number = len(self.nodes)
            self.nodes.append(node)
            self._known[node] = number
        return Literal(2 * number)

    def needed(self, outputs: Sequence[Literal]) -> list[int]:
        """The nodes that these outputs rest on, in an order in which they can be evaluated."""
        waiting = [output >> 1 for output in outputs]
        found: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number in found:
                continue
            found.add(number)
            node = self.nodes[number]
            if node.kind in ("and", "xor"):
                waiting += (node.a >> 1, node.b >> 1)
        return sorted(found)

    def gate_count(self, outputs: Sequence[Literal]) -> int:
        """Two-input gates that these outputs need together."""
        return sum(self.nodes[number].kind in ("and", "xor") for number in self.needed(outputs))

    def inputs_of(self, outputs: Sequence[Literal]) -> list[int]:
        """Numbers of the inputs that these outputs look at."""
        return [self.nodes[number].a for number in self.needed(outputs) if self.nodes[number].kind == "input"]


def run(
    netlist: Netlist,
    outputs: Sequence[Literal],
    inputs: Mapping[int, Bit],
    gates: Gates[Bit],
    done: Callable[[int], None] | None = None,
) -> list[Bit]:
    """The outputs' values on another set of gates. `done` is told how many gates have been evaluated, after each."""
    order = netlist.needed(outputs)
    last_use = _last_uses(netlist, order, outputs)
    values: dict[int, Bit] = {}

    def value(literal: int) -> Bit:
        bit = values[literal >> 1]
        return gates.not_(bit) if literal & 1 else bit

    evaluated = 0
    for number in order:
        node = netlist.nodes[number]
        if node.kind == "constant":
            values[number] = gates.constant(False)
        elif node.kind == "input":
            values[number] = inputs[node.a]
        else:
            gate = gates.and_ if node.kind == "and" else gates.xor
            values[number] = gate(value(node.a), value(node.b))
            evaluated += 1
            if done is not None:
                done(evaluated)
            for part in {node.a >> 1, node.b >> 1}:
                if last_use.get(part) == number:  # ciphertexts are large: let go of what nobody needs again
                    del values[part]
    return [value(output) for output in outputs]


def _last_uses(netlist: Netlist, order: Sequence[int], outputs: Sequence[Literal]) -> dict[int, int]:
    last: dict[int, int] = {}
    for number in order:
        node = netlist.nodes[number]
        if node.kind in ("and", "xor"):
            last[node.a >> 1] = last[node.b >> 1] = number
    for output in outputs:
        last.pop(output >> 1, None)
    return last
