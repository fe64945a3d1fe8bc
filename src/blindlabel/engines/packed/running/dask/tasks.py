"""What runs on the cluster's machines. Each process opens a study's keys and the batch at hand once and keeps them for
the next tile.

SEAL holds Python's lock while it computes, and two tiles in memory at once would take twice the room, so a tile
computes under a lock and gives it up while it waits for the assist; a second thread lets another tile use that time.
Nothing here can decrypt.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blindlabel.engines.interface import Evaluated, Terms
from blindlabel.engines.packed import records as study_records
from blindlabel.engines.packed.encoding.tables import features_of
from blindlabel.engines.packed.keys import open_public
from blindlabel.engines.packed.questions import plans_of
from blindlabel.engines.packed.records import Batch
from blindlabel.engines.packed.running.dask.channel import Attempt
from blindlabel.engines.packed.running.dask.connecting import require_dask
from blindlabel.engines.packed.running.tiles import Opened, Tile
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record

_computing = threading.Lock()


@dataclass(frozen=True, eq=False)
class Study:
    """What every task of one call needs; goes to each worker once."""

    name: str
    """New for each call."""
    terms: Terms
    public: bytes
    questions: Sequence[Formula] = ()


class _Bench:
    """The batch that lies open in this process."""

    def __init__(self) -> None:
        self._name: tuple[str, int] | None = None
        self._opened: Opened | None = None

    def opened(self, study: Study, batch: Batch) -> Opened:
        if self._opened is None or self._name != (study.name, batch.index):
            self._opened = None  # not two at a time
            public = open_public(study.terms, study.public)
            self._opened = Opened.of(public, plans_of(public.way, study.questions), batch)
            self._name = (study.name, batch.index)
        return self._opened


_bench = _Bench()


def evaluate_tile(study: Study, batch: Batch, tile: Tile, channel: str) -> tuple[str, list[Evaluated]]:
    """The answers parcels of a tile, and the name of the attempt that made them."""
    attempt = Attempt(channel, require_dask().get_client())

    def assist(request: bytes) -> bytes:
        _computing.release()
        try:
            return attempt.ask(request)
        finally:
            _computing.acquire()

    try:
        with _computing:
            # A tile keeps what it opened: another tile may have opened another batch while this one waited.
            return attempt.name, list(_bench.opened(study, batch).answers(tile, assist))
    finally:
        attempt.close()


def features(terms: Terms, records: Sequence[Record]) -> Residues:
    """Feature vectors of some records, in clear."""
    with _computing:
        return features_of(way_of(terms).tables, records)


def encrypt_part(study: Study, made: Sequence[Residues], batch: int, part: int, total: int) -> bytes:
    """One parcel of a batch."""
    with _computing:
        return study_records.encrypt_part(
            open_public(study.terms, study.public), np.concatenate(made, axis=0), batch, part, total
        )
