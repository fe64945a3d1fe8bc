"""One name, one meaning: a type, and a module, has its name to itself in the whole house.

A name that a module keeps to itself begins with an underscore, and need not be unlike others.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from support.house import REPOSITORY, Module, modules_of

HOUSE = modules_of(REPOSITORY / "src")


def types_of(module: Module) -> Iterator[str]:
    """The public types that a module defines: its classes, and names for types."""
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and not target.id.isupper() and target.id[0].isupper():
                    yield target.id


def several(modules: dict[str, Module]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Types, and modules by the last part of their name, that stand in more than one place."""
    types, stems = defaultdict(list), defaultdict(list)
    for name, module in modules.items():
        if not module.is_package:
            stems[name.rpartition(".")[2]].append(name)
        for one in types_of(module):
            if not one.startswith("_"):
                types[one].append(name)
    return (
        {one: places for one, places in types.items() if len(places) > 1},
        {one: places for one, places in stems.items() if len(places) > 1},
    )


def test_a_type_has_one_meaning() -> None:
    assert not several(HOUSE)[0]


def test_a_module_has_one_meaning() -> None:
    assert not several(HOUSE)[1]


def test_names_with_several_meanings_are_found(tmp_path: Path) -> None:
    """The judge is judged."""
    for folder in ("p", "p/q"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
        (tmp_path / folder / "one.py").write_text("class Kind: ...\nclass _Own: ...\nRows = list[int]\nMOST = 3\n")
    assert several(modules_of(tmp_path)) == (
        {"Kind": ["p.one", "p.q.one"], "Rows": ["p.one", "p.q.one"]},
        {"one": ["p.one", "p.q.one"]},
    )
