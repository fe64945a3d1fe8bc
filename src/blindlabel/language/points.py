"""Points questions: a short list of conditions on the other record, each worth some points, a bar, and exclusions.

    ret 4*is_in("vm400s", $r) + 2*has_word("sanus", $r.name) + has_word("mount", $r.name) >= 5 & !has_word("tv", $r)

This is the form that people judge line by line, that suggestions are written in and that the packed engine answers
without help. Recognised by meaning, not by spelling: AND is a bar of all points, OR a bar of one, "any one of these is
enough" a condition worth the bar, "must" one without which the bar cannot be reached. Two bounds:

1. `points_of` is exact: the points question it gives has the formula's value on every record. Where it gives None, the
   formula is of another kind (a negation inside a count, a range, two counts joined), not necessarily beyond an engine.
2. `points_written` prefers the numbers that a person wrote; the formula knows only their proportions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from blindlabel.language import tree
from blindlabel.language.formatter import attribute_access, number, quote
from blindlabel.language.formula import Atom, Conjunction, Constant, Count, Disjunction, Formula, Negation, evaluate
from blindlabel.language.functions import PREDICATES
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record
from blindlabel.language.rewriting import Rewriting

WIDEST_LINE = 100


@dataclass(frozen=True)
class Condition:
    """One line of a points question: where any of these predicates holds, it is worth so many points."""

    any_of: tuple[Atom, ...]
    points: int = 1

    def holds(self, record: Record) -> bool:
        """Whether a clear record meets it."""
        return any(evaluate(atom, record) for atom in self.any_of)


@dataclass(frozen=True)
class PointsQuestion:
    """Yes where the conditions that hold are worth at least the bar and no exclusion holds.

    Without conditions, bar 0 is "always" (but for the exclusions) and bar 1 is "never".
    """

    conditions: tuple[Condition, ...]
    bar: int
    exclusions: tuple[Atom, ...] = ()

    @property
    def total(self) -> int:
        """All points together."""
        return sum(condition.points for condition in self.conditions)

    def held(self, record: Record) -> int:
        """The points that a clear record gets."""
        return sum(condition.points for condition in self.conditions if condition.holds(record))

    def excluded(self, record: Record) -> bool:
        """Whether an exclusion holds on a clear record."""
        return any(evaluate(atom, record) for atom in self.exclusions)

    def fits(self, record: Record) -> bool:
        """The answer on a clear record."""
        return self.held(record) >= self.bar and not self.excluded(record)


# From meaning


def points_of(formula: Formula) -> PointsQuestion | None:
    """The formula as a points question that says the same of every record; None where it is of another kind."""
    parts, exclusions = _without_exclusions(formula)
    if parts is None:
        return None
    if not parts:
        return PointsQuestion((), 0, exclusions)
    core = _conjoined(parts)
    if core is None:
        return None
    return replace(core, exclusions=tuple(dict.fromkeys((*exclusions, *core.exclusions))))


def _without_exclusions(formula: Formula) -> tuple[list[Formula] | None, tuple[Atom, ...]]:
    """What must hold, and the predicates none of which may."""
    wanted: list[Formula] = []
    exclusions: list[Atom] = []
    for part in formula.parts if isinstance(formula, Conjunction) else (formula,):
        if isinstance(part, Negation):
            atoms = _alternatives(part.part)
            if atoms is None:
                return None, ()
            exclusions.extend(atoms)
        else:
            wanted.append(part)
    return wanted, tuple(exclusions)


def _alternatives(formula: Formula) -> tuple[Atom, ...] | None:
    """The predicates of which any one is enough, where that is all the formula says."""
    if isinstance(formula, Atom):
        return (formula,)
    if isinstance(formula, Disjunction):
        atoms = tuple(part for part in formula.parts if isinstance(part, Atom))
        return atoms if len(atoms) == len(formula.parts) else None
    return None


def _conjoined(parts: Sequence[Formula]) -> PointsQuestion | None:
    """All of the parts: single conditions, and at most one that is a points question itself."""
    if len(parts) == 1:
        return _single(parts[0])
    conditions: list[tuple[Atom, ...]] = []
    inner: PointsQuestion | None = None
    for part in parts:
        atoms = _alternatives(part)
        if atoms is not None:
            conditions.append(atoms)
        elif inner is None:
            inner = _single(part)
            if inner is None:
                return None
        else:
            return None
    if inner is None:
        return PointsQuestion(tuple(Condition(atoms) for atoms in conditions), len(conditions))
    must = inner.total - inner.bar + 1  # so that all other points together miss the bar
    added = tuple(Condition(atoms, must) for atoms in conditions)
    return replace(inner, conditions=added + inner.conditions, bar=inner.bar + must * len(conditions))


def _single(formula: Formula) -> PointsQuestion | None:
    if isinstance(formula, Constant):
        return PointsQuestion((), 0 if formula.value else 1)
    if isinstance(formula, Atom):
        return PointsQuestion((Condition((formula,)),), 1)
    if isinstance(formula, Disjunction):
        return _any(formula.parts)
    if isinstance(formula, Count):
        return _counted(formula)
    if isinstance(formula, Conjunction):
        return points_of(formula)
    return None


def _any(parts: Iterable[Formula]) -> PointsQuestion | None:
    """Any of the parts: predicates, and at most one that is a points question itself."""
    enough: list[Atom] = []
    inner: PointsQuestion | None = None
    for part in parts:
        if isinstance(part, Atom):
            enough.append(part)
        elif inner is None:
            inner = _single(part)
            if inner is None or inner.exclusions:
                return None
        else:
            return None
    if inner is None:
        return PointsQuestion(tuple(Condition((atom,)) for atom in enough), 1)
    added = tuple(Condition((atom,), inner.bar) for atom in enough)
    return replace(inner, conditions=added + inner.conditions)


def _counted(count: Count) -> PointsQuestion | None:
    """A count with a bar. What it cannot do without and is a negation is an exclusion."""
    if count.high != count.total:
        return None
    low = count.low
    conditions: list[Condition] = []
    exclusions: list[Atom] = []
    for weight, part in zip(count.weights, count.parts, strict=True):
        atoms = _alternatives(part.part if isinstance(part, Negation) else part)
        if atoms is None:
            return None
        if not isinstance(part, Negation):
            conditions.append(Condition(atoms, weight))
        elif count.total - weight < count.low:
            exclusions.extend(atoms)
            low -= weight
        else:
            return None
    if low <= 0:
        return PointsQuestion((), 0, tuple(exclusions))
    return PointsQuestion(tuple(conditions), low, tuple(exclusions))


# From what a person wrote


def points_written(question: tree.Tree, formula: Formula, limits: Limits) -> PointsQuestion | None:
    """The points question with the points and the bar that a person wrote, where the text has that form; else by
    meaning. `formula` is that of the checked question.
    """
    statement = next((one for one in question.statements if isinstance(one, tree.Return)), None)
    if statement is not None:
        rewriting = Rewriting(limits)
        for one in question.statements:
            if isinstance(one, tree.Assign):
                rewriting.variables[one.name] = rewriting.value(one.value)
            else:
                break
        written = _written(statement.value, rewriting)
        if written is not None:
            return written
    return points_of(formula)


def _written(expression: tree.Expression, rewriting: Rewriting) -> PointsQuestion | None:
    operands = (
        expression.operands if isinstance(expression, tree.Chain) and expression.operator == "&" else (expression,)
    )
    found: PointsQuestion | None = None
    exclusions: list[Atom] = []
    for operand in operands:
        if isinstance(operand, tree.Not):
            atoms = _alternatives(rewriting.formula(rewriting.value(operand.operand)))
            if atoms is None:
                return None
            exclusions.extend(atoms)
        elif isinstance(operand, tree.Compare) and found is None:
            found = _compared(operand, rewriting)
            if found is None:
                return None
        else:
            return None
    return None if found is None else replace(found, exclusions=tuple(exclusions))


def _compared(node: tree.Compare, rewriting: Rewriting) -> PointsQuestion | None:
    """`sum >= whole number`, each summand a predicate, or some of which any is enough, times a whole number."""
    bar = node.right.value if isinstance(node.right, tree.Number) else Fraction(0)
    if node.operator != ">=" or bar.denominator != 1 or bar < 1:
        return None
    summands = node.left.operands if isinstance(node.left, tree.Chain) and node.left.operator == "+" else (node.left,)
    conditions: list[Condition] = []
    for summand in summands:
        weight, part = Fraction(1), summand
        if isinstance(summand, tree.Chain) and summand.operator == "*" and len(summand.operands) == 2:
            first, part = summand.operands
            if not isinstance(first, tree.Number):
                first, part = part, first
            if not isinstance(first, tree.Number):
                return None
            weight = first.value
        if weight.denominator != 1 or weight < 1 or isinstance(part, tree.Number | tree.Compare):
            return None
        value = rewriting.value(part)
        if not isinstance(value, Atom | Disjunction):
            return None
        atoms = _alternatives(value)
        if atoms is None:
            return None
        conditions.append(Condition(atoms, int(weight)))
    return PointsQuestion(tuple(conditions), int(bar))


# Writing


def text_of(points: PointsQuestion, *, lowered: bool = False) -> str:
    """The question as a person would write it, ending in a line end. `lowered`: prepared records are in lower case
    already, so `lower` is not written.
    """
    atoms = [atom for condition in points.conditions for atom in condition.any_of] + list(points.exclusions)
    cased = [atom for atom in atoms if not PREDICATES[atom.function].ignores_case]
    folded = not lowered and bool(cased) and all(atom.view.case == "lower" for atom in cased)
    plain = lowered or folded
    lines = ["$r = lower($r)"] if folded else []
    excluded = [call_of(atom, plain=plain) for atom in points.exclusions]
    butnot = "" if not excluded else f"!{excluded[0]}" if len(excluded) == 1 else f"!({' | '.join(excluded)})"
    if not points.conditions:
        wanted = "true" if points.bar <= 0 else "false"
        lines.append(f"ret {butnot if butnot and points.bar <= 0 else wanted}")
        return "\n".join(lines) + "\n"
    if len(points.conditions) == 1 and points.conditions[0].points == points.bar:
        parts, end = [_summand(replace(points.conditions[0], points=1), plain=plain)], ""
    else:
        parts, end = [_summand(condition, plain=plain) for condition in points.conditions], f" >= {points.bar}"
    lines.append("ret " + _joined(parts, end + (f" & {butnot}" if butnot else "")))
    return "\n".join(lines) + "\n"


def call_of(atom: Atom, *, plain: bool = False) -> str:
    """The call of a predicate as it is written; `plain` leaves the case of its view out."""
    text = "$r" if atom.view.attribute is None else "$r" + attribute_access(atom.view.attribute)
    if not plain and atom.view.case != "exact":
        text = f"{atom.view.case}({text})"
    clear = [quote(value) if isinstance(value, str) else number(Fraction(value)) for value in atom.arguments]
    clear.insert(PREDICATES[atom.function].text_position, text)
    return f"{atom.function}({', '.join(clear)})"


def _summand(condition: Condition, *, plain: bool) -> str:
    calls = [call_of(atom, plain=plain) for atom in condition.any_of]
    text = calls[0] if len(calls) == 1 else f"({' | '.join(calls)})"
    return text if condition.points == 1 else f"{condition.points}*{text}"


def _joined(parts: Sequence[str], end: str) -> str:
    line = " + ".join(parts) + end
    if len(line) <= WIDEST_LINE:
        return line
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 <= WIDEST_LINE:
            lines[-1] += f" + {part}"
        else:
            lines.append(f"  + {part}")
    return "\n".join(lines) + end
