"""The library itself, TenSEAL's `sealapi`, and the way into and out of it: SEAL reads and writes files only, so its
objects pass through a private folder in memory that is removed at exit.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import threading
from pathlib import Path
from typing import Any

from blindlabel.engines.interface import EngineUnavailable, ParcelError
from blindlabel.engines.packed.seal.forms import unframed
from blindlabel.engines.scratch import make_folder

try:
    from tenseal import sealapi
except ImportError as problem:  # pragma: no cover - the package requires it
    raise EngineUnavailable("The packed engine needs the package tenseal, which cannot be imported here.") from problem

__all__ = ["loaded", "sealapi", "written"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Names of glibc's `mallopt`."""


def _keep_freed_memory() -> None:
    """Let glibc keep up to half a gigabyte of freed memory for the next array, instead of giving every array of some
    megabytes back to the system and asking for it again: that was a third of the processor time of an evaluation.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 32 << 20)
        mallopt(_TRIM_THRESHOLD, 512 << 20)


_keep_freed_memory()


class _Scratch:
    """The private folder through which objects of this process pass; each thread has a file of its own."""

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


def written(thing: Any) -> bytes:
    """The file that SEAL writes of an object of this process, behind SEAL's header."""
    path = _scratch.path()
    thing.save(str(path))
    content = path.read_bytes()
    path.unlink()
    return unframed(content)


def loaded(thing: Any, context: Any, content: bytes) -> Any:
    """An object of SEAL from a file that `forms` wrote."""
    path = _scratch.path()
    path.write_bytes(content)
    try:
        thing.load(context, str(path))
    except (RuntimeError, ValueError, IndexError, MemoryError, OverflowError) as problem:
        raise ParcelError("SEAL cannot read a part of this parcel: it was made for other parameters.") from problem
    finally:
        path.unlink(missing_ok=True)
    return thing
