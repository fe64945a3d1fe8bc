"""The table in docs/reference/settings.md, from the declarations. `scripts/settings_page` writes it."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import Any

from blindlabel.protocol import agreement as agreements
from blindlabel.settings import Declared, declared


def settings_table() -> str:
    """Every setting as a row of a Markdown table: name, default, range, sentence."""
    whole: Any = agreements.Agreement
    own = {found.field for found in declared(whole)}
    sections = {name: field.annotation for name, field in whole.model_fields.items() if name not in own}
    rows = ["| setting | default | range | meaning |", "|---|---|---|---|"]
    rows += [_row(whole, "", found) for found in declared(whole)]
    rows += [_row(kind, f"{name}.", found) for name, kind in sections.items() for found in declared(kind)]
    return "\n".join(rows) + "\n"


def _row(section: Any, place: str, found: Declared) -> str:
    cells = (f"`{place}{found.name}`", _default(section, found.field), _range(section, found), found.setting.sentence)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(section: Any, name: str) -> str:
    """The default of a field of a dataclass or of a pydantic model."""
    if dataclasses.is_dataclass(section):
        made: Any = section
        value: Any = getattr(made(), name)
    elif (model := section.model_fields[name]).is_required():
        return "required"
    else:
        value = model.get_default(call_default_factory=True)
    return "absent" if value is None else "none" if value == {} else json.dumps(value, ensure_ascii=False)


def _range(section: Any, found: Declared) -> str:
    """What a setting may be, in words, or empty if its sentence says it all."""
    inner = typing.get_args(typing.get_type_hints(section, include_extras=True)[found.field])[0]
    if typing.get_origin(inner) is typing.Literal:
        return ", ".join(f'"{choice}"' for choice in typing.get_args(inner))
    least, most = found.setting.least, found.setting.most
    if least is None and most is None:
        return ""
    return f"{least:,} to {most:,}" if most is not None else f"{least:,} or more"
