"""The plain interpreter: the meaning of a question, by definition. Every engine must agree with it.

It walks the checked tree over one clear record, statement by statement, and stops at the first `ret`. It expects a
question that the checker let through.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from typing import Union

from blindlabel.language import tree
from blindlabel.language.functions import FUNCTIONS
from blindlabel.language.record import CASES, Record
from blindlabel.language.signatures import Counting, Predicate

Value = Union[str, Record, bool, Fraction]

_COMPARISONS: Mapping[tree.Comparison, Callable[[Fraction, Fraction], bool]] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq
}  # fmt: skip


def interpret(question: tree.Tree, record: Record) -> bool:
    """The answer of a checked question for one record."""
    variables: dict[str, Value] = {"r": record}
    for statement in question.statements:
        value = _evaluate(statement.value, variables)
        if isinstance(statement, tree.Return):
            if not isinstance(value, bool):
                raise TypeError("a checked question returns a Boolean")
            return value
        variables[statement.name] = value
    raise TypeError("a checked question has a ret")


def _evaluate(node: tree.Expression, variables: dict[str, Value]) -> Value:
    if isinstance(node, (tree.Text, tree.Number, tree.Boolean)):
        return node.value
    if isinstance(node, tree.Variable):
        return variables[node.name]
    if isinstance(node, tree.Attribute):
        record = _evaluate(node.record, variables)
        assert isinstance(record, Record)
        return record.attributes.get(node.name, "")
    if isinstance(node, tree.Not):
        return not _evaluate(node.operand, variables)
    if isinstance(node, tree.Operation):
        values = [_evaluate(operand, variables) for operand in node.operands]
        if node.operator == "&":
            return all(values)
        if node.operator == "|":
            return any(values)
        numbers = [number(value) for value in values]
        if node.operator == "+":
            return sum(numbers, Fraction(0))
        return prod(numbers, start=Fraction(1))
    if isinstance(node, tree.Compare):
        left, right = (number(_evaluate(side, variables)) for side in (node.left, node.right))
        return _COMPARISONS[node.operator](left, right)
    return _call(node.function, [_evaluate(argument, variables) for argument in node.arguments])


def number(value: Value) -> Fraction:
    """A Boolean counts as 0 or 1."""
    if isinstance(value, bool):
        return Fraction(int(value))
    assert isinstance(value, Fraction)
    return value


def text(value: Value) -> str:
    """A record stands for the text of all its attributes."""
    if isinstance(value, Record):
        return value.whole
    assert isinstance(value, str)
    return value


def _call(name: str, arguments: list[Value]) -> Value:
    if name == "choose":
        condition, chosen, other = arguments
        taken = chosen if condition else other
        if type(chosen) is type(other):
            return taken
        return text(taken) if isinstance(chosen, (str, Record)) else number(taken)
    if name in ("lower", "upper"):
        convert, value = CASES[name], arguments[0]
        if isinstance(value, Record):
            return Record({key: convert(one) for key, one in value.attributes.items()}, convert(value.whole))
        return convert(text(value))
    function = FUNCTIONS[name]
    if not isinstance(function, (Predicate, Counting)):
        raise TypeError(f"{name} has no meaning of its own")
    clear = tuple(
        text(value) if isinstance(value, (str, Record)) else number(value)
        for value, parameter in zip(arguments, function.parameters, strict=True)
        if parameter.clear
    )
    found = function.meaning(text(arguments[function.text_position]), clear)
    return found if isinstance(found, bool) else Fraction(found)
