"""Who holds keys: everybody encrypts with the public one; whoever has the secret one encrypts at half the size, and
decrypts. All keys pass in the forms of `forms`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blindlabel.engines.packed.seal import forms, samples
from blindlabel.engines.packed.seal.library import loaded, sealapi, written
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Plain, Ring


@dataclass(frozen=True)
class Generated:
    """New keys as bytes."""

    secret: bytes
    public: bytes
    """A public key or, where `seeded`, an encryption of zero that serves as one."""
    galois: bytes
    """Empty where no element was wanted."""
    relinearisation: bytes
    """Empty where not wanted."""


def generate(ring: Ring, elements: Iterable[int], *, relinearisation: bool, seeded: bool = False) -> Generated:
    """New keys, with Galois keys for these elements."""
    generator = sealapi.KeyGenerator(ring.context)
    wanted = sorted(set(elements))
    galois = relin = b""
    if wanted:
        galois = ring.galois_form(wanted).travelling(written(generator.create_galois_keys(wanted)))
    if relinearisation:
        relin = ring.relinearisation_form.travelling(written(generator.create_relin_keys()))
    secret = ring.secret_form.travelling(written(generator.secret_key()))
    if seeded:
        return Generated(secret, KeyHolder(ring, secret).seeded_zero(len(ring.primes)), galois, relin)
    public = sealapi.PublicKey()
    generator.create_public_key(public)
    return Generated(secret, ring.public_form.travelling(written(public)), galois, relin)


def galois_keys(ring: Ring, content: bytes, elements: Iterable[int]) -> Any:
    """Galois keys for exactly these elements; None where there are none."""
    wanted = sorted(set(elements))
    return loaded(sealapi.GaloisKeys(), ring.context, ring.galois_form(wanted).to_seal(content)) if wanted else None


def relinearisation_keys(ring: Ring, content: bytes) -> Any:
    """Relinearisation keys."""
    return loaded(sealapi.RelinKeys(), ring.context, ring.relinearisation_form.to_seal(content))


class Encryptor:
    """Encrypts with the public key, and sanitises what is to leave for the holder of the secret key."""

    def __init__(self, ring: Ring, public: bytes) -> None:
        self.ring = ring
        key = loaded(sealapi.PublicKey(), ring.context, ring.public_form.to_seal(public))
        self._raw = sealapi.Encryptor(ring.context, key)

    def encrypt(self, plain: Plain) -> Cipher:
        """A fresh ciphertext."""
        cipher = sealapi.Ciphertext()
        self._raw.encrypt(plain, cipher)
        return cipher

    def sanitised(self, cipher: Cipher) -> Cipher:
        """The same content under fresh randomness, switched down so that what was computed no longer shows in the
        noise.
        """
        zero = self.ring.switched(self.zero(), cipher.coeff_modulus_size())
        return self.ring.switched(self.ring.add(cipher, zero), 1)

    def zero(self) -> Cipher:
        """A fresh encryption of zero."""
        cipher = sealapi.Ciphertext()
        self._raw.encrypt_zero(cipher)
        return cipher


class SeededEncryptor(Encryptor):
    """The same with a seeded encryption of zero (p0, p1) as the public key, whose second half was expanded here: (p0·u
    + e1, p1·u + e2) with fresh u, e1, e2 is a fresh zero. At a lower level its first residues serve.
    """

    def __init__(self, ring: Ring, zero: bytes) -> None:
        self.ring = ring
        self._key = ring.residues(ring.to_ntt(ring.load_seeded(zero)))

    def encrypt(self, plain: Plain) -> Cipher:
        """A fresh ciphertext."""
        return self.ring.add_plain(self.zero(), plain)

    def zero(self) -> Cipher:
        """A fresh encryption of zero."""
        return self.ring.of_residues(self.zero_residues(len(self.ring.primes)))

    def zero_residues(self, level: int) -> Residues:
        """A fresh encryption of zero at a level, as residues [half, prime, position]."""
        ring, primes = self.ring, self.ring.primes[:level]
        factor = ring.transformed(ring.polynomial(samples.modulo(samples.ternary(ring.degree), ring.modulus)), level)
        key = ring.of_residues(self._key[:, :level], transformed=True)
        words = ring.residues(ring.from_ntt(ring.multiply_plain(key, factor)))
        errors = [samples.errors(ring.degree) for _ in words]
        words = words + np.stack([[samples.modulo(error, prime) for prime in primes] for error in errors])
        return words % np.array(primes, dtype=np.uint64)[None, :, None]


class KeyHolder:
    """Decrypts, and encrypts with the secret key: seeded, so half the size, and with less noise."""

    def __init__(self, ring: Ring, secret: bytes) -> None:
        self.ring = ring
        key = loaded(sealapi.SecretKey(), ring.context, ring.secret_form.to_seal(secret))
        self._encryptor = sealapi.Encryptor(ring.context, key)
        self._decryptor = sealapi.Decryptor(ring.context, key)

    def decrypt(self, cipher: Cipher) -> Plain:
        """The content."""
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
        return form.travelling(body)[: forms.SEED] + form.rows.write(first)

    def noise_budget(self, cipher: Cipher) -> int:
        """SEAL's noise budget. For tests on ciphertexts of their own: on foreign ones it leaks the key."""
        return int(self._decryptor.invariant_noise_budget(cipher))
