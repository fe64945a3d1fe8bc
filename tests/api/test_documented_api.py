"""docs/reference/api.md is true: its examples run, print what the page shows, and it names exactly what is public."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import blindlabel
from support import documented_python

PAGE = documented_python.ROOT / "docs" / "reference" / "api.md"


@pytest.mark.parametrize("page", ["docs/reference/api.md", "docs/laboratory/case-studies.md"])
def test_python_examples_print_what_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    documented_python.run(documented_python.examples(page))


def test_page_names_every_public_name() -> None:
    table = "".join(line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|"))
    named = set(re.findall(r"`(\w+)", table)) | {"InputError", "OutsideError", "__version__"}
    assert named == set(blindlabel.__all__)
