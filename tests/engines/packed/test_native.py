"""The kernel in C says exactly what NumPy says, with every version that this processor can run."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.rings import RINGS, RingParameters
from blindlabel.engines.packed.running import native, periodic
from blindlabel.engines.packed.running.native import Kernel
from blindlabel.engines.packed.seal.ring import open_ring


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> list[Kernel]:
    """The library as it stands in the repository, compiled now, in all versions."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler here")
    library = tmp_path_factory.mktemp("kernel") / "libperiodic.so"
    source = Path(periodic.__file__).with_name("periodic.c")
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O3", "-fPIC", "-shared", "-o", library, source],
        check=True,
    )
    best = native.opened(library)
    if best is None:
        pytest.skip("this processor has no AVX2")
    return [replace(best, version=version) for version in native.VERSIONS if version <= best.version]


@settings(max_examples=12)
@given(
    ring=st.sampled_from(RINGS[:4]),
    stride=st.sampled_from((4, 32, 256, 1024, 2048)),
    rows=st.integers(1, 9),
    inner=st.integers(1, 17),
    level=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_the_kernel_makes_the_same_words_as_numpy(
    kernels: list[Kernel], ring: RingParameters, stride: int, rows: int, inner: int, level: int, seed: int
) -> None:
    opened = open_ring(ring)
    chance = np.random.default_rng(seed)
    layout = RecordLayout(opened.degree, opened.degree // stride, 1, 1)
    patterns = chance.integers(0, opened.modulus, (rows, inner, stride), dtype=np.uint64)
    words = _words(chance, opened.primes[:level], (inner, 2, opened.degree))
    expected = periodic.by_numpy(opened, layout, patterns, words)
    for kernel in kernels:
        found = np.zeros_like(expected)
        kernel.add_sums(opened, patterns, words, found)
        assert np.array_equal(found, expected), native.VERSIONS[kernel.version]


def _words(chance: np.random.Generator, primes: tuple[int, ...], shape: tuple[int, int, int]) -> Residues:
    """Words modulo each prime, of which some are at the ends of their ranges."""
    inner, parts, degree = shape
    found = np.empty((inner, parts, len(primes), degree), dtype=np.uint64)
    for index, prime in enumerate(primes):
        drawn = chance.integers(0, prime, (inner, parts, degree), dtype=np.uint64)
        ends = np.array([0, 1, prime // 2, prime // 2 + 1, prime - 1], dtype=np.uint64)
        found[:, :, index] = np.where(chance.random(drawn.shape) < 0.3, chance.choice(ends, drawn.shape), drawn)
    return found


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, -1)])
def test_the_largest_sums_do_not_overflow(kernels: list[Kernel], signs: tuple[int, int]) -> None:
    prime, inner, rows, stride, length = 1152921504606830593, 4001, 3, 2, 4
    half = prime // 2
    for kernel in kernels:
        one, other = ((half if sign > 0 else prime - half) for sign in signs)
        left = np.full((stride, rows, inner), _halves(one, prime), dtype=np.uint64)
        words = np.full((inner, 2, 1, 2 * stride * length), other, dtype=np.uint64)
        before = prime - 1
        out = np.full((rows, 2, 1, 2 * stride * length), before, dtype=np.uint64)
        kernel._call("add_products", left, words, out, rows, inner, 1, 0, stride, length, prime)
        assert set(out.ravel().tolist()) == {(before + inner * one * other) % prime}


def _halves(value: int, prime: int) -> int:
    small = value - prime if value > prime // 2 else value
    high = (small + (1 << 29)) >> 30
    return (high % 2**32) << 32 | (small - (high << 30)) % 2**32


def test_without_a_library_numpy_does_it(tmp_path: Path) -> None:
    assert native.opened(tmp_path / "libperiodic.so") is None
    (tmp_path / "libperiodic.so").write_bytes(b"of another machine")
    assert native.opened(tmp_path / "libperiodic.so") is None
    assert native.opened(Path(ctypes.__file__)) is None, "a file that is no library"


def test_stretches_that_are_too_short_for_vectors_are_left_to_numpy() -> None:
    words = np.zeros((1, 2, 1, 16384), dtype=np.uint64)
    assert native.fits(words, 2048)
    assert not native.fits(words, 4096)
