"""An evaluation, tile by tile: in this process, in several, or on a cluster.

A *tile* is the smallest piece that can be repeated and kept on its own: one batch of records and one group of
questions. SEAL's objects do not travel between processes and its calls hold Python's lock, so whoever makes a tile
opens keys and batch from bytes and keeps them for the next one. Who that is, is an `Executor`. Processes of this
machine rotate a batch together, into a file that all of them read, and where there are fewer tiles than would keep
them busy, they share the linear forms of one. A cluster's own executor is sent each batch once, and whoever gets it
rotates it. It sees questions and encrypted records, never a record in clear or a secret key. The answers are the same
whoever makes them.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from blindlabel import __version__
from blindlabel.engines.interface import EngineUnavailable, Evaluated, Terms, WorkerLost, Working
from blindlabel.engines.packed.encoding.features import features_of
from blindlabel.engines.packed.planning.fitting import Plan
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.running.evaluating import OpenedBatch, make_room, rotate, words_in
from blindlabel.engines.packed.running.finished import FinishedAnswers, read_answer
from blindlabel.engines.packed.running.keys import Public, open_public
from blindlabel.engines.packed.running.records import Batch, read_batches
from blindlabel.errors import InputError, OutsideError
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record

_LOCAL = re.compile(r"local(?::(\d{1,3}))?")
_PATIENCE = 30.0
"""Seconds to wait for a cluster's scheduler and for its first worker."""
_LOOK = 5.0
"""Seconds without an answer after which a cluster is checked."""
_AHEAD = 3
"""Tiles handed out for each worker, so that none waits for this process."""
_REST = 60.0
"""Seconds after which processes that have nothing to do are ended."""
_BEGINNINGS = 3
"""How often a tile is begun if its workers are lost."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What every tile of one evaluation needs."""

    terms: Terms
    public: Sequence[bytes]
    """The public key alone. For processes of this machine it lies in a file: none of their tasks carries it."""
    questions: Sequence[Formula]
    name: bytes = field(default_factory=lambda: uuid.uuid4().bytes)
    """Of this evaluation alone: whoever has a batch of it open has these questions, and no others."""


class _Bench:
    """What lies open in this process: the keys of one evaluation, and one of its batches."""

    def __init__(self) -> None:
        self._name = b""
        self._public: Public | None = None
        self._opened: OpenedBatch | None = None

    def public(self, asked: Asked) -> Public:
        """The keys, opened once an evaluation."""
        if self._public is None or self._name != asked.name:
            self._opened = self._public = None  # not two at a time
            self._public, self._name = open_public(asked.terms, asked.public[0]), asked.name
        return self._public

    def opened(self, asked: Asked, batch: Batch) -> OpenedBatch:
        """The batch, with the questions."""
        public = self.public(asked)
        if self._opened is None or self._opened.batch.index != batch.index:
            self._opened = None  # not two at a time
            self._opened = OpenedBatch.of(public, [public.room.plan(one) for one in asked.questions], batch)
        return self._opened


_bench = _Bench()


def make_tile(asked: Asked, batch: Batch, group: int) -> Evaluated:
    """The answers of a group, in whatever process this is called."""
    return _bench.opened(asked, batch).answer(group)


def make_forms(asked: Asked, batch: Batch, group: int, outputs: Sequence[int]) -> list[Residues]:
    """Some ciphertexts of a group's linear forms."""
    opened = _bench.opened(asked, batch)
    return [opened.public.ring.residues(form) for form in opened.forms(group, outputs)]


def finish_tile(asked: Asked, batch: Batch, group: int, forms: Sequence[Residues]) -> Evaluated:
    """The answers of a group whose linear forms are there."""
    opened = _bench.opened(asked, batch)
    return opened.finished(group, [opened.public.ring.of_residues(one) for one in forms])


