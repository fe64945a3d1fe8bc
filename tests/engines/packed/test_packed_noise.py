"""The static noise estimate against the true noise, on ciphertexts whose key the test owns; and the linear step."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed.encoding.features import features_of
from blindlabel.engines.packed.planning.noise import MIXED, PADDED
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.running import linear, opening
from blindlabel.engines.packed.running.evaluating import OpenedBatch
from blindlabel.engines.packed.running.keys import open_public, open_secret
from blindlabel.engines.packed.running.records import encrypt_batch, read_batches, share_parcels
from blindlabel.engines.packed.seal import memory
from blindlabel.engines.packed.seal.library import sealapi, written
from blindlabel.language import Limits, Record
from support.noise import noise_bits
from support.packed_rounds import asked, keys_of

TERMS = Terms(
    ("name", "maker"), record_length=30, attribute_length=10, functions=("is_in", "has_word", "is_empty"),
    limits=Limits(needle_length=3), records=12,
)  # fmt: skip
QUESTIONS = asked(
    'ret 4*is_in("an", lower($r)) + 2*is_in("er", $r.name) + has_word("a", $r) + is_in("x", $r) >= 3',
    'ret is_in("a", $r) & (!is_in("b", $r) & !is_in("C", $r) | is_in("d", $r))',
    "ret true",
    "ret false",
    'ret !is_empty($r.name) & !is_in("a", $r)',
)
TEXTS = ("Anna Berg", "bert ahor", "carla BI", "", "a", "xx a z", "an er", "abcd", "zan c")
RECORDS = [Record.of({"name": text, "maker": "x"}) for text in TEXTS]
DEEP = replace(TERMS, profile=(1,), exclusions=8, unless=8)
"""Where exclusions are multiplied deeper than places."""
FLAT = replace(TERMS, profile=(1,), exclusions=0)
"""So shallow that records lose a prime before anything is done."""
LARGE = replace(TERMS, records=1000, key_bits=16_866)
"""The ring of a study of a thousand records, by its account of bits."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "terms", [TERMS, DEEP, FLAT, LARGE], ids=["default room", "eight exclusions", "one place", "large study"]
)
def test_noise_of_what_is_opened_is_within_its_estimate(terms: Terms) -> None:
    """Y, V and W as `opening` is given them, at the levels that the plan has for them."""
    keys = keys_of(terms)
    public, secret = open_public(terms, keys.public), open_secret(terms, keys.secret)
    room = public.room
    assert room.ring.degree == (32768 if terms is LARGE else 16384)
    assert (room.levels.first < room.ring.data_primes) == (terms is FLAT)
    questions = QUESTIONS
    if terms in (DEEP, FLAT):
        questions = asked('ret is_in("a", $r) & !is_in("x", $r)' if terms is DEEP else 'ret is_in("a", $r)')
    features = features_of(room.tables, RECORDS)
    sent = [*encrypt_batch(secret, features, 0, len(RECORDS)), *share_parcels(secret, 0, len(questions), len(RECORDS))]
    (batch,) = read_batches(public, sent, len(questions))
    opened = OpenedBatch.of(public, [room.plan(question) for question in questions], batch)
    values = opened.values(0, opened.forms(0, range(room.columns(len(questions)).outputs)))
    assert len(values) == room.values == (1 if terms is FLAT else 3)
    for value, estimate in zip(values, room.noise(), strict=True):
        assert value.coeff_modulus_size() == estimate.level >= MIXED
        found = noise_bits(secret.holder, value)
        # SEAL says the largest of all coefficients, some four deviations; the estimate is one.
        assert found <= estimate.noise + 3
        assert found > estimate.noise - 20
    ring, bits = public.ring, room.ring.prime_bits
    mixed = opening.mixed(ring, values, batch.shares, public.relinearisation)
    most = sum(bits[:PADDED]) - 0.1 - math.log2(ring.modulus) - 1 - math.log2(ring.degree) - room.opened_right
    for value in mixed:  # what is padded has no more noise than the chance of a wrong opening takes for granted
        assert most - 20 < noise_bits(secret.holder, ring.switched(value, PADDED)) <= most + 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("records", "folds", "margin", "back"), [(2, True, True, False), (24, True, True, True), (200, False, False, True)]
)
def test_every_step_of_the_linear_forms_lands_on_its_column(
    records: int, folds: bool, margin: bool, back: bool
) -> None:
    """All columns of all features of a batch, against clear matrix products: stretches that are added up, records whose
    first places are empty, steps backwards.
    """
    terms = replace(TERMS, records=records, record_length=60, attribute_length=28)
    room = room_of(terms)
    assert (room.steps.folds(room.layout) > 0, room.layout.margin > 0, room.steps.back > 0) == (folds, margin, back)
    public, secret = open_public(terms, keys_of(terms).public), open_secret(terms, keys_of(terms).secret)
    ring, chance = public.ring, np.random.default_rng(3)
    features = chance.integers(0, ring.modulus, (9, room.tables.features), dtype=np.uint64)
    width = room.columns(records).width
    weights = chance.integers(0, ring.modulus, (1, width, room.tables.features), dtype=np.uint64)
    plains = map(ring.slots, linear.record_slots(room.layout, room.steps, features))
    ciphers = (ring.load_seeded(secret.holder.encrypt(plain)) for plain in plains)
    batch = np.empty(linear.rotated_shape(room.layout, room.steps, room.levels.first), dtype=np.uint64)
    linear.rotate(ring, room.steps, enumerate(ciphers), public.galois, batch)
    (made,) = linear.products(public.encryptor, room.layout, room.steps, batch, weights, public.galois)
    found = ring.read_slots(secret.holder.decrypt(made))
    by_record = room.layout.from_slots(found)[:9, :width]
    expected = features.astype(object) @ weights[0].T.astype(object) % ring.modulus
    assert (by_record == expected.astype(np.uint64)).all()


