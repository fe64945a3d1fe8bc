"""All calls into OpenFHE. Nothing else in the project imports it, and importing this module does not either.

BinFHE with the parameter set STD128 and GINX bootstrapping. Who has the secret key encrypts with it. Who asks encrypts
with the public key, in the small dimension (ciphertexts of the large one do not decrypt reliably under the context's
public key); OpenFHE gets there with the key-switching key, so there is one public key of 0.9 GB for encryption and for
gates. OpenFHE's BinFHE classes are written and read as files only, so everything passes through a private temporary
folder, in memory where the machine has one.

Gates of two inputs only. Those of three would be 1.4 to 1.6 times as fast and cost a second parameter set, a mapping of
circuits and negation by hand, since OpenFHE's own is silently wrong there (docs/decisions/0005).

Evaluation may be spread over forked processes, which inherit the loaded key. Threads do not help, since OpenFHE holds
Python's lock during a gate. Forked processes must not encrypt: they would all start from one state of OpenFHE's random
numbers. Gates use none.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import shutil
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from blindlabel.engines.interface import EngineUnavailable, ParcelError, WorkerLost
from blindlabel.engines.scratch import make_folder
from blindlabel_lab.gates.ciphertexts import (
    CIPHERTEXT_VALUES,
    DIMENSION,
    MODULUS,
    PUBLIC_KEY_BYTES,
    Numbers,
    packed_numbers,
    squeezed,
    unpacked_numbers,
    unsqueeze,
)

Ciphertext = Any
"""An LWECiphertext; OpenFHE's Python module has no types."""

_PLAINTEXT_MODULUS = 4

_Argument = TypeVar("_Argument")
_Given = TypeVar("_Given")


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


