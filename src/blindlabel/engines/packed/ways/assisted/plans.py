"""Compiling for agreements with the assist: a formula becomes probes and a few gates.

A gate looks at one weighted sum of bits (answers to probes, results of earlier gates) and says for every possible sum
whether it accepts. Conjunctions, disjunctions and counts are such gates, negations cost nothing (a weight changes its
sign), and sums in mixed radix put whole subformulas side by side into one sum: any function of six bits, for instance,
is one gate with the weights 1, 2, 4, …, 32. A subformula becomes a gate of its own only where the sum would grow past
the agreement's limit.

All questions of an agreement are given the same room, so nothing about a question shows in how it is evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from blindlabel.engines.interface import QuestionError, Terms
from blindlabel.engines.packed.encoding.tables import Tables
from blindlabel.engines.packed.planning import parameters
from blindlabel.engines.packed.planning.probing import Probe, probes_of
from blindlabel.language.formula import Atom, Count, Formula, fold

_LOOKUP_INPUTS = 8
"""Inputs up to which a truth table is considered."""


@dataclass(frozen=True)
class Gate:
    """Accepts or not by `constant` + the sum of weights of the inputs that hold; that sum is never below 0 nor beyond
    the table.
    """

    weights: tuple[tuple[int, int], ...]
    """(input, weight): inputs below the agreement's probes are probes, further ones inner gates."""
    constant: int
    accepts: tuple[bool, ...]

    @property
    def total(self) -> int:
        """The largest sum."""
        return len(self.accepts) - 1


@dataclass(frozen=True)
class Plan:
    """A compiled question: probes, inner gates level by level, and the last gate."""

    probes: tuple[Probe, ...]
    levels: tuple[tuple[Gate, ...], ...]
    final: Gate


@dataclass(frozen=True)
class Room:
    """What every question of an agreement is given."""

    probes: int
    inner_gates: int
    inner_levels: int
    inner_weight: int
    final_weight: int

    @classmethod
    def of(cls, terms: Terms) -> Room:
        """The room that the terms give: more of it by default where one predicate may ask for many set elements."""
        widest, total = parameters.widest(terms), terms.limits.total_weight
        return cls(
            terms.probes or (16 if widest == 1 else 16 + 2 * widest),
            terms.inner_gates,
            terms.inner_levels if terms.inner_gates else 0,
            terms.inner_weight or max(31, widest),
            total if terms.inner_weight else max(total, widest),
        )

    @property
    def sources(self) -> int:
        """What a gate can look at: probes and inner gates."""
        return self.probes + self.inner_gates * self.inner_levels


class _Rule(Enum):
    """How parts of a node may be added up into one digit."""

    ANY = "one must hold"
    ALL = "all must hold"
    COUNT = "their weights count"

    def joins(self, part: Gate) -> int:
        """1 where the part's own sum can be added, -1 where what it lacks of its total can, 0 where neither."""
        for sign, accepts in ((1, part.accepts), (-1, part.accepts[::-1])):
            if self is _Rule.ANY and not accepts[0] and all(accepts[1:]):
                return sign
            if self is _Rule.ALL and accepts[-1] and not any(accepts[:-1]):
                return sign
            if self is _Rule.COUNT and accepts == (False, True):
                return sign
        return 0

    def held(self, digit: int, total: int, joined: int) -> int:
        """The weight that the joined parts bring when their digit is this: exact for counts, enough to decide for the
        others.
        """
        if self is _Rule.COUNT:
            return digit
        if self is _Rule.ANY:
            return min(digit, 1)
        return joined if digit == total else 0


class _TooLarge(Exception):
    """The sum does not fit; the message says which limit."""


def compile_question(terms: Terms, tables: Tables, formula: Formula) -> Plan:
    """The plan of a question, or `QuestionError` where it does not fit the agreement's room."""
    room = Room.of(terms)
    problem = ""
    for inside in dict.fromkeys((room.final_weight, room.inner_weight)):
        try:
            return _Covering(terms, tables, room, inside).plan(formula)
        except _TooLarge as failed:
            problem = problem or str(failed)
    raise QuestionError(problem)


