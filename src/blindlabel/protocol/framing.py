"""Several parcels in one body: each with its length in front, the number of parcels at the end, so that a cut-off body
is noticed. Also a message and its body in one piece, for assist calls.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from blindlabel.protocol.errors import MalformedMessage

_MARK = b"blindlabel parcels 1\n"
_END = 2**64 - 1
LARGEST_PARCEL = 2**30
"""Bytes of one parcel, at most: what a reader holds in memory."""


def frame(parcels: Iterable[bytes]) -> Iterator[bytes]:
    """The parcels as the pieces of one body."""
    yield _MARK
    count = 0
    for parcel in parcels:
        if len(parcel) > LARGEST_PARCEL:
            raise ValueError(f"a parcel of {len(parcel)} bytes is larger than {LARGEST_PARCEL}")
        yield struct.pack(">Q", len(parcel))
        yield parcel
        count += 1
    yield struct.pack(">QQ", _END, count)


def unframe(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The parcels again; the pieces may be cut anywhere."""
    reader = _Reader(iter(pieces))
    if reader.take(len(_MARK)) != _MARK:
        raise MalformedMessage("The body holds no parcels.")
    count = 0
    while True:
        (length,) = struct.unpack(">Q", reader.take(8))
        if length == _END:
            break
        if length > LARGEST_PARCEL:
            raise MalformedMessage("The body holds a parcel of impossible length.")
        yield reader.take(length)
        count += 1
    if struct.unpack(">Q", reader.take(8))[0] != count or not reader.at_end():
        raise MalformedMessage("The body does not end as it should.")


def pack_with_body(wire: bytes, body: bytes) -> bytes:
    """A message and its one body together, as assist calls and replies travel: the message's length in 4 bytes, the
    message, the body.
    """
    return struct.pack(">I", len(wire)) + wire + body


def unpack_with_body(packed: bytes) -> tuple[bytes, bytes]:
    """The message and its body again."""
    if len(packed) < 4 or (length := struct.unpack(">I", packed[:4])[0]) > len(packed) - 4:
        raise MalformedMessage("The bytes are no message with a body.")
    return packed[4 : 4 + length], packed[4 + length :]


class _Reader:
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = bytearray()

    def take(self, count: int) -> bytes:
        while len(self._held) < count:
            piece = next(self._pieces, None)
            if piece is None:
                raise MalformedMessage("The body ends before its end.")
            self._held += piece
        taken = bytes(self._held[:count])
        del self._held[:count]
        return taken

    def at_end(self) -> bool:
        return not self._held and not any(self._pieces)
