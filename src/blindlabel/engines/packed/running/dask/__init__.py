"""Evaluation and encryption of the packed engine on a Dask cluster: `ClusterEngine` is an engine like any other.

The extra `blindlabel[cluster]` brings Dask. `connecting` finds or starts the cluster, `tasks` is what runs on its
machines, `channel` carries assist calls back to the owner's process, `driving` hands out tiles and takes in answers,
`engine` puts them behind the interface of all engines. docs/scale.md says what the cluster's machines see.
"""

from __future__ import annotations

from blindlabel.engines.packed.running.dask.engine import ClusterEngine

__all__ = ["ClusterEngine"]
