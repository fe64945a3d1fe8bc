"""The byte formats of the gates engine: one versioned header for keys and parcels, and tight packing of what OpenFHE
writes wide.

No foreign byte reaches OpenFHE's own reader unchecked: a parcel of ciphertexts is unpacked here into whole numbers
below the modulus, in exactly the count the agreement implies, and written out again in OpenFHE's layout by `binfhe`.
Keys arrive authenticated from the owner of the records, and are held to header, version, digest and exact size; what
sizes are inside them, OpenFHE reads with a bound on the memory that it may take (`binfhe`).

Header, all numbers big-endian: magic, version, kind, parameter set, agreement hash, key id, digest of the body, length
of the body. A body of ciphertexts: number of the record, how many ciphertexts, then each as 11-bit numbers (OpenFHE
writes 64 bits for each of them). How many numbers a ciphertext has is fixed by the parameter set, STD128. Format 2 had
another one; formats up to 3 had answers without pads.
"""

from __future__ import annotations

import hashlib
import struct
from enum import Enum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from blindlabel.engines.interface import ParcelError, Terms

MAGIC = b"BLGATES\x00"
VERSION = 4
PARAMETERS = b"STD128-GINX"
"""Of everything that travels between parties."""

DIMENSION = 554
"""Length of an LWE ciphertext's vector under STD128; `binfhe` holds the installed OpenFHE to it."""
CIPHERTEXT_VALUES = DIMENSION + 1
"""Numbers of a ciphertext: the vector and the body."""
MODULUS_BITS = 11
MODULUS = 1 << MODULUS_BITS
"""The LWE modulus is 2048, so every number that fits the bits is a valid one."""
CIPHERTEXT_BYTES = (CIPHERTEXT_VALUES * MODULUS_BITS + 7) // 8
"""Bytes of a ciphertext as it travels."""

PUBLIC_KEY_BYTES = 489_240_326
"""Bytes of a public key under STD128, squeezed."""

_HEADER = struct.Struct(">8sHB16s32s16s16sQ")
HEADER_BYTES = _HEADER.size
_BATCH = struct.Struct(">II")
_SQUEEZED = struct.Struct(">Q")

Numbers = npt.NDArray[np.uint16]
"""Ciphertexts as numbers: one row each, the vector and then the body `b`."""


class Content(Enum):
    """What follows a header, and what it is called in a sentence."""

    PUBLIC = (1, "a public key")
    SECRET = (2, "a secret key")
    RECORD = (3, "an encrypted record")
    ANSWERS = (4, "encrypted answers")

    def __init__(self, number: int, words: str) -> None:
        self.number = number
        self.words = words


def _digest(body: bytes | memoryview) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def key_id_of(public_body: bytes | memoryview) -> bytes:
    """What parcels and secret keys name a public key by."""
    return _digest(public_body)


def sealed(content: Content, terms: Terms, key_id: bytes, body: bytes) -> bytes:
    """A body with its header."""
    header = _HEADER.pack(
        MAGIC,
        VERSION,
        content.number,
        PARAMETERS.ljust(16, b"\x00"),
        terms.agreement_hash,
        key_id,
        _digest(body),
        len(body),
    )
    return header + body


def opened(content: Content, terms: Terms, parcel: bytes, key_id: bytes | None = None) -> tuple[bytes, memoryview]:
    """The key id and the body, once everything the header says has been checked. A given key id must be the
    parcel's.
    """
    if len(parcel) < _HEADER.size:
        raise ParcelError(f"This is too short to be {content.words} of the gates engine.")
    magic, version, number, parameters, agreement, found_id, digest, length = _HEADER.unpack_from(parcel)
    if magic != MAGIC:
        raise ParcelError(f"This is not {content.words} of the gates engine.")
    if version != VERSION:
        raise ParcelError(f"This has format {version} of the gates engine; this program reads format {VERSION}.")
    if number != content.number:
        raise ParcelError(f"Expected {content.words}, and this is something else of the gates engine.")
    if parameters.rstrip(b"\x00") != PARAMETERS:
        raise ParcelError(f"This was made with parameters other than {PARAMETERS.decode()}.")
    if agreement != terms.agreement_hash:
        raise ParcelError("This belongs to another agreement.")
    if key_id is not None and found_id != key_id:
        raise ParcelError("This was made with other keys.")
    body = memoryview(parcel)[_HEADER.size :]
    if len(body) != length or _digest(body) != digest:
        raise ParcelError(f"This was damaged on its way: {content.words} that is not what was sent.")
    if content is Content.PUBLIC and found_id != digest:
        raise ParcelError("This public key does not have the key id that it names.")
    return found_id, body


