"""The tree back to text, in one tidy form. What it prints parses to the same tree; comments are kept."""

from __future__ import annotations

import re
from fractions import Fraction

from blindlabel.language import tree

_TIGHTNESS = {"|": 1, "&": 2, "compare": 3, "+": 4, "*": 5, "not": 6, "primary": 7}
_NAME = re.compile(r"[^\W\d]\w*")
_KEYWORDS = frozenset({"ret", "true", "false"})
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def format_question(question: tree.Tree) -> str:
    """The whole question, one statement a line, ending in a line end."""
    lines: list[str] = []
    comments = list(question.comments)
    statements = question.statements
    for i, statement in enumerate(statements):
        following = statements[i + 1].span.start if i + 1 < len(statements) else None
        line = _statement(statement)
        while comments and comments[0].span.start < statement.span.end:  # before it, or inside it
            lines.append(comments.pop(0).text.rstrip())
        beside = comments and comments[0].span.line == statement.span.end_line
        if beside and (following is None or comments[0].span.start < following):
            line += "  " + comments.pop(0).text.rstrip()
        lines.append(line)
    lines.extend(comment.text.rstrip() for comment in comments)
    return "".join(line + "\n" for line in lines)


def _statement(statement: tree.Statement) -> str:
    if isinstance(statement, tree.Return):
        return f"ret {format_expression(statement.value)}"
    return f"${statement.name} = {format_expression(statement.value)}"


def format_expression(node: tree.Expression) -> str:
    """One expression, with the brackets it needs and no others."""
    return _format(node)[0]


def _format(node: tree.Expression) -> tuple[str, int]:
    """The text and how tightly it binds."""
    if isinstance(node, tree.Text):
        return quote(node.value), _TIGHTNESS["primary"]
    if isinstance(node, tree.Number):
        return number(node.value), _TIGHTNESS["primary"]
    if isinstance(node, tree.Boolean):
        return ("true" if node.value else "false"), _TIGHTNESS["primary"]
    if isinstance(node, tree.Variable):
        return f"${node.name}", _TIGHTNESS["primary"]
    if isinstance(node, tree.Attribute):
        return _inside(node.record, _TIGHTNESS["primary"]) + attribute_access(node.name), _TIGHTNESS["primary"]
    if isinstance(node, tree.Call):
        arguments = ", ".join(_format(argument)[0] for argument in node.arguments)
        return f"{node.function}({arguments})", _TIGHTNESS["primary"]
    if isinstance(node, tree.Not):
        return "!" + _inside(node.operand, _TIGHTNESS["not"]), _TIGHTNESS["not"]
    if isinstance(node, tree.Compare):
        sides = (_inside(side, _TIGHTNESS["+"]) for side in (node.left, node.right))
        return f" {node.operator} ".join(sides), _TIGHTNESS["compare"]
    tightness = _TIGHTNESS[node.operator]
    joint = "*" if node.operator == "*" else f" {node.operator} "
    # An operand with the same operator was bracketed by the writer, so it keeps its brackets.
    return joint.join(_inside(operand, tightness + 1) for operand in node.operands), tightness


def _inside(node: tree.Expression, wanted: int) -> str:
    text, tightness = _format(node)
    return text if tightness >= wanted else f"({text})"


def attribute_access(name: str) -> str:
    """How an attribute is written behind a record: `.title`, or `["date of birth"]` where the name is no plain word."""
    return f".{name}" if _NAME.fullmatch(name) and name not in _KEYWORDS else f"[{quote(name)}]"


def quote(text: str) -> str:
    """A text as it is written in a question, in double quotes with escapes."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if not character.isprintable() and character != " " and ord(character) <= 0xFFFF:
        return f"\\u{ord(character):04x}"
    return character


def number(value: Fraction) -> str:
    """A number as it is written in a question."""
    if value.denominator == 1:
        return str(value.numerator)
    # Literals are decimals, so the denominator divides a power of ten.
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    scaled = abs(int(value * 10**digits))
    return f"{'-' if value < 0 else ''}{scaled // 10**digits}.{scaled % 10**digits:0{digits}d}"
