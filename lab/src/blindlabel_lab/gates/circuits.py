"""Circuits: an abstract set of gates, a netlist that shares equal gates and folds constants, and the engine's own
predicates, a clear needle against an encrypted text of public, padded length.

Pure: knows nothing of encryption, so the same circuits run on clear bits (counting gates, tested exhaustively, under
any Python) and on OpenFHE. Circuits are functions over a `Gates`; `Netlist` implements it by writing gates down,
`EncryptedGates` in `binfhe` on ciphertexts, and the tests on `bool`.

In a netlist a bit is a *signal*: twice the number of a node, plus one where it is negated. Negation is free on every
backend, so there are only two kinds of gate, AND and XOR, and OR is an AND of negations. Node 0 is the constant false.

A character is eight bits: seven of ASCII, and one that is set exactly for padding (whose other bits are zero), so that
where a text ends costs no gate. A clear needle needs no XNOR: a bit is taken as it is or negated, which is free.
Ignoring case is free too: a letter is asked without the bit that tells its two forms apart.

Not here: what the record's owner computes before encrypting (phonetic codes, the first number), see `record_circuits`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NewType, Protocol, TypeVar

from blindlabel.language import words
from blindlabel.language.families import is_blank
from blindlabel.language.record import Case

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


Signal = NewType("Signal", int)

FALSE = Signal(0)
TRUE = Signal(1)


def negated(signal: Signal) -> Signal:
    """The same bit, turned round."""
    return Signal(signal ^ 1)


@dataclass(frozen=True)
class NetlistNode:
    """An input (by its number) or a gate with two different, non-constant signals."""

    kind: str
    a: int
    b: int


class Netlist:
    """A growing list of gates in which equal gates are one and constants have disappeared. It implements
    `Gates[Signal]`.
    """

    def __init__(self) -> None:
        self.nodes: list[NetlistNode] = [NetlistNode("constant", 0, 0)]
        self._known: dict[NetlistNode, int] = {}

    def input(self, number: int) -> Signal:
        """The bit that the input of this number brings."""
        return self._signal(NetlistNode("input", number, 0))

    def constant(self, value: bool) -> Signal:
        return TRUE if value else FALSE

    def not_(self, a: Signal) -> Signal:
        return negated(a)

    def and_(self, a: Signal, b: Signal) -> Signal:
        if a > b:
            a, b = b, a
        if a == FALSE or a == negated(b):
            return FALSE
        if a in (TRUE, b):
            return b
        return self._signal(NetlistNode("and", a, b))

    def or_(self, a: Signal, b: Signal) -> Signal:
        return negated(self.and_(negated(a), negated(b)))

    def xor(self, a: Signal, b: Signal) -> Signal:
        turned = (a ^ b) & 1  # negations move to the output, so that equal gates look equal
        first, second = sorted((a & ~1, b & ~1))
        if first == second:
            return Signal(turned)
        if first == FALSE:
            return Signal(second ^ turned)
        return Signal(self._signal(NetlistNode("xor", first, second)) ^ turned)

    def xnor(self, a: Signal, b: Signal) -> Signal:
        return negated(self.xor(a, b))

    def _signal(self, node: NetlistNode) -> Signal:
        number = self._known.get(node)
        if number is None:
            number = len(self.nodes)
            self.nodes.append(node)
            self._known[node] = number
        return Signal(2 * number)

    def needed(self, outputs: Sequence[Signal]) -> list[int]:
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

    def gate_count(self, outputs: Sequence[Signal]) -> int:
        """Two-input gates that these outputs need together."""
        return sum(self.nodes[number].kind in ("and", "xor") for number in self.needed(outputs))

    def inputs_of(self, outputs: Sequence[Signal]) -> list[int]:
        """Numbers of the inputs that these outputs look at."""
        return [self.nodes[number].a for number in self.needed(outputs) if self.nodes[number].kind == "input"]


def run(
    netlist: Netlist,
    outputs: Sequence[Signal],
    inputs: Mapping[int, Bit],
    gates: Gates[Bit],
    done: Callable[[int], None] | None = None,
) -> list[Bit]:
    """The outputs' values on another set of gates. `done` is told how many gates have been evaluated, after each."""
    order = netlist.needed(outputs)
    last_use = _last_uses(netlist, order, outputs)
    values: dict[int, Bit] = {}

    def value(signal: int) -> Bit:
        bit = values[signal >> 1]
        return gates.not_(bit) if signal & 1 else bit

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


def _last_uses(netlist: Netlist, order: Sequence[int], outputs: Sequence[Signal]) -> dict[int, int]:
    last: dict[int, int] = {}
    for number in order:
        node = netlist.nodes[number]
        if node.kind in ("and", "xor"):
            last[node.a >> 1] = last[node.b >> 1] = number
    for output in outputs:
        last.pop(output >> 1, None)
    return last


# -- texts

