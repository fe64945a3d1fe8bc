"""Salted hashing of set elements into the plaintext field.

An element of a family becomes a point, a fingerprint and a few further values, all in F_t and all from one SHAKE-256
call keyed by the study's public salt. The output is 8 bytes a value, so the bias of reducing modulo t < 2^32 is below
2^-32 of 1/t and does not matter.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from blindlabel.engines.packed.residues import Residues

_FAILURE = 2.0**-40
"""How likely one table may be impossible to encode (see `spare_columns`)."""


def spare_columns(elements: int, modulus: int) -> int:
    """How many further values a table of this many elements needs so that colliding points can still be told apart.

    Two elements with the same point need one spare column to be separated. The number of such coincidences is at most
    Poisson-like with mean n²/2t; the tail beyond the spare columns is held below 2^-40.
    """
    mean = elements * elements / (2 * modulus)
    spare, tail = 1, mean**2 / 2
    while tail > _FAILURE:
        spare += 1
        tail = mean ** (spare + 1) / math.factorial(spare + 1)
    return spare


def bucket_of(salt: bytes, family: str, element: str, buckets: int) -> int:
    """Which of the buckets of a large family an element belongs to."""
    start = hashlib.blake2b(element.encode("utf-8", "surrogatepass"), digest_size=8, key=salt[:64], person=b"bl-bucket")
    start.update(b"\0" + family.encode())
    return int.from_bytes(start.digest(), "little") % buckets


def bucket_bound(elements: int, buckets: int) -> int:
    """The most elements that a bucket is given room for: more come together with probability below 2^-40 (Chernoff, all
    buckets).
    """
    mean = elements / buckets
    bound = math.ceil(mean)
    while bound < elements:
        excess = (bound + 1) / mean - 1
        if buckets * math.exp(-mean * ((1 + excess) * math.log1p(excess) - excess)) < _FAILURE:
            break
        bound += 1
    return bound


def hash_elements(salt: bytes, family: str, elements: Sequence[str], spare: int, modulus: int) -> Residues:
    """One row an element: point, fingerprint, spare values."""
    columns = 2 + spare
    start = hashlib.shake_256(len(salt).to_bytes(2, "little") + salt + family.encode() + b"\0")
    digests = []
    for element in elements:
        state = start.copy()
        state.update(element.encode("utf-8", "surrogatepass"))
        digests.append(state.digest(8 * columns))
    raw = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
    return (raw % np.uint64(modulus)).reshape(len(elements), columns)
