"""docs/laboratory/deviations.md is true: which sizes an agreement refuses, and the published call that is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from blindlabel.engines.interface import EngineError
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.language import Question
from blindlabel.protocol import agreement as agreements

PAGE = (Path(__file__).parents[2] / "docs" / "laboratory" / "deviations.md").read_text("utf-8")
_REFUSED = re.compile(r"is refused: from ([\d,]+) records with the default agreement, from ([\d,]+) with `release")


def agreed(records: int, **settings: Any) -> None:
    made = agreements.new("x", ("anna", "berta"), ["name"], sampling={"records": records}, **settings)
    room_of(made.terms())


@pytest.mark.parametrize(("place", "settings"), [(0, {}), (1, {"release": "labels"})])
def test_the_first_size_that_is_refused_is_the_one_that_is_written(place: int, settings: dict[str, str]) -> None:
    (written,) = _REFUSED.findall(PAGE)
    first = int(written[place].replace(",", ""))
    agreed(first - 1, **settings)
    with pytest.raises(EngineError, match="fewer records"):
        agreed(first, **settings)


def test_the_published_order_of_arguments_is_refused_with_a_hint() -> None:
    assert 'arguments the other way round, `is_in($r, "…")`, are refused with a hint' in PAGE
    (problem,) = Question('ret is_in($r, "canon")', attributes=["name"]).problems
    assert problem.severity == "error" and "in double quotes" in problem.hint
