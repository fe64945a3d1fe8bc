"""Answers leave for the key holder with a pad over the whole ring: the asker's side of opening.

A result is switched down to two primes; there (p0·u + e1, p1·u + e2) with fresh u, e1, e2 is added, and P, uniform over
the whole ring, to the first half. Whatever the key holder put into its keys and records,

- the first half is exactly uniform and independent of everything else, because P is;
- the second half is c1 + p1·u + e2 with p1 expanded from a seed, an RLWE sample with the secret u: computationally
  uniform, whatever c1 is.

So no estimate of noise is needed for privacy. An honest key holder, whose (p0, p1) encrypts zero, decrypts the content
plus σ = round(t·P/q), which the asker keeps. The noise only has to leave rounding alone: see docs/packed-engine.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blindlabel.engines.packed.opening import pads
from blindlabel.engines.packed.seal.holders import SeededEncryptor
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher

LEVEL = 2
"""Primes that padded answers still have. With one, 1.6 % of values would be rounded wrongly."""


@dataclass(frozen=True, eq=False)
class Padded:
    """What leaves, and what the asker keeps."""

    cipher: bytes
    pad: Residues
    """σ, slot by slot."""


def padded(encryptor: SeededEncryptor, result: Cipher) -> Padded:
    """A result as it may leave. Everything random is drawn here and used once."""
    ring, form = encryptor.ring, encryptor.ring.form(LEVEL)
    primes = form.rows.primes
    pad = pads.draw(primes, ring.degree, ring.modulus)
    words = ring.residues(ring.switched(result, LEVEL)) + encryptor.zero_residues(LEVEL)
    words[0] += pad.residues
    words %= np.array(primes, dtype=np.uint64)[None, :, None]
    cipher = b"".join(form.rows.write(half) for half in words)
    return Padded(cipher, ring.read_slots(ring.polynomial(pad.content)))
