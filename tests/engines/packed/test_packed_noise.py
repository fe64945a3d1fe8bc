"""The static noise estimate against the true noise, on ciphertexts whose key the test owns."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from blindlabel.engines.interface import Terms
from blindlabel.engines.packed.encoding.tables import features_of
from blindlabel.engines.packed.keys import open_public, open_secret
from blindlabel.engines.packed.planning import noise
from blindlabel.engines.packed.planning.probing import Probe
from blindlabel.engines.packed.records import encrypt_batch, read_batches
from blindlabel.engines.packed.seal import residues
from blindlabel.engines.packed.seal.parameters import RingParameters
from blindlabel.engines.packed.seal.ring import Cipher, open_ring
from blindlabel.engines.packed.ways.assisted import inner_products
from blindlabel.engines.packed.ways.assisted.plans import Room
from blindlabel.engines.packed.ways.choosing import parameter_sets, way_of
from blindlabel.engines.packed.ways.interface import Public, Secret
from blindlabel.language import Limits, Record
from support.noise import noise_bits
from support.packed_rounds import keys_of

TERMS = Terms(
    ("a",),
    questions="any",
    record_length=60,
    records=30,
    case="lower",
    encode_attributes=False,
    functions=("is_in",),
    limits=Limits(needle_length=8),
)


def _opened(terms: Terms) -> tuple[Public, Secret, list[Cipher]]:
    keys = keys_of(terms)
    public, secret = open_public(terms, keys.public), open_secret(terms, keys.secret)
    random = Random(3)
    records = [Record({}, "".join(random.choice("abcdefgh ") for _ in range(60))) for _ in range(terms.records)]
    made = encrypt_batch(public, features_of(public.way.tables, records), 0, len(records))
    batch = next(iter(read_batches(public, made, 1)))
    ring = public.way.ring
    return public, secret, [ring.to_ntt(ring.load_cipher(item)) for item in batch.items]


def test_packed_inner_products_stay_within_the_estimate() -> None:
    public, secret, chunks = _opened(TERMS)
    way = public.way
    probe = Probe(way.tables.tables[2], "abc")

    def column(index: int) -> Cipher | None:
        return (
            inner_products.inner_product(way.ring, way.layout, way.tables, chunks, probe)[0]
            if index % 16 == 0
            else None
        )

    packed = inner_products.pack(way.ring, way.layout, way.layout.stride, column, public.records.galois)
    estimate = way.noise()["digits"].bits
    assert estimate - 10 <= noise_bits(secret.records, packed) <= estimate


def test_weighted_sums_stay_within_the_estimate() -> None:
    public, secret, _ = _opened(TERMS)
    ring, holder = public.way.answer_ring, secret.answers
    pairs = []
    for _ in range(Room.of(TERMS).final_weight):
        values = ring.slots(residues.uniform(ring.degree, ring.modulus))
        cipher = ring.to_ntt(ring.load_seeded(holder.encrypt(values)))
        pairs.append((cipher, ring.transformed(ring.slots(residues.uniform(ring.degree, ring.modulus)))))
    combined = ring.combination(pairs)
    estimate = public.way.noise()["answers"].bits
    assert estimate - 6 <= noise_bits(holder, combined) <= estimate


@pytest.mark.parametrize(
    "terms",
    [
        TERMS,
        replace(TERMS, questions="points", profile=(1,), exclusions=0),
        Terms(("a", "b", "c", "d")),
        Terms(("a", "b", "c", "d"), questions="any"),
        Terms(("a",), questions="any", records=1000, record_length=404),
        Terms(("a",), questions="any", functions=("similar", "between"), encode_attributes=False),
    ],
)
def test_every_agreement_hides_the_old_noise(terms: Terms) -> None:
    for found in way_of(terms).noise().values():
        assert found.left <= -noise.HIDDEN


def test_every_parameter_set_is_accepted_at_128_bits_and_leaves_room_at_the_last_prime() -> None:
    for chosen in parameter_sets():
        for ring in chosen.rings:
            assert open_ring(ring).degree == ring.degree  # SEAL refuses what is below 128 bits
            # Rounding leaves noise of standard deviation sqrt(N/18); 12 bits above t are at least 30 of them.
            room = 2.0 ** (ring.prime_bits[0] - 1) / open_ring(ring).modulus
            assert room / np.sqrt(ring.degree / 18) > 30


def test_too_little_security_is_refused() -> None:
    weak = RingParameters(4096, (40, 54, 54, 54), plain_bits=24)
    with pytest.raises(Exception, match="SEAL refuses"):
        open_ring(weak)
