"""Journal points: the moments just before and just after something becomes durable. A process that dies does so between
two of them.

Storage code calls `reached` there. Nothing listens in a real study; simulations listen, so as to stop a party at every
one of these points (`listening`). Listeners belong to the thread that set them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum


class Point(Enum):
    """What happens at a journal point."""

    BEFORE_COMMIT = "before commit"
    AFTER_COMMIT = "after commit"
    BEFORE_RENAME = "before rename"
    AFTER_RENAME = "after rename"
    AFTER_PART = "after a part of a body"


Listener = Callable[[Point], None]
"""Called with what happens there; an exception that it raises comes out of the storage call."""

_listeners = threading.local()


def reached(what: Point) -> None:
    """The code is at a journal point."""
    listener: Listener | None = getattr(_listeners, "current", None)
    if listener is not None:
        listener(what)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Listen to every journal point of this thread."""
    before = getattr(_listeners, "current", None)
    _listeners.current = listener
    try:
        yield
    finally:
        _listeners.current = before
