"""From a netlist of two-input gates to one of gates with up to three inputs, which need fewer bootstrappings for the
same answers.

Pure, as `circuit` is. A gate here is a *threshold*: true where at least so many of its two or three inputs are. That is
AND, OR and, of three inputs, majority, and nothing else: on ciphertexts each is one bootstrapping of the inputs' sum,
all with the same margin (`blindlabel.engines.gates.library`). Negation is free, so what is mapped is a graph of wide
ANDs and of majorities between literals:

1. XOR has no gate of its own: one of two inputs makes three gates. A full adder is recognised: three majorities instead
   of five gates.
2. ANDs are taken apart and put together again of what they have in common (`sharing`), first the characters'
   comparisons, then all others.
3. ANDs are merged into the ANDs that use them wherever that costs no gate: always where there is one user, and a shared
   AND where its users have room. An AND of k literals takes k // 2 gates, so every even one has room for one literal
   more.
4. Each AND is cut into gates, equal gates being one. Where most inputs are negated it becomes an OR whose own output is
   negated, since negating a ciphertext, though free of bootstrapping, is not free of work.

Not here: which questions become which netlist (`compiling`), and what two-input gates cost (`circuit`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from blindlabel.engines.gates.circuit import FALSE, TRUE, Bit, Literal, Netlist, negated
from blindlabel.engines.gates.sharing import shared

WIDEST = 3
"""Inputs that a gate may have."""

INPUT, AND, MAJORITY = "input", "and", "majority"


class Thresholds(Protocol[Bit]):
    """What a mapped netlist needs. `at_least` costs one bootstrapping; `not_` and `constant` cost none."""

    def constant(self, value: bool) -> Bit: ...
    def not_(self, a: Bit) -> Bit: ...
    def at_least(self, count: int, bits: Sequence[Bit]) -> Bit: ...


class ClearThresholds:
    """Gates of up to three inputs on clear bits, counted by how many inputs must be true and how many there are."""

    def __init__(self) -> None:
        self.counts: dict[tuple[int, int], int] = {}

    @property
    def count(self) -> int:
        """Gates evaluated so far."""
        return sum(self.counts.values())

    def constant(self, value: bool) -> bool:
        return value

    def not_(self, a: bool) -> bool:
        return not a

    def at_least(self, count: int, bits: Sequence[bool]) -> bool:
        kind = (count, len(bits))
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return sum(bits) >= count


@dataclass(frozen=True)
class Gate:
    """True where at least so many of its two or three inputs are; the inputs are literals of different nodes."""

    at_least: int
    inputs: tuple[Literal, ...]


@dataclass(frozen=True)
class Mapped:
    """A netlist of such gates. Node 0 is the constant false, then come the inputs, then the gates, each behind what it
    needs.
    """

    inputs: tuple[int, ...]
    """The numbers of the inputs that the outputs look at."""
    gates: tuple[Gate, ...]
    outputs: tuple[Literal, ...]

    def run(
        self, inputs: Mapping[int, Bit], gates: Thresholds[Bit], done: Callable[[int], None] | None = None
    ) -> list[Bit]:
        """The outputs' values. `done` is told how many gates have been evaluated, after each."""
        values: dict[int, Bit] = {0: gates.constant(False)}
        values.update((1 + place, inputs[number]) for place, number in enumerate(self.inputs))
        first = len(values)
        last_use = {part >> 1: first + place for place, gate in enumerate(self.gates) for part in gate.inputs}
        for output in self.outputs:
            last_use.pop(output >> 1, None)

        def value(literal: Literal) -> Bit:
            bit = values[literal >> 1]
            return gates.not_(bit) if literal & 1 else bit

        for place, gate in enumerate(self.gates):
            values[first + place] = gates.at_least(gate.at_least, [value(part) for part in gate.inputs])
            if done is not None:
                done(place + 1)
            for part in gate.inputs:
                if last_use.get(part >> 1) == first + place:  # ciphertexts are large: let go of what nobody needs again
                    del values[part >> 1]
        return [value(output) for output in self.outputs]


