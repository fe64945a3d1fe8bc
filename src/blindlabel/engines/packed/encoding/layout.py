"""Where records are: in batches, with their features in ciphertexts. Pure arithmetic, all public.

A batch holds up to `block` records, a power of two. The ring's coefficients (or slots) are cut into `block`
stretches of `stride` = degree / block, whose first places, the `margin`, may stay empty. Every ciphertext of a batch
holds as many features of each record as there are places left; `chunks` ciphertexts hold them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blindlabel.engines.packed.encoding.features import Tables
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.rings import RingParameters

_PARCEL_BYTES = 8 << 20
"""About how many bytes of a batch one parcel of records carries."""
_LEAST_BLOCK = 8
"""Fewer records in a batch would leave most of a ciphertext empty, and let packing double the noise too often."""
_MOST_FEATURES = 1 << 23
"""Records times features that are held in memory at once; 48 to 112 bytes each."""


def block_of(records: int, features: int, most: int) -> int:
    """Records evaluated together, a power of two: all of them if they fit in memory, and no more than a way can use."""
    wanted = 1 << max(0, records - 1).bit_length()
    room = 1 << max(0, (_MOST_FEATURES // max(features, 1)).bit_length() - 1)
    return max(_LEAST_BLOCK, min(wanted, room, most))


@dataclass(frozen=True)
class RecordLayout:
    """How a batch of records is laid out in ciphertexts."""

    degree: int
    block: int
    features: int
    parcel_ciphers: int
    margin: int = 0
    """The first slots of a record that hold no feature."""

    @classmethod
    def of(cls, tables: Tables, ring: RingParameters, block: int) -> RecordLayout:
        """The layout of batches of this many records, without a margin."""
        return cls(ring.degree, block, tables.features, max(1, _PARCEL_BYTES // (16 * ring.degree * ring.data_primes)))

    @property
    def stride(self) -> int:
        """Slots of one record in a ciphertext; columns of a packed ciphertext."""
        return self.degree // self.block

    @property
    def held(self) -> int:
        """Features of one record in a ciphertext."""
        return self.stride - self.margin

    @property
    def chunks(self) -> int:
        """Ciphertexts of a batch."""
        return max(1, -(-self.features // self.held))

    @property
    def parcels(self) -> int:
        """Parcels of a batch."""
        return -(-self.chunks // self.parcel_ciphers)

    def batches(self, records: int) -> int:
        """Batches of this many records."""
        return -(-records // self.block)

    def in_chunks(self, values: Residues) -> Residues:
        """values[…, feature] as […, chunk, place in a record's slots]."""
        every = self.chunks * self.held
        padded = np.zeros((*values.shape[:-1], every), dtype=np.uint64)
        padded[..., : values.shape[-1]] = values
        chunks = padded.reshape(*values.shape[:-1], self.chunks, self.held)
        return np.pad(chunks, [(0, 0)] * (chunks.ndim - 1) + [(self.margin, 0)])

    def in_slots(self, values: Residues) -> Residues:
        """values[record, column] as slots: what belongs to one record stands side by side."""
        return values.reshape(self.degree)

    def from_slots(self, slots: Residues) -> Residues:
        """The inverse: [record, column]."""
        return slots.reshape(self.block, self.stride)
