"""The engines by name. An engine's library is imported when the engine is wanted, not before."""

from __future__ import annotations

import importlib
from functools import lru_cache

from blindlabel.engines.interface import Engine, EngineUnavailable
from blindlabel.errors import InputError

_WHERE = {
    "plain": ("blindlabel.engines.plain", "PlainEngine"),
    "packed": ("blindlabel.engines.packed", "PackedEngine"),
    "gates": ("blindlabel.engines.gates", "GatesEngine"),
}


@lru_cache(maxsize=8)
def engine_named(name: str) -> Engine:
    """The engine that an agreement names; `EngineUnavailable` where it cannot be used on this machine."""
    if name not in _WHERE:
        raise InputError(f"There is no engine {name}; there are {', '.join(_WHERE)}.")
    module, kind = _WHERE[name]
    try:
        engine: Engine = getattr(importlib.import_module(module), kind)()
    except (ImportError, AttributeError) as error:
        raise EngineUnavailable(f"The {name} engine cannot be used on this machine: {error}.") from error
    return engine
