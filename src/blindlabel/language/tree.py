"""The tree of a question: what the parser builds and every later stage reads.

Nodes are frozen and compare by content only: a span says where a node was written and takes no part in equality,
so two questions that differ in white space, comments or superfluous brackets are equal trees.
Chains of the same operator are one node with many operands, so a long question is not a deep tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Union


@dataclass(frozen=True)
class Span:
    """A stretch of the source: offsets count code points from 0; lines and columns count from 1; the end is
    exclusive.
    """

    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Span(0, 0, 1, 1, 1, 1)


@dataclass(frozen=True)
class _Written:
    """Something that was written somewhere."""

    span: Span = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True)
class _Named(_Written):
    """The same, with a name that stands somewhere in it."""

    name_span: Span = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True)
class Text(_Written):
    """A string in double quotes, escapes resolved."""

    value: str


@dataclass(frozen=True)
class Number(_Written):
    """An integer or decimal, kept exact."""

    value: Fraction


@dataclass(frozen=True)
class Boolean(_Written):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Variable(_Written):
    """`$name`; the name is kept without the dollar sign."""

    name: str


@dataclass(frozen=True)
class Attribute(_Named):
    """`record.name` or `record["name"]`."""

    record: Expression
    name: str


@dataclass(frozen=True)
class Call(_Named):
    """`function(argument, …)`."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Not(_Written):
    operand: Expression


Operator = Literal["&", "|", "+", "*"]


@dataclass(frozen=True)
class Operation(_Written):
    """Two or more operands joined by the same operator."""

    operator: Operator
    operands: tuple[Expression, ...]


Comparison = Literal[">=", ">", "<=", "<", "=="]


@dataclass(frozen=True)
class Compare(_Written):
    operator: Comparison
    left: Expression
    right: Expression


Expression = Union[Text, Number, Boolean, Variable, Attribute, Call, Not, Operation, Compare]


@dataclass(frozen=True)
class Assign(_Named):
    """`$name = value`."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Return(_Written):
    """`ret value`."""

    value: Expression


Statement = Union[Assign, Return]


@dataclass(frozen=True)
class Comment:
    """A `#` comment with its sign, where it stood."""

    text: str
    span: Span


@dataclass(frozen=True)
class Tree:
    """A parsed question. `source` and `comments` take no part in equality."""

    statements: tuple[Statement, ...]
    source: str = field(default="", compare=False, repr=False)
    comments: tuple[Comment, ...] = field(default=(), compare=False, repr=False)


def children(node: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside an expression."""
    if isinstance(node, Operation):
        return node.operands
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Not):
        return (node.operand,)
    if isinstance(node, Compare):
        return (node.left, node.right)
    if isinstance(node, Attribute):
        return (node.record,)
    return ()
