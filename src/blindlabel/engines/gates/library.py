"""All calls into OpenFHE. Nothing else in the project imports it, and importing this module does not either.

BinFHE with GINX bootstrapping, public-key encryption in the small dimension (ciphertexts of the large one do not
decrypt reliably under the context's public key). OpenFHE switches a public-key encryption to the small dimension with
the key-switching key, so encrypting needs the same key of about 1 GB that the gates need, and there is one public key
for both. OpenFHE's BinFHE classes are written and read as files only, so everything passes through a private temporary
folder, in memory where the machine has one.

Two kinds of gates, each with its parameter set: `TwoInputGates` (STD128) for the publication's circuits,
`ThresholdGates` (STD128_3) for the engine's own. At the plaintext modulus of the second OpenFHE's `EvalNOT` and
`EvalConstant` are silently wrong, since they always reckon with 4; so what is linear is done here, on the ciphertext's
numbers.
"""

from __future__ import annotations

import os
import platform
import shutil
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from blindlabel.engines.gates.parameters import MODULUS, THREE_INPUT, TWO_INPUT, ParameterSet
from blindlabel.engines.gates.parcels import Values, packed_values, squeezed, unpacked_values, unsqueeze
from blindlabel.engines.interface import EngineUnavailable, ParcelError
from blindlabel.engines.scratch import make_folder

Ciphertext = Any
"""An LWECiphertext; OpenFHE's Python module has no types."""


def openfhe() -> Any:
    """The library, or EngineUnavailable with what it needs."""
    # One thread: OpenMP's threads do not survive a fork, and the parallel evaluation forks.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        import openfhe as module  # noqa: PLC0415

        module.BinFHEContext  # noqa: B018
    except (ImportError, AttributeError) as error:
        raise EngineUnavailable(
            "The gates engine needs the library openfhe, which imports under Python 3.10 on 64-bit Linux with glibc"
            " 2.35 or newer (Ubuntu 22.04, Debian 12), or under Python 3.12 with a C++ library as new as Ubuntu"
            f" 24.04's; this is Python {platform.python_version()} on {sys.platform} ({error}). `make gates` makes an"
            " environment for it."
        ) from error
    return module


@contextmanager
def _folder(size: int = 0) -> Iterator[Path]:
    """A private folder for OpenFHE's files."""
    folder = make_folder(size)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Context:
    """A parameter set with its keys, and the way between ciphertexts and plain numbers. Its gates are those of the
    classes below.
    """

    def __init__(self, parameters: ParameterSet) -> None:
        self.parameters = parameters
        self.module = openfhe()
        self.context = self.module.BinFHEContext()
        self.context.GenerateBinFHEContext(getattr(self.module, parameters.name), self.module.GINX)
        self._head, self._tail = self._layout()

    # -- keys

    def make_keys(self) -> tuple[bytes, bytes]:
        """New keys: the public one (squeezed), and the secret one. The context keeps the public one."""
        secret = self.context.KeyGen()
        self.context.BTKeyGen(secret, self.module.PUB_ENCRYPT)
        with _folder(2**30) as folder:
            self._write(folder / "public", self.context.GetBTKey())
            return squeezed(folder / "public"), self._written(secret)

    def load_public_key(self, key: memoryview) -> None:
        """Make encryption and the gates work."""
        with _folder(2**30) as folder:
            unsqueeze(key, folder / "public")
            self.context.BTKeyLoad(self._read(folder / "public", self.module.DeserializeBinFHEBTKey))

    def secret_key(self, key: bytes | memoryview) -> Any:
        """The key that `decrypt` takes."""
        with _folder() as folder:
            (folder / "secret").write_bytes(key)
            return self._read(folder / "secret", self.module.DeserializeLWEPrivateKey)

    def encrypt(self, bit: bool) -> Ciphertext:
        """One bit. Never call this in two processes forked from one: they would share the state of OpenFHE's random
        numbers.
        """
        return self.context.Encrypt(
            self.context.GetPublicKey(), int(bit), self.module.SMALL_DIM, self.parameters.plaintext_modulus
        )

    def decrypt(self, key: Any, ciphertext: Ciphertext) -> bool:
        """The bit."""
        return int(self.context.Decrypt(key, ciphertext, self.parameters.plaintext_modulus)) == 1

    # -- ciphertexts as numbers

    def values_of(self, ciphertexts: Sequence[Ciphertext]) -> Values:
        """One row a ciphertext."""
        rows = np.empty((len(ciphertexts), self.parameters.values), dtype=np.uint16)
        with _folder() as folder:
            for row, ciphertext in zip(rows, ciphertexts):
                row[:] = self._numbers(folder, ciphertext)
        return rows

    def ciphertexts_of(self, values: Values) -> list[Ciphertext]:
        """The reverse."""
        with _folder() as folder:
            return [self._ciphertext(folder, row) for row in values]

    def _numbers(self, folder: Path, ciphertext: Ciphertext) -> Values:
        self._write(folder / "ciphertext", ciphertext)
        raw = (folder / "ciphertext").read_bytes()
        vector = np.frombuffer(raw, dtype="<u8", offset=len(self._head), count=self.parameters.dimension)
        return np.append(vector, np.frombuffer(raw, dtype="<u8", offset=len(raw) - 16, count=1)).astype(np.uint16)

    def _ciphertext(self, folder: Path, row: Values) -> Ciphertext:
        body = struct.pack("<QQ", int(row[-1]), self.parameters.plaintext_modulus)
        (folder / "ciphertext").write_bytes(self._head + row[:-1].astype("<u8").tobytes() + self._tail + body)
        return self._read(folder / "ciphertext", self.module.DeserializeLWECiphertext)

    def packed(self, ciphertexts: list[Ciphertext]) -> bytes:
        """Ciphertexts as they travel."""
        return packed_values(self.values_of(ciphertexts))

    def unpacked(self, packed: bytes, count: int) -> list[Ciphertext]:
        """The reverse."""
        return self.ciphertexts_of(unpacked_values(packed, count, self.parameters))

    def serialized_size(self, ciphertext: Ciphertext) -> int:
        """The bytes that OpenFHE itself writes for one."""
        return len(self._written(ciphertext))

    def _layout(self) -> tuple[bytes, bytes]:
        """What OpenFHE writes before and behind a ciphertext's vector, learnt from a constant whose numbers are
        known.
        """
        raw = self._written(self.context.EvalConstant(True))
        dimension = self.parameters.dimension
        vector = struct.pack("<Q", dimension) + bytes(8 * dimension)
        start = raw.find(vector)
        tail = raw[start + len(vector) :]
        expected = struct.pack(
            "<QQQ", MODULUS, MODULUS // 4, 4
        )  # whatever the set, OpenFHE's constants have the plaintext modulus 4
        sizes = (int(self.context.Getn()), int(self.context.Getq()))
        if start < 0 or not tail.endswith(expected) or sizes != (dimension, MODULUS):
            raise EngineUnavailable(
                f"This version of openfhe ({getattr(self.module, '__version__', 'unknown')}) has other parameters or"
                " another ciphertext layout than blindlabel knows; install the version in constraints-gates.txt."
            )
        return raw[: start + 8], tail[:-16]

    # -- files

    def _write(self, path: Path, thing: Any) -> None:
        if not self.module.SerializeToFile(str(path), thing, self.module.BINARY):
            raise EngineUnavailable(f"OpenFHE could not write to {path.parent}; is there room?")

    def _written(self, thing: Any) -> bytes:
        with _folder() as folder:
            self._write(folder / "thing", thing)
            return (folder / "thing").read_bytes()

    def _read(self, path: Path, read: Any) -> Any:
        try:
            thing, done = read(str(path), self.module.BINARY)
        except RuntimeError as error:
            raise ParcelError(f"OpenFHE cannot read a key or ciphertext: {error}") from error
        if not done:
            raise ParcelError("OpenFHE cannot read a key or ciphertext.")
        return thing


