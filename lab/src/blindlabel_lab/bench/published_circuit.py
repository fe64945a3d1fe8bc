"""The publication's own circuits, gate for gate: both the needle and the text are encrypted, character by character,
eight bits each.

Written as printed in its algorithms "Commonly-used Functions" and "Functions using BinFHE scheme", with two
corrections: `byte_equal` uses XNOR (XOR is printed, which asks for different bits), and positions are counted from 0
(the printed `b[j+i]` with both from 1 skips the first character and runs past the last). Nothing is shared or folded
here: this is the yardstick of the comparison, and it works on unpadded texts because the publication does not hide
lengths. The engine's own circuits are in `blindlabel_lab.gates.circuits`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from blindlabel.engines.interface import EngineError
from blindlabel_lab.bench.machine import processor_seconds
from blindlabel_lab.gates.binfhe import Ciphertext, EncryptedGates, in_forks
from blindlabel_lab.gates.circuits import Bit, Gates, all_of, any_of

_Bytes = Sequence[Sequence[Ciphertext]]


def bits_of(text: str) -> list[list[bool]]:
    """A text as the matrix that the publication encrypts, the most significant bit first ("C" is 01000011); only ASCII
    has one byte a character.
    """
    return [[bool(code >> (7 - place) & 1) for place in range(8)] for code in text.encode("ascii")]


def byte_equal(gates: Gates[Bit], a: Sequence[Bit], b: Sequence[Bit]) -> Bit:
    """Whether two characters are the same: 8 XNOR and 8 AND."""
    result = gates.constant(True)
    for place in range(8):
        result = gates.and_(result, gates.xnor(a[place], b[place]))
    return result


def is_in(gates: Gates[Bit], a: Sequence[Sequence[Bit]], b: Sequence[Sequence[Bit]]) -> Bit:
    """Whether `a` occurs in `b`: every position is tried, since leaving early would show where."""
    result = gates.constant(False)
    for j in range(len(b) - len(a) + 1):
        here = gates.constant(True)
        for i in range(len(a)):
            here = gates.and_(here, byte_equal(gates, a[i], b[j + i]))
        result = gates.or_(result, here)
    return result


def _compared(shared: tuple[EncryptedGates, _Bytes, _Bytes], places: Sequence[tuple[int, int]]) -> bytes:
    library, a, b = shared
    return library.packed([byte_equal(library, a[i], b[k]) for i, k in places])


def is_in_parallel(library: EncryptedGates, a: _Bytes, b: _Bytes, workers: int) -> Ciphertext:
    """The publication's parallel `is_in`: characters are compared in parallel, the results joined in one process."""
    positions = range(len(b) - len(a) + 1)
    places = [(i, j + i) for j in positions for i in range(len(a))]
    if not places:
        return library.constant(len(a) <= len(b))
    shares = [places[start::workers] for start in range(min(workers, len(places)))]
    equal: dict[tuple[int, int], Ciphertext] = {}
    for share, packed in zip(shares, in_forks(_compared, (library, a, b), shares, workers)):
        equal |= zip(share, library.unpacked(packed, len(share)))
    return any_of(library, [all_of(library, [equal[i, j + i] for i in range(len(a))]) for j in positions])


def is_in_gates(needle: int, text: int) -> int:
    """Gates of `is_in` by formula: 17 a character and position, and one OR a position."""
    return max(0, text - needle + 1) * (17 * needle + 1)


def choose(gates: Gates[Bit], condition: Bit, a: Sequence[Bit], b: Sequence[Bit]) -> list[Bit]:
    """The printed ternary, condition * (a - b) + b, modulo two and bit by bit: 3 gates a bit."""
    return [gates.xor(gates.and_(condition, gates.xor(one, other)), other) for one, other in zip(a, b)]


def greater(gates: Gates[Bit], byte: Sequence[Bit], bound: int) -> Bit:
    """Whether a character's code is above a clear bound: one gate a bit, from the last bit up."""
    result = gates.constant(False)
    for place in range(7, -1, -1):
        result = gates.and_(byte[place], result) if bound >> (7 - place) & 1 else gates.or_(byte[place], result)
    return result


def less(gates: Gates[Bit], byte: Sequence[Bit], bound: int) -> Bit:
    """Whether a character's code is below a clear bound."""
    result = gates.constant(False)
    for place in range(7, -1, -1):
        turned = gates.not_(byte[place])
        result = gates.or_(turned, result) if bound >> (7 - place) & 1 else gates.and_(turned, result)
    return result


