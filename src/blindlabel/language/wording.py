"""What a formula asks, in lines that a person reads: for `Question.explain()` and the command line."""

from __future__ import annotations

from collections.abc import Sequence

from blindlabel.language.formula import Atom, Count, Formula, fold
from blindlabel.language.points import Condition, PointsQuestion, call_of

Lines = tuple[str, ...]


class _InWords:
    """The algebra of lines: parts stand indented under what joins them."""

    def constant(self, value: bool) -> Lines:
        return ("always",) if value else ("never",)

    def atom(self, atom: Atom) -> Lines:
        return (call_of(atom),)

    def negation(self, part: Lines) -> Lines:
        return (f"not {part[0]}",) if len(part) == 1 else _under("not:", [part])

    def conjunction(self, parts: Sequence[Lines]) -> Lines:
        return _under("all of:", parts)

    def disjunction(self, parts: Sequence[Lines]) -> Lines:
        return _under("any of:", parts)

    def count(self, count: Count, parts: Sequence[Lines]) -> Lines:
        weighed = [(f"{_points(weight)}: {part[0]}", *part[1:]) for weight, part in zip(count.weights, parts)]
        if count.high == count.total:
            return _under(f"at least {count.low} of {count.total} points:", weighed)
        if count.low == 0:
            return _under(f"at most {count.high} of {count.total} points:", weighed)
        exact = count.low == count.high
        wanted = f"exactly {count.low}" if exact else f"{count.low} to {count.high}"
        return _under(f"{wanted} of {count.total} points:", weighed)


def _under(heading: str, parts: Sequence[Lines]) -> Lines:
    return (heading, *(f"  {line}" for part in parts for line in part))


def _points(points: int) -> str:
    return "1 point" if points == 1 else f"{points} points"


def formula_in_words(formula: Formula) -> str:
    """The formula as nested lines."""
    lines: Lines = fold(formula, _InWords())
    return "\n".join(lines)


def points_in_words(question: PointsQuestion) -> str:
    """A points question as its conditions, its bar and its exclusions."""
    if not question.conditions:
        lines: Lines = ("always",) if question.bar <= 0 else ("never",)
    elif len(question.conditions) == 1:
        lines = (_alternatives(question.conditions[0]),)
    elif question.bar == question.total and question.total == len(question.conditions):
        lines = _under("all of:", [(_alternatives(one),) for one in question.conditions])
    elif question.bar == 1:
        lines = _under("any of:", [(_alternatives(one),) for one in question.conditions])
    else:
        conditions = [(f"{_points(one.points)}: {_alternatives(one)}",) for one in question.conditions]
        lines = _under(f"at least {question.bar} of {question.total} points:", conditions)
    if question.exclusions:
        lines = (*lines, *_under("but not:", [(call_of(atom),) for atom in question.exclusions]))
    return "\n".join(lines)


def _alternatives(condition: Condition) -> str:
    return " or ".join(call_of(atom) for atom in condition.any_of)
