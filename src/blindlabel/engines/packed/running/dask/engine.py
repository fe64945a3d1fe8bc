"""The packed engine with its work on a cluster, behind the interface of all engines.

Questions and encrypted records go to the cluster's machines, records in clear only where the owner says so. Keys,
assist and decryption stay where they are: a cluster is an owner's, never the coordinator's.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from blindlabel.engines.allowed import check_records
from blindlabel.engines.interface import IN_THIS_PROCESS, Assist, Evaluated, Progress, Terms, Working
from blindlabel.engines.packed import PackedEngine
from blindlabel.engines.packed.encoding.tables import check_sharing
from blindlabel.engines.packed.keys import open_public
from blindlabel.engines.packed.questions import plans_of
from blindlabel.engines.packed.records import Batch
from blindlabel.engines.packed.running.dask import tasks
from blindlabel.engines.packed.running.dask.connecting import check_address, connected, require_dask
from blindlabel.engines.packed.running.dask.driving import Driver
from blindlabel.engines.packed.running.dask.tasks import Study
from blindlabel.engines.packed.running.finished import FinishedAnswers
from blindlabel.engines.packed.running.kept_calls import KeptCalls
from blindlabel.engines.packed.running.tiles import Tile, over_batches, tiles_of
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record

_SLICE = 32
"""Records whose features one task makes."""
_AHEAD = 3
"""Tiles handed out for each thread of the cluster, so that none waits for the owner's process."""


class ClusterEngine(PackedEngine):
    """Evaluates (and, where allowed, encrypts) on the Dask cluster at an address: local, local:2, tcp://host:port,
    tls://host:port.
    """

    def __init__(self, address: str, *, journal: Path | None = None, may_see_records: bool = False) -> None:
        check_address(address)
        require_dask()
        super().__init__(journal)
        self.address = address
        self.may_see_records = may_see_records

    def encrypt(
        self,
        terms: Terms,
        key: bytes,
        records: Sequence[Record],
        questions: int = 0,
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[bytes]:
        """The records as parcels: made in this process, or on the cluster where its machines may see records in
        clear. A secret key never goes there.
        """
        if not self.may_see_records or terms.keys == "owners":
            yield from super().encrypt(terms, key, records, questions, working)
            return
        opened = open_public(terms, key)
        check_records(terms, records)
        check_sharing(terms, records)
        with connected(self.address) as client:
            study = client.scatter(Study(secrets.token_hex(8), terms, key), broadcast=True, hash=False)
            layout = opened.way.layout
            batches = layout.batches(len(records))
            for batch in range(batches):
                part_of = records[batch * layout.block : (batch + 1) * layout.block]
                slices = [part_of[start : start + _SLICE] for start in range(0, len(part_of), _SLICE)]
                made = [client.submit(tasks.features, terms, some, pure=False) for some in slices]
                parts = [
                    client.submit(tasks.encrypt_part, study, made, batch, part, len(records), pure=False)
                    for part in range(layout.parcels)
                ]
                for part, future in enumerate(parts):
                    yield future.result()
                    future.release()
                    working.tell("encrypt", (batch + (part + 1) / len(parts)) / batches)

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        assist: Assist,
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """All questions over all records, tile by tile on the cluster, which has as many workers as it has; answers
        come in the order in which they are finished.
        """
        opened = open_public(terms, public)
        plans_of(opened.way, questions)  # what is wrong with a question is said before anything is shipped
        journal = FinishedAnswers(self.journal, terms, opened.study, questions) if self.journal is not None else None
        if not questions:
            return
        with (
            connected(self.address) as client,
            Driver(client, Study(secrets.token_hex(8), terms, public, questions), KeptCalls(assist, journal)) as driver,
        ):
            clock = _Clock(working.tell)
            at_work = max(1, sum(client.nthreads().values()))
            in_all = len(tiles_of(opened.way, 0, len(questions), workers=at_work))

            def make(batch: Batch, wanted: Sequence[Tile]) -> Iterator[Evaluated]:
                clock.begin(batch.index, batch.batches, in_all, len(wanted))
                for answers in driver.batch(batch, wanted, _AHEAD * at_work) if wanted else ():
                    yield from answers
                    clock.tick()

            yield from over_batches(opened, parcels, len(questions), journal, make, workers=at_work)
            driver.forget_broken()


class _Clock:
    """Tells tiles done and time left; what a journal had does not count for the pace."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started = time.monotonic()
        self._all = self._done = self._made = 0

    def begin(self, batch: int, batches: int, tiles: int, wanted: int) -> None:
        """A batch begins, of whose tiles some are finished."""
        self._all = tiles * batches
        self._done = tiles * batch + tiles - wanted
        self._tell()

    def tick(self) -> None:
        """One more tile is finished."""
        self._done += 1
        self._made += 1
        self._tell()

    def _tell(self) -> None:
        phase = f"evaluate: {self._done} of {self._all} tiles"
        if self._made and self._done < self._all:
            left = (time.monotonic() - self._started) / self._made * (self._all - self._done)
            phase += f", about {_duration(left)} left"
        self._progress(phase, self._done / self._all)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