class TwoInputGates(Context):
    """Implements `Gates[Ciphertext]`: OpenFHE's own two-input gates."""

    def __init__(self) -> None:
        super().__init__(TWO_INPUT)

    def constant(self, value: bool) -> Ciphertext:
        return self.context.EvalConstant(value)

    def not_(self, a: Ciphertext) -> Ciphertext:
        return self.context.EvalNOT(a)

    def and_(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        return self.context.EvalBinGate(self.module.AND, a, b)

    def or_(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        return self.context.EvalBinGate(self.module.OR, a, b)

    def xor(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        return self.context.EvalBinGate(self.module.XOR, a, b)

    def xnor(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        return self.context.EvalBinGate(self.module.XNOR, a, b)


class ThresholdGates(Context):
    """Implements `Thresholds[Ciphertext]`: AND, OR and majority of up to three inputs, by OpenFHE's AND3 and OR3.

    A bit is 0 or a sixth of the modulus. AND3 adds three ciphertexts and is true for sums from 2.5 to 5.5 sixths, OR3
    for sums from 0.5 to 3.5; so the sums 0 to 3 are told apart with a margin of half a sixth. A sum that is one higher
    turns AND3 into "at least two of three", with the very same margin: that is the majority. (OpenFHE's own MAJORITY
    has the thresholds of the plaintext modulus 4.)
    """

    def __init__(self) -> None:
        super().__init__(THREE_INPUT)
        self._neutral = {True: self.constant(True), False: self.constant(False)}

    def constant(self, value: bool) -> Ciphertext:
        """A ciphertext without noise; each call makes another, since OpenFHE refuses a gate on one ciphertext twice."""
        row = np.zeros((1, self.parameters.values), dtype=np.uint16)
        row[0, -1] = self.parameters.scaled(int(value))
        return self.ciphertexts_of(row)[0]

    def not_(self, a: Ciphertext) -> Ciphertext:
        """One minus the bit: every number negated, and a sixth of the modulus added to the body. The noise stays as
        large as it was.
        """
        return self._one_more(a, turned=True)

    def at_least(self, count: int, bits: Sequence[Ciphertext]) -> Ciphertext:
        """Whether at least so many of two or three bits are true."""
        gate = self.module.OR3 if count == 1 else self.module.AND3
        inputs = list(bits)
        if len(inputs) == 2:
            inputs.append(self._neutral[count == 2])
        elif count == 2:
            inputs[0] = self._one_more(inputs[0])
        return self.context.EvalBinGate(gate, inputs)

    def _one_more(self, a: Ciphertext, *, turned: bool = False) -> Ciphertext:
        """One more than the bit, or than its negative."""
        with _folder() as folder:
            row = self._numbers(folder, a)
            if turned:
                row = MODULUS - row
            row[-1] += self.parameters.scaled(1)
            return self._ciphertext(folder, row % MODULUS)


@lru_cache(maxsize=1)
def context() -> ThresholdGates:
    """One context a process for what needs no public key."""
    return ThresholdGates()