def rotate_some(asked: Asked, batch: Batch, first: int, step: int) -> None:
    """Every `step`-th ciphertext of a batch, rotated, into the file that the processes of this machine share."""
    public = _bench.public(asked)
    rotate(public, batch, words_in(public, batch, "r+"), range(first, len(batch.items), step))


def evaluate(
    public: Public, asked: Asked, contents: Iterable[bytes], working: Working, kept: FinishedAnswers | None
) -> Iterator[Evaluated]:
    """The answers of one batch of records after the other. What is kept from before is not made again; what is made is
    kept before it is handed on.
    """
    plans = [
        public.room.plan(one) for one in asked.questions
    ]  # what is wrong with a question is said before anything is shipped
    groups = range(public.room.group_count(len(plans)) if plans else 0)
    with _team(working) as team:
        for batch in read_batches(public, contents, len(plans)):
            finished = kept.finished(batch) if kept is not None and plans else {}
            for path in finished.values():
                yield read_answer(path)
            wanted = [group for group in groups if (batch.index, group) not in finished]
            if not wanted:
                continue
            if team is None:
                made = _alone(public, plans, batch, wanted, working)
            else:
                made = team.made(asked, batch, wanted, working)
            del batch  # large: whoever makes the tiles holds it as long as it needs it
            for answer in made:
                if kept is not None:
                    kept.keep(answer)
                yield answer


def _alone(
    public: Public, plans: Sequence[Plan], batch: Batch, wanted: Sequence[int], working: Working
) -> Iterator[Evaluated]:
    """In this process. Memory is bounded by one batch and one tile."""
    working.tell("prepare", batch.index / batch.batches)
    opened = OpenedBatch.of(public, plans, batch)
    working.tell("prepare", (batch.index + 1) / batch.batches)
    del batch  # its bytes are no longer needed
    for group in wanted:
        yield opened.answer(group, lambda group, part: working.tell("evaluate", opened.share(group, part)))


def features(terms: Terms, records: Sequence[Record], working: Working) -> Residues:
    """The feature vectors of records. They are in clear, so they are made on this machine whatever evaluates."""
    tables = room_of(terms).tables
    if working.workers == 1:
        return features_of(tables, records)
    parts = [records[place :: working.workers] for place in range(working.workers)]
    result = np.empty((len(records), tables.features), dtype=np.uint64)
    with _processes(working.workers) as executor, _worker_lost():
        for place, made in enumerate(executor.map(_features, [terms] * len(parts), parts)):
            result[place :: working.workers] = made
    return result


def _features(terms: Terms, records: Sequence[Record]) -> Residues:
    return features_of(room_of(terms).tables, records)


# -- who makes tiles


