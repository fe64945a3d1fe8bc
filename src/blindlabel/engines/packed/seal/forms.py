"""The form in which SEAL's objects travel: residues and seeds, nothing else.

In SEAL's own file format the writer says how large an object is, at which level, whether compressed, whether seeded,
and the reader allocates accordingly. Here none of that travels. Both ends know from the agreement which object is due,
and what travels is

- its residues, each in as many bytes as its prime needs, and
- for a *seeded* object 64 bytes of seed in place of the second half, which the reader expands.

The reader refuses every other length and every residue that is not below its prime, and writes the rest of SEAL's
format (headers, level, sizes, the kind of generator) around it itself. So no foreign byte decides an allocation; and an
object whose second half its sender chose cannot pass for a seeded one, because it has another length. That check *is*
the security of the records: SEAL itself would load either silently.

Two objects from one seed would have the same second half, and their difference none, which SEAL refuses to compute
with: an error that depends on the asker's weights. `Seeds` refuses the second use of a seed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from blindlabel.engines.interface import EngineError, ParcelError
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.rings import SEED

_HEADER = struct.Struct("<HBBBBHQ")
_MAGIC, _MAJOR, _MINOR = 0xA15E, 4, 3
_NONE, _ZSTANDARD = 0, 2
_CIPHER = struct.Struct("<32s?QQQdQ")
"""Level, whether in NTT form, parts, degree, primes, scale, correction factor."""
_PLAIN = struct.Struct("<32sQd")
"""Level, number of coefficients, scale."""
_BLAKE2 = b"\x01"
"""SEAL's name for its generator."""
_GENERATOR_BYTES = _HEADER.size + 1 + SEED


def framed(*content: bytes) -> bytes:
    """Behind SEAL's header, not compressed."""
    length = _HEADER.size + sum(map(len, content))
    return b"".join([_HEADER.pack(_MAGIC, _HEADER.size, _MAJOR, _MINOR, _NONE, 0, length), *content])


def unframed(content: bytes) -> bytes:
    """What SEAL, in this process, wrote behind its header; never for foreign bytes."""
    magic, size, major, minor, compression, _, length = _HEADER.unpack_from(content)
    known = (magic, size, major, minor, length) == (_MAGIC, _HEADER.size, _MAJOR, _MINOR, len(content))
    if not known or compression not in (_NONE, _ZSTANDARD):
        raise _unknown()
    if compression == _NONE:
        return content[size:]
    with pa.CompressedInputStream(pa.BufferReader(content[size:]), "zstd") as stream:
        body: bytes = stream.read()
    return body


def _array(words: Residues) -> bytes:
    """SEAL's array of 64-bit words."""
    return framed(words.size.to_bytes(8, "little"), words.astype("<u8", copy=False).tobytes())


def _array_bytes(count: int) -> int:
    return _HEADER.size + 8 + 8 * count


def _unknown() -> EngineError:
    return EngineError("This version of SEAL writes its objects in a format that the packed engine does not know.")


