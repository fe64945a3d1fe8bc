"""From a checked question to its formula: variables filled in, views resolved, choices and counts rewritten.

Texts are kept as choices between leaves until a predicate asks about them; numbers as a weighted sum of formulas.
Everything is remembered by node, so shared variables stay shared and the work is bounded by the size of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeVar, Union

from blindlabel.language import tree
from blindlabel.language.builder import Builder, FormulaTooLarge
from blindlabel.language.formula import Formula
from blindlabel.language.functions import FUNCTIONS, PREDICATES
from blindlabel.language.limits import Limits
from blindlabel.language.record import TextSource, View, cased
from blindlabel.language.signatures import Clear, Counting, Function, Predicate


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A text that is known, or a view of the record."""

    source: str | View


@dataclass(frozen=True, eq=False)
class _Choice:
    """One text where the condition holds, another where not."""

    condition: Formula
    chosen: _Text
    other: _Text
    depth: int


_Text = Union[_Leaf, _Choice]


@dataclass(frozen=True)
class _Sum:
    """A number: a constant and weighted formulas."""

    constant: Fraction
    weights: dict[Formula, Fraction]


_Value = Union[_Leaf, _Choice, Formula, _Sum]


_Source = Union[TextSource, Fraction]
"""What a call is about once nothing is left to choose: known texts and numbers, and a view of the record."""

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Rewritten:
    """The formula of a question, and the sums that were compared with a least number, as they were written: the formula
    knows only their proportions.
    """

    formula: Formula
    sums: tuple[tuple[dict[Formula, Fraction], Fraction], ...] = ()


def rewritten(question: tree.Tree, limits: Limits) -> Rewritten:
    """The formula of a checked question. Raises `FormulaTooLarge` if it grows past the limits."""
    rewriting = Rewriting(limits)
    for statement in question.statements:
        try:
            value = rewriting.value(statement.value)
        except FormulaTooLarge as problem:
            problem.span = statement.value.span
            raise
        if isinstance(statement, tree.Return):
            return Rewritten(rewriting.formula(value), tuple(rewriting.sums))
        rewriting.variables[statement.name] = value
    raise TypeError("a checked question has a ret")


