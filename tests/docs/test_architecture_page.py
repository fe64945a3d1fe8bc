"""docs/explanation/architecture.md shows the packages, arrows and files that there are."""

from __future__ import annotations

import re

from support.house import REPOSITORY, modules_of

PAGE = (REPOSITORY / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
SOURCE = REPOSITORY / "src" / "blindlabel"


def reached(arrows: dict[str, set[str]], start: str) -> set[str]:
    """Everything that arrows lead to."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for following in arrows.get(waiting.pop(), set()) - found:
            found.add(following)
            waiting.append(following)
    return found


def test_the_picture_shows_the_arrows_of_the_code() -> None:
    drawn: dict[str, set[str]] = {}
    for here, there in re.findall(r"^ +(\w+) --> (\w+)$", PAGE, re.MULTILINE):
        drawn.setdefault(here, set()).add(there)
    modules = modules_of(REPOSITORY / "src")
    real: dict[str, set[str]] = {}
    for module in modules.values():
        for one in module.imports(modules):
            ours = (name.split(".") for name in (module.name, one.name))
            here, there = (parts[1] if parts[0] == "blindlabel" and len(parts) > 1 else "" for parts in ours)
            if here and there and here != there:
                real.setdefault(here, set()).add(there)
    assert {here: there - real.get(here, set()) for here, there in drawn.items()} == {here: set() for here in drawn}
    missing = {here: there - reached(drawn, here) for here, there in real.items()}
    assert {here: there for here, there in missing.items() if there} == {}


def test_files_that_the_page_names_are_there() -> None:
    named = re.findall(r"`([\w/]+(?:/|\.py|\.lark))`", PAGE)
    assert len(named) > 40
    places = (SOURCE, REPOSITORY, REPOSITORY / "lab" / "src" / "blindlabel_lab")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
