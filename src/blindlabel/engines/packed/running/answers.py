"""The key holder reads the answers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from blindlabel.engines.interface import ParcelError
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind
from blindlabel.engines.packed.running.tiles import group_count
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.ways.interface import Outcomes, Secret


def read_outcomes(secret: Secret, contents: Iterable[bytes], questions: int, records: int) -> Outcomes:
    """The outcomes as a matrix. Every pair must be there exactly once."""
    way = secret.way
    size, block = way.group_size(questions), way.layout.block
    limit = way.answer_ring.form(1).length
    wanted = {(b, g) for b in range(way.layout.batches(records)) for g in range(group_count(way, questions))}
    found: Outcomes = np.zeros((questions, records), dtype=np.uint8)
    for content in contents:
        parcel = parcels.read(content, (Kind.ANSWERS,), secret.study, most_items=way.values, most_bytes=limit)
        batch, group, asked, total = parcel.numbers[:4]
        if (asked, total) != (questions, records) or len(parcel.items) != way.values:
            raise ParcelError("These answers have another shape than was asked for.")
        if (batch, group) not in wanted:
            raise ParcelError("These answers came twice, or belong to other questions or records.")
        wanted.discard((batch, group))
        place = found[group * size : (group + 1) * size, batch * block : (batch + 1) * block]
        values = [_values(secret, item, questions)[: place.shape[0], : place.shape[1]] for item in parcel.items]
        place[...] = way.outcomes(values)
    if wanted:
        raise ParcelError("Answers are missing.")
    return found


def _values(secret: Secret, item: bytes, questions: int) -> Residues:
    holder = secret.answers
    slots = holder.ring.read_slots(holder.decrypt(holder.ring.load_cipher(item, 1)))
    return secret.way.pairs(slots, questions)
