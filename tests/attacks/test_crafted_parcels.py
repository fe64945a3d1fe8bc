"""No foreign byte decides how much memory is taken. On the first version a request of 337 bytes made the coordinator
allocate a gigabyte and keep it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KINDS = ("public key", "records", "shares", "answers")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_crafted_parcels_take_no_more_memory_than_an_honest_one(kind: str) -> None:
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "support.crafted_parcels", kind, "1000"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    honest, crafted, refused = map(int, done.stdout.split())
    found = f"{kind}: {honest / 1024:.0f} MB after an honest parcel, {crafted / 1024:.0f} MB after 1,000 crafted ones"
    sys.stdout.write(found + "\n")
    assert crafted <= 1.5 * honest, found
    assert refused >= 980
