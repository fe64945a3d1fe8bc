"""Builds formulas so that equal parts are one node and nothing trivial remains.

Constants are folded, nested chains of the same kind are one, double negations vanish, a count that is really an "all",
"any" or "none" becomes one. The builder is bounded: a question whose formula would grow past the limits raises
`FormulaTooLarge` instead of taking a long time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor, gcd, lcm

from blindlabel.language import words
from blindlabel.language.formula import Atom, Conjunction, Constant, Count, Disjunction, Formula, Negation
from blindlabel.language.functions import PREDICATES
from blindlabel.language.limits import Limits
from blindlabel.language.record import View
from blindlabel.language.signatures import CaseRule, Clear
from blindlabel.language.tree import NOWHERE


class FormulaTooLarge(Exception):
    """The question goes past a limit only once its variables are filled in, in the expression at `span`. `code` is the
    diagnostic's.
    """

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.span = code, message, hint, NOWHERE


_NODES_PER_PREDICATE = 64
"""Nodes that a formula may have for each allowed predicate; only contrived questions come near."""


class Builder:
    """Makes formula nodes; equal nodes are one object."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.true: Formula = Constant(True)
        self.false: Formula = Constant(False)
        self._nodes: dict[object, Formula] = {}
        self._atoms = 0

    def _shared(self, key: object, node: Formula) -> Formula:
        known = self._nodes.get(key)
        if known is not None:
            return known
        self._atoms += isinstance(node, Atom)
        if self._atoms > self.limits.predicates:
            most = f"{self.limits.predicates} predicates once its variables are filled in"
            message = f"The question comes to more than {most}."
            raise FormulaTooLarge("too-many-predicates", message, "Ask for fewer things.")
        if len(self._nodes) >= self.limits.predicates * _NODES_PER_PREDICATE:
            message = "The question becomes too large once its variables are filled in."
            raise FormulaTooLarge("too-large", message, "Use fewer nested choices.")
        self._nodes[key] = node
        return node

    def constant(self, value: bool) -> Formula:
        """Yes or no."""
        return self.true if value else self.false

    def atom(self, function: str, arguments: tuple[Clear, ...], view: View) -> Formula:
        """A predicate of a view, or a constant if the arguments alone decide it."""
        predicate = PREDICATES[function]
        decided = predicate.always(arguments)
        if decided is not None:
            return self.constant(decided)
        if predicate.ignores_case:
            view = View(view.attribute)
        elif predicate.case_rule is CaseRule.NEEDLES:
            needles = [argument for argument in arguments if isinstance(argument, str)]
            if view.case == "lower" and any(map(words.has_paired_upper, needles)):
                return self.false
            if view.case == "upper" and any(map(words.has_paired_lower, needles)):
                return self.false
            if view.case == "upper":
                arguments = tuple(words.lower(one) if isinstance(one, str) else one for one in arguments)
                view = View(view.attribute, "lower")
        return self._shared(("atom", function, arguments, view), Atom(function, arguments, view))

    def negation(self, part: Formula) -> Formula:
        """The opposite."""
        if isinstance(part, Constant):
            return self.constant(not part.value)
        if isinstance(part, Negation):
            return part.part
        return self._shared(("not", id(part)), Negation(part))

    def conjunction(self, parts: Iterable[Formula]) -> Formula:
        """All of the parts."""
        return self._chain(parts, Conjunction, self.true, self.false)

    def disjunction(self, parts: Iterable[Formula]) -> Formula:
        """Any of the parts."""
        return self._chain(parts, Disjunction, self.false, self.true)

    def _chain(
        self,
        parts: Iterable[Formula],
        kind: type[Conjunction] | type[Disjunction],
        neutral: Formula,
        absorbing: Formula,
    ) -> Formula:
        different: dict[int, Formula] = {}
        for part in parts:
            for one in part.parts if isinstance(part, kind) else (part,):
                if one is absorbing:
                    return absorbing
                if one is not neutral:
                    different[id(one)] = one
        if any(isinstance(one, Negation) and id(one.part) in different for one in different.values()):
            return absorbing
        found = tuple(different.values())
        if len(found) < 2:
            return found[0] if found else neutral
        return self._shared((kind.__name__, frozenset(different)), kind(found))

    def choose(self, condition: Formula, chosen: Formula, other: Formula) -> Formula:
        """`chosen` where the condition holds, else `other`."""
        if chosen is other:
            return chosen
        opposite = self.negation(condition)
        return self.disjunction([self.conjunction([condition, chosen]), self.conjunction([opposite, other])])

    def count(
        self,
        weights: Mapping[Formula, Fraction],
        low: Fraction | None,
        high: Fraction | None,
        *,
        open_ends: bool = False,
    ) -> Formula:
        """Whether the weighted sum of the parts that hold lies from low to high (strictly between, with open ends);
        None: no bound.
        """
        base: dict[Formula, Fraction] = {}
        offset = Fraction(0)
        for part, weight in weights.items():
            if isinstance(part, Constant):
                offset += weight if part.value else 0
            elif isinstance(part, Negation):  # w*!b is w - w*b
                offset += weight
                base[part.part] = base.get(part.part, Fraction(0)) - weight
            else:
                base[part] = base.get(part, Fraction(0)) + weight
        positive: dict[Formula, Fraction] = {}
        for part, weight in base.items():
            if weight > 0:
                positive[part] = weight
            elif weight < 0:  # -w*b is -w + w*!b
                offset += weight
                positive[self.negation(part)] = -weight
        if not positive:
            above = low is None or low < offset or (low == offset and not open_ends)
            below = high is None or offset < high or (offset == high and not open_ends)
            return self.constant(above and below)
        scale = lcm(*(weight.denominator for weight in positive.values()))
        whole = {part: int(weight * scale) for part, weight in positive.items()}
        divisor = gcd(*whole.values())
        factor = Fraction(scale, divisor)
        whole = {part: weight // divisor for part, weight in whole.items()}
        total = sum(whole.values())
        least, most = 0, total
        if low is not None:
            bound = (low - offset) * factor
            least = max(0, floor(bound) + 1 if open_ends else ceil(bound))
        if high is not None:
            bound = (high - offset) * factor
            most = min(total, ceil(bound) - 1 if open_ends else floor(bound))
        return self._count(whole, least, most, total)

    def _count(self, weights: dict[Formula, int], low: int, high: int, total: int) -> Formula:
        if low > high:
            return self.false
        if low == 0 and high == total:
            return self.true
        parts = tuple(weights)
        if low == total:
            return self.conjunction(parts)
        if high == total and low <= min(weights.values()):
            return self.disjunction(parts)
        if high < min(weights.values()) and low == 0:
            return self.negation(self.disjunction(parts))
        if high == total and total - low < min(weights.values()):
            return self.conjunction(parts)
        if total > self.limits.total_weight:
            message = f"The weights of this count add up to {total:,}; the agreement allows {self.limits.total_weight}."
            hint = "Use smaller whole numbers; only their proportions matter."
            raise FormulaTooLarge("weights-too-large", message, hint)
        key = ("count", frozenset((id(part), weight) for part, weight in weights.items()), low, high)
        return self._shared(key, Count(tuple(weights.values()), parts, low, high))
