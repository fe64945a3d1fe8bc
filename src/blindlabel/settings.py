"""How a setting of an agreement is declared: once, with its type, its default, its range and its sentence.

A setting is a field of a section (`language.limits.Limits`, `engines.interface.Encoded`, the sections in
`protocol.agreement`), annotated with `Setting`. Everything else about it is derived from there:

- pydantic reads the range and refuses what lies outside it, with the place in the file;
- `engines.interface.Terms` inherits the engines' settings, and `taken` makes other views of them by name;
- the commented TOML text (`protocol.agreement.to_text`) and the table in `docs/reference/settings.md` show every
  setting.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


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


class _NoDefault:
    pass


@dataclass(frozen=True)
class Declared:
    """A setting as it was found in its section."""

    field: str
    """The attribute that holds it."""
    name: str
    """What it is called in the file."""
    default: Any
    """`REQUIRED` if there is none."""
    setting: Setting
    choices: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """What it may be, in words, or empty if the sentence says it all."""
        if self.choices:
            return ", ".join(f'"{choice}"' for choice in self.choices)
        least, most = self.setting.least, self.setting.most
        if least is None and most is None:
            return ""
        return f"{least:,} to {most:,}" if most is not None else f"{least:,} or more"


REQUIRED: Any = _NoDefault()


def declared(section: Any) -> tuple[Declared, ...]:
    """The settings of a section: those that its own class declares, then those that it inherits."""
    hints = typing.get_type_hints(section, include_extras=True)
    order = [name for kind in section.__mro__ for name in vars(kind).get("__annotations__", {})]
    found = []
    for name in dict.fromkeys(order):
        parts = getattr(hints.get(name), "__metadata__", ())
        for setting in (part for part in parts if isinstance(part, Setting)):
            called = next((part.alias for part in parts if getattr(part, "alias", None)), name)
            found.append(Declared(name, called, _default(section, name), setting, _choices(hints[name])))
    return tuple(found)


def _default(section: Any, name: str) -> Any:
    """The default of a field of a dataclass or of a pydantic model."""
    if dataclasses.is_dataclass(section):
        field = next(field for field in dataclasses.fields(section) if field.name == name)
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
        return REQUIRED if field.default is dataclasses.MISSING else field.default
    model = section.model_fields[name]
    return REQUIRED if model.is_required() else model.get_default(call_default_factory=True)


def _choices(hint: Any) -> tuple[str, ...]:
    inner = typing.get_args(hint)[0]
    return tuple(typing.get_args(inner)) if typing.get_origin(inner) is Literal else ()


T = typing.TypeVar("T")


def taken(view: type[T], *sections: object, **given: object) -> T:
    """A view of several sections: each field of `view` is taken from the section that has it, or from `given`."""
    values = dict(given)
    for field in dataclasses.fields(view):  # type: ignore[arg-type]
        for section in sections:
            if field.name not in values and hasattr(section, field.name):
                values[field.name] = getattr(section, field.name)
    return view(**values)