def mapped(netlist: Netlist, outputs: Sequence[Literal]) -> Mapped:
    """The same outputs by gates of up to three inputs: never more of them, but for XOR."""
    result = _mapped(netlist, outputs, sharing=True)
    if len(result.gates) <= netlist.gate_count(outputs):
        return result
    # Sharing forgets what the netlist shared, and is greedy, so it may lose; the other steps cannot.
    return min(result, _mapped(netlist, outputs, sharing=False), key=lambda one: len(one.gates))


def _mapped(netlist: Netlist, outputs: Sequence[Literal], sharing: bool) -> Mapped:
    graph = _Graph()
    ends = _widened(netlist, outputs, graph)
    if sharing:
        characters = _share(graph, ends, lambda part: graph.nodes[part >> 1].kind == INPUT)
        _share(
            graph, ends, lambda part: bool(part & 1) or part >> 1 in characters or graph.nodes[part >> 1].kind != AND
        )
    _merge(graph, ends)
    return _Cutting(graph).cut(ends)


def _gates_for(literals: int) -> int:
    """Gates that an AND of so many literals takes."""
    return literals // 2


# -- one: wide ANDs and majorities


@dataclass(frozen=True)
class _Wide:
    """An input (by its number), or an AND or a majority of literals."""

    kind: str
    parts: tuple[int, ...]


class _Graph:
    """Wide nodes; those which the netlist has are one where they are equal."""

    def __init__(self) -> None:
        self.nodes: list[_Wide] = [_Wide("constant", ())]
        self._known: dict[_Wide, int] = {}
        self._apart: dict[tuple[int, ...], Literal] = {}

    def input(self, number: int) -> Literal:
        return self._literal(_Wide(INPUT, (number,)))

    def and_(self, *literals: Literal) -> Literal:
        return self._literal(_Wide(AND, tuple(sorted(literals))))

    def apart(self, few: tuple[int, ...]) -> Literal:
        """An AND that stands apart from those which the netlist has: they may be about to be made of it."""
        if few not in self._apart:
            self.nodes.append(_Wide(AND, few))
            self._apart[few] = Literal(2 * (len(self.nodes) - 1))
        return self._apart[few]

    def majority(self, *literals: Literal) -> Literal:
        """Turning all three inputs turns the output; so at most one is written down as negated."""
        turned = sum(literal & 1 for literal in literals) > 1
        parts = tuple(sorted(literal ^ turned for literal in literals))
        return Literal(self._literal(_Wide(MAJORITY, parts)) ^ turned)

    def xor(self, a: Literal, b: Literal) -> Literal:
        return self.and_(negated(self.and_(a, b)), negated(self.and_(negated(a), negated(b))))

    def xor3(self, a: Literal, b: Literal, c: Literal) -> Literal:
        """A full adder's sum; the first majority is its carry."""
        return self.majority(negated(self.majority(a, b, c)), c, self.majority(a, b, negated(c)))

    def _literal(self, node: _Wide) -> Literal:
        number = self._known.get(node)
        if number is None:
            number = len(self.nodes)
            self.nodes.append(node)
            self._known[node] = number
        return Literal(2 * number)

    def needed(self, outputs: Sequence[Literal]) -> list[int]:
        """The nodes that these outputs rest on, each behind what it needs."""
        order: list[int] = []
        begun: set[int] = {0}
        waiting = [output >> 1 for output in outputs]
        while waiting:
            number = waiting.pop()
            if number < 0:  # all that it needs has been put down
                order.append(-number)
            elif number not in begun:
                begun.add(number)
                waiting.append(-number)
                if self.nodes[number].kind != INPUT:
                    waiting += (part >> 1 for part in self.nodes[number].parts)
        return order