class _Covering:
    """One attempt: sums of subformulas are held to `inside`."""

    def __init__(self, terms: Terms, tables: Tables, room: Room, inside: int) -> None:
        self.terms, self.tables, self.room, self.inside = terms, tables, room, inside
        self.probes: dict[Probe, int] = {}
        self.gates: list[Gate] = []
        self.level: dict[int, int] = {}

    def plan(self, formula: Formula) -> Plan:
        final = fold(formula, _Gates(self, self.inside), last=_Gates(self, self.room.final_weight))
        levels: list[list[Gate]] = [[] for _ in range(self.room.inner_levels)]
        places: dict[int, int] = {}
        needed = self._needed(final)
        for index, gate in enumerate(self.gates):
            if index not in needed:
                continue
            level = self.level[index]
            if level > self.room.inner_levels or len(levels[level - 1]) >= self.room.inner_gates:
                raise _TooLarge(self._too_many())
            places[index] = self.room.probes + (level - 1) * self.room.inner_gates + len(levels[level - 1])
            levels[level - 1].append(gate)
        placed = tuple(tuple(self._placed(gate, places) for gate in level) for level in levels)
        return Plan(tuple(self.probes), placed, self._placed(final, places))

    def _too_many(self) -> str:
        return (
            "This question needs more parts worked out on their own than the agreement has room for"
            f" ({self.room.inner_gates} parts on {self.room.inner_levels} levels). Write it with fewer nested counts"
            " and alternatives, or agree on more inner_gates or inner_levels."
        )

    def _needed(self, final: Gate) -> set[int]:
        needed: set[int] = set()
        waiting = [final]
        while waiting:
            for source, _ in waiting.pop().weights:
                if source < 0 and -source - 1 not in needed:
                    needed.add(-source - 1)
                    waiting.append(self.gates[-source - 1])
        return needed

    @staticmethod
    def _placed(gate: Gate, places: dict[int, int]) -> Gate:
        return replace(gate, weights=tuple((places[-s - 1] if s < 0 else s, w) for s, w in gate.weights))

    # -- one node

    def atom(self, atom: Atom, limit: int) -> Gate:
        numbers = []
        for probe in probes_of(self.terms, self.tables, atom):
            if probe not in self.probes and len(self.probes) >= self.room.probes:
                raise QuestionError(
                    f"This question asks about more set elements than the agreement has room for ({self.room.probes}; a"
                    " needle is one, similar and between take several). Ask about less, or agree on more probes."
                )
            numbers.append(self.probes.setdefault(probe, len(self.probes)))
        if len(numbers) > limit:
            raise _TooLarge(
                f"{atom.function} asks about {len(numbers)} set elements at once, and the agreement has room for"
                f" {limit}."
            )
        return Gate(tuple((number, 1) for number in numbers), 0, (False,) + (True,) * len(numbers))

    def combined(self, given: Sequence[Gate], weights: list[int], low: int, high: int, limit: int) -> Gate:
        """The gate that accepts where the weights of the parts that hold sum to low..high."""
        parts = list(given)
        while True:
            best = min(
                (self._mixed(parts, weights, low, high, limit), self._lookup(parts, weights, low, high, limit)),
                key=_size,
            )
            if best is not None:
                return best
            sizes = [part.total if 1 < part.total <= self.room.inner_weight else 0 for part in parts]
            if not any(sizes) or not self.room.inner_levels:
                raise _TooLarge(
                    f"This question needs a sum of weights beyond the agreement's limits ({self.room.final_weight},"
                    f" inside {self.room.inner_weight}). Write it with fewer or smaller weights and fewer alternatives,"
                    " or agree on more."
                )
            largest = sizes.index(max(sizes))
            parts[largest] = self._own(parts[largest])

    def _own(self, part: Gate) -> Gate:
        """The part as an inner gate: from outside one bit."""
        known = next((index for index, gate in enumerate(self.gates) if gate == part), None)
        if known is None:
            known = len(self.gates)
            self.gates.append(part)
            self.level[known] = 1 + max(
                (self.level[-source - 1] for source, _ in part.weights if source < 0), default=0
            )
        return Gate(((-known - 1, 1),), 0, (False, True))

    @staticmethod
    def _mixed(parts: Sequence[Gate], weights: Sequence[int], low: int, high: int, limit: int) -> Gate | None:
        """The parts that can simply be added up as one digit, every other part as a digit of its own, in mixed
        radix.
        """
        rule = _Rule.ANY if low == 1 and high == sum(weights) else _Rule.ALL if low == sum(weights) else _Rule.COUNT
        sums: dict[int, int] = {}
        constant = sure = total = joined = 0
        digits: list[tuple[Gate, int]] = []
        for part, weight in zip(parts, weights):
            if len(set(part.accepts)) == 1:
                sure += weight * part.accepts[0]
                continue
            sign = rule.joins(part)
            if not sign:
                digits.append((part, weight))
                continue
            step = weight if rule is _Rule.COUNT else 1
            constant += step * part.constant if sign > 0 else step * (part.total - part.constant)
            _add(sums, part.weights, sign * step)
            total += step * part.total
            joined += weight
        radix = total + 1
        for part, _ in digits:
            constant += radix * part.constant
            _add(sums, part.weights, radix)
            radix *= part.total + 1
            if radix > limit + 1:
                return None
        if radix > limit + 1:
            return None
        accepts = []
        for value in range(radix):
            rest, digit = divmod(value, total + 1)
            held = sure + rule.held(digit, total, joined)
            for part, weight in digits:
                rest, digit = divmod(rest, part.total + 1)
                held += weight * part.accepts[digit]
            accepts.append(low <= held <= high)
        return Gate(tuple(sums.items()), constant, tuple(accepts))

    @staticmethod
    def _lookup(parts: Sequence[Gate], weights: Sequence[int], low: int, high: int, limit: int) -> Gate | None:
        """The truth table over all inputs, where they are few."""
        inputs = sorted({source for part in parts for source, _ in part.weights})
        if len(inputs) > _LOOKUP_INPUTS or 1 << len(inputs) > limit + 1:
            return None
        accepts = []
        for value in range(1 << len(inputs)):
            bits = {source: value >> place & 1 for place, source in enumerate(inputs)}
            held = sum(weight * _accepted(part, bits) for part, weight in zip(parts, weights))
            accepts.append(low <= held <= high)
        return Gate(tuple((source, 1 << place) for place, source in enumerate(inputs)), 0, tuple(accepts))


