"""The byte formats of the gates engine: nothing is lost, and what is wrong with foreign bytes is a ParcelError. Runs
without OpenFHE.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import ParcelError, Terms
from blindlabel.envelope.stream import LARGEST_CHUNK
from blindlabel_lab.gates import ciphertexts
from blindlabel_lab.gates.ciphertexts import Content, Numbers

TERMS = Terms(("name",), agreement_hash=bytes(range(32)))
KEY = b"k" * 16


def some_numbers(count: int, each: int = ciphertexts.CIPHERTEXT_VALUES) -> Numbers:
    return (np.frombuffer(os.urandom(2 * each * count), dtype="<u2").reshape(count, each) % 2048).astype(np.uint16)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_ciphertexts_survive_packing(count: int) -> None:
    numbers = some_numbers(count)
    packed = ciphertexts.packed_numbers(numbers)
    assert len(packed) == 764 * count, "OpenFHE writes 4485 bytes"
    assert np.array_equal(ciphertexts.unpacked_numbers(packed, count), numbers)


def test_every_packed_bit_pattern_is_below_the_modulus() -> None:
    assert ciphertexts.unpacked_numbers(b"\xff" * 764, 1).max() == 2047


def test_a_batch_is_what_was_sent() -> None:
    numbers = some_numbers(3)
    parcel = ciphertexts.batch(Content.RECORD, TERMS, KEY, record=5, numbers=numbers)
    assert np.array_equal(ciphertexts.opened_batch(Content.RECORD, TERMS, parcel, KEY, record=5, count=3), numbers)


def test_what_belongs_elsewhere_is_refused_with_a_sentence() -> None:
    parcel = ciphertexts.batch(Content.RECORD, TERMS, KEY, record=5, numbers=some_numbers(3))
    other = Terms(("name",), agreement_hash=bytes(32))
    with pytest.raises(ParcelError, match="another agreement"):
        ciphertexts.opened_batch(Content.RECORD, other, parcel, KEY, record=5, count=3)
    with pytest.raises(ParcelError, match="other keys"):
        ciphertexts.opened_batch(Content.RECORD, TERMS, parcel, b"o" * 16, record=5, count=3)
    with pytest.raises(ParcelError, match="encrypted record number 5, and this is number 6"):
        ciphertexts.opened_batch(Content.RECORD, TERMS, parcel, KEY, record=4, count=3)
    with pytest.raises(ParcelError, match="Expected 4 ciphertexts, and this has 3"):
        ciphertexts.opened_batch(Content.RECORD, TERMS, parcel, KEY, record=5, count=4)
    with pytest.raises(ParcelError, match="Expected encrypted answers"):
        ciphertexts.opened_batch(Content.ANSWERS, TERMS, parcel, KEY, record=5, count=3)
    version = bytearray(parcel)
    version[9] = 9
    with pytest.raises(ParcelError, match="format 9"):
        ciphertexts.opened_batch(Content.RECORD, TERMS, bytes(version), KEY, record=5, count=3)


def test_parcels_of_another_parameter_set_are_refused_with_a_sentence() -> None:
    """Format 2 had STD128_3; and what says format 4 must have its parameters as well."""
    parcel = bytearray(ciphertexts.batch(Content.RECORD, TERMS, KEY, record=0, numbers=some_numbers(1)))
    place = parcel.index(b"STD128-GINX")
    parcel[place : place + 16] = b"STD128_3-GINX".ljust(16, b"\x00")
    with pytest.raises(ParcelError, match=r"made with parameters other than STD128-GINX\."):
        ciphertexts.opened_batch(Content.RECORD, TERMS, bytes(parcel), KEY, record=0, count=1)
    parcel[9] = 2
    with pytest.raises(ParcelError, match=r"has format 2 of the gates engine; this program reads format 4\."):
        ciphertexts.opened_batch(Content.RECORD, TERMS, bytes(parcel), KEY, record=0, count=1)
    longer = ciphertexts.batch(Content.RECORD, TERMS, KEY, record=0, numbers=some_numbers(1, 593))
    with pytest.raises(ParcelError, match="1 ciphertexts of 764 bytes, and has 816"):
        ciphertexts.opened_batch(Content.RECORD, TERMS, longer, KEY, record=0, count=1)


PARCEL = ciphertexts.batch(Content.RECORD, TERMS, KEY, record=0, numbers=some_numbers(2))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_every_damage_is_a_parcel_error(data: st.DataObject) -> None:
    damaged = bytearray(PARCEL)
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] ^= data.draw(st.integers(1, 255))
    else:
        damaged = damaged[: data.draw(st.integers(0, len(damaged) - 1))]
    with pytest.raises(ParcelError):
        ciphertexts.opened_batch(Content.RECORD, TERMS, bytes(damaged), KEY, record=0, count=2)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_parcel_error(noise: bytes) -> None:
    for content in Content:
        with pytest.raises(ParcelError):
            ciphertexts.opened(content, TERMS, noise)


def test_a_public_key_travels_as_one_piece() -> None:
    assert ciphertexts.HEADER_BYTES + ciphertexts.PUBLIC_KEY_BYTES <= LARGEST_CHUNK


def test_a_public_key_must_have_the_id_it_names() -> None:
    body = b"body"
    with pytest.raises(ParcelError, match="key id"):
        ciphertexts.opened(Content.PUBLIC, TERMS, ciphertexts.sealed(Content.PUBLIC, TERMS, KEY, body))
    assert (
        ciphertexts.opened(
            Content.PUBLIC, TERMS, ciphertexts.sealed(Content.PUBLIC, TERMS, ciphertexts.key_id_of(body), body)
        )[1]
        == body
    )


@pytest.mark.parametrize("extra", [0, 1, 2, 3])
def test_key_files_are_squeezed_without_loss(extra: int, tmp_path: Path) -> None:
    wide = np.frombuffer(os.urandom(4 * 100_000), dtype="<u4")
    narrow = wide % 65536
    raw = b"\x01" + wide.tobytes() + narrow.tobytes() * 3 + b"x" * extra
    (tmp_path / "raw").write_bytes(raw)
    data = ciphertexts.squeezed(tmp_path / "raw")
    assert len(data) < 0.8 * len(raw)
    ciphertexts.unsqueeze(memoryview(data), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == raw
    for damaged in (data[:-1], data + b"\x00", data[:5], b"\xff" * 40, b""):
        with pytest.raises(ParcelError):
            ciphertexts.unsqueeze(memoryview(damaged), tmp_path / "never")