PADDING_BIT = 7
ASCII = tuple(map(chr, range(128)))

_SEEN_AS: dict[Case, Callable[[str], str]] = {"exact": lambda text: text, "lower": words.lower, "upper": words.upper}


@lru_cache(maxsize=1024)
def codes_seen_as(character: str, seen: Case) -> frozenset[int]:
    """The ASCII characters that look like this one in the given case: none, one, or a letter's two forms."""
    return frozenset(code for code, other in enumerate(ASCII) if _SEEN_AS[seen](other) == character)


WORD_CODES = frozenset(code for code, character in enumerate(ASCII) if words.is_word_character(character))
BLANK_CODES = frozenset(code for code, character in enumerate(ASCII) if is_blank(character))


@dataclass
class TextCircuits:
    """The predicates of one encrypted text: `bits[position][place]`, place 0 the least significant, place 7 padding."""

    netlist: Netlist
    bits: Sequence[Sequence[Signal]]
    _known: dict[tuple[int, frozenset[int]], Signal] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """The public length."""
        return len(self.bits)

    # -- characters

    def has_one_of(self, position: int, codes: frozenset[int]) -> Signal:
        """Whether the character at a position is one of these. False behind the end of the text, and at padding."""
        if not 0 <= position < self.length or not codes:
            return FALSE
        key = (position, codes)
        if key not in self._known:
            cube = _cube(codes)
            self._known[key] = self._decided(position, 6, codes) if cube is None else self._agrees(position, *cube)
            if 0 in codes:
                self._known[key] = self.netlist.and_(self._known[key], negated(self.bits[position][PADDING_BIT]))
        return self._known[key]

    def _agrees(self, position: int, fixed: int, value: int) -> Signal:
        """Whether the fixed bits are those of the value. Low and high bits apart, so that characters share their
        halves.
        """
        halves = []
        for places in (range(4), range(4, 7)):
            signals = [self._wanted(position, place, value) for place in places if fixed >> place & 1]
            halves.append(all_of(self.netlist, signals))
        return self.netlist.and_(*halves)

    def _wanted(self, position: int, place: int, value: int) -> Signal:
        bit = self.bits[position][place]
        return bit if value >> place & 1 else negated(bit)

    def _decided(self, position: int, place: int, codes: frozenset[int]) -> Signal:
        """A set of characters by deciding bit after bit from the highest; the netlist folds what is equal or
        constant.
        """
        if place < 0 or not codes:
            return self.netlist.constant(bool(codes))
        highs = frozenset(code & ~(1 << place) for code in codes if code >> place & 1)
        lows = frozenset(code for code in codes if not code >> place & 1)
        high, low = self._decided(position, place - 1, highs), self._decided(position, place - 1, lows)
        bit = self.bits[position][place]
        if high == low:
            return high
        if high == negated(low):
            return self.netlist.xor(bit, low)
        if lows <= highs:  # one branch holds the other: a gate less
            return self.netlist.or_(low, self.netlist.and_(bit, high))
        if highs <= lows:
            return self.netlist.or_(high, self.netlist.and_(negated(bit), low))
        return self.netlist.or_(self.netlist.and_(bit, high), self.netlist.and_(negated(bit), low))

    def ended_at(self, position: int) -> Signal:
        """Whether the text has at most this many characters."""
        return self.netlist.constant(True) if position >= self.length else self.bits[position][PADDING_BIT]

    def _is_word_character(self, position: int) -> Signal:
        return self.has_one_of(position, WORD_CODES)

    # -- needles

    def occurs_at(self, position: int, needle: str, seen: Case) -> Signal:
        """Whether the needle stands at this position."""
        if position + len(needle) > self.length:
            return FALSE
        return all_of(
            self.netlist,
            [self.has_one_of(position + i, codes_seen_as(character, seen)) for i, character in enumerate(needle)],
        )

    def is_in(self, needle: str, seen: Case) -> Signal:
        """The needle at any position. A position behind the text's end is padding, which no character equals."""
        return self._at_any(needle, lambda position: self.occurs_at(position, needle, seen))

    def starts_with(self, needle: str, seen: Case) -> Signal:
        return self.occurs_at(0, needle, seen)

    def ends_with(self, needle: str, seen: Case) -> Signal:
        def here(position: int) -> Signal:
            return self.netlist.and_(self.occurs_at(position, needle, seen), self.ended_at(position + len(needle)))

        return self._at_any(needle, here)

    def equals(self, value: str, seen: Case) -> Signal:
        return self.netlist.and_(self.occurs_at(0, value, seen), self.ended_at(len(value)))

    def has_word(self, word: str, seen: Case) -> Signal:
        """The needle where no word character stands before or behind it."""

        def here(position: int) -> Signal:
            before, behind = self._is_word_character(position - 1), self._is_word_character(position + len(word))
            return all_of(self.netlist, [self.occurs_at(position, word, seen), negated(before), negated(behind)])

        return self._at_any(word, here)

    def is_empty(self) -> Signal:
        """Only blanks, bars and padding."""
        places = enumerate(self.bits)
        blank = [self.netlist.or_(self.has_one_of(at, BLANK_CODES), bits[PADDING_BIT]) for at, bits in places]
        return all_of(self.netlist, blank)

    def _at_any(self, needle: str, here: Callable[[int], Signal]) -> Signal:
        """Whether this is so at a position where the needle fits."""
        return any_of(self.netlist, [here(position) for position in range(self.length - len(needle) + 1)])

    # -- edit distance

    def similar(self, word: str, distance: int, seen: Case) -> Signal:
        """Some word of the text within this edit distance: an automaton whose states are (letters of the word done,
        errors made).
        """
        if len(word) > words.SIMILAR_WORD_LENGTH:
            return self.has_word(word, seen)
        netlist = self.netlist
        states = [[FALSE] * (len(word) + 1) for _ in range(distance + 1)]
        found = []
        for position in range(self.length):
            begins = negated(self._is_word_character(position - 1))
            before = [
                [netlist.or_(state, begins) if done <= errors else state for done, state in enumerate(row)]
                for errors, row in enumerate(states)
            ]
            states = self._next_states(before, position, word, seen)
            ends = negated(self._is_word_character(position + 1))
            accepted = netlist.and_(any_of(netlist, [row[-1] for row in states]), ends)
            found.append(netlist.and_(accepted, negated(self._overlong_word_to(position, len(word) + distance))))
        return any_of(netlist, found)

    def _next_states(self, before: list[list[Signal]], position: int, word: str, seen: Case) -> list[list[Signal]]:
        netlist = self.netlist
        inside = self._is_word_character(position)
        states: list[list[Signal]] = []
        for errors, row in enumerate(before):
            states.append([])
            for done in range(len(row)):
                ways = []
                if done:
                    ways.append(
                        netlist.and_(row[done - 1], self.has_one_of(position, codes_seen_as(word[done - 1], seen)))
                    )
                if errors:  # a character too much, a wrong one, or (without moving on in the text) one left out
                    wrong = [before[errors - 1][done]] + ([before[errors - 1][done - 1]] if done else [])
                    ways.append(netlist.and_(inside, any_of(netlist, wrong)))
                    if done:
                        ways.append(states[errors - 1][done - 1])
                states[errors].append(any_of(netlist, ways))
        return states

    def _overlong_word_to(self, position: int, longest: int) -> Signal:
        """Whether a word of more than the longest comparable length ends here; only asked where such a word could be
        accepted.
        """
        limit = words.SIMILAR_WORD_LENGTH
        if longest <= limit or position < limit:
            return FALSE
        return all_of(self.netlist, [self._is_word_character(position - i) for i in range(limit + 1)])


