"""The linear step by a library in C, where the build could compile one: what `periodic` does with NumPy, word for word
the same, several times as fast. A processor without AVX2, or an installation without the library, has NumPy.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.seal.ring import Ring

LIBRARY = Path(__file__).with_name("libperiodic.so")
VERSIONS = {2: "AVX-512", 1: "AVX2"}
"""What the library can be run with, by the number that it has there."""
_LEAST_LENGTH = 4
"""Words of a stretch: four stretches fill the vectors of a product."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """The library, with one of its versions."""

    library: ctypes.CDLL
    version: int

    def add_sums(self, ring: Ring, patterns: Residues, words: Residues, result: Residues) -> None:
        """What `periodic.sums` makes, added to what is there."""
        rows, inner, stride = patterns.shape
        primes, length = ring.primes[: words.shape[2]], words.shape[3] // (2 * stride)
        small = np.empty((rows * inner, stride), dtype=np.int32)
        left = np.empty((stride, rows, inner), dtype=np.uint64)
        size, t = (rows * inner, stride), ring.modulus
        self._call("coefficients", patterns, small, *size, t, _roots(ring, stride, t, back=True), _places(stride))
        for index, prime in enumerate(primes):
            self._call("constants", small, left, *size, prime, _roots(ring, stride, prime))
            sizes = (rows, inner, len(primes), index, stride, length)
            self._call("add_products", left, words, result, *sizes, prime)

    def _call(self, name: str, *arguments: npt.NDArray[Any] | int) -> None:
        given = [
            ctypes.c_uint64(one) if isinstance(one, int) else np.ascontiguousarray(one).ctypes for one in arguments
        ]
        if getattr(self.library, name)(self.version, *given):
            raise MemoryError


@lru_cache(maxsize=1)
def kernel() -> Kernel | None:
    """The library that this process can use; None: NumPy."""
    return opened(LIBRARY)


def opened(path: Path) -> Kernel | None:
    """The library in this file with the best version that the processor can run."""
    try:
        library = ctypes.CDLL(str(path))
        version = library.version()
    except (OSError, AttributeError):  # not compiled, or for another machine
        return None
    return Kernel(library, version) if version in VERSIONS else None


def name() -> str:
    """The name of what does the linear step here."""
    found = kernel()
    return "NumPy" if found is None else VERSIONS[found.version]


def fits(words: Residues, stride: int) -> bool:
    """Whether stretches are long enough for it."""
    return int(words.shape[3]) // (2 * stride) >= _LEAST_LENGTH


def _turned(place: int, points: int) -> int:
    """A place with its bits in the other order."""
    return int(f"{place:0{points.bit_length() - 1}b}"[::-1], 2)


@lru_cache(maxsize=64)
def _roots(ring: Ring, stride: int, prime: int, *, back: bool = False) -> Residues:
    """The roots of the transform of 2·stride points, or of the way back, in the order in which SEAL takes them, each
    with its share of the prime. The first is not used forward; on the way back it is 1/points.
    """
    points = 2 * stride
    root = pow(ring.root(prime), (-1 if back else 1) * ring.degree // points, prime)
    powers = [*accumulate(repeat(root, points - 1), lambda one, by: one * by % prime, initial=1)]
    found = [powers[_turned(place, points)] for place in range(points)]
    if back:
        found[0] = pow(points, -1, prime)
    return np.array([(one, (one << 64) // prime) for one in found], dtype=np.uint64)


@lru_cache(maxsize=8)
def _places(stride: int) -> npt.NDArray[np.int32]:
    """At which two of the points every column stands: at root^(3^column) and at its inverse."""
    at = {2 * _turned(place, 2 * stride) + 1: place for place in range(2 * stride)}
    powers = [pow(3, column, 4 * stride) for column in range(stride)]
    return np.array([[at[power] for power in powers], [at[4 * stride - power] for power in powers]], dtype=np.int32)
