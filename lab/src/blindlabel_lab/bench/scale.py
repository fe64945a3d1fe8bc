"""What a round costs as a study grows: time, bytes and memory per pair at several sizes and numbers of worker
processes, in one run.

Every party works in a process of its own, as in a study, so that its memory is its own: one owner makes keys and
encrypts, the other evaluates, the first opens, the coordinator compares both lists and settles the round; files carry
what they send each other. Labels are checked against clear evaluation. Processor time is what a busy machine leaves
comparable; elapsed time (and so the gain of a second worker) needs a quiet one.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from blindlabel.engines.interface import EngineError, Progress, Terms, Working, outcomes
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.engines.registry import engine_named
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.comparing import HASH_BYTES
from blindlabel_lab.bench import carried
from blindlabel_lab.bench.agreed import DEFAULT
from blindlabel_lab.bench.machine import machine, processor_seconds

NEEDLES = 5
"""Of a question."""
_CHECKED = 200_000
"""Pairs whose labels are checked against clear evaluation, at most."""


@dataclass(frozen=True)
class Work:
    """What is measured."""

    records: int
    questions: int
    shape: str
    agreement: Agreement

    def terms(self) -> Terms:
        """The part of the agreement that engines need."""
        return self.agreement.terms()

    def content(self) -> tuple[list[Record], list[Formula]]:
        """Records and questions, the same in every process."""
        from blindlabel_lab.bench.packed import questions_of, rows_of  # noqa: PLC0415 - brings the engine

        chance = random.Random(self.records)  # noqa: S311 - nothing secret
        rows = rows_of(chance, self.terms(), self.records)
        return rows, questions_of(chance, self.terms(), rows, NEEDLES, self.shape)[: self.questions]


@dataclass(frozen=True)
class Spent:
    """What one party's process spent."""

    seconds: float
    processor_seconds: float
    """Of the process and its workers."""
    memory_mb: float
    """Peak of the process plus, for each worker, the largest peak of a worker."""
    bytes: int
    """What the party made to send."""
    extra: dict[str, float]


Row = dict[str, Any]
"""One size and one number of workers. Bytes of a pair are of answers and of both lists of hashes."""


# -- the parties, each in a process of its own


def _keys(work: Work, folder: Path, _: str, __: Progress) -> tuple[int, dict[str, float]]:
    keys = engine_named("packed").make_keys(work.terms())
    (folder / "public").write_bytes(keys.public)
    (folder / "secret").write_bytes(keys.secret)
    return len(keys.public), {}


def _encrypt(work: Work, folder: Path, workers: str, progress: Progress) -> tuple[int, dict[str, float]]:
    rows, _ = work.content()
    secret = (folder / "secret").read_bytes()
    made = engine_named("packed").encrypt(work.terms(), secret, rows, work.questions, _working(workers, progress))
    return carried.write(folder / "records", made), {}


def _evaluate(work: Work, folder: Path, workers: str, progress: Progress) -> tuple[int, dict[str, float]]:
    engine, terms, public = engine_named("packed"), work.terms(), (folder / "public").read_bytes()
    _, asked = work.content()
    made = engine.evaluate(terms, public, carried.read(folder / "records"), asked, _working(workers, progress))
    pads: list[bytes] = []

    def leaving() -> Iterator[bytes]:
        for one in made:
            pads.append(one.pads)
            yield one.parcel

    size = carried.write(folder / "answers", leaving())
    np.save(folder / "pads.npy", engine.pad_values(terms, pads, work.questions, work.records))
    return size, {}


def _open(work: Work, folder: Path, _: str, __: Progress) -> tuple[int, dict[str, float]]:
    secret = (folder / "secret").read_bytes()
    opened = engine_named("packed").open(
        work.terms(), secret, carried.read(folder / "answers"), work.questions, work.records
    )
    np.save(folder / "opened.npy", opened)
    return opened.size * HASH_BYTES, {}


