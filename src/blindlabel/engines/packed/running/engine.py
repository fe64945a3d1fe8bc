"""The packed engine through the interface of all engines. Every way into `seal` and `running` goes through here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from blindlabel.engines.allowed import check_records
from blindlabel.engines.interface import (
    IN_THIS_PROCESS,
    Evaluated,
    KeyPair,
    ParcelError,
    QuestionError,
    Terms,
    Values,
    Working,
)
from blindlabel.engines.packed.encoding import parcels as forms
from blindlabel.engines.packed.encoding.features import check_sharing
from blindlabel.engines.packed.encoding.parcels import ParcelKind, Study
from blindlabel.engines.packed.planning.noise import PADDED
from blindlabel.engines.packed.planning.room import Room, room_of
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.rules import PackedRules
from blindlabel.engines.packed.running import keys, workers
from blindlabel.engines.packed.running.finished import FinishedAnswers
from blindlabel.engines.packed.running.records import encrypt_batch, share_parcels
from blindlabel.language.formula import Formula
from blindlabel.language.record import Record

_PAD_BYTES = 4
"""Bytes of a slot's pad."""


class PackedEngine(PackedRules):
    """Answers all questions of a round over all encrypted records in one pass."""

    def make_keys(self, terms: Terms) -> KeyPair:
        """New keys, for one asker and one round."""
        return keys.make_keys(terms)

    def encrypt(
        self, terms: Terms, secret: bytes, records: Sequence[Record], questions: int, working: Working = IN_THIS_PROCESS
    ) -> Iterator[bytes]:
        """The records as parcels, and randomness for the answers to this many questions; nothing is encrypted where a
        record does not fit.
        """
        opened = keys.open_secret(terms, secret)
        check_records(terms, records)
        check_sharing(terms, records)
        block = opened.room.layout.block
        for batch in range(opened.room.layout.batches(len(records))):
            made = workers.features(terms, records[batch * block : (batch + 1) * block], working)
            yield from encrypt_batch(opened, made, batch, len(records))
            yield from share_parcels(opened, batch, questions, len(records))
            working.tell("encrypt", min(1.0, (batch + 1) * block / len(records)))

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        """All questions over all records: parcels of encrypted answers, ready to leave, with their pads. What the
        journal already has is not made again.
        """
        for number, question in enumerate(questions, start=1):
            reason = self.refuse(terms, question)
            if reason is not None:
                raise QuestionError(f"Question {number}: {reason}")
        opened = keys.open_public(terms, public)
        kept = FinishedAnswers(working.journal, terms, opened.study, questions) if working.journal is not None else None
        return workers.evaluate(opened, workers.Asked(terms, (public,), tuple(questions)), parcels, working, kept)

    def open(self, terms: Terms, secret: bytes, parcels: Iterable[bytes], questions: int, records: int) -> Values:
        """The values of all pairs, each with its pad added."""
        opened = keys.open_secret(terms, secret)
        ring = opened.holder.ring

        def slots(item: bytes) -> Residues:
            return ring.read_slots(opened.holder.decrypt(ring.load_cipher(item, PADDED)))

        kind, length = ParcelKind.ANSWERS, ring.form(PADDED).length
        return _collected(opened.room, (opened.study, kind, length), parcels, (questions, records), slots)

    def pad_values(self, terms: Terms, pads: Iterable[bytes], questions: int, records: int) -> Values:
        """The pads of all pairs, in the form of what was opened."""
        room = room_of(terms)
        length = _PAD_BYTES * room.ring.degree

        def slots(item: bytes) -> Residues:
            if len(item) != length:
                raise ParcelError("These pads are damaged.")
            return np.frombuffer(item, dtype="<u4").astype(np.uint64)

        return _collected(room, (room.study(b""), ParcelKind.PADS, length), pads, (questions, records), slots)


def _collected(
    room: Room,
    due: tuple[Study, ParcelKind, int],
    contents: Iterable[bytes],
    shape: tuple[int, int],
    slots_of: Callable[[bytes], Residues],
) -> Values:
    """The slots of all parcels, of which study, kind and size are known, put in their places. Every pair must be there
    exactly once.
    """
    (study, kind, length), (questions, records) = due, shape
    size, block, columns = room.group_size(questions), room.layout.block, room.columns(questions)
    wanted = {(b, g) for b in range(room.layout.batches(records)) for g in range(room.group_count(questions))}
    found: Values = np.zeros((room.values, questions, records), dtype=np.uint64)
    for content in contents:
        parcel = forms.read(content, kind, study, most_items=room.values, most_bytes=length)
        batch, group, asked, total = parcel.numbers[:4]
        if (asked, total) != shape or len(parcel.items) != room.values:
            raise ParcelError("These answers have another shape than was asked for.")
        if (batch, group) not in wanted:
            raise ParcelError("These answers came twice, or belong to other questions or records.")
        wanted.discard((batch, group))
        place = found[:, group * size : (group + 1) * size, batch * block : (batch + 1) * block]
        for value, item in zip(place, parcel.items):
            value[...] = columns.pairs(slots_of(item))[: value.shape[0], : value.shape[1]]
    if wanted:
        raise ParcelError("Answers are missing.")
    return found
