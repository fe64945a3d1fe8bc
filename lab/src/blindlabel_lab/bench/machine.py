"""What a measurement ran on, in a line: figures without it mean little; and the processor time that it took."""

from __future__ import annotations

import os
import platform
import resource
from pathlib import Path


def machine() -> str:
    """Processor, cores, memory, system and Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}, Python"
        f" {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def processor_seconds() -> tuple[float, float]:
    """Of this process, and of those that it started and waited for."""
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime
