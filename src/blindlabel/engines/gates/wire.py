"""What the main environment and the gates worker say over pipes: terms, records and questions as JSON, keys and parcels
as bytes.

A conversation is one call. Each side sends a greeting line that names the version, then frames: one letter for the
kind, eight bytes for the length, the content. A request is one J frame (the call) and B frames (keys and parcels),
closed by Z. The answer is B frames (results, as they come) and P frames (progress), closed by Z; an E frame before it
has the kind of error and its sentence.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict
from typing import IO, Any

from blindlabel.engines.interface import EngineError, Terms
from blindlabel.errors import OutsideError
from blindlabel.language.limits import Limits
from blindlabel.language.record import Record

GREETING = b"blindlabel gates worker 1\n"
_LENGTH = struct.Struct(">Q")
_LARGEST = 2**32

CALL, BLOB, PROGRESS, ERROR, END = b"J", b"B", b"P", b"E", b"Z"


class WireError(EngineError, OutsideError):
    """The other side of the pipe did not speak as it should; usually it has died."""


# -- frames


def send(stream: IO[bytes], kind: bytes, content: bytes = b"") -> None:
    """Write one frame. The end of a message is also flushed."""
    stream.write(kind + _LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def send_json(stream: IO[bytes], kind: bytes, document: Any) -> None:
    """Write one frame of JSON."""
    send(stream, kind, json.dumps(document).encode())


def greet(stream: IO[bytes]) -> None:
    """Say which version this side speaks."""
    stream.write(GREETING)
    stream.flush()


def expect_greeting(stream: IO[bytes]) -> None:
    """Hold the other side to the same version."""
    found = stream.readline(len(GREETING) + 64)
    if found != GREETING:
        raise WireError(f"Expected a gates worker of this version, and it said {found[:40]!r}.")


def frames(stream: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """All frames up to and without the closing Z."""
    while True:
        head = stream.read(1 + _LENGTH.size)
        if len(head) != 1 + _LENGTH.size:
            raise WireError("The other side of the pipe stopped in the middle.")
        kind, (length,) = head[:1], _LENGTH.unpack(head[1:])
        if kind not in (CALL, BLOB, PROGRESS, ERROR, END) or length > _LARGEST:
            raise WireError("The other side of the pipe sent something that is no frame.")
        if kind == END:
            return
        content = stream.read(length)
        if len(content) != length:
            raise WireError("The other side of the pipe stopped in the middle.")
        yield kind, content


# -- values


def terms_document(terms: Terms) -> dict[str, Any]:
    """Terms as JSON."""
    document = asdict(terms)
    for name in ("agreement_hash", "salt"):
        document[name] = document[name].hex()
    return document


def read_terms(document: dict[str, Any]) -> Terms:
    """The reverse."""
    known = dict(document)
    for name in ("agreement_hash", "salt"):
        known[name] = bytes.fromhex(known[name])
    for name in ("attributes", "functions"):
        known[name] = tuple(known[name])
    known["limits"] = Limits(**known["limits"])
    return Terms(**known)


def record_document(record: Record) -> dict[str, Any]:
    """A record as JSON."""
    return {"attributes": dict(record.attributes), "whole": record.whole}


def read_record(document: dict[str, Any]) -> Record:
    """The reverse."""
    return Record(document["attributes"], document["whole"])
