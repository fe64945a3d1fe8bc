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
from blindlabel.engines.packed.seal import holders
from blindlabel.engines.packed.seal.holders import Encryptor, KeyHolder
from blindlabel.engines.packed.seal.ring import Ring
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
    made = holders.generate(setting.ring, _elements(setting), relinearisation=not assisted)
    publics, secrets = [made.public, made.galois, made.relinearisation], [made.secret]
    if assisted:
        bits = holders.generate(setting.bit_ring, _bit_elements(setting), relinearisation=False)
        publics += [bits.public, bits.galois]
        secrets.append(bits.secret)
    key_id = parcels.key_id_of(tuple(publics))
    study = setting.study(key_id)
    return Keys(
        public=parcels.write(Parcel(Kind.PUBLIC_KEY, study, (), tuple(publics))),
        secret=parcels.write(Parcel(Kind.SECRET_KEY, study, (), tuple(secrets))),
    )


def _elements(setting: Setting) -> list[int]:
    """The Galois elements that the linear stage needs."""
    if setting.chosen.bits is not None:
        return inner_products.automorphisms(setting.layout)
    if setting.chosen.wide:
        return many_records.rotations(setting.ring, setting.layout)
    return diagonals.rotations(setting.ring, setting.layout)


def _bit_elements(setting: Setting) -> list[int]:
    """Those of the ring for bits. One question leaves room for the most copies, so its folds contain all others'."""
    folds = QuestionLayout.of(setting.layout, 1, parameters.probes(setting.terms)).folds()
    return [fold_element(setting.bit_ring, step) for step in folds]


def fold_element(ring: Ring, step: int) -> int:
    """The Galois element of one fold of a question layout."""
    return ring.rotation(step) if step else ring.swap


@lru_cache(maxsize=4)
def open_public(terms: Terms, content: bytes) -> Public:
    """A study's public keys, measured and then loaded."""
    setting = setting_of(terms)
    parcel = parcels.read(content, (Kind.PUBLIC_KEY,), setting.study(b""), most_items=5, most_bytes=_MOST_KEY_BYTES)
    assisted = setting.chosen.bits is not None
    if len(parcel.items) != (5 if assisted else 3):
        raise ParcelError("This public key has another number of parts than it should.")
    if parcels.key_id_of(parcel.items) != parcel.study.key_id:
        raise ParcelError("This public key does not carry its own name; it was put together from other keys.")
    ring, items = setting.ring, parcel.items
    encryptor = Encryptor(ring, items[0])
    galois = holders.galois_keys(ring, items[1], _elements(setting))
    if not assisted:
        relinearisation = holders.relinearisation_keys(ring, items[2])
        return Public(setting, parcel.study, encryptor, galois, relinearisation, None, None)
    bits = setting.bit_ring
    bit_galois = holders.galois_keys(bits, items[4], _bit_elements(setting))
    return Public(setting, parcel.study, encryptor, galois, None, Encryptor(bits, items[3]), bit_galois)


@lru_cache(maxsize=4)
def open_secret(terms: Terms, content: bytes) -> Secret:
    """A study's secret key, checked."""
    setting = setting_of(terms)
    parcel = parcels.read(content, (Kind.SECRET_KEY,), setting.study(b""), most_items=2, most_bytes=_MOST_KEY_BYTES)
    assisted = setting.chosen.bits is not None
    if len(parcel.items) != (2 if assisted else 1):
        raise ParcelError("This secret key has another number of parts than it should.")
    holder = KeyHolder(setting.ring, parcel.items[0])
    return Secret(setting, parcel.study, holder, KeyHolder(setting.bit_ring, parcel.items[1]) if assisted else None)
