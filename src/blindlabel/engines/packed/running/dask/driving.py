"""The owner's process while the cluster works: ships keys and batches, hands out tiles, calls the assist for them,
takes in answers.

One thread, this one, does all of that; Dask's threads only put events into its inbox. So the assist is called one
request at a time, by the thread that asked for the evaluation. A worker that dies costs its tiles: Dask gives them to
another, from their beginning. Data that died with the last worker that held it is shipped again.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from blindlabel.engines.interface import Assist, EngineError, Evaluated
from blindlabel.engines.packed.records import Batch
from blindlabel.engines.packed.running.dask import channel, tasks
from blindlabel.engines.packed.running.dask.channel import AssistFailed, Request
from blindlabel.engines.packed.running.dask.connecting import Client, Future, require_dask
from blindlabel.engines.packed.running.dask.tasks import Study
from blindlabel.engines.packed.running.tiles import Tile
from blindlabel.errors import OutsideError

_BEGINNINGS = 4
"""How often a tile is handed out, beyond what Dask repeats by itself, before the cluster is given up."""
_LOOK = 2.0
"""Seconds between looks at the cluster while nothing happens."""
_ALONE = 60.0
"""Seconds that the cluster may be without any worker."""


@dataclass(eq=False)
class _Handed:
    """A tile that was handed out."""

    tile: Tile
    beginnings: int = 1


class Driver:
    """One evaluation on a cluster."""

    def __init__(self, client: Client, study: Study, assist: Assist) -> None:
        self._client, self._study, self._assist = client, study, assist
        self._channel = f"blindlabel-{secrets.token_hex(8)}"
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._study_there: Future | None = None
        self._failure: Exception | None = None
        self._answered: set[str] = set()

    def __enter__(self) -> Driver:
        self._requests = channel.queue(self._client, self._channel)
        self._listener = threading.Thread(target=self._listen, daemon=True, name="blindlabel-assist-requests")
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._client.status != "running":
            return
        with suppress(OSError, TimeoutError):
            self._requests.put(None)
            self._listener.join(timeout=5)
            self._requests.close()

    def _listen(self) -> None:
        while True:
            try:
                request = self._requests.get()
            except Exception:  # the cluster has gone; `_next` notices that too
                return
            if request is None:
                return
            self._inbox.put(request)

    # -- one batch

    def batch(self, batch: Batch, wanted: Iterable[Tile], window: int) -> Iterator[list[Evaluated]]:
        """The answers of a batch's tiles as they come, tile by tile; at most `window` tiles are handed out at a
        time.
        """
        waiting = iter(wanted)
        handed: dict[Future, _Handed] = {}
        there = self._ship(batch)

        def hand_out(one: _Handed) -> None:
            future = self._client.submit(
                tasks.evaluate_tile, self._study_there, there, one.tile, self._channel, pure=False
            )
            handed[future] = one
            future.add_done_callback(self._inbox.put)

        try:
            for tile in waiting:
                hand_out(_Handed(tile))
                if len(handed) >= window:
                    break
            while handed:
                event = self._next()
                if isinstance(event, Request):
                    self._serve(event)
                    continue
                one = handed.pop(event, None)
                if one is None:
                    continue
                made = self._result(event, one)
                if made is None:
                    there = self._ship(batch)
                    hand_out(_Handed(one.tile, one.beginnings + 1))
                    continue
                del event
                yield made
                following = next(waiting, None)
                if following is not None:
                    hand_out(_Handed(following))
        finally:
            self._client.cancel(list(handed))

    def _ship(self, batch: Batch) -> Future:
        """Keys, questions and a batch to every worker; later workers fetch them from these."""
        for beginning in range(1, _BEGINNINGS + 1):
            if not self._client.nthreads():
                self._wait_for_worker()
            try:
                if self._study_there is None or self._study_there.status != "finished":
                    self._study_there = self._client.scatter(self._study, broadcast=True, hash=False)
                return self._client.scatter(batch, broadcast=True, hash=False)
            except (OSError, TimeoutError) as problem:  # a worker died while it was given something
                if beginning == _BEGINNINGS:
                    raise OutsideError(f"Nothing can be shipped to the cluster's workers: {problem}") from problem
        raise AssertionError("the last beginning returns or raises")

    # -- events

    def _next(self) -> Any:
        """The next event; looks after the cluster while there is none."""
        alone_since: float | None = None
        while True:
            try:
                return self._inbox.get(timeout=_LOOK)
            except queue.Empty:
                pass
            if self._client.status != "running":
                raise OutsideError(
                    "The connection to the cluster's scheduler is lost. Start again: what is finished is kept."
                )
            if self._client.nthreads():
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since > _ALONE:
                raise OutsideError(
                    "The cluster has had no worker for a minute. Start again when it has some: what is finished is"
                    " kept."
                )

    def _wait_for_worker(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_ALONE)
        except TimeoutError as problem:
            raise OutsideError(
                "The cluster has no worker. Start again when it has some: what is finished is kept."
            ) from problem

    def _serve(self, request: Request) -> None:
        """Call the assist for a task. A failure is kept, and the task told to stop."""
        reply: bytes | None = None
        if self._failure is None:
            try:
                reply = self._assist(request.content)
            except Exception as problem:
                self._failure = problem
        self._answered.add(request.attempt)
        replies = channel.queue(self._client, request.attempt)
        replies.put(reply)
        replies.close()

    def _result(self, future: Future, one: _Handed) -> list[Evaluated] | None:
        """The answers of a tile; None where it has to be handed out again."""
        dask = require_dask()
        try:
            attempt, made = future.result()
        except AssistFailed:
            if self._failure is None:
                raise
            raise self._failure from None
        except EngineError:
            raise
        except (dask.CancelledError, dask.KilledWorker, dask.comm.CommClosedError, TimeoutError) as problem:
            if one.beginnings >= _BEGINNINGS:
                raise OutsideError(
                    f"The cluster loses its workers: a tile was begun {one.beginnings} times and never finished"
                    f" ({type(problem).__name__}). They may have too little memory. Start again: what is finished is"
                    " kept."
                ) from problem
            return None
        except MemoryError as problem:
            raise OutsideError("A machine of the cluster has too little memory.") from problem
        self._answered.discard(attempt)
        return list(made)

    def forget_broken(self) -> None:
        """Empty the reply queues of attempts that died with their workers, which nobody else will."""
        for attempt in self._answered:
            replies: Any = channel.queue(self._client, attempt)
            while replies.qsize():
                replies.get(timeout=1)
            replies.close()
        self._answered.clear()
