"""A study's keys, opened: what an owner holds (public) and what the coordinator holds (secret). Makes, writes and reads
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from blindlabel.engines.interface import Keys, ParcelError, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.layout import QuestionLayout
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel, Study
from blindlabel.engines.packed.planning import parameters
from blindlabel.engines.packed.planning.setting import Setting, setting_of
from blindlabel.engines.packed.seal.ring import Encryptor, KeyHolder, Ring
from blindlabel.engines.packed.ways.assisted import inner_products
from blindlabel.engines.packed.ways.conjunctive import diagonals, many_records

_MOST_KEY_BYTES = 256 << 20


@dataclass(frozen=True, eq=False)
class Public:
    """What an owner works with."""

    setting: Setting
    study: Study
    encryptor: Encryptor
    galois: Any
    relinearisation: Any
    bit_encryptor: Encryptor | None
    bit_galois: Any


@dataclass(frozen=True, eq=False)
class Secret:
    """What the coordinator works with."""

    setting: Setting
    study: Study
    holder: KeyHolder
    bit_holder: KeyHolder | None


def make_keys(terms: Terms) -> Keys:
    """New keys for a study."""
    setting = setting_of(terms)
    assisted = setting.chosen.bits is not None
    if assisted:
        elements = inner_products.automorphisms(setting.layout)
    else:
        elements = (many_records if setting.chosen.wide else diagonals).rotations(setting.ring, setting.layout)
    secret, public, galois, relin = setting.ring.generate(elements, relinearisation=not assisted)
    publics, secrets = [public, galois, relin], [secret]
    if assisted:
        ring = setting.bit_ring
        # One question leaves room for the most copies, so its folds contain those of all others.
        folds = QuestionLayout.of(setting.layout, 1, parameters.probes(terms)).folds()
        bit_elements = [fold_element(ring, step) for step in folds]
        bit_secret, bit_public, bit_galois, _ = ring.generate(bit_elements, relinearisation=False)
        publics += [bit_public, bit_galois]
        secrets.append(bit_secret)
    key_id = parcels.key_id_of(tuple(publics))
    study = setting.study(key_id)
    return Keys(
        public=parcels.write(Parcel(Kind.PUBLIC_KEY, study, (), tuple(publics))),
        secret=parcels.write(Parcel(Kind.SECRET_KEY, study, (), tuple(secrets))),
    )


def fold_element(ring: Ring, step: int) -> int:
    """The Galois element of one fold of a question layout."""
    return ring.rotation(step) if step else ring.swap


@lru_cache(maxsize=4)
def open_public(terms: Terms, content: bytes) -> Public:
    """A study's public keys, checked."""
    setting = setting_of(terms)
    parcel = parcels.read(content, (Kind.PUBLIC_KEY,), setting.study(b""), most_items=5, most_bytes=_MOST_KEY_BYTES)
    assisted = setting.chosen.bits is not None
    if len(parcel.items) != (5 if assisted else 3):
        raise ParcelError("This public key has another number of parts than it should.")
    if parcels.key_id_of(parcel.items) != parcel.study.key_id:
        raise ParcelError("This public key does not carry its own name; it was put together from other keys.")
    ring = setting.ring
    encryptor = ring.encryptor(parcel.items[0])
    galois, relin = ring.load_galois(parcel.items[1]), ring.load_relinearisation(parcel.items[2])
    if not assisted:
        return Public(setting, parcel.study, encryptor, galois, relin, None, None)
    bit_ring = setting.bit_ring
    return Public(
        setting,
        parcel.study,
        encryptor,
        galois,
        relin,
        bit_ring.encryptor(parcel.items[3]),
        bit_ring.load_galois(parcel.items[4]),
    )


@lru_cache(maxsize=4)
def open_secret(terms: Terms, content: bytes) -> Secret:
    """A study's secret key, checked."""
    setting = setting_of(terms)
    parcel = parcels.read(content, (Kind.SECRET_KEY,), setting.study(b""), most_items=2, most_bytes=_MOST_KEY_BYTES)
    assisted = setting.chosen.bits is not None
    if len(parcel.items) != (2 if assisted else 1):
        raise ParcelError("This secret key has another number of parts than it should.")
    holder = setting.ring.key_holder(parcel.items[0])
    return Secret(setting, parcel.study, holder, setting.bit_ring.key_holder(parcel.items[1]) if assisted else None)
