"""A study's keys: made, written, read and checked, for whichever rings its way of answering has.

A public key parcel holds three items a ring: public key (where owners hold the keys, a seeded encryption of zero that
serves as one), Galois keys, relinearisation keys; empty where the way needs none. A secret key parcel holds one item a
ring.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from blindlabel.engines.interface import Keys, ParcelError, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.seal import holders
from blindlabel.engines.packed.seal.forms import Seeds
from blindlabel.engines.packed.seal.holders import Encryptor, KeyHolder, SeededEncryptor
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.engines.packed.ways.interface import KeyNeeds, Public, RingKeys, Secret

_MOST_KEY_BYTES = 256 << 20
_ITEMS = 3
"""Of a ring in a public key parcel."""


def make_keys(terms: Terms) -> Keys:
    """New keys for a study."""
    way = way_of(terms)
    publics: list[bytes] = []
    secrets: list[bytes] = []
    for needs in way.key_needs():
        made = holders.generate(
            needs.ring, needs.elements, relinearisation=needs.relinearisation, seeded=terms.keys == "owners"
        )
        publics += [made.public, made.galois, made.relinearisation]
        secrets.append(made.secret)
    study = way.study(parcels.key_id_of(tuple(publics)))
    return Keys(
        public=parcels.write(Parcel(Kind.PUBLIC_KEY, study, (), tuple(publics))),
        secret=parcels.write(Parcel(Kind.SECRET_KEY, study, (), tuple(secrets))),
    )


@lru_cache(maxsize=4)
def open_public(terms: Terms, content: bytes) -> Public:
    """A study's public keys, measured and then loaded."""
    way = way_of(terms)
    needs = way.key_needs()
    parcel = _read(content, Kind.PUBLIC_KEY, way.study(b""), _ITEMS * len(needs))
    if parcels.key_id_of(parcel.items) != parcel.study.key_id:
        raise ParcelError("This public key does not carry its own name; it was put together from other keys.")
    opened = []
    seeds = Seeds()
    for place, need in enumerate(needs):
        public, galois, relinearisation = parcel.items[_ITEMS * place : _ITEMS * (place + 1)]
        if terms.keys == "owners":
            seeds.take_all(_seeds(need, public, galois, relinearisation))
        opened.append(
            RingKeys(
                SeededEncryptor(need.ring, public) if terms.keys == "owners" else Encryptor(need.ring, public),
                holders.galois_keys(need.ring, galois, need.elements),
                holders.relinearisation_keys(need.ring, relinearisation) if need.relinearisation else None,
            )
        )
    return Public(way, parcel.study, tuple(opened), seeds.taken)


def _seeds(need: KeyNeeds, public: bytes, galois: bytes, relinearisation: bytes) -> Iterator[bytes]:
    """The seeds of one ring's keys."""
    yield need.ring.form(seeded=True).seed(public)
    if need.elements:
        yield from need.ring.galois_form(need.elements).seeds(galois)
    if need.relinearisation:
        yield from need.ring.relinearisation_form.seeds(relinearisation)


@lru_cache(maxsize=4)
def open_secret(terms: Terms, content: bytes) -> Secret:
    """A study's secret keys, checked."""
    way = way_of(terms)
    needs = way.key_needs()
    parcel = _read(content, Kind.SECRET_KEY, way.study(b""), len(needs))
    holders = (KeyHolder(need.ring, item) for need, item in zip(needs, parcel.items))
    return Secret(way, parcel.study, tuple(holders))


def _read(content: bytes, kind: Kind, study: parcels.Study, items: int) -> Parcel:
    parcel = parcels.read(content, (kind,), study, most_items=items, most_bytes=_MOST_KEY_BYTES)
    if len(parcel.items) != items:
        named = "public" if kind is Kind.PUBLIC_KEY else "secret"
        raise ParcelError(f"This {named} key has another number of parts than it should.")
    return parcel
