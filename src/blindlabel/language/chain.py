"""The chain of a question: points and a bar, but not, unless. This is the form that people judge and engines answer.

    ret 4*is_in("vm400s", $r) + 2*has_word("sanus", $r.name) + has_word("mount", $r.name) >= 5 & !has_word("tv", $r)

Any Boolean function f of its conditions is a chain of monotone parts,

    f = M0 and not (M1 and not (M2 …))        "these points, but not those, unless these"

where M0 is the least monotone function above f, M1 the least above M0 ∧ ¬f, M2 the least above M0 ∧ M1 ∧ f, until
nothing is left. So what a question excludes is decided by the table of its values and not by how it is written:

1. `variables_of` names what the table is about. Predicates that only ever occur in one AND are one variable.
2. `table_of` is the value of the question for every combination of them.
3. `levels_of` makes the chain. M0 is kept as a table; below it, each level is an OR of few ANDs, and what the levels
   above imply is left out of them.
4. `weights_of` writes M0 as points and a bar, if that is possible: as somebody wrote it, or by what is necessary, what
   is enough, and what is worth the same.

`chain_of` puts these together for people. It is exact: the chain has the formula's value on every record. Where it is
None, the question has too many conditions for a table, or needs more than one "unless". An engine runs the same steps
on what it asks of encrypted records.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from blindlabel.language.formatter import attribute_access, number, quote
from blindlabel.language.formula import Atom, Conjunction, Count, Formula, atoms_of, column, holds, in_order, parts_of
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import Record

MOST_VARIABLES = 16
"""Of a table."""
MOST_ALTERNATIVES = 64
"""ANDs of a level, at most; no engine accepts nearly as many."""
_MOST_WORK = 1 << 26
"""Values that are worked out for one table, over all nodes of its formula."""
_WIDEST_LINE = 100

_Leaf = TypeVar("_Leaf")
V = TypeVar("V", bound=Hashable)
"""What a table is about: predicates for people, what is asked of encrypted records for an engine."""

TruthTable = npt.NDArray[np.bool_]
"""A value for every combination of variables: variable i is bit i of the index."""

Sums = Sequence[tuple[Mapping[Formula, Fraction], Fraction]]
"""Weighted sums as they were written, each with its bar."""


class TooManyConditions(Exception):
    """There are too many conditions for a table: this many."""


class TooManyLevels(Exception):
    """What is excluded, and excepted from that, is excluded again: this many levels."""


# -- the form that people see

Term = tuple[Atom, ...]
"""Predicates that must all hold."""


@dataclass(frozen=True)
class Condition:
    """One line of a question: if any of these terms holds, it is worth its points."""

    any_of: tuple[Term, ...]
    points: int = 1

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """All predicates of it."""
        return tuple(atom for term in self.any_of for atom in term)


@dataclass(frozen=True)
class Chain:
    """Yes if the conditions that hold are worth at least the bar, and no exclusion holds or an exception does.

    Without conditions, bar 0 is "always" (but for the exclusions) and bar 1 is "never".
    """

    conditions: tuple[Condition, ...]
    bar: int
    exclusions: tuple[Term, ...] = ()
    unless: tuple[Term, ...] = ()

    @property
    def total(self) -> int:
        """All points together."""
        return sum(condition.points for condition in self.conditions)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """All predicates, those of the conditions first."""
        below = (atom for term in (*self.exclusions, *self.unless) for atom in term)
        return (*(atom for condition in self.conditions for atom in condition.atoms), *below)

    def fits(self, record: Record) -> bool:
        """The answer on a clear record."""
        held = sum(condition.points for condition in self.conditions if _any(condition.any_of, record))
        return held >= self.bar and (_any(self.unless, record) or not _any(self.exclusions, record))


def _any(terms: Iterable[Term], record: Record) -> bool:
    return any(all(holds(atom, record) for atom in term) for term in terms)


def chain_of(formula: Formula, written: Sums = ()) -> Chain | None:
    """The formula as a chain that says the same of every record, with the points of a written sum where one is right,
    or None if it has too many conditions or levels.
    """
    try:
        levels = levels_of(formula, lambda atom: (atom,))
    except (TooManyConditions, TooManyLevels):
        return None
    order = {atom: place for place, atom in enumerate(atoms_of(formula))}

    def term(leaf: frozenset[Atom]) -> Term:
        return tuple(sorted(leaf, key=order.__getitem__))

    below = [tuple(sorted(map(term, terms), key=lambda one: [order[atom] for atom in one])) for terms in levels.below]
    sums: list[_Sum] = [
        ({part: int(weight) for part, weight in weights.items() if weight > 0}, int(bar))
        for weights, bar in written
        if all(number.denominator == 1 for number in (bar, *weights.values()))
    ]
    sums += [(dict(zip(node.parts, node.weights)), None) for node in in_order(formula) if isinstance(node, Count)]
    conditions, bar = _as_written(formula, sums) or _conditions(levels, sums, term)
    return Chain(conditions, bar, *below)


def _as_written(formula: Formula, sums: Sequence[_Sum]) -> tuple[tuple[Condition, ...], int] | None:
    """M0 as one of these sums of single predicates, perhaps beside what is necessary or enough."""
    atoms = atoms_of(formula)
    if not sums or len(atoms) > MOST_VARIABLES:
        return None
    table = table_of(formula, {atom: (place,) for place, atom in enumerate(atoms)}, len(atoms))
    whole, index = raised(table), np.arange(table.size)
    for one in sums:  # as a person sees it while it is written, with what changes nothing yet
        weights, bar = _weights(one, [[frozenset([atom])] for atom in atoms])
        total = np.sum([weight * (index >> place & 1) for place, weight in enumerate(weights)], axis=0)
        if bar is not None and ((total >= bar) == whole).all():
            return tuple(Condition(((atom,),), points) for atom, points in zip(atoms, weights) if points), bar
    leaves, reached = relevant([frozenset([atom]) for atom in atoms], whole)
    found = weights_of(reached, [_weights(one, [[leaf] for leaf in leaves]) for one in sums], alike=False)
    if found is None:
        return None
    return tuple(Condition((tuple(leaf),), points) for leaf, points in zip(leaves, found[0])), found[1]


def _conditions(
    levels: ChainLevels[Atom], sums: Sequence[_Sum], term: Callable[[frozenset[Atom]], Term]
) -> tuple[tuple[Condition, ...], int]:
    """M0 as points and a bar, with terms that are as good as each other in one condition; if it cannot be written so,
    its alternatives.
    """
    groups, table = _alternatives(levels.leaves, levels.reached)
    if not groups:
        return (), 0 if table[0] else 1
    found = weights_of(table, [_weights(one, groups) for one in sums])
    if found is None or len(groups) == 1 < len(levels.leaves):
        terms = tuple(map(term, joined(levels.leaves, minimal(levels.reached))))
        return tuple(Condition((one,)) for one in terms), 1
    weights, bar = found
    conditions: list[Condition] = []
    rest = sum(weights) - bar
    for group, points in zip(groups, weights):
        terms = tuple(term(leaf) for leaf in group)
        if len(terms) == 1 and len(terms[0]) > 1 and rest < points:  # what must hold is asked for one by one
            conditions += [Condition(((atom,),), rest + 1) for atom in terms[0]]
        else:
            conditions.append(Condition(terms, points))
    return tuple(conditions), sum(one.points for one in conditions) - rest


def _alternatives(
    leaves: Sequence[frozenset[Atom]], table: TruthTable
) -> tuple[list[list[frozenset[Atom]]], TruthTable]:
    """Groups of leaves of which any one is as good as another or as both, and the table over these groups."""
    return _merged([[leaf] for leaf in leaves], table, holds=False)


_Sum = tuple[Mapping[Formula, int], int | None]
"""Weights of parts of a formula, and the bar they have to reach, if that is known."""


def _weights(sum_: _Sum, groups: Sequence[Sequence[frozenset[Atom]]]) -> Weights:
    """What a sum gives each group: the weight of the part that is about it alone; 0: there is none."""
    owner = {atom: place for place, group in enumerate(groups) for leaf in group for atom in leaf}
    weights = [0] * len(groups)
    for part, weight in sum_[0].items():
        places = {owner[atom] for atom in atoms_of(part) if atom in owner}
        if len(places) == 1:
            weights[places.pop()] = weight
    return weights, sum_[1]


# -- from a formula to its levels


@dataclass(frozen=True, eq=False)
class ChainLevels(Generic[V]):
    """A chain: M0 as a table over leaves, and for each further level the leaves of which one is enough."""

    leaves: tuple[frozenset[V], ...]
    """Variables that must hold together count as one. All leaves matter for M0."""
    reached: TruthTable
    below: tuple[tuple[frozenset[V], ...], tuple[frozenset[V], ...]]
    """What takes a yes back, and what gives it back."""


def levels_of(formula: Formula, asked: Callable[[Atom], Sequence[V]]) -> ChainLevels[V]:
    """The chain of a formula. `asked` names the variables any one of which makes a predicate true."""
    names, values = variables_of(formula, asked)
    leaves, table = joined_by_meaning(*relevant(names, table_of(formula, values, len(names))))
    reached = raised(table)
    above, wanted = reached, ~table
    below: list[TruthTable] = []
    while (above & wanted).any():
        level = raised(above & wanted)
        below.append(~lowered(above & ~level))  # the largest monotone function that is the same where it matters
        above = above & level
        wanted = ~wanted
    if len(below) > 2:
        raise TooManyLevels(len(below))
    terms, region = [], reached
    for level in below:
        terms.append(tuple(joined(leaves, _covering(level, region))))
        region = region & level
    kept, reached = joined_by_meaning(*relevant(leaves, reached))
    return ChainLevels(tuple(kept), reached, (terms[0] if terms else (), terms[1] if len(terms) > 1 else ()))


def variables_of(
    formula: Formula, asked: Callable[[Atom], Sequence[V]]
) -> tuple[list[frozenset[V]], dict[Atom, tuple[int, ...]]]:
    """The variables of a formula, and for every predicate the places of the variables any one of which makes it true.
    Predicates that occur in one AND and nowhere else are one variable.
    """
    uses: dict[int, int] = {}
    for node in in_order(formula):
        for part in parts_of(node):
            uses[id(part)] = uses.get(id(part), 0) + 1
    choices = {atom: tuple(asked(atom)) for atom in atoms_of(formula)}
    single: dict[V, int] = {}
    for variables in choices.values():
        for variable in variables:
            single[variable] = single.get(variable, 0) + 1
    names: list[frozenset[V]] = []
    places: dict[Atom, tuple[int, ...]] = {}
    for node in in_order(formula):
        if not isinstance(node, Conjunction):
            continue
        alone = [
            part
            for part in node.parts
            if isinstance(part, Atom)
            and uses[id(part)] == 1
            and len(choices[part]) == 1
            and single[choices[part][0]] == 1
        ]
        if len(alone) > 1:
            places.update({atom: (len(names),) for atom in alone})
            names.append(frozenset(choices[atom][0] for atom in alone))
    known: dict[V, int] = {}
    for atom, variables in choices.items():
        if atom not in places:
            for variable in variables:
                if variable not in known:
                    known[variable] = len(names)
                    names.append(frozenset([variable]))
            places[atom] = tuple(known[variable] for variable in variables)
    return names, places


def table_of(formula: Formula, places: Mapping[Atom, Sequence[int]], count: int) -> TruthTable:
    """The value of a formula for every combination of this many variables."""
    nodes = sum(1 for _ in in_order(formula))
    if count > MOST_VARIABLES or nodes << count > _MOST_WORK:
        raise TooManyConditions(count)
    index = np.arange(1 << count)
    return column(formula, index.size, lambda atom: index & sum(1 << place for place in places[atom]) != 0)


# -- on tables


def _halves(table: TruthTable, one: int, other: int) -> TruthTable:
    """The table as [value of one, value of the other, everything else]; `one` stands before `other`."""
    whole = table.reshape(-1, 2, 1 << (other - one - 1), 2, 1 << one)
    return whole.transpose(3, 1, 0, 2, 4).reshape(2, 2, -1)


def where(table: TruthTable, place: int, value: bool) -> TruthTable:
    """The table where a variable has this value."""
    return table.reshape(-1, 2, 1 << place)[:, int(value)].reshape(-1)


def raised(table: TruthTable) -> TruthTable:
    """The least monotone function above it."""
    found = table.copy()
    for place in range(table.size.bit_length() - 1):
        by_bit = found.reshape(-1, 2, 1 << place)
        by_bit[:, 1] |= by_bit[:, 0]
    return found


def lowered(table: TruthTable) -> TruthTable:
    """True for every combination below one that is true."""
    return raised(table[::-1])[::-1]


def minimal(table: TruthTable) -> list[int]:
    """The smallest combinations at which a monotone function is true."""
    found = table.copy()
    for place in range(table.size.bit_length() - 1):
        found.reshape(-1, 2, 1 << place)[:, 1] &= ~table.reshape(-1, 2, 1 << place)[:, 0]
    return [int(index) for index in np.flatnonzero(found)]


def relevant(leaves: Sequence[frozenset[V]], table: TruthTable) -> tuple[list[frozenset[V]], TruthTable]:
    """Without the leaves that change nothing."""
    kept = list(leaves)
    for place in reversed(range(len(leaves))):
        by_bit = table.reshape(-1, 2, 1 << place)
        if (by_bit[:, 0] == by_bit[:, 1]).all():
            table = where(table, place, False)
            kept.pop(place)
    return kept, table


def joined_by_meaning(leaves: Sequence[frozenset[V]], table: TruthTable) -> tuple[list[frozenset[V]], TruthTable]:
    """Leaves that matter only where both hold become one."""
    kept, table = _merged([[leaf] for leaf in leaves], table, holds=True)
    return [frozenset[V]().union(*group) for group in kept], table


def _merged(groups: list[list[_Leaf]], table: TruthTable, *, holds: bool) -> tuple[list[list[_Leaf]], TruthTable]:
    """Groups of which it only matters whether all of them hold (`holds`), or whether any does, joined; and the table
    over these.
    """
    place, alone = 0, int(not holds)
    while place < len(groups):
        other = place + 1
        while other < len(groups):
            both = _halves(table, place, other)
            if (both[0, 1] == both[1, 0]).all() and (both[0, 1] == both[alone, alone]).all():
                groups[place] += groups.pop(other)
                table = where(table, other, holds)
            else:
                other += 1
        place += 1
    return groups, table


def joined(leaves: Sequence[frozenset[V]], combinations: Iterable[int]) -> list[frozenset[V]]:
    chosen = ([leaf for place, leaf in enumerate(leaves) if index >> place & 1] for index in combinations)
    return [frozenset().union(*held) for held in chosen]


def _covering(level: TruthTable, region: TruthTable) -> list[int]:
    """The smallest combinations of a level that are needed where it matters: the simplest, and those that say most,
    first.
    """
    waiting = minimal(level)
    if len(waiting) > MOST_ALTERNATIVES:
        return waiting
    index, left = np.arange(level.size), region & level
    found: list[int] = []
    while left.any():
        best = max(waiting, key=lambda one: (int((left & (index & one == one)).sum()), -one.bit_count()))
        found.append(best)
        left = left & (index & best != best)
    return sorted(found)


Weights = tuple[Sequence[int], int | None]
"""The weights of variables, in their order, and the bar they have to reach, if that is known."""


def weights_of(
    table: TruthTable, sums: Sequence[Weights] = (), *, alike: bool = True
) -> tuple[tuple[int, ...], int] | None:
    """Points and a bar for a monotone function of variables that all matter: one of these sums where it is right, else
    (where `alike` is allowed) all the same, else what is necessary or enough beside the rest, or None if we see none.
    """
    count = table.size.bit_length() - 1
    found = _right_sum(table, [*sums, ((1,) * count, None)] if alike else sums)
    if found is not None:
        return found
    for place in range(count):
        necessary = not where(table, place, False).any()
        if necessary or where(table, place, True).all():
            narrowed: list[Weights] = [((*one[:place], *one[place + 1 :]), None) for one, _ in sums]
            found = weights_of(where(table, place, necessary), narrowed, alike=alike)
            if found is None:
                return None
            others, bar = found
            points = sum(others) - bar + 1 if necessary else bar
            return (*others[:place], points, *others[place:]), bar + (points if necessary else 0)
    return None


def _right_sum(table: TruthTable, sums: Iterable[Weights]) -> tuple[tuple[int, ...], int] | None:
    """The first of these sums that says what the table says."""
    index = np.arange(table.size)
    for weights, bar in sums:
        if not weights or min(weights) < 1:
            continue
        total = np.sum([weight * (index >> place & 1) for place, weight in enumerate(weights)], axis=0)
        least = int(total[table].min()) if bar is None else bar
        if ((total >= least) == table).all():
            return tuple(weights), least
    return None


# -- writing


def text_of(chain: Chain, *, lowered: bool = False) -> str:
    """The question as a person would write it, ending in a line end. `lowered`: prepared records are in lower case
    already, so `lower` is not written.
    """
    cased = [atom for atom in chain.atoms if not PREDICATES[atom.function].ignores_case]
    folded = not lowered and bool(cased) and all(atom.view.case == "lower" for atom in cased)
    plain = lowered or folded
    lines = ["$r = lower($r)"] if folded else []
    end = _below(chain, plain=plain)
    if not chain.conditions:
        wanted = "true" if chain.bar <= 0 else "false"
        lines.append(f"ret {end if end and chain.bar <= 0 else wanted}")
        return "\n".join(lines) + "\n"
    if len(chain.conditions) == 1 and chain.conditions[0].points == chain.bar:
        one = replace(chain.conditions[0], points=1)
        parts, bar = [_summand(one, plain=plain)], ""
    else:
        parts, bar = [_summand(condition, plain=plain) for condition in chain.conditions], f" >= {chain.bar}"
    lines.append("ret " + _lines(parts, bar + (f" & {end}" if end else "")))
    return "\n".join(lines) + "\n"


def call_of(atom: Atom, *, plain: bool = False) -> str:
    """The call of a predicate as it is written; `plain` leaves the case of its view out."""
    text = "$r" if atom.view.attribute is None else "$r" + attribute_access(atom.view.attribute)
    if not plain and atom.view.case != "exact":
        text = f"{atom.view.case}({text})"
    clear = [quote(value) if isinstance(value, str) else number(Fraction(value)) for value in atom.arguments]
    clear.insert(PREDICATES[atom.function].text_position, text)
    return f"{atom.function}({', '.join(clear)})"


def term_text(term: Term, *, plain: bool = False) -> str:
    """Predicates that must all hold, as they are written."""
    return " & ".join(call_of(atom, plain=plain) for atom in term)


def _either(terms: Sequence[Term], *, plain: bool) -> str:
    """Any of the terms; in brackets where it is more than a call."""
    calls = [term_text(term, plain=plain) for term in terms]
    if len(terms) == 1 and len(terms[0]) == 1:
        return calls[0]
    return f"({' | '.join(calls)})"


def _below(chain: Chain, *, plain: bool) -> str:
    if not chain.exclusions:
        return ""
    excluded = f"!{_either(chain.exclusions, plain=plain)}"
    return f"({excluded} | {_either(chain.unless, plain=plain)})" if chain.unless else excluded


def _summand(condition: Condition, *, plain: bool) -> str:
    text = _either(condition.any_of, plain=plain)
    return text if condition.points == 1 else f"{condition.points}*{text}"


def _lines(parts: Sequence[str], end: str) -> str:
    line = " + ".join(parts) + end
    if len(line) <= _WIDEST_LINE:
        return line
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 <= _WIDEST_LINE:
            lines[-1] += f" + {part}"
        else:
            lines.append(f"  + {part}")
    return "\n".join(lines) + end
