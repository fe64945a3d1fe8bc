"""Coroutines in tests. The browser's tests leave a loop running in the thread of the tests, where they share a process
with others; so a coroutine runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Found = TypeVar("Found")


def finished(coroutine: Coroutine[Any, Any, Found]) -> Found:
    """What a coroutine gives, when it is done."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
