"""Which engine an owner computes with, and where: this process and its workers, or a cluster. Finished answers are kept
in a journal in the workspace, so that a stopped evaluation goes on where it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from blindlabel.engines.interface import Engine
from blindlabel.engines.registry import engine_named
from blindlabel.errors import InputError


@dataclass(frozen=True)
class Computing:
    """Where an owner's engine works."""

    workers: int = 1
    """Processes on this machine."""
    cluster: str = ""
    """Address of a Dask cluster, or nothing."""
    cluster_may_see_records: bool = False
    """Whether the cluster's machines may encrypt, for which they need the owner's records in clear."""


def engine_at(name: str, computing: Computing, journal: Path | None) -> Engine:
    """The engine of this name, set up to work where the owner wants it."""
    if name != "packed":
        if computing.cluster:
            raise InputError(
                f"Only the packed engine works on a cluster, and this study has agreed on the engine {name}."
            )
        return engine_named(name)
    if computing.cluster:
        from blindlabel.engines.packed.running.dask import ClusterEngine  # noqa: PLC0415 - heavy, and optional

        return ClusterEngine(computing.cluster, journal=journal, may_see_records=computing.cluster_may_see_records)
    from blindlabel.engines.packed import PackedEngine  # noqa: PLC0415 - heavy

    return PackedEngine(journal=journal)