@dataclass(frozen=True, eq=False)
class TileMakers:
    """What makes tiles: an executor, how many workers it has, how a batch gets to them, and whether they are still
    there.
    """

    executor: Executor
    count: int
    shipped: Callable[[Asked, Batch], tuple[Any, Any]]
    """What to hand an executor in place of questions and batch."""
    look: Callable[[], None]
    """Raises if nobody is there any more."""
    near: bool = False
    """Processes of this machine: a tile may be shared out, and is not begun again."""

    def made(self, asked: Asked, batch: Batch, wanted: Sequence[int], working: Working) -> Iterator[Evaluated]:
        """The tiles of these groups, in the order in which they are finished. One whose worker was lost is begun
        again.
        """
        index, batches = batch.index, batch.batches
        room, questions = room_of(asked.terms), len(asked.questions)
        there = self.shipped(asked, batch)
        outputs = room.columns(questions).outputs
        few = self.near and len(wanted) < 2 * self.count and outputs > 1
        made = self._shared(there, wanted, outputs) if few else self._whole(there, asked, batch, wanted)
        for done, answer in enumerate(made, start=1):
            working.tell("evaluate", (index + done / len(wanted)) / batches)
            yield answer

    def _shared(self, there: tuple[Any, Any], wanted: Sequence[int], outputs: int) -> Iterator[Evaluated]:
        """Tile after tile, all workers making the linear forms of each."""
        size = -(-outputs // self.count)
        parts = [range(start, min(start + size, outputs)) for start in range(0, outputs, size)]
        for group in wanted:
            with _worker_lost():
                forms = list(chain.from_iterable(self.executor.map(partial(make_forms, *there, group), parts)))
                answer = self.executor.submit(finish_tile, *there, group, forms).result()
            yield answer

    def _whole(self, there: tuple[Any, Any], asked: Asked, batch: Batch, wanted: Sequence[int]) -> Iterator[Evaluated]:
        waiting = [(group, 1) for group in reversed(wanted)]
        under_way: dict[Future[Evaluated], tuple[int, int]] = {}
        try:
            while waiting or under_way:
                while waiting and len(under_way) < _AHEAD * self.count:
                    group, beginning = waiting.pop()
                    with _worker_lost():
                        under_way[self.executor.submit(make_tile, *there, group)] = (group, beginning)
                finished, _ = wait(under_way, timeout=_LOOK, return_when=FIRST_COMPLETED)
                if not finished:
                    self.look()
                for future in finished:
                    group, beginning = under_way.pop(future)
                    try:
                        with _worker_lost():
                            answer = future.result()
                    except WorkerLost:
                        if beginning == _BEGINNINGS or self.near:
                            raise
                        there = self.shipped(asked, batch)
                        waiting.append((group, beginning + 1))
                        continue
                    yield answer
        finally:
            for future in under_way:
                future.cancel()


@contextmanager
def _team(working: Working) -> Iterator[TileMakers | None]:
    if working.cluster:
        with connected(working.cluster) as client:
            yield _on_cluster(client)
    elif working.workers > 1:
        with _processes(working.workers) as executor, TemporaryDirectory(prefix="blindlabel-") as folder:
            shipped = partial(_in_files, Path(folder), executor, working.workers)
            yield TileMakers(executor, working.workers, shipped, lambda: None, near=True)
    else:
        yield None


_resting: dict[int, tuple[ProcessPoolExecutor, threading.Timer]] = {}
"""Worker processes that have just worked, by their number: starting them takes longer than many an evaluation."""


@contextmanager
def _processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes of this machine; if something goes wrong here, they end in the middle of their work."""
    executor, timer = _resting.pop(count, (None, None))
    if timer is not None:
        timer.cancel()
    if executor is None or executor._broken:
        # Workers share out the cores among themselves; BLAS in each must not do so again. They take the environment of
        # this moment.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_parent)
    try:
        yield executor
    except BaseException:
        for process in list((executor._processes or {}).values()):
            process.terminate()
        executor.shutdown(wait=True, cancel_futures=True)
        raise
    rest = threading.Timer(_REST, _ended, (count, executor))
    rest.daemon = True
    _resting[count] = (executor, rest)
    rest.start()


def _ended(count: int, executor: ProcessPoolExecutor) -> None:
    if _resting.get(count, (None,))[0] is executor:
        del _resting[count]
        executor.shutdown(wait=False, cancel_futures=True)


def _end_with_parent() -> None:
    """A worker does not outlive a parent that was killed."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _worker_lost() -> Iterator[None]:
    """Whatever an executor says about a worker that died becomes one sentence."""
    try:
        yield
    except (BrokenExecutor, CancelledError, EOFError, OSError, TimeoutError) as problem:
        raise _lost(problem) from problem
    except Exception as problem:
        if type(problem).__module__.split(".")[0] in ("distributed", "dask"):
            raise _lost(problem) from problem
        raise


def _lost(problem: BaseException) -> WorkerLost:
    return WorkerLost(
        "A worker process ended unexpectedly: it was killed, or there is too little memory for this many workers"
        f" ({type(problem).__name__}). Start again; what was finished is kept."
    )


# -- processes of this machine


@dataclass(frozen=True)
class StoredItems(Sequence[bytes]):
    """Pieces of bytes one after the other in a file. Travels between processes of one machine by its path, so that none
    of them, nor a message between them, holds a second copy.
    """

    path: Path
    ends: tuple[int, ...]

    @classmethod
    def write(cls, path: Path, items: Iterable[bytes]) -> StoredItems:
        """Write pieces of bytes into a file."""
        ends: list[int] = []
        with path.open("wb") as file:
            for item in items:
                file.write(item)
                ends.append(file.tell())
        return cls(path, tuple(ends))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]  # as tuples do: negative from the end, IndexError beyond
        start = self.ends[place - 1] if place else 0
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(self.ends[place] - start)


