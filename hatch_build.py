"""Compiles the packed engine's kernel where there is a C compiler for this processor. Without one the wheel is a pure
one, and the engine takes NumPy: nothing beyond pip is needed.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FOLDER = Path("src/blindlabel/engines/packed/running")
_LIBRARY = _FOLDER / "libperiodic.so"


class CompiledKernel(BuildHookInterface):
    """Compiles in place, so that an editable installation has it, too."""

    PLUGIN_NAME = "custom"

    def initialize(
        self,
        version: str,  # noqa: ARG002 - hatchling gives it by name
        build_data: dict[str, Any],
    ) -> None:
        """Add the library to the wheel, which then belongs to this platform."""
        root = Path(self.root)
        if not compiled(root / _FOLDER / "periodic.c", root / _LIBRARY):
            return
        build_data["artifacts"].append(str(_LIBRARY))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def compiled(source: Path, library: Path) -> bool:
    """Whether it could be compiled. Instructions beyond the oldest x86-64 are chosen when it runs."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    made = library.with_suffix(f".{os.getpid()}")
    options = ["-std=gnu11", "-O3", "-fPIC", "-shared", "-o", str(made), str(source)]
    command = [*shlex.split(os.environ.get("CC", "cc")), *options]
    try:
        done = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - the builder's own compiler
    except OSError:
        return False
    if done.returncode:
        return False
    made.replace(library)  # at once: somebody may be about to load it
    return True
