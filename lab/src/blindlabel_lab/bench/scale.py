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
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from blindlabel.engines.interface import EngineError, Progress, Terms, Working, outcomes
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record
from blindlabel.protocol.comparing import HASH_BYTES
from blindlabel_lab.bench.machine import machine

_LENGTH = struct.Struct("<Q")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789" + " " * 8
_CHECKED = 200_000
"""Pairs whose labels are checked against clear evaluation, at most."""


@dataclass(frozen=True)
class Work:
    """What is measured."""

    records: int
    questions: int
    length: int = 148
    needles: int = 5
    shape: str = "or"
    least: bool = False

    def terms(self) -> Terms:
        """The agreement: a default one, or room for just these questions."""
        from blindlabel_lab.bench.packed import terms_of  # noqa: PLC0415 - brings the engine, which only owners need

        records = max(self.records, self.questions)
        return terms_of(self.shape, records, self.length, self.needles, least=self.least)

    def content(self) -> tuple[list[Record], list[Formula]]:
        """Records and questions, the same in every process."""
        from blindlabel_lab.bench.packed import question  # noqa: PLC0415

        chance = random.Random(self.records)  # noqa: S311 - nothing secret
        rows = [Record.of({"text": "".join(chance.choices(_LETTERS, k=self.length))}) for _ in range(self.records)]
        asked = [question(chance, rows, own % self.records, self.needles, self.shape) for own in range(self.questions)]
        return rows, asked


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


@dataclass(frozen=True)
class Row:
    """One size and one number of workers."""

    records: int
    questions: int
    workers: int
    parameters: str
    ms_per_pair: float
    processor_ms_per_pair: float
    bytes_per_pair: float
    """Of answers and of both lists of hashes."""
    bytes_per_record: float
    key_bytes: int
    encrypt_processor_ms_per_record: float
    owner_memory_mb: float
    coordinator_memory_mb: float
    wrong_labels: int
    labels_checked: int


# -- the parties, each in a process of its own


def _keys(work: Work, folder: Path, _: int, __: Progress) -> tuple[int, dict[str, float]]:
    from blindlabel.engines.packed.running.engine import PackedEngine  # noqa: PLC0415

    keys = PackedEngine().make_keys(work.terms())
    (folder / "public").write_bytes(keys.public)
    (folder / "secret").write_bytes(keys.secret)
    return len(keys.public), {}


def _encrypt(work: Work, folder: Path, workers: int, progress: Progress) -> tuple[int, dict[str, float]]:
    from blindlabel.engines.packed.running.engine import PackedEngine  # noqa: PLC0415

    rows, _ = work.content()
    secret = (folder / "secret").read_bytes()
    made = PackedEngine().encrypt(work.terms(), secret, rows, work.questions, Working(workers, progress))
    return _write(folder / "records", made), {}


def _evaluate(work: Work, folder: Path, workers: int, progress: Progress) -> tuple[int, dict[str, float]]:
    from blindlabel.engines.packed.running.engine import PackedEngine  # noqa: PLC0415

    engine, terms, public = PackedEngine(), work.terms(), (folder / "public").read_bytes()
    _, asked = work.content()
    made = engine.evaluate(terms, public, _read(folder / "records"), asked, Working(workers, progress))
    pads: list[bytes] = []

    def leaving() -> Iterator[bytes]:
        for one in made:
            pads.append(one.pads)
            yield one.parcel

    size = _write(folder / "answers", leaving())
    np.save(folder / "pads.npy", engine.pad_values(terms, pads, work.questions, work.records))
    return size, {}


def _open(work: Work, folder: Path, _: int, __: Progress) -> tuple[int, dict[str, float]]:
    from blindlabel.engines.packed.running.engine import PackedEngine  # noqa: PLC0415

    secret = (folder / "secret").read_bytes()
    opened = PackedEngine().open(work.terms(), secret, _read(folder / "answers"), work.questions, work.records)
    np.save(folder / "opened.npy", opened)
    return opened.size * HASH_BYTES, {}


def _compare(work: Work, folder: Path, _: int, __: Progress) -> tuple[int, dict[str, float]]:
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


