"""Work spread over processes. SEAL's objects do not travel between processes and its calls hold Python's lock, so every
worker opens keys and batches for itself from bytes, works on one task at a time and sends bytes back.

A worker never speaks to the coordinator: when it needs the assist it sends the request up, the process that started it
makes the call (one at a time) and passes the reply down. The answers are the same whatever the number of workers.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import numpy as np

from blindlabel.engines import interface
from blindlabel.engines.interface import Assist, EngineError, Evaluated, Progress, Terms, WorkerLost, Working
from blindlabel.engines.packed.encoding.tables import features_of
from blindlabel.engines.packed.keys import open_public
from blindlabel.engines.packed.questions import plans_of
from blindlabel.engines.packed.records import Batch
from blindlabel.engines.packed.running.batch_file import store
from blindlabel.engines.packed.running.finished import FinishedAnswers
from blindlabel.engines.packed.running.tiles import Opened, Tile, over_batches
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.engines.packed.ways.interface import Public
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record

# -- inside a worker process


@dataclass(frozen=True)
class _Start:
    terms: Terms
    public: bytes
    questions: Sequence[Formula]


@dataclass(frozen=True)
class _Part:
    batch: Batch | None
    """The batch to open first; None where it is open already."""
    part: Tile | tuple[int, int]
    """A tile, or a group and one of its units."""


@dataclass(frozen=True)
class _Features:
    terms: Terms
    records: Sequence[Record]


def _work(connection: Connection) -> None:
    """The life of a worker: tasks until the line is closed."""
    state = _State(connection)
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        try:
            reply: tuple[str, Any] = ("done", state.do(task))
        except EngineError as problem:
            reply = ("refused", (type(problem).__name__, str(problem)))
        except Exception as problem:
            reply = ("failed", f"{type(problem).__name__}: {problem}")
        try:
            connection.send(reply)
        except OSError:
            return


class _State:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._start: _Start | None = None
        self._batch: Opened | None = None

    def do(self, task: object) -> Any:
        if isinstance(task, _Start):
            self._start = task
            open_public(task.terms, task.public)
            return None
        if isinstance(task, _Features):
            return features_of(way_of(task.terms).tables, task.records)
        assert isinstance(task, _Part)
        opened = self._opened(task.batch)
        if isinstance(task.part, Tile):
            return list(opened.answers(task.part, self._assist))
        return opened.unit(*task.part, self._assist)

    def _opened(self, batch: Batch | None) -> Opened:
        """The batch at hand; given another, that one from now on."""
        if batch is not None:
            assert self._start is not None
            self._batch = None  # not two at a time
            public = open_public(self._start.terms, self._start.public)
            self._batch = Opened.of(public, plans_of(public.way, self._start.questions), batch)
        assert self._batch is not None
        return self._batch

    def _assist(self, request: bytes) -> bytes:
        self._connection.send(("assist", request))
        reply: bytes = self._connection.recv()
        return reply


# -- in the process that starts them


class _Worker:
    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_work, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.batch = -1

    def ask(self, task: object, assist: Assist | None) -> Any:
        try:
            self._connection.send(task)
            while True:
                kind, content = self._connection.recv()
                if kind != "assist" or assist is None:
                    break
                self._connection.send(assist(content))
        except (EOFError, OSError) as problem:
            raise WorkerLost(
                "A worker process ended unexpectedly: it was killed, or there is too little memory for so many workers."
                " Start again; what was finished is kept."
            ) from problem
        if kind == "refused":
            name, message = content
            raise getattr(interface, name, EngineError)(message)
        if kind == "failed":
            raise EngineError(f"A worker process failed: {content}")
        return content

    def stop(self) -> None:
        with suppress(OSError):
            self._connection.close()
        self.process.join(timeout=2)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join()


class Workers:
    """Some worker processes and, for each, a thread that feeds it."""

    def __init__(self, count: int) -> None:
        self.count = count
        # Workers share out the cores among themselves; BLAS in each must not do so again. They take the environment of
        # this moment.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        self._all = [_Worker() for _ in range(count)]
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._all:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for worker in self._all:
                worker.process.terminate()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._all:
            worker.stop()

    def every(self, task: object) -> None:
        """Give the same task to all."""
        for future in [self._threads.submit(worker.ask, task, None) for worker in self._all]:
            future.result()

    def submit(self, task: Callable[[_Worker], Any]) -> Future[Any]:
        """Run a task on the next idle worker."""

        def run() -> Any:
            worker = self._idle.get()
            try:
                return task(worker)
            finally:
                self._idle.put(worker)

        return self._threads.submit(run)


def features(terms: Terms, records: Sequence[Record], workers: int) -> Residues:
    """The feature vectors of records, made by worker processes."""
    parts = [range(i * len(records) // workers, (i + 1) * len(records) // workers) for i in range(workers)]
    with Workers(workers) as pool:
        tasks = [_Features(terms, [records[i] for i in part]) for part in parts if part]
        futures = [pool.submit(partial(_Worker.ask, task=task, assist=None)) for task in tasks]
        return np.concatenate([future.result() for future in futures], axis=0)


def _made(batch: Batch, part: Tile | tuple[int, int], assist: Assist, worker: _Worker) -> Any:
    """A part of a batch on a worker, which gets the batch the first time it is needed there."""
    task = _Part(None if worker.batch == batch.index else batch, part)
    worker.batch = batch.index
    return worker.ask(task, assist)


def evaluate(
    public: Public,
    public_bytes: bytes,
    contents: Iterable[bytes],
    questions: Sequence[Formula],
    assist: Assist,
    working: Working,
    journal: FinishedAnswers | None = None,
) -> Iterator[Evaluated]:
    """The answer parcels. Where a batch has tiles enough, every worker process makes whole tiles; else they share the
    units of one.
    """
    plans = plans_of(public.way, questions)
    lock = threading.Lock()

    def one_at_a_time(request: bytes) -> bytes:
        with lock:
            return assist(request)

    with Workers(working.workers) as pool, TemporaryDirectory(prefix="blindlabel-") as folder:
        pool.every(_Start(public.way.terms, public_bytes, questions))

        def make(batch: Batch, wanted: Sequence[Tile]) -> Iterator[Evaluated]:
            items, shares = (Path(folder) / name for name in ("batch", "shares"))
            batch = replace(batch, items=store(items, batch.items), shares=store(shares, batch.shares))
            work = _Batch(public, plans, batch, wanted, one_at_a_time, working.tell)
            enough = len(wanted) >= 2 * working.workers or not public.way.shares_units()
            return work.by_tiles(pool) if enough else work.by_units(pool)

        yield from over_batches(public, contents, len(plans), journal, make, workers=working.workers)


@dataclass(frozen=True, eq=False)
class _Batch:
    """One batch and what of it is still to be done."""

    public: Public
    plans: Sequence[Any]
    batch: Batch
    wanted: Sequence[Tile]
    assist: Assist
    progress: Progress

    def by_tiles(self, pool: Workers) -> Iterator[Evaluated]:
        """Whole tiles, in order; a few are made ahead."""
        waiting = iter(self.wanted)

        def start() -> list[Future[Any]]:
            tile = next(waiting, None)
            return [] if tile is None else [pool.submit(partial(_made, self.batch, tile, self.assist))]

        under_way = [future for _ in range(2 * pool.count) for future in start()]
        done = 0
        while under_way:
            made = under_way.pop(0).result()
            under_way += start()
            done += 1
            self.progress("evaluate", (self.batch.index + done / len(self.wanted)) / self.batch.batches)
            yield from made

    def by_units(self, pool: Workers) -> Iterator[Evaluated]:
        """The units of one group after the other, at most two groups under way at a time."""
        joining = Opened.of(self.public, self.plans, replace(self.batch, items=()))
        wanted = [group for tile in self.wanted for group in tile.groups]
        units = range(joining.in_units.units())

        def start(place: int) -> list[Future[Any]]:
            if place >= len(wanted):
                return []
            return [pool.submit(partial(_made, self.batch, (wanted[place], unit), self.assist)) for unit in units]

        waiting = start(0)
        for place, group in enumerate(wanted):
            current, waiting = waiting, start(place + 1)
            answer = joining.joined(group, [future.result() for future in current], self.assist)
            self.progress("evaluate", joining.share(group, 1.0))
            yield answer
