"""The raw layer: the only module that touches SEAL (through TenSEAL's `sealapi`). Everything above works on `Ring` and
opaque handles.

A `Ring` is one BFV context at 128-bit security with the operations the engine needs, each returning a new handle. SEAL
reads and writes files only, so bytes pass through a private folder in memory that is removed at exit. Nothing here
knows records, questions or parties.
"""

from __future__ import annotations

import atexit
import os
import shutil
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from blindlabel.engines.interface import EngineError, EngineUnavailable, ParcelError
from blindlabel.engines.packed.seal.parameters import RingParameters
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.scratch import make_folder

try:
    from tenseal import sealapi
except ImportError as problem:  # pragma: no cover - the package requires it
    raise EngineUnavailable("The packed engine needs the package tenseal, which cannot be imported here.") from problem

Cipher = Any
"""A SEAL ciphertext."""
Plain = Any
"""A SEAL plaintext."""


class _Scratch:
    """The private folder through which objects of this process pass, each thread having its own file."""

    def __init__(self) -> None:
        self._owner = -1
        self._folder = Path()
        self._making = threading.Lock()

    def path(self) -> Path:
        with self._making:
            if self._owner != os.getpid():  # also after a fork
                self._owner, self._folder = os.getpid(), make_folder()
                atexit.register(self._remove, os.getpid(), self._folder)
        return self._folder / f"object-{threading.get_ident()}"

    @staticmethod
    def _remove(owner: int, folder: Path) -> None:
        if owner == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


_scratch = _Scratch()


def saved(thing: Any) -> bytes:
    """A SEAL object as bytes."""
    path = _scratch.path()
    thing.save(str(path))
    content = path.read_bytes()
    path.unlink()
    return content


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
        if parameters.plain_modulus:
            chosen.set_plain_modulus(sealapi.Modulus(parameters.plain_modulus))
        else:
            chosen.set_plain_modulus(sealapi.PlainModulus.Batching(parameters.degree, parameters.plain_bits))
        self._context = sealapi.SEALContext(chosen, True, sealapi.SEC_LEVEL_TYPE.TC128)
        if not self._context.parameters_set():
            raise EngineError(f"SEAL refuses these parameters: {self._context.parameters_error_message()}.")
        self.modulus: int = chosen.plain_modulus().value()
        self.primes: tuple[int, ...] = tuple(prime.value() for prime in chosen.coeff_modulus())[:-1]
        self._top = self._context.first_parms_id()
        self._bottom = self._context.last_parms_id()
        self._encoder = sealapi.BatchEncoder(self._context)
        self._evaluator = sealapi.Evaluator(self._context)

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
        terms = [f"{value:x}x^{k}" for k, value in enumerate(coefficients.tolist()) if value and k]
        terms.reverse()
        if coefficients.size and int(coefficients[0]):
            terms.append(f"{int(coefficients[0]):x}")
        return sealapi.Plaintext(" + ".join(terms) if terms else "0")

    def read_polynomial(self, plain: Plain) -> Residues:
        """All coefficients of a plaintext, lowest first."""
        result = np.zeros(self.degree, dtype=np.uint64)
        for term in plain.to_string().split(" + "):
            value, _, exponent = term.partition("x^")
            result[int(exponent or 0)] = int(value, 16)
        return result

    def root(self, prime: int) -> int:
        """The primitive root of unity of order 2·degree modulo a prime of the chain that SEAL's NTT form is made with:
        the smallest.
        """
        return _smallest_root(2 * self.degree, prime)

    def monomial(self, exponent: int) -> Plain:
        """X to the exponent."""
        return sealapi.Plaintext(f"1x^{exponent}" if exponent else "1")

    def transformed(self, plain: Plain) -> Plain:
        """The plaintext made ready for products with ciphertexts in NTT form (in place)."""
        self._evaluator.transform_to_ntt_inplace(plain, self._top)
        return plain

    # -- ciphertexts

    def _made(self, operation: Callable[..., None], *arguments: Any) -> Cipher:
        result = sealapi.Ciphertext()
        operation(*arguments, result)
        return result

    def add(self, left: Cipher, right: Cipher) -> Cipher:
        """The sum."""
        return self._made(self._evaluator.add, left, right)

    def subtract(self, left: Cipher, right: Cipher) -> Cipher:
        """The difference."""
        return self._made(self._evaluator.sub, left, right)

    def add_into(self, total: Cipher, more: Cipher) -> None:
        """Add to a ciphertext in place."""
        self._evaluator.add_inplace(total, more)

    def add_plain(self, cipher: Cipher, plain: Plain) -> Cipher:
        """The sum with a plaintext."""
        return self._made(self._evaluator.add_plain, cipher, plain)

    def multiply_plain(self, cipher: Cipher, plain: Plain) -> Cipher:
        """The product with a plaintext; both in NTT form or neither."""
        return self._made(self._evaluator.multiply_plain, cipher, plain)

    def multiply(self, left: Cipher, right: Cipher, relinearisation: Any) -> Cipher:
        """The product of two ciphertexts, of ordinary size again."""
        return self.relinearised(self.product(left, right), relinearisation)

    def product(self, left: Cipher, right: Cipher) -> Cipher:
        """The product of two ciphertexts, of three parts: a sum of several is relinearised once."""
        return self._made(self._evaluator.multiply, left, right)

    def relinearised(self, cipher: Cipher, relinearisation: Any) -> Cipher:
        """Of ordinary size again (in place)."""
        self._evaluator.relinearize_inplace(cipher, relinearisation)
        return cipher

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

    @property
    def swap(self) -> int:
        """The Galois element that swaps the two halves of the slots."""
        return 2 * self.degree - 1

    def lowered(self, cipher: Cipher) -> Cipher:
        """Switched down to the first prime."""
        if list(cipher.parms_id()) == list(self._bottom):
            return cipher
        return self._made(self._evaluator.mod_switch_to, cipher, self._bottom)

    def combination(self, pairs: Iterable[tuple[Cipher, Plain]]) -> Cipher:
        """The sum of products, all operands in NTT form; the result is not."""
        total: Cipher = None
        for cipher, plain in pairs:
            product = self.multiply_plain(cipher, plain)
            if total is None:
                total = product
            else:
                self._evaluator.add_inplace(total, product)
        return self.from_ntt(total)

    # -- bytes

    def load_cipher(self, content: bytes, *, lowered: bool = False) -> Cipher:
        """A ciphertext of two parts from bytes, at the top of the chain or at its end."""
        cipher = self._load(sealapi.Ciphertext(), content)
        wanted = self._bottom if lowered else self._top
        if cipher.size() != 2 or list(cipher.parms_id()) != list(wanted) or cipher.is_ntt_form():
            raise ParcelError("A ciphertext in this parcel has another form than it should.")
        return cipher

    def load_transformed(self, content: bytes) -> Cipher:
        """A ciphertext of two parts at the top of the chain, in NTT form."""
        return self._load(sealapi.Ciphertext(), content)

    def _load(self, thing: Any, content: bytes) -> Any:
        path = _scratch.path()
        path.write_bytes(content)
        try:
            thing.load(self._context, str(path))
        except (RuntimeError, ValueError, IndexError, MemoryError, OverflowError) as problem:
            raise ParcelError(
                "SEAL cannot read a part of this parcel: it is damaged or made for other parameters."
            ) from problem
        finally:
            path.unlink(missing_ok=True)
        if not sealapi.is_valid_for(thing, self._context):
            raise ParcelError("A part of this parcel is not valid for the agreed parameters.")
        return thing

    # -- keys

    def generate(self, elements: Iterable[int], *, relinearisation: bool) -> tuple[bytes, bytes, bytes, bytes]:
        """New keys as bytes: secret, public, Galois for these elements, relinearisation (the last two empty where not
        wanted).
        """
        generator = sealapi.KeyGenerator(self._context)
        public = sealapi.PublicKey()
        generator.create_public_key(public)
        wanted = sorted(set(elements))
        galois = saved(generator.create_galois_keys(wanted)) if wanted else b""
        relin = b""
        if relinearisation:
            relin = saved(generator.create_relin_keys())
        return saved(generator.secret_key()), saved(public), galois, relin

    def load_galois(self, content: bytes) -> Any:
        """Galois keys from bytes."""
        return self._load(sealapi.GaloisKeys(), content) if content else None

    def load_relinearisation(self, content: bytes) -> Any:
        """Relinearisation keys from bytes."""
        return self._load(sealapi.RelinKeys(), content) if content else None

    def encryptor(self, public: bytes) -> Encryptor:
        """Whoever has the public key encrypts."""
        return Encryptor(self, sealapi.Encryptor(self._context, self._load(sealapi.PublicKey(), public)))

    def key_holder(self, secret: bytes) -> KeyHolder:
        """Whoever has the secret key."""
        key = self._load(sealapi.SecretKey(), secret)
        return KeyHolder(self, sealapi.Encryptor(self._context, key), sealapi.Decryptor(self._context, key))


