"""A setting is declared once; file, comments, terms and the page follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import pytest

from blindlabel.engines.interface import Encoded, Terms
from blindlabel.errors import InputError
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import Agreement, Encoding
from blindlabel.settings import Setting, declared, taken
from support.settings_table import settings_table

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


@dataclasses.dataclass(frozen=True, kw_only=True)
class WithSparkle(Encoding):
    """The encoding with one more setting, declared here and nowhere else."""

    sparkle: Annotated[int, Setting("How much an answer sparkles.", 1, 9)] = 4


class Larger(Agreement):
    """An agreement with that encoding."""

    encoding: WithSparkle = WithSparkle()


@dataclasses.dataclass(frozen=True)
class SparklingTerms(WithSparkle, Terms):
    """What an engine would get."""


def test_one_more_setting_is_declared_at_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreements, "Agreement", Larger)
    made = agreements.new("s", ["a", "b"], ["name"], encoding={"sparkle": 7})
    text = agreements.to_text(made)
    assert "# How much an answer sparkles.\nsparkle = 7\n" in text
    assert agreements.from_text(text) == made
    assert taken(SparklingTerms, made.encoding, attributes=("name",)).sparkle == 7
    row = "| `encoding.sparkle` | 4 | 1 to 9 | How much an answer sparkles. |"
    assert row in settings_table()
    with pytest.raises(InputError, match=r"encoding.sparkle: .* less than or equal to 9"):
        agreements.from_text(text.replace("sparkle = 7", "sparkle = 10"))


def test_every_field_of_every_section_is_a_setting() -> None:
    made = agreements.new("s", ["a", "b"], ["name"])
    sections = [getattr(made, name) for name in Agreement.model_fields if name not in _fields(declared(Agreement))]
    assert len(sections) >= 5
    for section in sections:
        names = (
            _fields(dataclasses.fields(section)) if dataclasses.is_dataclass(section) else {*type(section).model_fields}
        )
        assert names == _fields(declared(type(section)))


def _fields(found: Iterable[Any]) -> set[str]:
    return {getattr(one, "field", None) or one.name for one in found}


def test_every_setting_for_engines_reaches_the_terms() -> None:
    made = agreements.new("s", ["a", "b"], ["name"])
    others: dict[str, Any] = {
        found.field: _another(getattr(made.encoding, found.field), found.setting) for found in declared(Encoded)
    }
    encoding = dataclasses.replace(made.encoding, **others)
    terms = made.model_copy(update={"encoding": encoding}).terms()
    for found in declared(Encoded):
        assert getattr(terms, found.field) == getattr(encoding, found.field) != getattr(made.encoding, found.field)


def _another(value: object, setting: Setting) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, tuple):
        return (*value, value[0])
    if isinstance(value, str):
        return value + "!"
    return setting.most


def test_page_of_settings_is_derived() -> None:
    """After a change: `python scripts/settings_page`."""
    assert settings_table() in PAGE.read_text("utf-8")
