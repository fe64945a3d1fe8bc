"""What parties of a measurement send each other, in files: as in a study, nobody holds all of it in memory."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

_LENGTH = struct.Struct("<Q")


def write(path: Path, contents: Iterable[bytes]) -> int:
    """Write them one after the other; how many bytes they have."""
    size = 0
    with path.open("wb") as file:
        for content in contents:
            file.write(_LENGTH.pack(len(content)) + content)
            size += len(content)
    return size


def read(path: Path) -> Iterator[bytes]:
    """What was written, one by one."""
    with path.open("rb") as file:
        while head := file.read(_LENGTH.size):
            yield file.read(_LENGTH.unpack(head)[0])