def _write(path: Path, contents: Iterable[bytes]) -> int:
    size = 0
    with path.open("wb") as file:
        for content in contents:
            file.write(_LENGTH.pack(len(content)) + content)
            size += len(content)
    return size


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while head := file.read(_LENGTH.size):
            yield file.read(_LENGTH.unpack(head)[0])


Party = Callable[[Work, Path, int, Progress], tuple[int, dict[str, float]]]


def _live(party: Party, work: Work, folder: Path, workers: int, line: Connection) -> None:
    """A party's process."""
    started = time.perf_counter()
    try:
        size, extra = party(work, folder, workers, lambda _, share: line.send(share))
    except EngineError as problem:
        line.send(str(problem))
        return
    seconds = time.perf_counter() - started
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    memory = (own.ru_maxrss + (workers * children.ru_maxrss if workers > 1 else 0)) / 1024
    line.send(Spent(seconds, spent, memory, size, extra))


def _in_process(party: Party, work: Work, folder: Path, workers: int, show: Callable[[float], None]) -> Spent:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    # One thread of BLAS a process: what is compared are processes. A spawned process takes the environment of this
    # moment.
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
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
    finally:
        if before is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
        else:
            os.environ["OPENBLAS_NUM_THREADS"] = before
    if not isinstance(reply, Spent):
        raise EngineError(str(reply))
    return reply


# -- the measurement


def measure_one(work: Work, workers: Sequence[int], show: Progress = lambda _, __: None) -> list[Row]:
    """One size: keys and records are made once, evaluation and opening for each number of workers."""
    from blindlabel.engines.packed.planning.room import room_of  # noqa: PLC0415

    parameters = room_of(work.terms()).ring.name
    pairs = work.records * work.questions
    rows = []
    with tempfile.TemporaryDirectory(prefix="blindlabel-bench-") as name:
        folder = Path(name)

        def play(party: Party, doing: str, count: int = 1) -> Spent:
            named = f"{work.questions} × {work.records}: {doing}"
            show(named, 0.0)
            return _in_process(party, work, folder, count, lambda share: show(named, share))

        keys = play(_keys, "making keys")
        encrypted = play(_encrypt, "encrypting")
        for count in workers:
            asked = play(_evaluate, f"evaluating with {count} worker{'s' if count > 1 else ''}", count)
            opened = play(_open, "opening")
            read = play(_compare, "comparing and checking labels")
            rows.append(
                Row(
                    work.records,
                    work.questions,
                    count,
                    parameters,
                    round(1000 * asked.seconds / pairs, 5),
                    round(1000 * asked.processor_seconds / pairs, 5),
                    round((asked.bytes + 2 * opened.bytes) / pairs, 2),
                    round(encrypted.bytes / work.records, 1),
                    keys.bytes,
                    round(1000 * encrypted.processor_seconds / work.records, 2),
                    round(max(one.memory_mb for one in (asked, keys, encrypted, opened)), 1),
                    round(read.extra["peak_mb"], 1),
                    int(read.extra["wrong"]),
                    int(read.extra["checked"]),
                )
            )
    return rows


def measure(
    sizes: Sequence[int],
    workers: Sequence[int],
    *,
    questions: int = 0,
    shape: str = "or",
    least: bool = False,
    length: int = 148,
    show: Progress = lambda _, __: None,
) -> dict[str, Any]:
    """The document of `blindlabel bench scale --json`: as many questions as records at each size, or at most
    `questions`.
    """
    rows: list[Row] = []
    for size in sizes:
        work = Work(size, min(size, questions or size), length, shape=shape, least=least)
        rows += measure_one(work, workers, show)
    gains = {}
    for size in sizes:
        seconds = {row.workers: row.ms_per_pair for row in rows if row.records == size}
        if 1 in seconds and 2 in seconds:
            gains[str(size)] = round(seconds[1] / seconds[2], 2)
    return {
        "engine": "packed",
        "machine": machine(),
        "python": sys.version.split()[0],
        "load_before": round(os.getloadavg()[0], 1),
        "shape": shape,
        "length": length,
        "agreement": "least" if least else "default",
        "rows": [asdict(row) for row in rows],
        "two_workers_gain": gains,
    }