@dataclass(frozen=True)
class _Gates:
    """The algebra: a node is the gate of one sum, of at most `limit`."""

    covering: _Covering
    limit: int

    def constant(self, value: bool) -> Gate:
        return Gate((), 0, (value,))

    def atom(self, atom: Atom) -> Gate:
        return self.covering.atom(atom, self.limit)

    def negation(self, part: Gate) -> Gate:
        return replace(part, accepts=tuple(not accepted for accepted in part.accepts))

    def conjunction(self, parts: Sequence[Gate]) -> Gate:
        return self.covering.combined(parts, [1] * len(parts), len(parts), len(parts), self.limit)

    def disjunction(self, parts: Sequence[Gate]) -> Gate:
        return self.covering.combined(parts, [1] * len(parts), 1, len(parts), self.limit)

    def count(self, count: Count, parts: Sequence[Gate]) -> Gate:
        return self.covering.combined(parts, list(count.weights), count.low, count.high, self.limit)


def _add(sums: dict[int, int], weights: tuple[tuple[int, int], ...], factor: int) -> None:
    for source, weight in weights:
        sums[source] = sums.get(source, 0) + factor * weight


def _accepted(part: Gate, bits: dict[int, int]) -> bool:
    return part.accepts[part.constant + sum(weight * bits[source] for source, weight in part.weights)]


def _size(gate: Gate | None) -> float:
    return float("inf") if gate is None else gate.total


def holds(plan: Plan, room: Room, found: Sequence[bool]) -> bool:
    """What the plan answers when the probes answer so: the meaning of a plan, in clear."""
    bits = {number: int(value) for number, value in enumerate(found)}
    for depth, level in enumerate(plan.levels):
        for place, gate in enumerate(level):
            bits[room.probes + depth * room.inner_gates + place] = int(_accepted(gate, bits))
    return _accepted(plan.final, bits)
