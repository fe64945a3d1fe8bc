"""The keys of one round: made by the owner of the records, for one asker; written, read and checked.

A public key parcel holds three items: a seeded encryption of zero, which serves as the public key, Galois keys and
relinearisation keys. A secret key parcel holds one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from blindlabel.engines.interface import KeyPair, ParcelError, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Parcel, ParcelKind, Study
from blindlabel.engines.packed.planning.room import Room, room_of
from blindlabel.engines.packed.seal import holders
from blindlabel.engines.packed.seal.forms import Seeds
from blindlabel.engines.packed.seal.holders import Encryptor, KeyHolder
from blindlabel.engines.packed.seal.ring import Ring, open_ring

_MOST_KEY_BYTES = 256 << 20


@dataclass(frozen=True, eq=False)
class Public:
    """What the asker works with."""

    room: Room
    study: Study
    encryptor: Encryptor
    galois: Any
    relinearisation: Any
    seeds: frozenset[bytes]
    """The seeds of the keys; none of them may be used again."""

    @property
    def ring(self) -> Ring:
        """The ring, opened."""
        return self.encryptor.ring


@dataclass(frozen=True, eq=False)
class Secret:
    """What the owner of the records works with."""

    room: Room
    study: Study
    holder: KeyHolder


def _elements(room: Room, ring: Ring) -> list[int]:
    return [ring.rotation(move) for move in room.steps.moves(room.layout)]


def make_keys(terms: Terms) -> KeyPair:
    """New keys."""
    room = room_of(terms)
    ring = open_ring(room.ring)
    made = holders.generate(ring, _elements(room, ring))
    public = (made.zero, made.galois, made.relinearisation)
    study = room.study(parcels.key_id_of(public))
    return KeyPair(
        public=parcels.write(Parcel(ParcelKind.PUBLIC_KEY, study, (), public)),
        secret=parcels.write(Parcel(ParcelKind.SECRET_KEY, study, (), (made.secret,))),
    )


@lru_cache(maxsize=2)
def open_public(terms: Terms, content: bytes) -> Public:
    """Public keys, measured and then loaded."""
    room = room_of(terms)
    ring = open_ring(room.ring)
    parcel = _read(content, ParcelKind.PUBLIC_KEY, room.study(b""), 3)
    if parcels.key_id_of(parcel.items) != parcel.study.key_id:
        raise ParcelError("This public key does not carry its own name; it was put together from other keys.")
    zero, galois, relinearisation = parcel.items
    elements = _elements(room, ring)
    seeds = Seeds()
    seeds.take_all(_seeds(ring, elements, parcel.items))
    return Public(
        room,
        parcel.study,
        Encryptor(ring, zero),
        holders.galois_keys(ring, galois, elements),
        holders.relinearisation_keys(ring, relinearisation),
        seeds.taken,
    )


def _seeds(ring: Ring, elements: list[int], items: tuple[bytes, ...]) -> Iterator[bytes]:
    zero, galois, relinearisation = items
    yield ring.form(seeded=True).seed(zero)
    yield from ring.galois_form(elements).seeds(galois)
    yield from ring.relinearisation_form.seeds(relinearisation)


def open_secret(terms: Terms, content: bytes) -> Secret:
    """Secret keys, checked. Only the caller keeps them."""
    room = room_of(terms)
    parcel = _read(content, ParcelKind.SECRET_KEY, room.study(b""), 1)
    return Secret(room, parcel.study, KeyHolder(open_ring(room.ring), parcel.items[0]))


def _read(content: bytes, kind: ParcelKind, study: Study, items: int) -> Parcel:
    parcel = parcels.read(content, kind, study, most_items=items, most_bytes=_MOST_KEY_BYTES)
    if len(parcel.items) != items:
        named = "public" if kind is ParcelKind.PUBLIC_KEY else "secret"
        raise ParcelError(f"This {named} key has another number of parts than it should.")
    return parcel
