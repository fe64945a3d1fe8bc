"""Engines answer questions about records; all share the interface in `blindlabel.engines.interface`.

`plain` is the reference, `packed` the default, `gates` the publication's own way. They are found by name here and imported when asked for,
because each brings heavy libraries with it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.engines.interface import Engine

_ENGINES = {
    "plain": ("blindlabel.engines.plain", "PlainEngine"),
    "packed": ("blindlabel.engines.packed", "PackedEngine"),
    "gates": ("blindlabel.engines.gates", "GatesEngine"),
}

ENGINE_NAMES = tuple(_ENGINES)


def engine(name: str) -> Engine:
    """The engine of this name."""
    if name not in _ENGINES:
        raise InputError(f"There is no engine {name}; there are {', '.join(ENGINE_NAMES)}.")
    module, kind = _ENGINES[name]
    return cast("Engine", getattr(importlib.import_module(module), kind)())
