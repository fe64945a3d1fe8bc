"""From an address to a connected cluster: `local`, `local:3` (three processes on this machine), `tcp://host:port` or
`tls://host:port`.

Imports Dask only here and only when a cluster is asked for. Dask's own configuration says which certificates `tls://`
uses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blindlabel import __version__
from blindlabel.engines.interface import EngineUnavailable
from blindlabel.errors import InputError, OutsideError

Client = Any
"""A client of a Dask cluster. Dask is not fully typed, and may not be there."""
Future = Any
"""What Dask gives for work under way or data on the cluster."""

_LOCAL = re.compile(r"local(?::(\d{1,3}))?")
_PATIENCE = 30.0
"""Seconds to wait for a scheduler and for its first worker."""


def check_address(address: str) -> None:
    """Refuse what is no address of a cluster, before any work is done."""
    found = _LOCAL.fullmatch(address)
    if found is not None and found[1] is not None and int(found[1]) < 1:
        raise InputError("A local cluster needs at least one process: write local or, for instance, local:2.")
    if found is None and not re.fullmatch(r"(tcp|tls)://\S+", address):
        raise InputError(
            f"{address} is no address of a cluster: write local, local:2, tcp://host:port or tls://host:port."
        )


def require_dask() -> Any:
    """Dask's package for clusters, or one sentence on how to get it."""
    try:
        import distributed  # noqa: PLC0415 - optional, and slow to import
    except ImportError as problem:
        raise EngineUnavailable(
            "A cluster needs Dask, which is not installed: pip install 'blindlabel[cluster]'."
        ) from problem
    return distributed


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the cluster at this address; a local one is started now and stopped at the end."""
    check_address(address)
    distributed = require_dask()
    local = _LOCAL.fullmatch(address)
    if local is None:
        try:
            client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, TimeoutError) as problem:
            raise OutsideError(f"No Dask scheduler answers at {address}: {problem}") from problem
        with client:
            _check(client, address)
            yield client
        return
    # Two threads a process: one tile computes while the other waits for the assist (see `tasks`).
    processes = int(local[1] or os.cpu_count() or 1)
    with (
        distributed.LocalCluster(
            n_workers=processes,
            threads_per_worker=2,
            processes=True,
            dashboard_address="127.0.0.1:0",  # its own choice is one port for all clusters, open to other machines
            host="127.0.0.1",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        _check(client, address)
        yield client


def _check(client: Client, address: str) -> None:
    """There are workers, and they have our program in our version."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as problem:
        raise OutsideError(
            f"The cluster at {address} has no worker. Start some with `dask worker {address}`."
        ) from problem
    try:
        found = client.run(version)
    except ModuleNotFoundError as problem:
        raise OutsideError(
            f"The machines of the cluster at {address} lack a package: {problem}. Install blindlabel there."
        ) from problem
    other = sorted({theirs for theirs in found.values() if theirs != __version__})
    if other:
        raise OutsideError(
            f"The cluster at {address} runs blindlabel {', '.join(other)}, and this is {__version__}. Make them the"
            " same."
        )


def version() -> str:
    """The version of this package where it runs."""
    return __version__
