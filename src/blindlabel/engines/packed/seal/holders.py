"""Key holders: with the public key one makes fresh encryptions of zero; with the secret key one encrypts and decrypts.
All keys pass in the forms of `forms`. Small secret samples are of SEAL's own distributions, from the operating system's
randomness, exact.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blindlabel.engines.packed.residues import Residues, uniform
from blindlabel.engines.packed.rings import SEED
from blindlabel.engines.packed.seal.library import loaded, sealapi, written
from blindlabel.engines.packed.seal.ring import Cipher, Plain, Ring

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


@dataclass(frozen=True)
class Generated:
    """New keys as bytes."""

    secret: bytes
    zero: bytes
    """A seeded encryption of zero, which serves as the public key."""
    galois: bytes
    relinearisation: bytes


def generate(ring: Ring, elements: Iterable[int]) -> Generated:
    """New keys, with Galois keys for these elements."""
    generator = sealapi.KeyGenerator(ring.context)
    wanted = sorted(set(elements))
    galois = ring.galois_form(wanted).travelling(written(generator.create_galois_keys(wanted)))
    relinearisation = ring.relinearisation_form.travelling(written(generator.create_relin_keys()))
    secret = ring.secret_form.travelling(written(generator.secret_key()))
    return Generated(secret, KeyHolder(ring, secret).seeded_zero(len(ring.primes)), galois, relinearisation)


def galois_keys(ring: Ring, content: bytes, elements: Iterable[int]) -> Any:
    """Galois keys for exactly these elements."""
    return loaded(sealapi.GaloisKeys(), ring.context, ring.galois_form(elements).to_seal(content))


def relinearisation_keys(ring: Ring, content: bytes) -> Any:
    """Relinearisation keys."""
    return loaded(sealapi.RelinKeys(), ring.context, ring.relinearisation_form.to_seal(content))


class Encryptor:
    """Makes fresh zeros with a seeded encryption of zero (p0, p1) as the public key, whose second half was expanded
    here: (p0·u + e1, p1·u + e2) with fresh u, e1, e2. At a lower level its first residues serve.
    """

    def __init__(self, ring: Ring, zero: bytes) -> None:
        self.ring = ring
        self._key = ring.residues(ring.to_ntt(ring.load_seeded(zero)))

    def zero(self, level: int) -> Cipher:
        """A fresh encryption of zero at a level."""
        return self.ring.of_residues(self.zero_residues(level))

    def zero_residues(self, level: int) -> Residues:
        """A fresh encryption of zero at a level, as residues [half, prime, position]."""
        ring, primes = self.ring, self.ring.primes[:level]
        factor = ring.transformed(ring.polynomial(modulo(ternary(ring.degree), ring.modulus)), level)
        key = ring.of_residues(self._key[:, :level], transformed=True)
        words = ring.residues(ring.from_ntt(ring.multiply_plain(key, factor)))
        drawn = [errors(ring.degree) for _ in words]
        words = words + np.stack([[modulo(error, prime) for prime in primes] for error in drawn])
        return words % np.array(primes, dtype=np.uint64)[None, :, None]


class KeyHolder:
    """Decrypts, and encrypts with the secret key: seeded, so half the size, and with less noise."""

    def __init__(self, ring: Ring, secret: bytes) -> None:
        self.ring = ring
        key = loaded(sealapi.SecretKey(), ring.context, ring.secret_form.to_seal(secret))
        self._encryptor = sealapi.Encryptor(ring.context, key)
        self._decryptor = sealapi.Decryptor(ring.context, key)

    def decrypt(self, cipher: Cipher) -> Plain:
        """The plaintext."""
        plain = sealapi.Plaintext()
        self._decryptor.decrypt(cipher, plain)
        return plain

    def encrypt(self, plain: Plain) -> bytes:
        """A fresh seeded ciphertext as it travels."""
        return self.ring.form(seeded=True).travelling(written(self._encryptor.encrypt_symmetric(plain)))

    def seeded_zero(self, level: int, plus: Residues | None = None) -> bytes:
        """A fresh seeded encryption of zero at a level as it travels; `plus`[prime, position] goes into its first
        half.
        """
        form = self.ring.form(level, seeded=True)
        body = written(self._encryptor.encrypt_zero_symmetric(self.ring.level_name(level)))
        if plus is None:
            return form.travelling(body)
        first = (form.seal_words(body)[0] + plus) % np.array(form.rows.primes, dtype=np.uint64)[:, None]
        return form.travelling(body)[:SEED] + form.rows.write(first)
