"""What was answered, as values [value, question, record]: opened by the key holder, and the pads that the asker
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from blindlabel.engines.interface import ParcelError, Values
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Study
from blindlabel.engines.packed.opening import padding
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.ways.interface import AnyWay, Secret

_PAD_BYTES = 4
"""Of a slot's pad."""


def open_answers(secret: Secret, contents: Iterable[bytes], questions: int, records: int) -> Values:
    """What the key holder opens."""
    holder = secret.answers
    level = padding.LEVEL if secret.way.terms.keys == "owners" else 1

    def opened(item: bytes) -> Residues:
        return holder.ring.read_slots(holder.decrypt(holder.ring.load_cipher(item, level)))

    length = holder.ring.form(level).length
    return _collected(secret.way, secret.study, Kind.ANSWERS, length, contents, (questions, records), opened)


def pad_values(way: AnyWay, study: Study, contents: Iterable[bytes], questions: int, records: int) -> Values:
    """The pads that the asker kept; zero where the coordinator holds the key."""
    if way.terms.keys != "owners":
        return np.zeros((way.values, questions, records), dtype=np.uint64)

    def read(item: bytes) -> Residues:
        if len(item) != length:
            raise ParcelError("These pads are damaged.")
        return np.frombuffer(item, dtype="<u4").astype(np.uint64)

    length = _PAD_BYTES * way.answer_ring.degree
    return _collected(way, study, Kind.PADS, length, contents, (questions, records), read)


def _collected(
    way: AnyWay,
    study: Study,
    kind: Kind,
    length: int,
    contents: Iterable[bytes],
    shape: tuple[int, int],
    slots_of: Callable[[bytes], Residues],
) -> Values:
    """The slots of all parcels put in their places. Every pair must be there exactly once."""
    questions, records = shape
    size, block = way.group_size(questions), way.layout.block
    wanted = {(b, g) for b in range(way.layout.batches(records)) for g in range(way.group_count(questions))}
    found: Values = np.zeros((way.values, questions, records), dtype=np.uint64)
    for content in contents:
        parcel = parcels.read(content, (kind,), study, most_items=way.values, most_bytes=length)
        batch, group, asked, total = parcel.numbers[:4]
        if (asked, total) != (questions, records) or len(parcel.items) != way.values:
            raise ParcelError("These answers have another shape than was asked for.")
        if (batch, group) not in wanted:
            raise ParcelError("These answers came twice, or belong to other questions or records.")
        wanted.discard((batch, group))
        place = found[:, group * size : (group + 1) * size, batch * block : (batch + 1) * block]
        for value, item in zip(place, parcel.items):
            value[...] = way.pairs(slots_of(item), questions)[: value.shape[0], : value.shape[1]]
    if wanted:
        raise ParcelError("Answers are missing.")
    return found
