"""Files that a tab has handed over and that wait to be used: small, few, and forgotten once taken."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterable

from fastapi import Request

from blindlabel.errors import InputError

LARGEST = 16 * 2**20
_MOST_WAITING = 64


class Uploads:
    """What waits, by ticket."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, tuple[str, bytes]] = OrderedDict()

    async def receive(self, name: str, request: Request) -> str:
        """Keep a request's body under a new ticket."""
        content = bytearray()
        async for chunk in request.stream():
            content += chunk
            if len(content) > LARGEST:
                raise InputError(f"{name} is larger than {LARGEST // 2**20} MB.")
        ticket = secrets.token_urlsafe(12)
        self._waiting[ticket] = (name, bytes(content))
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)
        return ticket

    def take(self, tickets: Iterable[str]) -> list[tuple[str, bytes]]:
        """Name and content of what was handed over."""
        return [self._waiting.pop(ticket) for ticket in tickets if ticket in self._waiting]
