"""Work spread over forked processes that inherit what is too large to send: the loaded public key.

Threads do not help, since OpenFHE holds Python's lock during a gate. Forked processes must not encrypt: they would all
start from one state of OpenFHE's random numbers. Gates use none.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from blindlabel.engines.gates.circuit import all_of, any_of
from blindlabel.engines.gates.library import Ciphertext, EncryptedGates
from blindlabel.engines.gates.published import byte_equal
from blindlabel.engines.interface import WorkerLost

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_LOOK_AFTER = 2.0
"""Seconds after which it is looked whether all processes live."""

_inherited: list[tuple[Callable[[Any, Any], Any], Any]] = []


def _one(task: Any) -> Any:
    function, shared = _inherited[-1]
    return function(shared, task)


def in_forks(
    function: Callable[[Any, _Task], _Result], shared: Any, tasks: Iterable[_Task], workers: int
) -> Iterator[_Result]:
    """function(shared, task) for every task, in order. Tasks and results travel, `shared` is inherited; one worker
    means no fork.
    """
    if workers <= 1:
        for task in tasks:
            yield function(shared, task)
        return
    _inherited.append((function, shared))
    before = multiprocessing.active_children()
    try:
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            forks = [process for process in multiprocessing.active_children() if process not in before]
            yield from _results(pool.imap(_one, list(tasks)), forks)
            pool.close()  # all is done: let them end by themselves, since one that is killed may hold a lock
            pool.join()
    finally:
        _inherited.pop()


def _results(arriving: Any, forks: Sequence[BaseProcess]) -> Iterator[Any]:
    """The results as they come. A pool replaces a process that was killed and waits for its result for ever; here that
    is an error.
    """
    while True:
        try:
            yield arriving.next(timeout=_LOOK_AFTER)
        except StopIteration:
            return
        except multiprocessing.TimeoutError:
            if not all(process.is_alive() for process in forks):
                raise WorkerLost(
                    "A process of the gates engine was killed, or there is too little memory for so many workers."
                ) from None


# -- the publication's parallel is_in

_Bytes = Sequence[Sequence[Ciphertext]]


def _compared(shared: tuple[EncryptedGates, _Bytes, _Bytes], places: Sequence[tuple[int, int]]) -> bytes:
    library, a, b = shared
    return library.packed([byte_equal(library, a[i], b[k]) for i, k in places])


def is_in_parallel(library: EncryptedGates, a: _Bytes, b: _Bytes, workers: int) -> Ciphertext:
    """The publication's parallel `is_in`: characters are compared in parallel, the results joined in one process."""
    positions = range(len(b) - len(a) + 1)
    places = [(i, j + i) for j in positions for i in range(len(a))]
    if not places:
        return library.constant(len(a) <= len(b))
    shares = [places[start::workers] for start in range(min(workers, len(places)))]
    equal: dict[tuple[int, int], Ciphertext] = {}
    for share, packed in zip(shares, in_forks(_compared, (library, a, b), shares, workers)):
        equal |= zip(share, library.unpacked(packed, len(share)))
    return any_of(library, [all_of(library, [equal[i, j + i] for i in range(len(a))]) for j in positions])
