"""The pages are short and say things as a native would: bounds on words and lines, and phrases that are gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in {"decisions", "laboratory"}]
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
WRITTEN = ("src/**/*.py", "lab/src/**/*.py", "tests/**/*.py", "docs/**/*.md", "*.md", "scripts/*", "examples/*.py")
GONE = (
    r"the own\b", r"\bso many\b", r"(?<!your )(?<!owner's )(?<!its )(?<!their )\bown rows?\b(?!\")", r"\bNone where\b",
    r"\bof before\b", r"\belse than\b", r"\bthe very\b", r"\blikest\b", r"\bplainly\b", r"\bmanieth\b", r"\bevened\b",
    r"\bhave not the\b", r"\btherein\b", r"\bat last\b", r"\bcalled to people\b",
)  # fmt: skip
"""A native stumbles over these. What they stood for is said in the glossary's words."""


def words(page: Path) -> int:
    return len(page.read_text("utf-8").split())


def test_the_pages_together_and_the_readme_are_short() -> None:
    assert len(PAGES) > 15
    assert sum(map(words, PAGES)) <= 24_000
    assert words(ROOT / "README.md") <= 700


def test_decisions_are_few_and_short() -> None:
    assert len(DECISIONS) <= 30
    assert {page.name: words(page) for page in DECISIONS if words(page) > 260} == {}


@pytest.mark.parametrize("page", [*DOCS.rglob("*.md"), *ROOT.glob("*.md")], ids=lambda page: page.name)
def test_lines_of_a_page_can_be_reviewed(page: Path) -> None:
    """Tables, commands and what a script writes may be longer: a line of theirs cannot be wrapped."""
    apart = r"^```.*?^```|^    .*?$|<!-- measured -->.*?<!-- end -->"
    prose = re.sub(apart, "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    long = [line for line in prose.splitlines() if len(line) > 120 and not line.startswith(("|", "!["))]
    assert long == []


def test_phrases_that_a_native_stumbles_over_are_gone() -> None:
    gone = re.compile("|".join(GONE), re.IGNORECASE)
    files = [path for kind in WRITTEN for path in ROOT.glob(kind) if path.is_file() and path != Path(__file__)]
    assert len(files) > 500
    found = {
        f"{path.relative_to(ROOT)}:{number}": line.strip()
        for path in files
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if gone.search(line)
    }
    assert found == {}


@pytest.mark.parametrize("phrase", ["the own table", "Own rows that fit", "None where it is", "so many records"])
def test_such_phrases_would_be_noticed(phrase: str) -> None:
    assert re.search("|".join(GONE), phrase, re.IGNORECASE)
