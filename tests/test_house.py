"""How large the house may be. Less is the goal: a feature pays for itself with what it replaces.

A budget may be raised, in the commit that needs it, where its message says what people get for the lines and what was
deleted for it; never to let a change pass. Code lines are counted without docstrings, comments and imports.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOUSE, LABORATORY = ROOT / "src" / "blindlabel", ROOT / "lab" / "src" / "blindlabel_lab"
# "One arrangement" left 172 modules and 20,300 code lines. Types of values (some 690) and acknowledged histories
# (some 210) came on top; then sealing on every way, places instead of rows and lists by pairing (some 190); proxies,
# passphrases, logs and tables as people have them (some 340); setting aside and the derived account (some 150);
# estimates with intervals, plans and labels in ids (some 580); the server's front (some 180); a verdict with two sides
# (some 340); owners that leave or come back (some 250). When this step is done, there may be 23,500. What an owner
# accepts when it joins (some 80), the preview (some 125) and the ledger with the exports' sentences (some 90) came on
# top; two branches of an owner's truth were folded for it. Then practice, records to try and versions side by side
# (some 350), the pilot (120), candidates and checked pairs (300), a desk that loses nothing (475), a desk behind a
# proxy with sign-in (275) and the kernel's way in (130). So 1,850 lines are to go before this step is done:
# suggestions should give 350, one way to export 150.
# The laboratory had 12,500 with the gates engine in it; the simulation of the real loops (some 900) and the
# experiments on estimates and verdicts (some 400) came on top. A study with people (some 1,000) followed; the report as
# HTML, `partners`, `bench language`, `--local`, `score --against` and people beside oracles (some 420) went for it.
MOST = {HOUSE: {"lines": 40_500, "code": 25_800, "modules": 210}, LABORATORY: {"lines": 13_900}}


def modules(root: Path) -> list[Path]:
    return sorted(root.rglob("*.py"))


def code_lines(source: str) -> int:
    """Lines that do something: no docstring, comment, blank line or import."""
    tree = ast.parse(source)
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                left_out.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines: set[int] = set()
    idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in idle:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - left_out)


@pytest.mark.parametrize("root", MOST, ids=lambda root: root.name)
def test_the_house_is_within_its_budget(root: Path) -> None:
    sources = [path.read_text() for path in modules(root)]
    found = {
        "lines": sum(len(source.splitlines()) for source in sources),
        "code": sum(map(code_lines, sources)),
        "modules": len(sources),
    }
    over = {what: (found[what], most) for what, most in MOST[root].items() if found[what] > most}
    assert not over, f"{root.name} has grown beyond its budget: {over}"