@lru_cache(maxsize=1024)
def _cube(codes: frozenset[int]) -> tuple[int, int] | None:
    """(fixed places, value) where the set is one character, or a letter in both forms; else None."""
    first = min(codes)
    if len(codes) == 1:
        return 0x7F, first
    if codes == {first, first | 0x20} and not first & 0x20:
        return 0x7F ^ 0x20, first
    return None


# -- numbers


def at_least(netlist: Netlist, number: Sequence[Signal], bound: int) -> Signal:
    """Whether an unsigned number (least significant bit first) is at least a clear bound: at most one gate a bit."""
    if bound <= 0:
        return netlist.constant(True)
    if bound >> len(number):
        return FALSE
    result = netlist.constant(True)
    for place, bit in enumerate(number):
        result = netlist.and_(bit, result) if bound >> place & 1 else netlist.or_(bit, result)
    return result


def total(netlist: Netlist, weights: Sequence[int], bits: Sequence[Signal]) -> list[Signal]:
    """The sum of the weights of the true bits, least significant bit first, by full adders on columns of equal
    value.
    """
    columns: list[list[Signal]] = [[] for _ in range(sum(weights).bit_length())]
    for weight, bit in zip(weights, bits):
        for place in range(weight.bit_length()):
            if weight >> place & 1:
                columns[place].append(bit)
    for place, column in enumerate(columns):
        while len(column) > 1:
            first, second = column.pop(0), column.pop(0)
            third = column.pop(0) if column else FALSE
            half = netlist.xor(first, second)
            column.append(netlist.xor(half, third))
            carry = netlist.or_(netlist.and_(first, second), netlist.and_(half, third))
            if place + 1 < len(columns):
                columns[place + 1].append(carry)
    return [column[0] if column else FALSE for column in columns]


def within(netlist: Netlist, number: Sequence[Signal], low: int, high: int) -> Signal:
    """Whether low <= number <= high."""
    return netlist.and_(at_least(netlist, number, low), negated(at_least(netlist, number, high + 1)))
