"""Thousands of crafted parcels of one kind, given to the engine in a process of its own, which then says how much
memory it took at most: `python -m support.crafted_parcels KIND COUNT` prints the peak after an honest parcel and at the
end.

The crafted ones carry a right checksum: whoever attacks can compute it.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa

from blindlabel.engines.interface import ParcelError, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Parcel
from blindlabel.engines.packed.running.keys import open_public
from blindlabel.language import Limits, Record
from support.packed_rounds import ENGINE, Round, asked, parcel_of

TERMS = Terms(
    ("a",), record_length=12, records=8, case="lower", encode_attributes=False, functions=("equals",),
    limits=Limits(needle_length=4), profile=(1,), exclusions=1, unless=1,
)  # fmt: skip
_SEAL = struct.Struct("<HBBBBHQ")
_CIPHER = struct.Struct("<32s?QQQdQ")


def _lying_ciphertext(random: Random) -> bytes:
    """A file of SEAL that says it has no parts and an array of up to 8 GB behind them: it made SEAL 4.3 allocate it."""
    body = _CIPHER.pack(random.randbytes(32), False, random.choice((0, 1, 2, 1 << 40)), 8192, 1, 1.0, 1)
    array = struct.pack("<Q", random.randrange(1 << 30)) + bytes(64)
    body += _SEAL.pack(0xA15E, 16, 4, 3, 0, 0, 16 + len(array)) + array
    return _SEAL.pack(0xA15E, 16, 4, 3, 0, 0, 16 + len(body)) + body


def _bomb(random: Random) -> bytes:
    """A compressed file of SEAL that unpacks to megabytes."""
    packed: bytes = pa.compress(bytes(random.randrange(1 << 20, 1 << 23)), codec="zstd", asbytes=True)
    return _SEAL.pack(0xA15E, 16, 4, 3, 2, 0, 16 + len(packed)) + packed


def crafted(good: Parcel, random: Random) -> bytes:
    """One crafted parcel."""
    what = random.randrange(8)
    first = good.items[0]
    if what == 0:
        return parcels.write(replace(good, items=(_lying_ciphertext(random), *good.items[1:])))
    if what == 1 and random.random() < 0.05:
        return parcels.write(replace(good, items=(_bomb(random), *good.items[1:])))
    if what == 2 and random.random() < 0.02:  # the right length, residues at random
        return parcels.write(replace(good, items=(random.randbytes(len(first)), *good.items[1:])))
    if what == 3:
        numbers = tuple(random.randrange(1 << 32) for _ in good.numbers)
        return parcels.write(replace(good, numbers=numbers, items=(b"x",)))
    if what == 4:
        return parcels.write(replace(good, items=tuple(b"" for _ in range(random.randrange(1, 2000)))))
    small = bytearray(parcels.write(replace(good, items=(random.randbytes(random.randrange(1, 600)),))))
    place = random.randrange(len(small) - 8)
    small[place : place + 8] = struct.pack("<Q", random.choice((0, 1 << 31, 1 << 40, (1 << 64) - 1)))
    return bytes(small)


def uses() -> dict[str, tuple[bytes, Callable[[bytes], object]]]:
    """For each kind an honest parcel and what the engine does with one."""
    played = Round(TERMS)
    questions = asked('ret equals("x", $r)')
    played.run([Record.of({"a": "x"})], questions)
    public, secret = played.keys.public, played.keys.secret
    records, shares = played.parcels

    def evaluated(*contents: bytes) -> object:
        return list(ENGINE.evaluate(TERMS, public, contents, questions))

    return {
        "public key": (public, lambda content: open_public.__wrapped__(TERMS, content)),
        "records": (records, lambda content: evaluated(content, shares)),
        "shares": (shares, lambda content: evaluated(records, content)),
        "answers": (played.answers[0], lambda content: ENGINE.open(TERMS, secret, [content], 1, 1)),
    }


def _peak() -> int:
    """The most kilobytes that this program had. Not `ru_maxrss`, which begins with what its parent had before it."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1])


def main(kind: str, count: int) -> None:
    """Print the two peaks, and how many crafted parcels were refused."""
    good, use = uses()[kind]
    use(good)
    before = _peak()
    random = Random(kind)
    opened = parcel_of(TERMS, good)
    refused = 0
    for _ in range(count):
        try:
            use(crafted(opened, random))
        except ParcelError:
            refused += 1
    sys.stdout.write(f"{before} {_peak()} {refused}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
