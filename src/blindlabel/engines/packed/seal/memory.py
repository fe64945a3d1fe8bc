"""The residues of a ciphertext read where SEAL keeps them, instead of from a file that SEAL compresses first: 0.3 ms
instead of 8 ms at degree 16384.

TenSEAL's binding gives no such access, so the object's own memory is read: pybind11 keeps a pointer to SEAL's object
behind the head of every Python object, and SEAL's object begins with level, form, sizes, scale and correction factor,
followed by the array. Two things must hold before an address is followed, or the caller takes the file (another
version, another machine):

- the layout is *proven* once a process: a first ciphertext is read through the system (`/proc/self/mem`), which answers
  a wrong address with an error where following it would end the process, and must be what its file says;
- every one of the object's fields has the value that SEAL's own functions give, and the array the length that follows.

Nothing is ever written.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from blindlabel.engines.packed.residues import Residues

_POINTER = 16
"""Where pybind11 keeps the pointer to SEAL's object: behind the reference count and the type."""
_OBJECT = struct.Struct("<4Q?7xQQQdQ16xQQQ")
"""Level, NTT form, parts, degree, primes, scale, correction factor; the array's pool, room, length and address."""
_KNOWN = sys.implementation.name == "cpython" and sys.byteorder == "little" and ctypes.sizeof(ctypes.c_void_p) == 8

Reader = Callable[[int, int], bytes]
"""Bytes of this process: this many, from an address."""


class Memory:
    """What is known about the layout in this process."""

    def __init__(self) -> None:
        self.proven: bool | None = None
        """None before the first ciphertext."""

    def words_of(self, cipher: Any, file: Callable[[], Residues]) -> Residues:
        """words[part, prime, position] of a ciphertext, copied; `file` reads them the slow way."""
        if self.proven:
            found = _words(cipher, ctypes.string_at)
            return file() if found is None else found
        words = file()
        if self.proven is None and words.size:
            self.proven = _proven(cipher, words)
        return words


def _proven(cipher: Any, words: Residues) -> bool:
    if not _KNOWN:
        return False
    try:
        found = _words(cipher, _through_the_system)
    except (OSError, OverflowError):
        return False
    return found is not None and np.array_equal(found, words)


def _through_the_system(address: int, count: int) -> bytes:
    """A wrong address is an `OSError` here."""
    opened = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        content = os.pread(opened, count, address)
    finally:
        os.close(opened)
    if len(content) != count:
        raise OSError("this memory ends before the array does")
    return content


def _words(cipher: Any, read: Reader) -> Residues | None:
    """The words, or None if a field is not what it should be."""
    if cipher.size() == 0:
        return None
    parts, degree, primes = cipher.size(), cipher.poly_modulus_degree(), cipher.coeff_modulus_size()
    (address,) = struct.unpack("<Q", read(id(cipher) + _POINTER, 8))
    if not address:
        return None
    *found, room, length, array = _OBJECT.unpack(read(address, _OBJECT.size))
    count = parts * degree * primes
    expected = [*cipher.parms_id(), cipher.is_ntt_form(), parts, degree, primes, 1.0, 1]
    if found != expected or length != count or room < count or not array:
        return None
    return np.frombuffer(read(array, 8 * count), dtype=np.uint64).reshape(parts, primes, degree)