@dataclass(frozen=True)
class Rows:
    """Rows of residues, one a prime, as bytes: each residue in as many half bytes as its prime needs, so that two
    residues of a prime of 60 bits take fifteen bytes.
    """

    primes: tuple[int, ...]
    degree: int

    @cached_property
    def length(self) -> int:
        """Bytes of one row a prime."""
        return sum(self.degree // 2 * width for width in self._widths)

    @property
    def _widths(self) -> tuple[int, ...]:
        """Bytes of two residues."""
        return tuple(-(-prime.bit_length() // 4) for prime in self.primes)

    def write(self, words: Residues) -> bytes:
        """words[prime, position] as bytes."""
        rows = []
        for row, width in zip(words, self._widths, strict=True):
            pairs = np.empty(self.degree // 2, _pair(width))
            first, second = row[0::2], row[1::2]
            pairs["high"] = first >> np.uint64(8 * width - 64) | second << np.uint64(64 - 4 * width)
            pairs["low"] = first | second << np.uint64(4 * width)
            rows.append(pairs.tobytes())
        return b"".join(rows)

    def read(self, content: bytes) -> Residues:
        """words[prime, position], every residue below its prime."""
        words = np.empty((len(self.primes), self.degree), dtype=np.uint64)
        start = 0
        for row, prime, width in zip(words, self.primes, self._widths, strict=True):
            pairs = np.frombuffer(content, _pair(width), self.degree // 2, start)
            np.bitwise_and(pairs["low"], np.uint64((1 << 4 * width) - 1), out=row[0::2])
            np.right_shift(pairs["high"], np.uint64(64 - 4 * width), out=row[1::2])
            if int(row.max()) >= prime:
                raise ParcelError("A part of this parcel has numbers that the agreed parameters do not have.")
            start += self.degree // 2 * width
        return words


def _pair(width: int) -> np.dtype[np.void]:
    """Two residues in `width` bytes, of which either takes half: the first eight bytes and the last eight, which
    overlap.
    """
    return np.dtype({"names": ["low", "high"], "formats": ["<u8", "<u8"], "offsets": [0, width - 8], "itemsize": width})


@dataclass(frozen=True)
class CipherForm:
    """A ciphertext of two halves at one level; where `seeded`, the second half is expanded from a seed."""

    level: bytes
    rows: Rows
    seeded: bool = False
    transformed: bool = False
    """In NTT form."""

    @property
    def length(self) -> int:
        """Bytes that travel, exactly."""
        return SEED + self.rows.length if self.seeded else 2 * self.rows.length

    @property
    def _words(self) -> int:
        """Residues that SEAL's file has."""
        return len(self.rows.primes) * self.rows.degree * (1 if self.seeded else 2)

    @property
    def seal_bytes(self) -> int:
        """Bytes of SEAL's file behind its header."""
        return _CIPHER.size + _array_bytes(self._words) + (_GENERATOR_BYTES if self.seeded else 0)

    @property
    def _preamble(self) -> bytes:
        primes, degree = len(self.rows.primes), self.rows.degree
        return _CIPHER.pack(self.level, self.transformed, 2, degree, primes, 1.0, 1)

    def seed(self, content: bytes) -> bytes:
        """The seed of a seeded ciphertext that has travelled."""
        return content[:SEED]

    def words(self, content: bytes) -> Residues:
        """words[half, prime, position] of what has travelled; of a seeded one its first half only."""
        if len(content) != self.length:
            raise ParcelError("A part of this parcel has another size than it should.")
        size = self.rows.length
        if self.seeded:
            return self.rows.read(content[SEED:])[None]
        return np.stack([self.rows.read(content[:size]), self.rows.read(content[size:])])

    def to_seal(self, content: bytes) -> bytes:
        """SEAL's file of what has travelled."""
        seed = framed(_BLAKE2 + content[:SEED]) if self.seeded else b""
        return framed(self._preamble, _array(self.words(content)), seed)

    def seal_words(self, body: bytes) -> Residues:
        """words[half, prime, position] of a file that SEAL wrote (behind its header)."""
        if len(body) != self.seal_bytes or body[: _CIPHER.size] != self._preamble:
            raise _unknown()
        start = _CIPHER.size + _array_bytes(0)
        words = np.frombuffer(body, dtype="<u8", count=self._words, offset=start)
        return words.astype(np.uint64).reshape(-1, len(self.rows.primes), self.rows.degree)

    def from_words(self, words: Residues) -> bytes:
        """SEAL's file of these words[half, prime, position]."""
        return framed(self._preamble, _array(words))

    def travelling(self, body: bytes) -> bytes:
        """What travels of a file that SEAL wrote (behind its header)."""
        written = b"".join(self.rows.write(half) for half in self.seal_words(body))
        if not self.seeded:
            return written
        if body[-SEED - 1 : -SEED] != _BLAKE2:
            raise _unknown()
        return body[-SEED:] + written


@dataclass(frozen=True)
class SwitchingForm:
    """Switching keys (relinearisation, Galois): for each place a row of seeded ciphertexts, one a data prime."""

    one: CipherForm
    places: tuple[int, ...]
    """Where SEAL keeps them, rising; all other places of its list are empty."""
    list_length: int

    @property
    def _digits(self) -> int:
        return len(self.one.rows.primes) - 1

    @property
    def length(self) -> int:
        """Bytes that travel, exactly."""
        return len(self.places) * self._digits * self.one.length

    def _parts(self, content: bytes) -> Iterator[bytes]:
        if len(content) != self.length:
            raise ParcelError("The keys in this parcel have another size than they should.")
        for start in range(0, self.length, self.one.length):
            yield content[start : start + self.one.length]

    def seeds(self, content: bytes) -> Iterator[bytes]:
        """The seeds of keys that have travelled."""
        return (self.one.seed(part) for part in self._parts(content))

    def to_seal(self, content: bytes) -> bytes:
        """SEAL's file of what has travelled."""
        parts = self._parts(content)
        written = [self.one.level, self.list_length.to_bytes(8, "little")]
        for empty, is_key in self._stretches():
            written.append(bytes(8 * empty))
            if is_key:
                written.append(self._digits.to_bytes(8, "little"))
                written += [self.one.to_seal(next(parts)) for _ in range(self._digits)]
        return framed(*written)

    def _stretches(self) -> Iterator[tuple[int, bool]]:
        """How many places are empty, and whether a key follows."""
        following = 0
        for place in self.places:
            yield place - following, True
            following = place + 1
        yield self.list_length - following, False

    def travelling(self, body: bytes) -> bytes:
        """What travels of a file that SEAL wrote (behind its header)."""
        size = self.one.seal_bytes
        found, start = [], 40
        for empty, is_key in self._stretches():
            counts = bytes(8 * empty) + (self._digits.to_bytes(8, "little") if is_key else b"")
            if body[start : start + len(counts)] != counts:
                raise _unknown()
            start += len(counts)
            for _ in range(self._digits if is_key else 0):
                found.append(self.one.travelling(body[start + _HEADER.size : start + _HEADER.size + size]))
                start += _HEADER.size + size
        if start != len(body):
            raise _unknown()
        return b"".join(found)


@dataclass(frozen=True)
class SecretForm:
    """A secret key: one row of residues a prime, in NTT form. It travels nowhere but is measured like all else."""

    level: bytes
    rows: Rows

    @property
    def length(self) -> int:
        """Bytes, exactly."""
        return self.rows.length

    @property
    def _preamble(self) -> bytes:
        return _PLAIN.pack(self.level, len(self.rows.primes) * self.rows.degree, 1.0)

    def to_seal(self, content: bytes) -> bytes:
        """SEAL's file."""
        if len(content) != self.length:
            raise ParcelError("This secret key has another size than it should.")
        return framed(self._preamble, _array(self.rows.read(content)))

    def travelling(self, body: bytes) -> bytes:
        """The key of a file that SEAL wrote (behind its header)."""
        count = len(self.rows.primes) * self.rows.degree
        if len(body) != _PLAIN.size + _array_bytes(count) or body[: _PLAIN.size] != self._preamble:
            raise _unknown()
        words = np.frombuffer(body, dtype="<u8", count=count, offset=_PLAIN.size + _array_bytes(0))
        return self.rows.write(words.astype(np.uint64).reshape(-1, self.rows.degree))


def plain_to_seal(coefficients: Residues) -> bytes:
    """SEAL's file of a plaintext with these coefficients, lowest first."""
    return framed(_PLAIN.pack(bytes(32), coefficients.size, 1.0), _array(coefficients))


class Seeds:
    """The seeds of everything that one key holder sent, each of which may be used once."""

    def __init__(self, taken: Iterable[bytes] = ()) -> None:
        self._taken = set(taken)

    @property
    def taken(self) -> frozenset[bytes]:
        """All of them."""
        return frozenset(self._taken)

    def take_all(self, seeds: Iterable[bytes]) -> None:
        """Note seeds, or refuse the second use of one."""
        for seed in seeds:
            if seed in self._taken:
                raise ParcelError("Two parts of these parcels were made with the same seed. Have them made anew.")
            self._taken.add(seed)
