"""An agreement as a commented TOML file, and all settings as a table; both derived from the settings' declarations.

Reading the file back gives the same agreement (see `agreement.from_text`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from blindlabel.protocol.agreement import Agreement
from blindlabel.settings import REQUIRED, Declared, declared

_HEAD = """\
# An agreement of a blindlabel study. All parties read it, and all use exactly this one: its hash stands in every
# message. Change what you need, then send it round with `blindlabel coordinator invite`. Nothing in it is secret.
"""


def to_text(agreement: Agreement) -> str:
    """The agreement as TOML with a comment beside every setting."""
    parts = [_HEAD + _lines(agreement, "")]
    parts += [f"[{name}]\n{_lines(getattr(agreement, name), name)}" for name in _sections()]
    return "\n".join(parts)


def settings_table() -> str:
    """Every setting as a row of a Markdown table: name, default, range, sentence."""
    rows = ["| setting | default | range | meaning |", "|---|---|---|---|"]
    rows += [_row("", found) for found in declared(Agreement)]
    rows += [_row(f"{name}.", found) for name, kind in _sections().items() for found in declared(kind)]
    return "\n".join(rows) + "\n"


def _sections() -> dict[str, Any]:
    """The agreement's sections: those of its fields that are no settings themselves."""
    own = {found.field for found in declared(Agreement)}
    return {name: field.annotation for name, field in Agreement.model_fields.items() if name not in own}


def _row(section: str, found: Declared) -> str:
    default = "required" if found.default is REQUIRED else "absent" if found.default is None else _value(found.default)
    cells = (f"`{section}{found.name}`", default, found.range, found.setting.sentence)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _lines(section: Any, place: str) -> str:
    """The settings of a section; a table of its own (positions by owner) comes last."""
    lines, tables = [], []
    for found in declared(type(section)):
        value = getattr(section, found.field)
        if isinstance(value, dict):
            tables += list(_table(f"{place}.{found.name}", found, value))
            continue
        lines.append(f"# {found.setting.sentence}")
        # TOML has no "none": an absent setting is shown as a comment.
        lines.append(f"# {found.name} = " if value is None else f"{found.name} = {_value(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _table(place: str, found: Declared, values: dict[str, Any]) -> Iterator[str]:
    yield f"# {found.setting.sentence}"
    if values:
        yield f"[{place}]"
        yield from (f"{name} = {_value(value)}" for name, value in sorted(values.items()))
    else:  # an example, as a comment: it would need real owners
        yield from (f"# [{place}]", "# anna = [0, 17, 42]", "# berta = [3, 5, 8]")


def _value(value: Any) -> str:
    """A TOML value. JSON text is TOML for strings without control characters beyond the escapes both know, numbers,
    and lists of them.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    if isinstance(value, dict):
        return "none" if not value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