# -- reading residues where SEAL keeps them

SMALL = replace(TERMS, profile=(1,), exclusions=0)


def test_residues_read_from_memory_are_those_that_are_written() -> None:
    """At every level and in both forms, once the layout is proven by the first of them."""
    public, known = open_public(SMALL, keys_of(SMALL).public), memory.Memory()
    ring = public.ring
    cipher = public.encryptor.zero(len(public.ring.primes))
    for level in (len(ring.primes), 3, 1):
        for found in (ring.switched(cipher, level), ring.to_ntt(ring.switched(cipher, level))):
            in_file = ring.form(level, transformed=found.is_ntt_form()).seal_words(written(found))
            assert (known.words_of(found, partial(_given, in_file)) == in_file).all()
            assert known.proven
            assert (known.words_of(found, _unwanted) == in_file).all()
    nothing = np.zeros((0, 0, 0), dtype=np.uint64)
    assert known.words_of(sealapi.Ciphertext(), lambda: nothing) is nothing


def _given(words: Residues) -> Residues:
    return words


def _unwanted() -> Residues:
    raise AssertionError("the memory was known")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_KNOWN", False),
        ("_OBJECT", struct.Struct("<4Q?7xQQQdQ8xQQQ")),  # its length would be taken for an address
        ("_OBJECT", struct.Struct("<4Q?7xQQQdQ24xQQQ")),
        ("_POINTER", 8),
    ],
)
def test_where_ciphertexts_are_kept_otherwise_the_file_is_taken(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    public, known = open_public(SMALL, keys_of(SMALL).public), memory.Memory()
    cipher = public.encryptor.zero(len(public.ring.primes))
    expected = public.ring.residues(cipher)
    monkeypatch.setattr(memory, name, value)
    for _ in range(2):
        assert known.words_of(cipher, lambda: expected) is expected
        assert known.proven is False
