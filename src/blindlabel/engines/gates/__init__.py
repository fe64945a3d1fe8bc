"""The gates engine: the publication's way, bit by bit with OpenFHE's BinFHE, with better circuits and no assist.

`GatesEngine` is the class that works here: `LocalGatesEngine` where OpenFHE imports, else `RemoteGatesEngine`, which
runs it through a worker in an environment of its own. Asking for it where neither works raises EngineUnavailable with a
sentence about what is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from blindlabel.engines.interface import EngineUnavailable

if TYPE_CHECKING:
    from blindlabel.engines.gates.engine import LocalGatesEngine
    from blindlabel.engines.gates.remote import RemoteGatesEngine

    GatesEngine = Union[LocalGatesEngine, RemoteGatesEngine]


def engine_class() -> type[LocalGatesEngine] | type[RemoteGatesEngine]:
    """What `GatesEngine` stands for on this machine."""
    from blindlabel.engines.gates import engine, library, remote  # noqa: PLC0415

    try:
        library.openfhe()
    except EngineUnavailable:
        remote.find_python()
        return remote.RemoteGatesEngine
    return engine.LocalGatesEngine


def __getattr__(name: str) -> object:
    if name == "GatesEngine":
        return engine_class()
    raise AttributeError(name)