def _widened(netlist: Netlist, outputs: Sequence[Literal], graph: _Graph) -> list[Literal]:
    """The outputs in the graph of wide nodes, with full adders recognised."""
    needed = netlist.needed(outputs)
    carries = {number: carry for number in needed if (carry := _carry(netlist, number)) is not None}
    signs = {_nodes_of(carry): carry for carry in carries.values()}
    gates = [netlist.nodes[number] for number in needed if netlist.nodes[number].kind in ("and", "xor")]
    uses = Counter([*(part >> 1 for gate in gates for part in (gate.a, gate.b)), *(output >> 1 for output in outputs)])
    at: dict[int, Literal] = {0: FALSE}

    def literal(of: int) -> Literal:
        return Literal(at[of >> 1] ^ (of & 1))

    for number in needed:
        node = netlist.nodes[number]
        if node.kind == "input":
            at[number] = graph.input(node.a)
        elif number in carries:
            at[number] = negated(graph.majority(*map(literal, carries[number])))
        elif node.kind == "and":
            at[number] = graph.and_(literal(node.a), literal(node.b))
        elif node.kind == "xor":
            three = _summands(netlist, number, signs, uses)
            if three is None:
                at[number] = graph.xor(literal(node.a), literal(node.b))
            else:  # an odd number of negations turns the sum
                at[number] = Literal(graph.xor3(*map(literal, three)) ^ (sum(three) & 1))
    return [literal(output) for output in outputs]


def _nodes_of(literals: tuple[int, int, int]) -> frozenset[int]:
    return frozenset(literal >> 1 for literal in literals)


def _summands(
    netlist: Netlist, number: int, signs: Mapping[frozenset[int], tuple[int, int, int]], uses: Mapping[int, int]
) -> tuple[int, int, int] | None:
    """The three literals whose XOR a node is: a full adder's, with the signs of its carry, or else of an XOR that
    nothing else uses.
    """
    node = netlist.nodes[number]
    found = None
    for inner, other in ((node.a, node.b), (node.b, node.a)):
        half = netlist.nodes[inner >> 1]
        if half.kind == "xor":
            three = (half.a, half.b, other)
            if _nodes_of(three) in signs:
                return signs[_nodes_of(three)]
            if uses[inner >> 1] == 1:
                found = three
    return found


def _carry(netlist: Netlist, number: int) -> tuple[int, int, int] | None:
    """The literals a, b, c where a node is the negation of (a AND b) OR ((a XOR b) AND c), which is their majority."""
    node = netlist.nodes[number]
    if node.kind != "and" or not node.a & node.b & 1:
        return None
    for one, other in ((node.a, node.b), (node.b, node.a)):
        both, either = netlist.nodes[one >> 1], netlist.nodes[other >> 1]
        if both.kind == either.kind == "and":
            for half, third in ((either.a, either.b), (either.b, either.a)):
                difference = netlist.nodes[half >> 1]
                sides = sorted((both.a & ~1, both.b & ~1))
                if (
                    difference.kind == "xor"
                    and [difference.a, difference.b] == sides
                    and (both.a ^ both.b ^ half) & 1 == 0
                ):
                    return both.a, both.b, third
    return None


# -- two: sharing

LARGEST_SHARED = 8
"""Literals of an AND that is compared with others; a larger one is compared by the ANDs it is made of."""


def _share(graph: _Graph, outputs: Sequence[Literal], is_leaf: Callable[[int], bool]) -> set[int]:
    """Make the ANDs of leaves of what they have in common, forgetting how they were built before. Returns these
    ANDs.
    """
    leaves: dict[int, frozenset[int]] = {}  # by the literal of an AND, those it comes to; a negated AND comes to none
    ends = {output >> 1 for output in outputs}
    for number in graph.needed(outputs):
        node = graph.nodes[number]
        if node.kind == AND:
            known = [frozenset({part}) if is_leaf(part) else leaves.get(part, frozenset()) for part in node.parts]
            whole = frozenset().union(*known)
            if all(known) and len(whole) <= LARGEST_SHARED:
                leaves[2 * number] = whole
                ends.update(part >> 1 for part in whole)
                continue
        if node.kind != INPUT:
            ends.update(part >> 1 for part in node.parts)
    wanted = {number: leaves[2 * number] for number in sorted(ends) if 2 * number in leaves}
    for number, parts in shared(wanted, graph.apart).items():
        graph.nodes[number] = _Wide(AND, tuple(sorted(parts)))
    return set(wanted)


# -- three: merging


