"""Both ends of an assist call. One request carries one ciphertext; the reply carries fresh ciphertexts of functions of
what was in it.

- *digits*: a padded ciphertext of the records' ring; the reply holds the bits of every coefficient, in the slots of the
  ring for bits;
- *powers*: a padded ciphertext of the ring for bits; the reply holds the powers 1 … degree of every slot.

What the coordinator decrypts here is uniform, because the owner has added a one-time pad over all coefficients or
slots. Number, kind, size and order of the calls follow from the terms and from how many records and questions there
are; never from what the questions say.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from blindlabel.engines.assisting import AssistCall, AssistPlace
from blindlabel.engines.interface import Assist, ParcelError
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.seal import residues
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Ring
from blindlabel.engines.packed.ways.assisted import polynomials
from blindlabel.engines.packed.ways.assisted.plans import Room
from blindlabel.engines.packed.ways.assisted.question_layout import QuestionLayout
from blindlabel.engines.packed.ways.interface import AnyWay, Public, Secret

_PLACE = struct.Struct("<3I")


def difference_bits(ring: Ring) -> int:
    """Bits in which two values of the records' field can differ."""
    return (ring.modulus - 1).bit_length()


# -- what both ends know


def described(way: AnyWay, kind: Kind, number: int) -> AssistCall:
    """A call of this kind, with its sizes."""
    ring, bits = way.ring, way.answer_ring
    request = ring if kind is Kind.DIGITS_REQUEST else bits
    count = difference_bits(ring) if kind is Kind.DIGITS_REQUEST else number
    return AssistCall(
        kind.name,
        number,
        request=parcels.length(1, request.form(1).length),
        reply=parcels.length(count, bits.form(seeded=True).length),
    )


def announced(way: AnyWay, request: bytes) -> tuple[AssistPlace, AssistCall]:
    """Where a request says that it belongs, and what it is."""
    most = max(way.ring.form(1).length, way.answer_ring.form(1).length)
    kinds = (Kind.DIGITS_REQUEST, Kind.POWERS_REQUEST)
    parcel = parcels.read(request, kinds, way.study(b""), most_items=1, most_bytes=most)
    number, strand, step = parcel.numbers[:3]
    call = described(way, parcel.kind, number)
    return AssistPlace(strand, step), replace(call, request=len(request))


# -- the coordinator's end


def serve(secret: Secret, room: Room, request: bytes) -> bytes:
    """Answer one request."""
    most = max(secret.way.ring.form(1).length, secret.way.answer_ring.form(1).length)
    kinds = (Kind.DIGITS_REQUEST, Kind.POWERS_REQUEST)
    parcel = parcels.read(request, kinds, secret.study, most_items=1, most_bytes=most)
    values = _digits(secret, parcel) if parcel.kind is Kind.DIGITS_REQUEST else _powers(secret, room, parcel)
    items = tuple(secret.answers.encrypt(secret.answers.ring.slots(row)) for row in values)
    return parcels.write(Parcel(Kind.ASSIST_REPLY, secret.study, parcel.numbers, items))


def _digits(secret: Secret, parcel: Parcel) -> Residues:
    ring, layout, copies = secret.records.ring, secret.way.layout, parcel.numbers[0]
    if copies < 1 or copies & (copies - 1) or copies > layout.stride:
        raise ParcelError("This assist request asks for a layout that the agreement does not have.")
    cipher = ring.load_cipher(parcel.items[0], 1)
    coefficients = ring.read_polynomial(secret.records.decrypt(cipher))
    slots = np.empty_like(coefficients)
    slots[QuestionLayout(layout.degree, layout.block, copies).slot_of_coefficient()] = coefficients
    return polynomials.bits(slots, difference_bits(ring))


def _powers(secret: Secret, room: Room, parcel: Parcel) -> Residues:
    ring, degree = secret.answers.ring, parcel.numbers[0]
    if degree not in (difference_bits(secret.records.ring), room.inner_weight, room.final_weight):
        raise ParcelError("This assist request asks for a degree that the agreement does not have.")
    cipher = ring.load_cipher(parcel.items[0], 1)
    return polynomials.all_powers(ring.read_slots(secret.answers.decrypt(cipher)), degree)


# -- the owner's end


class Calls:
    """The calls of one part of a group (a unit, or what joins them), one after the other. Whoever carries them is told
    their places, so that a part that is begun again has the same pads, and the replies that came before
    (`running/kept_calls`).
    """

    def __init__(self, assist: Assist, group: int, part: int, strand: int = 0) -> None:
        self._assist, self._part, self._number = assist, (group, part), 0
        self._strand = strand

    @property
    def announced(self) -> tuple[int, int]:
        """Strand and step of the next call in the evaluation's schedule."""
        return self._strand, self._number

    def pad(self, count: int, modulus: int) -> Residues:
        """The pad of the next call."""
        return residues.from_seed(count, modulus, self._assist(self._place()))

    def __call__(self, request: bytes) -> bytes:
        """Make the next call, whose pad was asked for before."""
        place = self._place()
        self._number += 1
        return self._assist(place + request)

    def _place(self) -> bytes:
        return _PLACE.pack(*self._part, self._number)


def ask(public: Public, calls: Calls, kind: Kind, cipher: Cipher, *, number: int, expected: int) -> Iterator[Cipher]:
    """Send a sanitised ciphertext and bring back the reply's ciphertexts one by one, in NTT form."""
    ring = public.way.answer_ring
    sender = public.way.ring if kind is Kind.DIGITS_REQUEST else ring
    numbers = (number, *calls.announced)
    request = parcels.write(Parcel(kind, public.study, numbers, (sender.sent(cipher),)))
    limit = ring.form(seeded=True).length
    reply = parcels.read(calls(request), (Kind.ASSIST_REPLY,), public.study, most_items=expected, most_bytes=limit)
    if reply.numbers[:3] != numbers or len(reply.items) != expected:
        raise ParcelError("The assist answered something else than was asked.")
    return (ring.to_ntt(ring.load_seeded(item)) for item in reply.items)
