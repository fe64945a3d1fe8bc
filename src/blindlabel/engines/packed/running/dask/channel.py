"""How a task on the cluster has the owner's process call the assist, which only that process may do (it has the owner's
keys and token).

Through the scheduler: one Dask queue carries the requests of all tasks, and every attempt at a tile has a queue of its
own for the replies. So a reply can never reach another attempt, whose pads are others. A task is no more than its
worker: when that dies, Dask runs the tile again, which is another attempt under another name.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from blindlabel.engines.interface import EngineError
from blindlabel.engines.packed.running.dask.connecting import Client, require_dask

PATIENCE = 900.0
"""Seconds that a task waits for a reply; then the owner's process has gone, or the coordinator with it."""


class AssistFailed(EngineError):
    """The owner's process could not have the assist called; it knows why."""


@dataclass(frozen=True)
class Request:
    """One assist call of one attempt."""

    attempt: str
    content: bytes


class Attempt:
    """The end of the channel in a task. Its name is new for each attempt at a tile."""

    def __init__(self, channel: str, client: Client) -> None:
        self.name = f"{channel}-{secrets.token_hex(8)}"
        self._channel, self._client = channel, client
        self._requests: Any = None
        self._replies: Any = None

    def ask(self, content: bytes) -> bytes:
        """Carry one request to the owner's process and bring back the reply."""
        if self._requests is None:
            self._requests, self._replies = queue(self._client, self._channel), queue(self._client, self.name)
        self._requests.put(Request(self.name, content))
        reply: bytes | None = self._replies.get(timeout=PATIENCE)
        if reply is None:
            raise AssistFailed("The assist could not be called.")
        return reply

    def close(self) -> None:
        """Leave the queues; the scheduler forgets those that nobody is in."""
        for one in (self._requests, self._replies):
            if one is not None:
                one.close()


def queue(client: Client, name: str) -> Any:
    """One of Dask's queues."""
    return require_dask().Queue(name, client=client)
