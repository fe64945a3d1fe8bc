"""The engines by name, found as entry points: whatever distribution declares one under `blindlabel.engines` adds it.

An entry point names an engine's `Rules`. Its homomorphic library is imported only when the engine itself is needed.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from blindlabel.engines.interface import Engine, EngineUnavailable, Rules
from blindlabel.errors import InputError

GROUP = "blindlabel.engines"


def engine_names() -> list[str]:
    """The engines of this machine."""
    return sorted({found.name for found in entry_points(group=GROUP)})


@lru_cache(maxsize=8)
def rules_named(name: str) -> Rules:
    """The rules of the engine that an agreement names."""
    found = next(iter(entry_points(group=GROUP, name=name)), None)
    if found is None:
        raise InputError(f"There is no engine {name} on this machine; there are {', '.join(engine_names())}.")
    return cast(Rules, found.load()())


@lru_cache(maxsize=8)
def engine_named(name: str) -> Engine:
    """The engine that an agreement names; `EngineUnavailable` if it cannot be used on this machine."""
    module, _, kind = rules_named(name).engine.partition(":")
    try:
        return cast(Engine, getattr(import_module(module), kind)())
    except (ImportError, AttributeError) as error:
        raise EngineUnavailable(f"The {name} engine cannot be used on this machine: {error}.") from error
