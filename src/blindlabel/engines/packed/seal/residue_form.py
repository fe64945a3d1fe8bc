"""The words of a ciphertext: its residues in NTT form as an array [part, prime, position], and back.

SEAL gives no access to them except by its file format, which this module reads and writes: a header of 16 bytes, then
(compressed by zstandard when SEAL writes, plain when we do) a preamble and the words. What we write SEAL checks like
anything else it loads. The preamble is copied from a ciphertext that SEAL wrote, so nothing of it is made up here, and
a SEAL with another format is noticed at once.
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa

from blindlabel.engines.interface import EngineError
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Ring, saved

_HEADER = struct.Struct("<HBBBBHQ")
_MAGIC = 0xA15E
_PLAIN, _ZSTANDARD = 0, 2


class ResidueForm:
    """Ciphertexts of one ring, in NTT form at the top of the chain, as words."""

    def __init__(self, ring: Ring, template: Cipher) -> None:
        self._ring = ring
        self._shape = (2, ring.parameters.data_primes, ring.degree)
        self._size = 8 * self._shape[0] * self._shape[1] * self._shape[2]
        content = saved(template)
        self._version = _HEADER.unpack_from(content)[2:4]
        self._preamble = _body(content)[: -self._size]
        again = self.words(self.cipher(self.words(template)))
        if not (again == self.words(template)).all():
            raise _unknown()

    def words(self, cipher: Cipher) -> Residues:
        """The words of a ciphertext."""
        body = _body(saved(cipher))
        if len(body) < self._size:
            raise _unknown()
        return _words(body, self._size).reshape(self._shape)

    def cipher(self, words: Residues) -> Cipher:
        """The ciphertext of these words."""
        content = self._preamble + np.ascontiguousarray(words, dtype="<u8").tobytes()
        header = _HEADER.pack(_MAGIC, _HEADER.size, *self._version, _PLAIN, 0, _HEADER.size + len(content))
        return self._ring.load_transformed(header + content)


def _words(body: bytes, size: int) -> Residues:
    return np.frombuffer(body[-size:], dtype="<u8").astype(np.uint64)


def _body(content: bytes) -> bytes:
    """What stands behind the header, not compressed."""
    magic, size, _, _, compression, _, length = _HEADER.unpack_from(content)
    if magic != _MAGIC or size != _HEADER.size or length != len(content) or compression not in (_PLAIN, _ZSTANDARD):
        raise _unknown()
    if compression == _PLAIN:
        return content[size:]
    with pa.CompressedInputStream(pa.BufferReader(content[size:]), "zstd") as stream:
        body: bytes = stream.read()
    return body


def _unknown() -> EngineError:
    return EngineError("This version of SEAL writes ciphertexts in a format that the packed engine does not know.")