class Rewriting:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.build = Builder(limits)
        self._leaves: dict[str | View, _Leaf] = {}
        self._choices: dict[tuple[int, int, int], _Choice] = {}
        self.variables: dict[str, _Value] = {"r": self.leaf(View())}
        self.sums: list[tuple[dict[Formula, Fraction], Fraction]] = []

    def leaf(self, source: str | View) -> _Leaf:
        """Each different leaf once, as with all nodes: equal texts must be seen to be equal."""
        return self._leaves.setdefault(source, _Leaf(source))

    # -- conversions

    def formula(self, value: _Value) -> Formula:
        assert not isinstance(value, (_Leaf, _Choice, _Sum))
        return value

    def number(self, value: _Value) -> _Sum:
        if isinstance(value, _Sum):
            return value
        formula = self.formula(value)
        if formula is self.build.true or formula is self.build.false:
            return _Sum(Fraction(int(formula is self.build.true)), {})
        return _Sum(Fraction(0), {formula: Fraction(1)})

    def text(self, value: _Value) -> _Text:
        assert isinstance(value, (_Leaf, _Choice))
        return value

    # -- expressions

    def value(self, node: tree.Expression) -> _Value:
        if isinstance(node, tree.Text):
            return self.leaf(node.value)
        if isinstance(node, tree.Number):
            return _Sum(node.value, {})
        if isinstance(node, tree.Boolean):
            return self.build.constant(node.value)
        if isinstance(node, tree.Variable):
            return self.variables[node.name]
        if isinstance(node, tree.Attribute):
            return self.mapped(self.text(self.value(node.record)), lambda source: self.attribute(source, node.name))
        if isinstance(node, tree.Not):
            return self.build.negation(self.formula(self.value(node.operand)))
        if isinstance(node, tree.Operation):
            return self.chain(node)
        if isinstance(node, tree.Compare):
            return self.compare(node)
        return self.call(node)

    def chain(self, node: tree.Operation) -> _Value:
        values = [self.value(operand) for operand in node.operands]
        if node.operator == "&":
            return self.build.conjunction([self.formula(value) for value in values])
        if node.operator == "|":
            return self.build.disjunction([self.formula(value) for value in values])
        numbers = [self.number(value) for value in values]
        if node.operator == "+":
            return self.sum([(Fraction(1), number) for number in numbers])
        factor = Fraction(1)
        varying = _Sum(Fraction(1), {})
        for number in numbers:
            if number.weights:
                varying = number
            else:
                factor *= number.constant
        return self.sum([(factor, varying)])

    def sum(self, parts: list[tuple[Fraction, _Sum]]) -> _Sum:
        constant = Fraction(0)
        weights: dict[Formula, Fraction] = {}
        for factor, part in parts:
            constant += factor * part.constant
            for formula, weight in part.weights.items():
                weights[formula] = weights.get(formula, Fraction(0)) + factor * weight
        weights = {formula: weight for formula, weight in weights.items() if weight}
        if len(weights) > self.limits.predicates:
            message = f"This number is a sum of more than {self.limits.predicates} parts."
            raise FormulaTooLarge("too-large", message, "Use fewer nested choices.")
        return _Sum(constant, weights)

    def compare(self, node: tree.Compare) -> Formula:
        left, right = self.number(self.value(node.left)), self.number(self.value(node.right))
        difference = self.sum([(Fraction(1), left), (Fraction(-1), right)])
        bound = -difference.constant
        weights = difference.weights
        if node.operator == ">=":
            self.sums.append((weights, bound))
        low, high = (None if side in node.operator else bound for side in "<>")
        return self.build.count(weights, low, high, open_ends=node.operator in ("<", ">"))

    # -- calls

    def call(self, node: tree.Call) -> _Value:
        arguments = [self.value(argument) for argument in node.arguments]
        if node.function == "choose":
            return self.choose(arguments)
        if node.function in ("lower", "upper"):
            return self.mapped(self.text(arguments[0]), lambda source: cased(source, node.function))
        function = FUNCTIONS[node.function]
        if isinstance(function, Predicate):
            return self.over_texts(arguments, partial(self.predicate, function), self.build.choose)
        if isinstance(function, Counting):
            return self.over_texts(arguments, partial(self.tally, function), self.chosen_number)
        raise TypeError(f"{function.name} cannot be rewritten")

    def choose(self, arguments: list[_Value]) -> _Value:
        condition = self.formula(arguments[0])
        chosen, other = arguments[1], arguments[2]
        if isinstance(chosen, (_Leaf, _Choice)):
            return self.choice(condition, chosen, self.text(other))
        if isinstance(chosen, _Sum) or isinstance(other, _Sum):
            return self.chosen_number(condition, self.number(chosen), self.number(other))
        return self.build.choose(condition, chosen, self.formula(other))

    def choice(self, condition: Formula, chosen: _Text, other: _Text) -> _Text:
        if chosen is other or condition is self.build.true:
            return chosen
        if condition is self.build.false:
            return other
        depth = 1 + max(text.depth if isinstance(text, _Choice) else 0 for text in (chosen, other))
        if depth > self.limits.nesting:
            message = f"Texts are chosen more than {self.limits.nesting} deep."
            raise FormulaTooLarge("too-deep", message, "Choose between the answers instead of between the texts.")
        key = (id(condition), id(chosen), id(other))
        return self._choices.setdefault(key, _Choice(condition, chosen, other, depth))

    def chosen_number(self, condition: Formula, chosen: _Sum, other: _Sum) -> _Sum:
        opposite = self.build.negation(condition)
        parts = [(Fraction(1), _Sum(other.constant, {})), (chosen.constant - other.constant, self.number(condition))]
        for guard, number in ((condition, chosen), (opposite, other)):
            for formula, weight in number.weights.items():
                parts.append((weight, self.number(self.build.conjunction([guard, formula]))))
        return self.sum(parts)

    def mapped(self, text: _Text, change: Callable[[str | View], str | View]) -> _Text:
        """The same choices with every leaf changed."""
        return self.over_texts([text], lambda sources: self.leaf(change(_source(sources[0]))), self.choice)

    def over_texts(
        self,
        arguments: Sequence[_Value],
        at_leaves: Callable[[Sequence[_Source]], _Found],
        choose: Callable[[Formula, _Found, _Found], _Found],
    ) -> _Found:
        """What a call comes to for every combination of the leaves of its texts, joined under their conditions. Other
        arguments are numbers that the asker knows.
        """
        done: dict[tuple[int, ...], _Found] = {}

        def found(given: tuple[_Leaf | _Choice | Fraction, ...]) -> _Found:
            key = tuple(map(id, given))
            if key not in done:
                sources: list[_Source] = []
                for place, one in enumerate(given):
                    if isinstance(one, _Choice):
                        chosen = found((*given[:place], one.chosen, *given[place + 1 :]))
                        other = found((*given[:place], one.other, *given[place + 1 :]))
                        done[key] = choose(one.condition, chosen, other)
                        break
                    sources.append(one.source if isinstance(one, _Leaf) else one)
                else:
                    done[key] = at_leaves(sources)
            return done[key]

        given = (one if isinstance(one, (_Leaf, _Choice)) else self.number(one).constant for one in arguments)
        return found(tuple(given))

    def predicate(self, predicate: Predicate, sources: Sequence[_Source]) -> Formula:
        """A predicate of leaves."""
        return self.asked(predicate, *_clear_and_text(predicate, sources))

    def asked(self, predicate: Predicate, clear: tuple[Clear, ...], text: str | View) -> Formula:
        if isinstance(text, str):
            return self.build.constant(predicate.meaning(text, clear))
        return self.build.atom(predicate.name, clear, text)

    def tally(self, tally: Counting, sources: Sequence[_Source]) -> _Sum:
        """A tally of leaves: the sum of what it counts."""
        clear, text = _clear_and_text(tally, sources)
        each = [self.asked(PREDICATES[name], arguments, text) for name, arguments in tally.each(clear)]
        return self.sum([(Fraction(1), self.number(formula)) for formula in each])

    @staticmethod
    def attribute(source: str | View, name: str) -> View:
        assert isinstance(source, View)
        return View(name, source.case)


def _source(source: _Source) -> str | View:
    assert not isinstance(source, Fraction)
    return source


def _clear_and_text(function: Function, sources: Sequence[_Source]) -> tuple[tuple[Clear, ...], str | View]:
    """The clear arguments of a call in their order, and the text that it looks at."""
    clear: list[Clear] = []
    for parameter, source in zip(function.parameters, sources, strict=True):
        if parameter.clear:
            assert not isinstance(source, View)
            clear.append(source)
    return tuple(clear), _source(sources[function.text_position])