@lru_cache(maxsize=32)
def _smallest_root(order: int, prime: int) -> int:
    """The smallest element of this order (a power of two) modulo a prime."""
    base = 2
    while pow(base, (prime - 1) // 2, prime) == 1:
        base += 1
    root = pow(base, (prime - 1) // order, prime)
    square, current, smallest = root * root % prime, root, root
    for _ in range(order // 2):
        smallest = min(smallest, current)
        current = current * square % prime
    return smallest


class Encryptor:
    """Encrypts with the public key, and sanitises what is to leave for the holder of the secret key."""

    def __init__(self, ring: Ring, raw: Any) -> None:
        self.ring = ring
        self._raw = raw

    def encrypt(self, plain: Plain) -> Cipher:
        """A fresh ciphertext."""
        cipher = sealapi.Ciphertext()
        self._raw.encrypt(plain, cipher)
        return cipher

    def sanitised(self, cipher: Cipher) -> Cipher:
        """The same content under fresh randomness, switched down so that what was computed no longer shows in the
        noise.
        """
        return self.ring.lowered(self.ring.add(cipher, self.zero()))

    def zero(self) -> Cipher:
        """A fresh encryption of zero."""
        cipher = sealapi.Ciphertext()
        self._raw.encrypt_zero(cipher)
        return cipher


class KeyHolder:
    """Decrypts, and encrypts with the secret key, which halves what has to be sent."""

    def __init__(self, ring: Ring, encryptor: Any, decryptor: Any) -> None:
        self.ring = ring
        self._encryptor = encryptor
        self._decryptor = decryptor

    def decrypt(self, cipher: Cipher) -> Plain:
        """The content."""
        plain = sealapi.Plaintext()
        self._decryptor.decrypt(cipher, plain)
        return plain

    def encrypt(self, plain: Plain) -> bytes:
        """A fresh ciphertext, as bytes with a seed in place of its random half."""
        return saved(self._encryptor.encrypt_symmetric(plain))

    def noise_budget(self, cipher: Cipher) -> int:
        """SEAL's noise budget. For tests on ciphertexts of their own: on foreign ones it leaks the key."""
        return int(self._decryptor.invariant_noise_budget(cipher))
