"""Source text to tree, with diagnostics that a person can act on.

The lexer never fails: what it does not know becomes a token of its own. The tokens are cut into statements first (a
statement begins with `ret`, or with a variable and `=`), and each statement goes through the LALR parser by itself, so
several mistakes are reported at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedToken

from blindlabel.language import tree
from blindlabel.language.diagnostics import Diagnostic, ended, error, unexpected, unknown_character
from blindlabel.language.limits import Limits
from blindlabel.language.tree import NOWHERE, Comment, Span, Tree

_GRAMMAR = Path(__file__).with_name("question.lark")
_ENDS_AN_EXPRESSION = frozenset({"TEXT", "NUMBER", "TRUE", "FALSE", "VARIABLE", "NAME", "RPAR", "RSQB"})
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}


@dataclass(frozen=True)
class Parsed:
    """What could be read, and what is wrong. Statements with a mistake are left out of the question."""

    tree: Tree
    diagnostics: tuple[Diagnostic, ...]


@lru_cache(maxsize=1)
def _lark() -> Lark:
    return Lark(
        _GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",
        start=["statement", "stray"],
        propagate_positions=False,
        maybe_placeholders=False,
        transformer=_Builder(),
    )


def span_of(first: Token, last: Token | None = None) -> Span:
    """From the start of one token to the end of another."""
    last = last or first
    return Span(
        first.start_pos or 0,
        last.end_pos or 0,
        first.line or 1,
        first.column or 1,
        last.end_line or 1,
        last.end_column or 1,
    )


def _join(first: Span, last: Span) -> Span:
    return Span(first.start, last.end, first.line, first.column, last.end_line, last.end_column)


def parse(source: str, limits: Limits | None = None) -> Parsed:
    """Read a question. Never raises, whatever the text."""
    limits = limits or Limits()
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > limits.question_bytes:
        message = f"The question has {size:,} bytes; at most {limits.question_bytes:,} are allowed."
        return Parsed(Tree((), source), (error("too-large", message, NOWHERE, "Shorten it, or split it over rounds."),))
    tokens = list(_lark().lex(source))
    comments = tuple(Comment(str(token), span_of(token)) for token in tokens if token.type == "COMMENT")
    statements: list[tree.Statement] = []
    diagnostics: list[Diagnostic] = []
    for piece in _pieces([token for token in tokens if token.type != "COMMENT"]):
        _read_statement(piece, limits, statements, diagnostics)
    return Parsed(Tree(tuple(statements), source, comments), tuple(diagnostics))


def _pieces(tokens: list[Token]) -> list[list[Token]]:
    """The tokens, cut where a new statement begins: on a new line, or where the previous one could have ended."""
    pieces: list[list[Token]] = []
    previous: Token | None = None
    for i, token in enumerate(tokens):
        following = tokens[i + 1].type if i + 1 < len(tokens) else ""
        opens = token.type == "RET" or (token.type == "VARIABLE" and following == "ASSIGN")
        on_new_line = previous is None or (previous.end_line or 0) < (token.line or 0)
        if not pieces or (opens and (on_new_line or (previous is not None and previous.type in _ENDS_AN_EXPRESSION))):
            pieces.append([])
        pieces[-1].append(token)
        previous = token
    return pieces


def _read_statement(
    piece: list[Token], limits: Limits, statements: list[tree.Statement], diagnostics: list[Diagnostic]
) -> None:
    broken = _lexical(piece, limits)
    diagnostics.extend(broken)
    if any(finding.code not in {"bad-escape", "number-too-long"} for finding in broken):
        return  # a strange character would only cause a second, confusing message
    reader: Any = _lark().parse_interactive(start="statement")
    for i, token in enumerate(piece):
        try:
            reader.feed_token(token)
        except UnexpectedToken:
            diagnostics.append(unexpected(piece, i, frozenset(reader.accepts()), span_of))
            return
    try:
        statement = reader.feed_eof(piece[-1])
    except UnexpectedToken:
        diagnostics.append(ended(piece, span_of))
        return
    if broken:
        return
    if _depth(statement.value) > limits.nesting:
        message = f"This is nested more than {limits.nesting} deep."
        diagnostics.append(error("too-deep", message, statement.span, "Put parts of it into variables of their own."))
        return
    statements.append(statement)


def _lexical(piece: list[Token], limits: Limits) -> list[Diagnostic]:
    """What is wrong with single tokens."""
    found: list[Diagnostic] = []
    for token in piece:
        if token.type == "UNKNOWN":
            found.append(unknown_character(token, span_of(token)))
            break  # one stray character often comes in a row
        if token.type == "UNCLOSED_TEXT":
            hint = 'Put a " where the text ends.'
            found.append(error("unclosed-text", 'This text has no closing ".', span_of(token), hint))
        elif token.type == "TEXT":
            found.extend(_escape_errors(token))
        elif token.type == "NUMBER" and sum(map(str.isdigit, token)) > limits.number_digits:
            message = f"This number has more than {limits.number_digits} digits."
            hint = "Compare long numbers as text, with equals or is_in."
            found.append(error("number-too-long", message, span_of(token), hint))
    return found


def _escape_errors(token: Token) -> list[Diagnostic]:
    span = span_of(token)
    found = []
    for match in _ESCAPE.finditer(token, 1, len(token) - 1):
        escape = match.group(1)
        at, to = match.span()
        place = Span(span.start + at, span.start + to, span.line, span.column + at, span.line, span.column + to)
        if len(escape) == 1 and escape not in _ESCAPES:
            hint = r"Known are \", \\, \n, \t and \uXXXX; for a backslash itself write \\."
            found.append(error("bad-escape", f"\\{escape} means nothing in a text.", place, hint))
        elif len(escape) == 5 and 0xD800 <= int(escape[1:], 16) <= 0xDFFF:
            hint = "Type the character itself instead."
            found.append(error("bad-escape", f"\\{escape} is half a character, which no text can hold.", place, hint))
    return found


def unescape(literal: str) -> str:
    """The text that a literal with its quotes stands for."""
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match.group(1)) or _unicode(match.group(1)), literal[1:-1])


def _unicode(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else escape


def _depth(expression: tree.Expression) -> int:
    deepest = 0
    waiting = [(expression, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((child, depth + 1) for child in tree.children(node))
    return deepest


class _Builder(Transformer[Token, Any]):
    """Builds our nodes as the parser reduces its rules."""

    def assign(self, parts: list[Any]) -> tree.Assign:
        variable, _, value = parts
        place = span_of(variable)
        return tree.Assign(str(variable)[1:], value, span=_join(place, value.span), name_span=place)

    def give(self, parts: list[Any]) -> tree.Return:
        keyword, value = parts
        return tree.Return(value, span=_join(span_of(keyword), value.span))

    def chain(self, parts: list[Any]) -> tree.Operation:
        operator: Any = str(parts[1])  # the grammar admits only ours
        return tree.Operation(operator, tuple(parts[::2]), span=_join(parts[0].span, parts[-1].span))

    def compare(self, parts: list[Any]) -> tree.Compare:
        left, operator, right = parts
        known: Any = str(operator)  # as above
        return tree.Compare(known, left, right, span=_join(left.span, right.span))

    def negate(self, parts: list[Any]) -> tree.Not:
        return tree.Not(parts[1], span=_join(span_of(parts[0]), parts[1].span))

    def attribute(self, parts: list[Any]) -> tree.Attribute:
        record, name, last = parts[0], parts[2], parts[-1]
        text = unescape(name) if name.type == "TEXT" else str(name)
        return tree.Attribute(record, text, span=_join(record.span, span_of(last)), name_span=span_of(name))

    def text(self, parts: list[Token]) -> tree.Text:
        return tree.Text(unescape(parts[0]), span=span_of(parts[0]))

    def number(self, parts: list[Token]) -> tree.Number:
        digits = str(parts[0])
        # A number beyond every limit is refused later; reading it must not take long.
        return tree.Number(Fraction(digits) if len(digits) < 1000 else Fraction(0), span=span_of(parts[0]))

    def truth(self, parts: list[Token]) -> tree.Boolean:
        return tree.Boolean(parts[0].type == "TRUE", span=span_of(parts[0]))

    def variable(self, parts: list[Token]) -> tree.Variable:
        return tree.Variable(str(parts[0])[1:], span=span_of(parts[0]))

    def call(self, parts: list[Any]) -> tree.Call:
        name, last = parts[0], parts[-1]
        return tree.Call(str(name), tuple(parts[2:-1:2]), span=span_of(name, last), name_span=span_of(name))

    def brackets(self, parts: list[Any]) -> tree.Expression:
        inner: tree.Expression = replace(parts[1], span=span_of(parts[0], parts[2]))
        return inner
