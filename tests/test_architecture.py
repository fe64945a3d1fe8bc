"""What holds the house up: its arrows, what it may need, and how long its pieces may be.

There are no exceptions, and nobody adds one.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from support.house import REPOSITORY, Import, Module, cycle_in, modules_of

HOUSE = modules_of(REPOSITORY / "src")
LAB = modules_of(REPOSITORY / "lab" / "src")

MAY_KNOW: dict[str, set[str]] = {
    "errors": set(),
    "settings": set(),
    "language": {"errors", "settings"},
    "records": {"errors", "language", "settings"},
    "envelope": {"errors"},
    "engines": {"errors", "settings", "language"},
    "protocol": {"errors", "settings", "language", "records", "envelope", "engines"},
    "parties": {"errors", "language", "records", "envelope", "engines", "protocol"},
    "storage": {"errors", "language", "records", "envelope", "protocol"},
    "transport": {"errors", "envelope", "protocol", "parties", "storage"},
    "export": {"errors", "records", "protocol", "parties", "storage"},
    "estimates": {"errors", "records", "protocol", "export"},
}
"""Which packages each may import. What is not named here (web, cli, the public API) is outermost and knows them all."""

LINES_OF_A_MODULE = 600
LINES_OF_A_FUNCTION = 60

HOMES = {"nicegui": "blindlabel.web", "jinja2": "blindlabel.web"}
"""Optional libraries that one package may import at once, because that package itself is imported only when used."""


def package_of(name: str) -> str:
    """The package below `blindlabel` that a module belongs to; empty for `blindlabel` itself."""
    return name.split(".")[1] if "." in name else ""


def own(imports: list[Import]) -> list[Import]:
    return [one for one in imports if one.name.split(".")[0] == "blindlabel"]


@cache
def imports_of(name: str) -> list[Import]:
    return list(HOUSE[name].imports(HOUSE) if name in HOUSE else LAB[name].imports(LAB))


def test_arrows_point_inwards() -> None:
    outward = set()
    for module in HOUSE.values():
        here = package_of(module.name)
        if here not in MAY_KNOW:
            continue
        for one in own(imports_of(module.name)):
            there = package_of(one.name)
            if there not in {"", here} | MAY_KNOW[here]:
                outward.add(f"{module.name} -> {there}")
    assert not outward


def test_only_the_version_is_taken_from_the_public_api() -> None:
    """Inside the house nothing goes through `blindlabel/__init__.py`, which would make everything know everything."""
    for module in HOUSE.values():
        for line in re.findall(r"^\s*from blindlabel import (.+)$", module.text, re.MULTILINE):
            assert line == "__version__", f"{module.name} imports {line} from the public API"


@pytest.mark.parametrize("modules", [HOUSE, LAB], ids=["house", "lab"])
def test_neighbours_in_a_package_do_not_need_each_other_in_a_circle(modules: dict[str, Module]) -> None:
    """At every level: the packages of the house, the packages within `engines`, the modules within one package."""
    circles = {}
    for package in (module.name for module in modules.values() if module.is_package):
        arrows: dict[str, set[str]] = defaultdict(set)
        for module in modules.values():
            for one in imports_of(module.name):
                if module.name.startswith(f"{package}.") and one.name.startswith(f"{package}."):
                    here, there = (name.removeprefix(f"{package}.").split(".")[0] for name in (module.name, one.name))
                    if here != there:
                        arrows[here].add(there)
        if circle := cycle_in(arrows):
            circles[package] = " -> ".join(circle)
    assert not circles


def test_house_does_not_know_the_lab() -> None:
    for module in HOUSE.values():
        assert not [one.name for one in imports_of(module.name) if one.name.split(".")[0] == "blindlabel_lab"], (
            module.name
        )


def normalised(requirement: str) -> str:
    """The name of the distribution that a requirement names."""
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def declared() -> tuple[set[str], set[str]]:
    """What the house always has, and what its extras add; those for development are neither."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return {normalised(one) for one in project["dependencies"]}, {
        normalised(one) for extra, names in extras.items() if extra != "dev" for one in names
    }


def test_house_needs_nothing_but_what_it_declares_and_optional_libraries_only_when_they_are_used() -> None:
    always, optional = declared()
    distributions = {name: {normalised(one) for one in found} for name, found in packages_distributions().items()}
    undeclared, eager = set(), set()
    for module in HOUSE.values():
        for one in imports_of(module.name):
            library = one.name.split(".")[0]
            if library in sys.stdlib_module_names or library == "blindlabel":
                continue
            named = distributions.get(library, {library})
            if named & always:
                continue
            if not named & optional:
                undeclared.add(f"{module.name} imports {library}")
            elif not one.lazy and not module.name.startswith(HOMES.get(library, "-")):
                eager.add(f"{module.name} imports {library}")
    assert not undeclared
    assert not eager, "imported when the module is, although it is optional"


def test_homes_of_optional_libraries_are_imported_only_when_they_are_used() -> None:
    for module in HOUSE.values():
        for one in own(imports_of(module.name)):
            for home in set(HOMES.values()):
                outside = one.name.startswith(home) and not module.name.startswith(home)
                assert not outside or one.lazy, f"{module.name} imports {one.name} at once"


def test_gates_need_only_what_their_own_environment_has() -> None:
    """They run under another Python, in which most of the house's libraries are not installed."""
    pinned = (REPOSITORY / "constraints-gates.txt").read_text()
    installed = {name.replace("-", "_") for name in re.findall(r"^([A-Za-z0-9_-]+)==", pinned, re.MULTILINE)}
    seen, waiting, needed = set[str](), ["blindlabel_lab.gates.elsewhere", "blindlabel_lab.bench.gates"], set[str]()
    while waiting:
        name = waiting.pop()
        parents = {name.rpartition(".")[0]} - {""}
        for one in [*parents, *(one.name for one in imports_of(name) if not one.lazy)]:
            if one in HOUSE | LAB and one not in seen:
                seen.add(one)
                waiting.append(one)
            elif one.split(".")[0] not in sys.stdlib_module_names | {"blindlabel", "blindlabel_lab"}:
                needed.add(one.split(".")[0])
    assert {"numpy", "jellyfish"} <= needed <= installed


def test_no_module_is_longer_than_one_reads_in_a_sitting() -> None:
    assert not [module.name for module in HOUSE.values() if module.lines > LINES_OF_A_MODULE]


def test_every_function_fits_a_screen() -> None:
    assert not [name for module in HOUSE.values() for name, lines in module.functions() if lines > LINES_OF_A_FUNCTION]


def test_no_module_has_the_name_of_its_package() -> None:
    names = [name.split(".") for name in (*HOUSE, *LAB)]
    assert not [name for name in names if len(name) > 1 and name[-1] == name[-2]]


def test_a_circle_is_found(tmp_path: Path) -> None:
    """The judge is judged: without this, the tests above could pass because nothing is read."""
    assert len(HOUSE) > 100
    assert cycle_in({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}) == ["a", "b", "c", "a"]
    assert cycle_in({"a": ["b", "c"], "b": ["c"]}) is None
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "__init__.py").write_text("")
    (tmp_path / "p" / "one.py").write_text("from . import two\nfrom .two import x\n\ndef f():\n    import p.three\n")
    (tmp_path / "p" / "two.py").write_text("x = 1\n")
    modules = modules_of(tmp_path)
    assert list(modules["p.one"].imports(modules)) == [
        Import("p.two", lazy=False),
        Import("p.two", lazy=False),
        Import("p.three", lazy=True),
    ]