@contextmanager
def _at_most(more: int) -> Iterator[None]:
    """Let this process have this many bytes of memory more than it has, and none beyond."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(
        resource.RLIMIT_AS, (has + more if hard == resource.RLIM_INFINITY else min(has + more, hard), hard)
    )
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class EncryptedGates:
    """Implements `Gates[Ciphertext]` with OpenFHE's own gates, and goes between ciphertexts and plain numbers. It
    needs a public key, made or loaded, for gates and for encrypting publicly.
    """

    def __init__(self) -> None:
        self.module = openfhe()
        self.context = self.module.BinFHEContext()
        self.context.GenerateBinFHEContext(self.module.STD128, self.module.GINX)
        self._head, self._tail = self._layout()

    # -- gates

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

    # -- keys

    def make_keys(self) -> tuple[bytes, bytes]:
        """New keys: the public one (squeezed), and the secret one. The context keeps the public one."""
        secret = self.context.KeyGen()
        self.context.BTKeyGen(secret, self.module.PUB_ENCRYPT)
        with _folder(2**30) as folder:
            self._write(folder / "public", self.context.GetBTKey())
            return squeezed(folder / "public"), self._written(secret)

    def load_public_key(self, key: memoryview) -> None:
        """Make encryption and the gates work. The sizes inside the key are not OpenFHE's to believe: it gets no more
        memory than the key itself has bytes, and half of that again.
        """
        if len(key) != PUBLIC_KEY_BYTES:
            raise ParcelError(
                f"A public key of the gates engine has {PUBLIC_KEY_BYTES} bytes, and this has {len(key)}."
            )
        with _folder(2**30) as folder:
            unsqueeze(key, folder / "public")
            with _at_most((folder / "public").stat().st_size * 3 // 2):
                self.context.BTKeyLoad(self._read(folder / "public", self.module.DeserializeBinFHEBTKey))

    def secret_key(self, key: bytes | memoryview) -> Any:
        """The key that `encrypt` and `decrypt` take."""
        with _folder() as folder:
            (folder / "secret").write_bytes(key)
            return self._read(folder / "secret", self.module.DeserializeLWEPrivateKey)

    def encrypt(self, key: Any, bit: bool) -> Ciphertext:
        """One bit under the secret key."""
        return self.context.Encrypt(key, int(bit), self.module.FRESH)

    def encrypt_publicly(self, bit: bool) -> Ciphertext:
        """One bit under the public key."""
        return self.context.Encrypt(self.context.GetPublicKey(), int(bit), self.module.SMALL_DIM)

    def decrypt(self, key: Any, ciphertext: Ciphertext) -> bool:
        """The bit."""
        return bool(self.context.Decrypt(key, ciphertext))

    # -- ciphertexts as numbers

    def numbers_of(self, ciphertexts: Sequence[Ciphertext]) -> Numbers:
        """One row a ciphertext."""
        rows = np.empty((len(ciphertexts), CIPHERTEXT_VALUES), dtype=np.uint16)
        with _folder() as folder:
            for row, ciphertext in zip(rows, ciphertexts):
                self._write(folder / "ciphertext", ciphertext)
                raw = (folder / "ciphertext").read_bytes()
                row[:-1] = np.frombuffer(raw, dtype="<u8", offset=len(self._head), count=DIMENSION)
                row[-1] = np.frombuffer(raw, dtype="<u8", offset=len(raw) - 16, count=1)[0]
        return rows

    def ciphertexts_of(self, numbers: Numbers) -> list[Ciphertext]:
        """The reverse."""
        ciphertexts = []
        with _folder() as folder:
            for row in numbers:
                body = struct.pack("<QQ", int(row[-1]), _PLAINTEXT_MODULUS)
                (folder / "ciphertext").write_bytes(self._head + row[:-1].astype("<u8").tobytes() + self._tail + body)
                ciphertexts.append(self._read(folder / "ciphertext", self.module.DeserializeLWECiphertext))
        return ciphertexts

    def packed(self, ciphertexts: list[Ciphertext]) -> bytes:
        """Ciphertexts as they travel."""
        return packed_numbers(self.numbers_of(ciphertexts))

    def unpacked(self, packed: bytes, count: int) -> list[Ciphertext]:
        """The reverse."""
        return self.ciphertexts_of(unpacked_numbers(packed, count))

    def serialized_size(self, ciphertext: Ciphertext) -> int:
        """The bytes that OpenFHE itself writes for one."""
        return len(self._written(ciphertext))

    def _layout(self) -> tuple[bytes, bytes]:
        """What OpenFHE writes before and behind a ciphertext's vector, learnt from a constant whose numbers are
        known.
        """
        raw = self._written(self.constant(True))
        vector = struct.pack("<Q", DIMENSION) + bytes(8 * DIMENSION)
        start = raw.find(vector)
        tail = raw[start + len(vector) :]
        expected = struct.pack("<QQQ", MODULUS, MODULUS // _PLAINTEXT_MODULUS, _PLAINTEXT_MODULUS)
        sizes = (int(self.context.Getn()), int(self.context.Getq()))
        if start < 0 or not tail.endswith(expected) or sizes != (DIMENSION, MODULUS):
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
        except (RuntimeError, MemoryError, ValueError, OverflowError) as error:
            raise ParcelError(f"OpenFHE cannot read a key or ciphertext: {type(error).__name__}.") from error
        if not done:
            raise ParcelError("OpenFHE cannot read a key or ciphertext.")
        return thing


@lru_cache(maxsize=1)
def context() -> EncryptedGates:
    """One context a process for what needs no public key."""
    return EncryptedGates()


# -- forks

_inherited: list[tuple[Callable[[Any, Any], Any], Any]] = []


def _one(task: Any) -> Any:
    function, shared = _inherited[-1]
    return function(shared, task)


def in_forks(
    function: Callable[[Any, _Argument], _Given], shared: Any, tasks: Iterable[_Argument], workers: int
) -> Iterator[_Given]:
    """function(shared, task) for every task, in order. Tasks and results travel, `shared` is inherited; one worker
    means no fork.
    """
    if workers <= 1:
        for task in tasks:
            yield function(shared, task)
        return
    _inherited.append((function, shared))
    try:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
            yield from pool.map(_one, tasks)
    except BrokenProcessPool as error:
        raise WorkerLost(
            "A process of the gates engine was killed, or there is too little memory for this many workers."
        ) from error
    finally:
        _inherited.pop()
