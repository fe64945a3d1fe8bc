"""How much noise a ciphertext really has, by the key that opens it."""

from __future__ import annotations

import math

from blindlabel.engines.packed.seal.holders import KeyHolder
from blindlabel.engines.packed.seal.ring import Cipher


def noise_bits(holder: KeyHolder, cipher: Cipher) -> float:
    """Bits that its largest noise coefficient has at least, up to one more.

    SEAL counts the budget, log2(q / noise / t) - 1, in whole bits rounded down. The product never asks for it: of a
    ciphertext of somebody else it leaks the key.
    """
    budget = int(holder._decryptor.invariant_noise_budget(cipher))
    primes = holder.ring.primes[: cipher.coeff_modulus_size()]
    return sum(map(math.log2, primes)) - math.log2(holder.ring.modulus) - 2 - budget
