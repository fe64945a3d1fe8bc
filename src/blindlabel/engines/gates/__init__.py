"""The gates engine: the publication's way, bit by bit with OpenFHE's BinFHE, with better circuits and no assist.

`open_engine()` gives the engine that works here: in this process where OpenFHE imports, else through a worker in its own environment.
"""

from __future__ import annotations

from blindlabel.engines.interface import Engine, EngineUnavailable


def open_engine() -> Engine:
    """The gates engine, or EngineUnavailable with a sentence about what it needs."""
    from blindlabel.engines.gates import engine, library, remote  # noqa: PLC0415

    try:
        library.openfhe()
    except EngineUnavailable:
        remote.find_python()
        return remote.RemoteGatesEngine()
    return engine.GatesEngine()