def _in_files(folder: Path, executor: Executor, count: int, asked: Asked, batch: Batch) -> tuple[Asked, Batch]:
    """Keys and batch in files of this machine, its ciphertexts rotated by all processes together."""
    for old in folder.iterdir():  # of the batch before; whoever still reads it keeps it
        old.unlink()
    stored = replace(
        batch,
        items=StoredItems.write(folder / f"items-{batch.index}", batch.items),
        shares=StoredItems.write(folder / f"shares-{batch.index}", batch.shares),
        words=folder / f"words-{batch.index}",
    )
    asked = replace(asked, public=StoredItems.write(folder / "key", asked.public))
    make_room(room_of(asked.terms), folder / f"words-{batch.index}")
    with _worker_lost():
        list(executor.map(rotate_some, *zip(*((asked, stored, first, count) for first in range(count)))))
    return asked, replace(stored, items=())


# -- a cluster


def _on_cluster(client: Any) -> TileMakers:
    def shipped(asked: Asked, batch: Batch) -> tuple[Any, Any]:
        with _worker_lost():
            return (
                client.scatter(asked, broadcast=True, hash=False),
                client.scatter(batch, broadcast=True, hash=False),
            )

    def look() -> None:
        if client.status != "running":
            raise OutsideError(
                "The connection to the cluster's scheduler is lost. Start again: what is finished is kept."
            )
        if not client.nthreads():
            try:
                client.wait_for_workers(1, timeout=2 * _PATIENCE)
            except TimeoutError as problem:
                raise OutsideError(
                    "The cluster has no worker. Start again when it has some: what is finished is kept."
                ) from problem

    executor: Executor = client.get_executor(pure=False)
    return TileMakers(executor, max(1, len(client.nthreads())), shipped, look)


def check_address(address: str) -> None:
    """Refuse anything that is not an address of a cluster, before any work is done."""
    found = _LOCAL.fullmatch(address)
    if found is not None and found[1] is not None and int(found[1]) < 1:
        raise InputError("A local cluster needs at least one process: write local or, for instance, local:2.")
    if found is None and not re.fullmatch(r"(tcp|tls)://\S+", address):
        raise InputError(
            f"{address} is not an address of a cluster: write local, local:2, tcp://host:port or tls://host:port."
        )


def _distributed() -> Any:
    """Dask's package for clusters, or one sentence on how to get it."""
    try:
        import distributed  # noqa: PLC0415 - optional, and slow to import
    except ImportError as problem:
        raise EngineUnavailable(
            "A cluster needs Dask, which is not installed: pip install 'blindlabel[cluster]'."
        ) from problem
    return distributed


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the cluster at this address; a local one is started now and stopped at the end. Dask's own
    configuration says which certificates `tls://` uses.
    """
    check_address(address)
    distributed = _distributed()
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
    with (
        distributed.LocalCluster(
            n_workers=int(local[1] or os.cpu_count() or 1),
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # its own choice is one port for all clusters, open to other machines
            host="127.0.0.1",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        _check(client, address)
        yield client


def _check(client: Any, address: str) -> None:
    """Check that there are workers, and that they have our version of the program."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as problem:
        raise OutsideError(
            f"The cluster at {address} has no worker. Start some with `dask worker {address}`."
        ) from problem
    try:
        found = client.run(_version)
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


def _version() -> str:
    return __version__
