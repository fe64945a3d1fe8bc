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

from collections.abc import Iterator

import numpy as np

from blindlabel.engines.interface import Assist, ParcelError, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.layout import QuestionLayout
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.keys import Public, Secret, open_secret
from blindlabel.engines.packed.planning import parameters
from blindlabel.engines.packed.planning.setting import Setting
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher
from blindlabel.engines.packed.ways.assisted import polynomials


def difference_bits(setting: Setting) -> int:
    """Bits in which two values of the records' field can differ."""
    return (setting.ring.modulus - 1).bit_length()


def degrees(setting: Setting) -> tuple[int, ...]:
    """The degrees that a request for powers may ask for."""
    terms = setting.terms
    return (difference_bits(setting), parameters.inner_weight(terms), parameters.final_weight(terms))


# -- the coordinator's end


def serve(terms: Terms, secret: bytes, request: bytes) -> bytes:
    """Answer one request."""
    opened = open_secret(terms, secret)
    setting = opened.setting
    if setting.chosen.bits is None:
        raise ParcelError("This agreement allows neither counting nor negation, so the assist is never called.")
    most = max(setting.ring.form(1).length, setting.bit_ring.form(1).length)
    kinds = (Kind.DIGITS_REQUEST, Kind.POWERS_REQUEST)
    parcel = parcels.read(request, kinds, opened.study, most_items=1, most_bytes=most)
    values = _digits(opened, parcel) if parcel.kind is Kind.DIGITS_REQUEST else _powers(opened, parcel)
    holder, ring = opened.bit_holder, setting.bit_ring
    assert holder is not None
    items = tuple(holder.encrypt(ring.slots(row)) for row in values)
    return parcels.write(Parcel(Kind.ASSIST_REPLY, opened.study, parcel.numbers, items))


def _digits(opened: Secret, parcel: Parcel) -> Residues:
    setting = opened.setting
    copies = parcel.numbers[0]
    if copies < 1 or copies & (copies - 1) or copies > setting.layout.stride:
        raise ParcelError("This assist request asks for a layout that the agreement does not have.")
    cipher = setting.ring.load_cipher(parcel.items[0], 1)
    coefficients = setting.ring.read_polynomial(opened.holder.decrypt(cipher))
    slots = np.empty_like(coefficients)
    slots[QuestionLayout(setting.layout.degree, setting.layout.block, copies).slot_of_coefficient()] = coefficients
    return polynomials.bits(slots, difference_bits(setting))


def _powers(opened: Secret, parcel: Parcel) -> Residues:
    setting = opened.setting
    if parcel.numbers[0] not in degrees(setting):
        raise ParcelError("This assist request asks for a degree that the agreement does not have.")
    assert opened.bit_holder is not None
    cipher = setting.bit_ring.load_cipher(parcel.items[0], 1)
    values = setting.bit_ring.read_slots(opened.bit_holder.decrypt(cipher))
    return polynomials.all_powers(values, parcel.numbers[0])


# -- the owner's end


def ask(public: Public, assist: Assist, kind: Kind, cipher: Cipher, *, number: int, expected: int) -> Iterator[Cipher]:
    """Send a sanitised ciphertext and bring back the reply's ciphertexts one by one, in NTT form."""
    ring = public.setting.bit_ring
    sender = public.setting.ring if kind is Kind.DIGITS_REQUEST else ring
    request = parcels.write(Parcel(kind, public.study, (number,), (sender.sent(cipher),)))
    limit = ring.form(seeded=True).length
    reply = parcels.read(assist(request), (Kind.ASSIST_REPLY,), public.study, most_items=expected, most_bytes=limit)
    if reply.numbers[0] != number or len(reply.items) != expected:
        raise ParcelError("The assist answered something else than was asked.")
    return (ring.to_ntt(ring.load_seeded(item)) for item in reply.items)
