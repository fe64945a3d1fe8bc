"""How a setting of an agreement is declared: once, with its type, its default, its range and its sentence.

A setting is a field of a section (`language.limits.Limits`, `records.types.Conventions`, `engines.interface.Encoded`,
the sections in `protocol.agreement`), annotated with `Setting`. Everything else about it is derived from there:

- pydantic reads the range and refuses what lies outside it, with the place in the file;
- `engines.interface.Terms` inherits the engines' settings, and `taken` makes other views of them by name;
- the commented TOML text (`protocol.agreement.to_text`) and the table in `docs/reference/settings.md`
  (`scripts/settings_page`) show every setting.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Setting:
    """What a person is told about a setting, and the range of its numbers."""

    sentence: str
    least: int | None = None
    most: int | None = None
    example: str = ""
    """Lines of a table that is empty by default."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Tell pydantic the range; the setting's type stays as it was written."""
        schema = handler(source)
        number = schema["schema"] if schema["type"] == "nullable" else schema
        limits = {"ge": self.least, "le": self.most}
        number.update({name: limit for name, limit in limits.items() if limit is not None})
        return schema


@dataclass(frozen=True)
class Declared:
    """A setting as it was found in its section."""

    field: str
    """The attribute that holds it."""
    name: str
    """What it is called in the file."""
    setting: Setting


def declared(section: Any) -> tuple[Declared, ...]:
    """The settings of a section: those that its own class declares, then those that it inherits."""
    hints = typing.get_type_hints(section, include_extras=True)
    order = [name for kind in section.__mro__ for name in vars(kind).get("__annotations__", {})]
    found = []
    for name in dict.fromkeys(order):
        parts = getattr(hints.get(name), "__metadata__", ())
        for setting in (part for part in parts if isinstance(part, Setting)):
            called = next((part.alias for part in parts if getattr(part, "alias", None)), name)
            found.append(Declared(name, called, setting))
    return tuple(found)


T = typing.TypeVar("T")


def taken(view: type[T], *sections: object, **given: object) -> T:
    """A view of several sections: each field of `view` is taken from the section that has it, or from `given`."""
    values = dict(given)
    for field in dataclasses.fields(view):  # type: ignore[arg-type]
        for section in sections:
            if field.name not in values and hasattr(section, field.name):
                values[field.name] = getattr(section, field.name)
    return view(**values)