def _merge(graph: _Graph, outputs: Sequence[Literal]) -> None:
    """Dissolve ANDs into their users wherever that costs no gate."""
    parts: dict[int, set[int]] = {}
    users: dict[int, set[int]] = {}
    fixed = {
        output >> 1 for output in outputs
    }  # what must stay a node: outputs, and what is used negated or by a majority
    order = graph.needed(outputs)
    for number in order:
        node = graph.nodes[number]
        if node.kind == AND:
            parts[number] = set(node.parts)
        if node.kind != INPUT:
            for part in node.parts:
                if node.kind == MAJORITY or part & 1:
                    fixed.add(part >> 1)
                else:
                    users.setdefault(part >> 1, set()).add(number)

    def dissolved(number: int) -> bool:
        into = users.get(number, set())
        if number in fixed or not into:
            return False
        mine = parts[number]
        grown = {user: (parts[user] - {2 * number}) | mine for user in into}
        more = sum(_gates_for(len(new)) - _gates_for(len(parts[user])) for user, new in grown.items())
        if more > _gates_for(len(mine)) - (len(into) > 1):
            return False
        parts.update(grown)
        del parts[number]
        for part in mine:
            if not part & 1:
                users[part >> 1] = (users[part >> 1] - {number}) | into
        return True

    while sum(dissolved(number) for number in order if number in parts):  # what one gives room to, another may use
        pass
    for number, literals in parts.items():
        graph.nodes[number] = _Wide(AND, tuple(sorted(literals)))


# -- four: cutting into gates


class _Cutting:
    """The gates under construction."""

    def __init__(self, graph: _Graph) -> None:
        self._graph = graph
        self._inputs: list[int] = []
        self._gates: list[Gate] = []
        self._known: dict[Gate, Literal] = {}
        self._at: dict[int, Literal] = {0: FALSE}
        """What has been cut, as literals of the result."""

    def cut(self, outputs: Sequence[Literal]) -> Mapped:
        needed = self._graph.needed(outputs)
        inputs = {
            self._graph.nodes[number].parts[0]: number for number in needed if self._graph.nodes[number].kind == INPUT
        }
        self._inputs = sorted(inputs)
        self._at |= {inputs[of]: Literal(2 + 2 * place) for place, of in enumerate(self._inputs)}
        for number in needed:
            node = self._graph.nodes[number]
            if node.kind == AND:
                self._at[number] = self._and(map(self._literal, node.parts))
            elif node.kind == MAJORITY:
                self._at[number] = self._majority(*map(self._literal, node.parts))
        return Mapped(tuple(self._inputs), tuple(self._gates), tuple(map(self._literal, outputs)))

    def _literal(self, of: int) -> Literal:
        return Literal(self._at[of >> 1] ^ (of & 1))

    def _and(self, parts: Iterable[Literal]) -> Literal:
        kept = set(parts) - {TRUE}
        if any(negated(literal) in kept for literal in kept | {TRUE}):  # false, or a bit and its negation
            return FALSE
        literals = sorted(kept)
        while len(literals) > WIDEST:
            literals = [*literals[WIDEST:], self._gate(WIDEST, literals[:WIDEST])]
        return self._gate(len(literals), literals) if len(literals) > 1 else (literals or [TRUE])[0]

    def _majority(self, *parts: Literal) -> Literal:
        a, b, c = sorted(parts)  # constants first, and what equals or turns another beside it
        if a in (FALSE, TRUE):
            return Literal(self._and((Literal(b ^ a), Literal(c ^ a))) ^ a)
        if a >> 1 == b >> 1:
            return a if a == b else c
        if b >> 1 == c >> 1:
            return b if b == c else a
        return self._gate(2, (a, b, c))

    def _gate(self, at_least: int, inputs: Sequence[Literal]) -> Literal:
        turned = 2 * sum(literal & 1 for literal in inputs) > len(inputs)
        if turned:  # at least k of the n negations are true: not as many as n - k + 1 of the bits themselves
            at_least, inputs = len(inputs) - at_least + 1, [negated(literal) for literal in inputs]
        gate = Gate(at_least, tuple(sorted(inputs)))
        if gate not in self._known:
            self._gates.append(gate)
            self._known[gate] = Literal(2 * (len(self._inputs) + len(self._gates)))
        return Literal(self._known[gate] ^ turned)
