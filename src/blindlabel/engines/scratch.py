"""Private folders through which the engines' libraries write and read their objects, in memory where the machine has
room there.

SEAL and OpenFHE know files only, and what passes may be a secret key. So the name of a folder has the number of the
process that made it, and making one first removes those of processes that were killed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - private folders are made in it
_PREFIX = "blindlabel-scratch-"


def make_folder(size: int = 0) -> Path:
    """A new folder for this user alone, in memory if there is room for twice the size."""
    remove_left_folders()
    room = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2 * size + 2**24
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=MEMORY if room else None))


def remove_left_folders() -> None:
    """Remove the folders of processes that have ended. If that cannot be known (no /proc), nothing is touched."""
    if not Path("/proc/self").exists():
        return
    for place in (MEMORY, Path(tempfile.gettempdir())):
        for folder in place.glob(f"{_PREFIX}*-*"):
            maker = folder.name[len(_PREFIX) :].partition("-")[0]
            try:
                left = maker.isdigit() and not Path(f"/proc/{maker}").exists() and folder.stat().st_uid == os.getuid()
            except FileNotFoundError:  # another process was faster
                continue
            if left:
                shutil.rmtree(folder, ignore_errors=True)