def plus(gates: Gates[Bit], byte: Sequence[Bit], addend: int) -> list[Bit]:
    """A character's code plus a clear number, modulo 256; bits below the addend's lowest one stay as they are."""
    result = list(byte)
    carry: Bit | None = None
    for place in range(7, -1, -1):
        bit = byte[place]
        if addend >> (7 - place) & 1:
            result[place] = gates.not_(bit) if carry is None else gates.xnor(bit, carry)
            carry = bit if carry is None else gates.or_(bit, carry)
        elif carry is not None:
            result[place] = gates.xor(bit, carry)
            carry = gates.and_(bit, carry)
    return result


def lower(gates: Gates[Bit], text: Sequence[Sequence[Bit]]) -> list[list[Bit]]:
    """Every capital letter (0x40 < c < 0x5b) becomes c + 0x20."""
    return [_shifted(gates, byte, 0x40, 0x5B, 0x20) for byte in text]


def upper(gates: Gates[Bit], text: Sequence[Sequence[Bit]]) -> list[list[Bit]]:
    """Every small letter (0x60 < c < 0x7b) becomes c - 0x20."""
    return [_shifted(gates, byte, 0x60, 0x7B, 0x100 - 0x20) for byte in text]


def _shifted(gates: Gates[Bit], byte: Sequence[Bit], above: int, below: int, addend: int) -> list[Bit]:
    condition = gates.and_(greater(gates, byte, above), less(gates, byte, below))
    changing = 9 - (addend & -addend).bit_length()  # bits below the addend's lowest one are the same either way
    return [*choose(gates, condition, plus(gates, byte, addend)[:changing], byte[:changing]), *byte[changing:]]


# In parallel against serial


NEEDLE, TEXT = "on", "canon"
"""Eight comparisons of characters: an equal share for two, four and eight processes."""
PUBLISHED_CORES = 8
REPEATS = 2
_BYTE_GATES = 16


def most_by_gates(needle: int, text: int, processes: int) -> float:
    """The largest factor there can be: all gates, over the longest share of the comparisons and the joining of them."""
    positions = text - needle + 1
    longest = -(-positions * needle // processes)
    joining = positions * (needle - 1) + positions - 1
    return is_in_gates(needle, text) / (_BYTE_GATES * longest + joining)


def factors(library: EncryptedGates, key: Any, encrypted: Callable[[str], list[Any]]) -> list[dict[str, Any]]:
    """Measured on as many processes as there are cores, and as the publication had; every answer is checked."""
    a, b = ([encrypted(character) for character in text] for text in (NEEDLE, TEXT))
    counts = sorted({max(2, os.cpu_count() or 1), PUBLISHED_CORES})
    pairs: dict[int, list[tuple[Used, Used]]] = {count: [] for count in counts}
    for _ in range(REPEATS):
        for count in counts:
            serial = used(partial(is_in, library, a, b))
            parallel = used(partial(is_in_parallel, library, a, b, workers=count))
            if {library.decrypt(key, one.result) for one in (serial, parallel)} != {NEEDLE in TEXT}:
                raise EngineError("The published is_in gave a wrong answer.")
            pairs[count].append((serial, parallel))
    return [_figures(count, some) for count, some in pairs.items()]


class Used(NamedTuple):
    """What work gave, wall seconds, and processor seconds of this process and of its forks."""

    result: Any
    wall: float
    here: float
    forks: float


def used(work: Callable[[], Any]) -> Used:
    """Do it, and look at the clocks."""
    begun, own, children = time.perf_counter(), *processor_seconds()
    result = work()
    here, forks = processor_seconds()
    return Used(result, time.perf_counter() - begun, here - own, forks - children)


def _figures(processes: int, pairs: Sequence[tuple[Used, Used]]) -> dict[str, Any]:
    wall = [serial.wall / parallel.wall for serial, parallel in pairs]
    own = [serial.here / (parallel.here + parallel.forks / processes) for serial, parallel in pairs]
    return {
        "processes": processes,
        "cores": os.cpu_count(),
        "factor_here": round(median(wall), 2),
        "factor_here_spread": [round(min(wall), 2), round(max(wall), 2)],
        "factor_own_cores": round(median(own), 2),
        "factor_own_cores_spread": [round(min(own), 2), round(max(own), 2)],
        "most_by_gates": round(most_by_gates(len(NEEDLE), len(TEXT), processes), 2),
        "most_by_gates_6_in_148": round(most_by_gates(6, 148, processes), 2),
    }