# -- ciphertexts


def packed_numbers(numbers: Numbers) -> bytes:
    """Ciphertexts as bytes, 11 bits a number."""
    count, each = numbers.shape
    bits = np.unpackbits(numbers.astype(">u2").view(np.uint8).reshape(count, each, 2), axis=2)
    return np.packbits(bits[:, :, 16 - MODULUS_BITS :].reshape(count, each * MODULUS_BITS), axis=1).tobytes()


def unpacked_numbers(packed: bytes | memoryview, count: int) -> Numbers:
    """The reverse; a ParcelError where the size is not that of this many ciphertexts."""
    numbers = CIPHERTEXT_VALUES
    if len(packed) != count * CIPHERTEXT_BYTES:
        raise ParcelError(
            f"This should hold {count} ciphertexts of {CIPHERTEXT_BYTES} bytes, and has {len(packed)} bytes."
        )
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(count, CIPHERTEXT_BYTES)
    bits = np.unpackbits(rows, axis=1, count=numbers * MODULUS_BITS).reshape(count, numbers, MODULUS_BITS)
    wide = np.zeros((count, numbers, 16), dtype=np.uint8)
    wide[:, :, 16 - MODULUS_BITS :] = bits
    return np.packbits(wide, axis=2).view(">u2").reshape(count, numbers).astype(np.uint16)


def batch(content: Content, terms: Terms, key_id: bytes, *, record: int, numbers: Numbers) -> bytes:
    """A parcel of ciphertexts that belong to one record."""
    return sealed(content, terms, key_id, _BATCH.pack(record, len(numbers)) + packed_numbers(numbers))


def opened_batch(content: Content, terms: Terms, parcel: bytes, key_id: bytes, *, record: int, count: int) -> Numbers:
    """The ciphertexts of a parcel, which must be those of this record and this many."""
    _, body = opened(content, terms, parcel, key_id)
    if len(body) < _BATCH.size:
        raise ParcelError(f"This is too short to be {content.words} of the gates engine.")
    found_record, found_count = _BATCH.unpack_from(body)
    if found_record != record:
        raise ParcelError(f"Expected {content.words} number {record + 1}, and this is number {found_record + 1}.")
    if found_count != count:
        raise ParcelError(f"Expected {count} ciphertexts, and this has {found_count}.")
    return unpacked_numbers(body[_BATCH.size :], count)


# -- keys


_BLOCK = 65536
"""Words that are squeezed together."""


def squeezed(path: Path) -> bytes:
    """A key file of OpenFHE in about half its size, without loss.

    After its first byte such a file is 32-bit words, and nearly all of them (the key-switching key, modulo 2^15) fit 16
    bits. So each block of words is kept in 16 bits where all fit and in 32 where not; one flag byte a block says which.
    """
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    end = 1 + (len(raw) - 1) // 4 * 4
    words = np.frombuffer(raw, dtype="<u4", offset=1, count=(end - 1) // 4)
    flags = bytearray()
    blocks = []
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        narrow = bool(block.max() < 65536)
        flags.append(narrow)
        blocks.append(block.astype("<u2").tobytes() if narrow else block.tobytes())
    return b"".join([_SQUEEZED.pack(len(raw)), bytes(flags), raw[:1].tobytes(), raw[end:].tobytes(), *blocks])


def unsqueeze(data: memoryview, path: Path) -> None:
    """Write the key file again."""
    problem = ParcelError("The evaluation key is not in the form of the gates engine.")
    if len(data) < _SQUEEZED.size + 1:
        raise problem
    (length,) = _SQUEEZED.unpack_from(data)
    words, tail = (length - 1) // 4, (length - 1) % 4
    if not 0 < words <= len(data):
        raise problem
    blocks = -(-words // _BLOCK)
    flags = bytes(data[_SQUEEZED.size : _SQUEEZED.size + blocks])
    ends = data[_SQUEEZED.size + blocks : _SQUEEZED.size + blocks + 1 + tail]
    at = _SQUEEZED.size + blocks + 1 + tail
    sizes = [min(_BLOCK, words - number * _BLOCK) for number in range(blocks)]
    if (
        len(flags) != blocks
        or set(flags) - {0, 1}
        or len(data) != at + sum(size * (2 if f else 4) for size, f in zip(sizes, flags))
    ):
        raise problem
    with path.open("wb") as file:
        file.write(ends[:1])
        for size, narrow in zip(sizes, flags):
            block = np.frombuffer(data, dtype="<u2" if narrow else "<u4", offset=at, count=size)
            file.write(block.astype("<u4").tobytes())
            at += size * (2 if narrow else 4)
        file.write(ends[1:])
