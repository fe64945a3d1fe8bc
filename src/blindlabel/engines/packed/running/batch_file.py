"""A batch's ciphertexts in a file instead of memory: worker processes read them one by one when they open the batch, so
that neither the process that shares out the work nor a message between them ever holds a second copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload


@dataclass(frozen=True)
class StoredItems(Sequence[bytes]):
    """Pieces of bytes one after the other in a file. Travels between processes of one machine by its path."""

    path: Path
    ends: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]  # as tuples do: negative from the end, IndexError beyond
        start = self.ends[place - 1] if place else 0
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(self.ends[place] - start)


def store(path: Path, items: Iterable[bytes]) -> StoredItems:
    """Write pieces of bytes into a file."""
    ends: list[int] = []
    with path.open("wb") as file:
        for item in items:
            file.write(item)
            ends.append(file.tell())
    return StoredItems(path, tuple(ends))
