"""Work spread over forked processes that inherit what is too large to send: the loaded public key.

Threads do not help, since OpenFHE holds Python's lock during a gate. Forked processes must not encrypt: they would all
start from one state of OpenFHE's random numbers. Gates use none.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

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