def _compare(work: Work, folder: Path, _: str, __: Progress) -> tuple[int, dict[str, float]]:
    from blindlabel.language.formula import evaluate  # noqa: PLC0415
    from blindlabel.protocol.labels import no_labels, settle  # noqa: PLC0415

    said = outcomes(np.load(folder / "opened.npy") == np.load(folder / "pads.npy"))
    # The round is settled as if the other owner had answered everything the same way.
    others, asked_of = np.ascontiguousarray(said.T), range(work.records)
    settled = settle(no_labels(*said.shape), 1, range(work.questions), said, asked_of, others, work.records).labels
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows, asked = work.content()
    step = max(1, work.questions * work.records // _CHECKED)
    pairs = [divmod(pair, work.records) for pair in range(0, work.questions * work.records, step | 1)]
    wrong = sum(bool(settled[i, j] & 1) != evaluate(asked[i], rows[j]) for i, j in pairs)
    return 0, {"wrong": wrong, "checked": len(pairs), "peak_mb": peak}


Party = Callable[[Work, Path, str, Progress], tuple[int, dict[str, float]]]


def _working(workers: str, progress: Progress) -> Working:
    """A number of processes, or the address of a cluster."""
    return Working(int(workers), progress) if workers.isdigit() else Working(1, progress, cluster=workers)


def _live(party: Party, work: Work, folder: Path, workers: str, line: Connection) -> None:
    """A party's process."""
    started = time.perf_counter()
    try:
        size, extra = party(work, folder, workers, lambda _, share: line.send(share))
    except EngineError as problem:
        line.send(str(problem))
        return
    seconds = time.perf_counter() - started
    own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    count = int(workers.rpartition(":")[2])
    memory = (own + (count * children if workers != "1" else 0)) / 1024
    line.send(Spent(seconds, sum(processor_seconds()), memory, size, extra))


def _in_process(party: Party, work: Work, folder: Path, workers: str, show: Callable[[float], None]) -> Spent:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    # One thread of BLAS a process: what is compared are processes. A spawned process takes the environment of this
    # moment.
    with patch.dict(os.environ, OPENBLAS_NUM_THREADS="1"):
        process = context.Process(target=_live, args=(party, work, folder, workers, theirs))
        process.start()
        theirs.close()
        try:
            reply: Spent | str | float = ours.recv()
            while isinstance(reply, float):
                show(reply)
                reply = ours.recv()
        except EOFError as problem:
            raise EngineError("A process of the measurement ended unexpectedly.") from problem
        finally:
            process.join()
    if not isinstance(reply, Spent):
        raise EngineError(str(reply))
    return reply


# -- the measurement


def measure_one(work: Work, workers: Sequence[str], show: Progress = lambda _, __: None) -> list[Row]:
    """One size: keys and records are made once, evaluation and opening for each number of workers."""
    parameters = room_of(work.terms()).ring.name
    pairs = work.records * work.questions
    rows = []
    with tempfile.TemporaryDirectory(prefix="blindlabel-bench-") as name:
        folder = Path(name)

        def play(party: Party, doing: str, count: str = "1") -> Spent:
            named = f"{work.questions} × {work.records}: {doing}"
            show(named, 0.0)
            return _in_process(party, work, folder, count, lambda share: show(named, share))

        keys = play(_keys, "making keys")
        encrypted = play(_encrypt, "encrypting")
        for count in workers:
            asked = play(_evaluate, f"evaluating with {count} worker(s)", count)
            opened = play(_open, "opening")
            read = play(_compare, "comparing and checking labels")
            rows.append(
                {
                    "records": work.records,
                    "questions": work.questions,
                    "workers": count,
                    "parameters": parameters,
                    "ms_per_pair": round(1000 * asked.seconds / pairs, 5),
                    "processor_ms_per_pair": round(1000 * asked.processor_seconds / pairs, 5),
                    "bytes_per_pair": round((asked.bytes + 2 * opened.bytes) / pairs, 2),
                    "bytes_per_record": round(encrypted.bytes / work.records, 1),
                    "key_bytes": keys.bytes,
                    "encrypt_processor_ms_per_record": round(1000 * encrypted.processor_seconds / work.records, 2),
                    "owner_memory_mb": round(max(one.memory_mb for one in (asked, keys, encrypted, opened)), 1),
                    "coordinator_memory_mb": round(read.extra["peak_mb"], 1),
                    "wrong_labels": int(read.extra["wrong"]),
                    "labels_checked": int(read.extra["checked"]),
                }
            )
    return rows


def measure(
    sizes: Sequence[int],
    workers: Sequence[str],
    *,
    questions: int = 0,
    shape: str = "or",
    said: str = DEFAULT,
    length: int = 148,
    show: Progress = lambda _, __: None,
) -> dict[str, Any]:
    """The document of `blindlabel bench scale --json`: as many questions as records at each size, or at most
    `questions`.
    """
    from blindlabel_lab.bench.packed import agreement_of  # noqa: PLC0415

    rows: list[Row] = []
    for size in sizes:
        agreement = agreement_of(said, shape, size, length, NEEDLES)
        rows += measure_one(Work(size, min(size, questions or size), shape, agreement), workers, show)
    gains = {}
    for size in sizes:
        seconds = {row["workers"]: row["ms_per_pair"] for row in rows if row["records"] == size}
        gains[str(size)] = {who: round(seconds["1"] / took, 2) for who, took in seconds.items() if "1" in seconds}
    return {
        "engine": "packed",
        "machine": machine(),
        "python": sys.version.split()[0],
        "load_before": round(os.getloadavg()[0], 1),
        "shape": shape,
        "length": length,
        "agreement": said,
        "rows": rows,
        "gain": gains,
    }
