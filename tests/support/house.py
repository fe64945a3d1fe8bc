"""The house read as text: its modules, what each imports, and how long its pieces are. Nothing is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Import:
    """One import statement's target, and whether it waits until a function runs (or is for the type checker alone)."""

    name: str
    lazy: bool


@dataclass(frozen=True)
class Module:
    """One file of a distribution."""

    name: str
    is_package: bool
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def imports(self, modules: Mapping[str, Module]) -> Iterator[Import]:
        """Everything imported, down to modules of this distribution: `from blindlabel.engines import plain` names
        that module, `from blindlabel.engines.plain import Plain` the same one.
        """
        for node, lazy in _statements(self.tree, lazy=False):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(alias.name, lazy)
            else:
                source = self._absolute(node)
                for alias in node.names:
                    deeper = f"{source}.{alias.name}"
                    yield Import(deeper if deeper in modules else source, lazy)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*base, *([node.module] if node.module else [])])

    def functions(self) -> Iterator[tuple[str, int]]:
        """Every function with its length in lines, decorators left out."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{self.name}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def _statements(node: ast.AST, *, lazy: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, lazy
        waits = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"
        )
        yield from _statements(child, lazy=lazy or waits)


def modules_of(source: Path) -> dict[str, Module]:
    """All modules below a `src` folder, by name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found[name] = Module(name, is_package, path.read_text(encoding="utf-8"))
    return found


def cycle_in(arrows: Mapping[str, Iterable[str]]) -> list[str] | None:
    """One way round in a graph, or None if there is none."""
    finished: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str] | None:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in finished:
            return None
        for following in sorted(arrows.get(node, ())):
            if found := walk(following, [*path, node]):
                return found
        finished.add(node)
        return None

    for start in sorted(arrows):
        if found := walk(start, []):
            return found
    return None
