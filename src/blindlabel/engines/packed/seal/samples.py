"""Small secret samples, of SEAL's own distributions, from the operating system's randomness. Exact."""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.seal.residues import Residues, uniform

Small = npt.NDArray[np.int64]


def ternary(count: int) -> Small:
    """Uniform in -1, 0, 1."""
    return uniform(count, 3).astype(np.int64) - 1


def errors(count: int) -> Small:
    """Errors: the difference of the ones in 21 bits and in 21 more, so of variance 10.5."""
    drawn = np.frombuffer(secrets.token_bytes(8 * count), dtype="<u8")
    mask = np.uint64((1 << 21) - 1)
    first, second = np.bitwise_count(drawn & mask), np.bitwise_count((drawn >> np.uint64(21)) & mask)
    difference: Small = first.astype(np.int64) - second.astype(np.int64)
    return difference


def modulo(values: Small, prime: int) -> Residues:
    """Small signed values modulo a prime."""
    return (values % np.int64(prime)).astype(np.uint64)
