"""The binary form of everything that leaves: one header, then items of bytes.

Header (little endian): magic `BLPK`, version, kind, name of the parameter set, agreement hash, key id, eight numbers
whose meaning is the kind's, the number of items and their lengths, and a SHA-256 of all the rest. Everything is checked
here before SEAL sees a byte: kind, version, study, keys, number and size of items, checksum. The checksum finds damage,
not malice; envelopes are for that.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from enum import IntEnum

from blindlabel.engines.interface import ParcelError

_MAGIC = b"BLPK"
_VERSION = 4
_FIXED = struct.Struct("<4sHBx24s32s16s8IQ")
_DIGEST = 32


class ParcelKind(IntEnum):
    """What a parcel holds."""

    PUBLIC_KEY = 1
    SECRET_KEY = 2
    RECORDS = 3
    ANSWERS = 4
    SHARES = 5
    PADS = 6


_NAMES = {
    ParcelKind.PUBLIC_KEY: "a public key",
    ParcelKind.SECRET_KEY: "a secret key",
    ParcelKind.RECORDS: "encrypted records",
    ParcelKind.ANSWERS: "encrypted answers",
    ParcelKind.SHARES: "encrypted randomness",
    ParcelKind.PADS: "pads",
}


@dataclass(frozen=True)
class Study:
    """What all parcels of a study have in common. The key id is empty only while keys are being made or read."""

    parameters: str
    agreement: bytes
    key_id: bytes


@dataclass(frozen=True)
class Parcel:
    """One parcel, opened."""

    kind: ParcelKind
    study: Study
    numbers: tuple[int, ...]
    items: tuple[bytes, ...]


def key_id_of(items: tuple[bytes, ...]) -> bytes:
    """The name of a study's keys: a digest of the public ones."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(len(item).to_bytes(8, "little") + item)
    return digest.digest()[:16]


def write(parcel: Parcel) -> bytes:
    """The parcel as bytes."""
    numbers = parcel.numbers + (0,) * (8 - len(parcel.numbers))
    study = parcel.study
    name = study.parameters.encode().ljust(24, b"\0")
    head = _FIXED.pack(_MAGIC, _VERSION, parcel.kind, name, study.agreement, study.key_id, *numbers, len(parcel.items))
    head += struct.pack(f"<{len(parcel.items)}Q", *map(len, parcel.items))
    digest = hashlib.sha256(head)
    for item in parcel.items:
        digest.update(item)
    return b"".join([head, digest.digest(), *parcel.items])


def read(content: bytes, kind: ParcelKind, study: Study, *, most_items: int, most_bytes: int) -> Parcel:
    """Open a parcel of this kind and of this study, with at most this many items of at most that many bytes each."""
    wanted = _NAMES[kind]
    if len(content) < _FIXED.size + _DIGEST or content[:4] != _MAGIC:
        raise ParcelError(f"These bytes are not a parcel of the packed engine, where {wanted} was expected.")
    _, version, said, name, agreement, key_id, *rest = _FIXED.unpack_from(content)
    if version != _VERSION:
        raise ParcelError(
            f"This parcel has version {version}; this program reads version {_VERSION}. Update the older of the two."
        )
    if said != kind:
        held = _NAMES[ParcelKind(said)] if said in list(ParcelKind) else "something unknown"
        raise ParcelError(f"This parcel holds {held}, where {wanted} was expected.")
    numbers, count = tuple(rest[:8]), rest[8]
    found = Study(name.rstrip(b"\0").decode("ascii", "replace"), agreement, key_id)
    _same_study(found, study)
    if not 1 <= count <= most_items:
        raise ParcelError(f"This parcel says it has {count} parts, where 1 to {most_items} can be.")
    start = _FIXED.size + 8 * count + _DIGEST
    if len(content) < start:
        raise ParcelError("This parcel is cut off in its header.")
    lengths = struct.unpack_from(f"<{count}Q", content, _FIXED.size)
    if max(lengths) > most_bytes:
        raise ParcelError(f"This parcel has a part of {max(lengths)} bytes, where at most {most_bytes} can be.")
    if len(content) != start + sum(lengths):
        raise ParcelError(
            f"This parcel has {len(content)} bytes, where its header says {start + sum(lengths)}: it is cut off or too"
            " long."
        )
    digest = hashlib.sha256(content[: start - _DIGEST])
    digest.update(memoryview(content)[start:])
    if digest.digest() != content[start - _DIGEST : start]:
        raise ParcelError("This parcel is damaged: its checksum does not match. Ask for it again.")
    items = []
    for length in lengths:
        items.append(content[start : start + length])
        start += length
    return Parcel(kind, found, numbers, tuple(items))


def _same_study(found: Study, wanted: Study) -> None:
    if found.agreement != wanted.agreement:
        raise ParcelError("This parcel belongs to another agreement.")
    if found.parameters != wanted.parameters:
        raise ParcelError(
            f"This parcel was made with the parameters {found.parameters}, and the agreement has {wanted.parameters}."
        )
    if wanted.key_id and found.key_id != wanted.key_id:
        raise ParcelError("This parcel was made with other keys than this study's.")
