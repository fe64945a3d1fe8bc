"""One BFV ring of SEAL (through TenSEAL's `sealapi`) with the operations the engine needs, each returning a new handle.
This package alone touches SEAL; everything above works on `Ring` and opaque handles.

A ciphertext's *level* is the number of primes that it still has: all data primes when fresh, fewer after switching
down. Nothing here knows records, questions or parties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import accumulate, repeat
from typing import Any

import numpy as np

from blindlabel.engines.interface import EngineError
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.rings import RingParameters
from blindlabel.engines.packed.seal import forms
from blindlabel.engines.packed.seal.forms import CipherForm, Rows, SecretForm, SwitchingForm
from blindlabel.engines.packed.seal.library import loaded, sealapi, written
from blindlabel.engines.packed.seal.memory import Memory

Cipher = Any
"""A SEAL ciphertext."""
Plain = Any
"""A SEAL plaintext."""

_memory = Memory()


@lru_cache(maxsize=8)
def open_ring(parameters: RingParameters) -> Ring:
    """The ring of these parameters; made once a process."""
    return Ring(parameters)


class Ring:
    """One BFV ring. `modulus` is the plaintext modulus, `degree` the number of coefficients and of slots."""

    def __init__(self, parameters: RingParameters) -> None:
        self.parameters = parameters
        self.degree = parameters.degree
        chosen = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.BFV)
        chosen.set_poly_modulus_degree(parameters.degree)
        chosen.set_coeff_modulus(sealapi.CoeffModulus.Create(parameters.degree, list(parameters.prime_bits)))
        chosen.set_plain_modulus(sealapi.Modulus(parameters.modulus))
        self.context = sealapi.SEALContext(chosen, True, sealapi.SEC_LEVEL_TYPE.TC128)
        if not self.context.parameters_set():
            raise EngineError(f"SEAL refuses these parameters: {self.context.parameters_error_message()}.")
        self.modulus = parameters.modulus
        self._all_primes: tuple[int, ...] = tuple(prime.value() for prime in chosen.coeff_modulus())
        self.primes = self._all_primes[:-1]
        self._levels: dict[int, list[int]] = {}
        """SEAL's name of every level, by the number of its primes."""
        at = self.context.key_context_data()
        for primes in range(len(self._all_primes), 0, -1):
            self._levels[primes] = list(at.parms_id())
            at = at.next_context_data()
        self._encoder = sealapi.BatchEncoder(self.context)
        self._evaluator = sealapi.Evaluator(self.context)

    # -- plaintexts

    def slots(self, values: Residues) -> Plain:
        """A plaintext with these values in its slots."""
        plain = sealapi.Plaintext()
        self._encoder.encode(values.tolist(), plain)
        return plain

    def read_slots(self, plain: Plain) -> Residues:
        """The values in the slots."""
        return np.array(self._encoder.decode_uint64(plain), dtype=np.uint64)

    def polynomial(self, coefficients: Residues) -> Plain:
        """A plaintext with these coefficients, lowest first (fewer than the degree may be given)."""
        plain: Plain = loaded(sealapi.Plaintext(), self.context, forms.plain_to_seal(coefficients))
        return plain

    def root(self, prime: int) -> int:
        """The primitive root of unity of order 2·degree modulo a prime of the chain that SEAL's NTT form is made with:
        the smallest.
        """
        return _smallest_root(2 * self.degree, prime)

    def transformed(self, plain: Plain, level: int = 0) -> Plain:
        """The plaintext made ready for products with ciphertexts in NTT form at a level (0: the top), in place."""
        self._evaluator.transform_to_ntt_inplace(plain, self._levels[level or len(self.primes)])
        return plain

    # -- ciphertexts

    def _made(self, operation: Callable[..., None], *arguments: Any) -> Cipher:
        result = sealapi.Ciphertext()
        operation(*arguments, result)
        return result

    def add(self, left: Cipher, right: Cipher) -> Cipher:
        """The sum."""
        return self._made(self._evaluator.add, left, right)

    def add_into(self, total: Cipher, more: Cipher) -> None:
        """Add to a ciphertext in place."""
        self._evaluator.add_inplace(total, more)

    def add_plain(self, cipher: Cipher, plain: Plain) -> Cipher:
        """The sum with a plaintext."""
        return self._made(self._evaluator.add_plain, cipher, plain)

    def multiply_plain(self, cipher: Cipher, plain: Plain) -> Cipher:
        """The product with a plaintext; both in NTT form or neither."""
        return self._made(self._evaluator.multiply_plain, cipher, plain)

    def product(self, left: Cipher, right: Cipher) -> Cipher:
        """The product of two ciphertexts, of three parts: several may be added up before `relinearised`."""
        return self._made(self._evaluator.multiply, left, right)

    def relinearised(self, product: Cipher, relinearisation: Any) -> Cipher:
        """A product, of two parts again."""
        return self._made(self._evaluator.relinearize, product, relinearisation)

    def to_ntt(self, cipher: Cipher) -> Cipher:
        """In NTT form, for products with plaintexts."""
        return self._made(self._evaluator.transform_to_ntt, cipher)

    def from_ntt(self, cipher: Cipher) -> Cipher:
        """Back from NTT form."""
        return self._made(self._evaluator.transform_from_ntt, cipher)

    def automorphism(self, cipher: Cipher, element: int, keys: Any) -> Cipher:
        """X replaced by X^element."""
        return self._made(self._evaluator.apply_galois, cipher, element, keys)

    def rotation(self, steps: int) -> int:
        """The Galois element that moves slots left by `steps` within each half."""
        return pow(3, steps % (self.degree // 2), 2 * self.degree)

    def switched(self, cipher: Cipher, level: int) -> Cipher:
        """Switched down to this many primes."""
        if cipher.coeff_modulus_size() == level:
            return cipher
        return self._made(self._evaluator.mod_switch_to, cipher, self._levels[level])

    # -- the forms in which objects travel

    def form(self, level: int = 0, *, seeded: bool = False, transformed: bool = False) -> CipherForm:
        """Of a ciphertext at a level (0: the top)."""
        level = level or len(self.primes)
        return CipherForm(self._name(level), Rows(self._all_primes[:level], self.degree), seeded, transformed)

    @property
    def secret_form(self) -> SecretForm:
        """Of a secret key."""
        return SecretForm(self._name(len(self._all_primes)), Rows(self._all_primes, self.degree))

    @property
    def relinearisation_form(self) -> SwitchingForm:
        """Of relinearisation keys."""
        return SwitchingForm(self.form(len(self._all_primes), seeded=True, transformed=True), (0,), 1)

    def galois_form(self, elements: Iterable[int]) -> SwitchingForm:
        """Of Galois keys for these elements."""
        places = tuple(sorted({(element - 1) // 2 for element in elements}))
        one = self.form(len(self._all_primes), seeded=True, transformed=True)
        return SwitchingForm(one, places, self.degree)

    def level_name(self, level: int) -> list[int]:
        """SEAL's name of a level."""
        return self._levels[level]

    def _name(self, level: int) -> bytes:
        return b"".join(word.to_bytes(8, "little") for word in self._levels[level])

    def sent(self, cipher: Cipher) -> bytes:
        """A ciphertext of this process as it travels."""
        form = self.form(cipher.coeff_modulus_size(), transformed=cipher.is_ntt_form())
        return b"".join(form.rows.write(half) for half in self.residues(cipher))

    def load_cipher(self, content: bytes, level: int = 0) -> Cipher:
        """A ciphertext that has travelled, of two halves, at exactly this level (0: the top)."""
        return loaded(sealapi.Ciphertext(), self.context, self.form(level).to_seal(content))

    def load_seeded(self, content: bytes, level: int = 0) -> Cipher:
        """A ciphertext that has travelled, its second half expanded here from a seed."""
        return loaded(sealapi.Ciphertext(), self.context, self.form(level, seeded=True).to_seal(content))

    def residues(self, cipher: Cipher) -> Residues:
        """The residues of a ciphertext as an array [half, prime, position]; not to be written to."""

        def file() -> Residues:
            form = self.form(cipher.coeff_modulus_size(), transformed=cipher.is_ntt_form())
            return form.seal_words(written(cipher))

        return _memory.words_of(cipher, file)

    def of_residues(self, residues: Residues, *, transformed: bool = False) -> Cipher:
        """The ciphertext with these residues [half, prime, position]."""
        form = self.form(residues.shape[1], transformed=transformed)
        return loaded(sealapi.Ciphertext(), self.context, form.from_words(residues))


@lru_cache(maxsize=32)
def _smallest_root(order: int, prime: int) -> int:
    """The smallest element of this order (a power of two) modulo a prime."""
    base = 2
    while pow(base, (prime - 1) // 2, prime) == 1:
        base += 1
    root = pow(base, (prime - 1) // order, prime)
    odd = [*accumulate(repeat(root * root % prime, order // 4 - 1), lambda one, by: one * by % prime, initial=root)]
    return min(*odd, prime - max(odd))  # the other odd powers are the negatives of these
