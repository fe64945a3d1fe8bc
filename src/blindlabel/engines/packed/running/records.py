"""An owner's records become parcels. A parcel carries some of a batch's ciphertexts; its numbers say which batch, which
part, how many records.

Numbers of a records parcel: batch, batches, part, parts, records in the batch, records in all. Each batch is followed
by one parcel of shares for every group of questions: batch, group, questions, records in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from blindlabel.engines.interface import ParcelError
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Parcel, ParcelKind
from blindlabel.engines.packed.planning.noise import MIXED
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.running import linear, opening
from blindlabel.engines.packed.running.keys import Public, Secret
from blindlabel.engines.packed.seal.forms import Seeds


def encrypt_batch(key: Secret, features: Residues, batch: int, total: int) -> Iterator[bytes]:
    """The parcels of one batch of feature vectors."""
    layout, ring = key.room.layout, key.holder.ring
    plains = (ring.slots(values) for values in linear.record_slots(layout, key.room.steps, features))
    for part in range(layout.parcels):
        count = min(layout.parcel_ciphers, layout.chunks - part * layout.parcel_ciphers)
        items = tuple(key.holder.encrypt(next(plains)) for _ in range(count))
        numbers = (batch, layout.batches(total), part, layout.parcels, features.shape[0], total)
        yield parcels.write(Parcel(ParcelKind.RECORDS, key.study, numbers, items))


def share_parcels(key: Secret, batch: int, questions: int, total: int) -> Iterator[bytes]:
    """The key holder's share of the randomness for a batch's answers to this many questions."""
    for group in range(key.room.group_count(questions)):
        items = tuple(opening.shares(key.holder, key.room.values))
        yield parcels.write(Parcel(ParcelKind.SHARES, key.study, (batch, group, questions, total), items))


@dataclass(frozen=True)
class Batch:
    """One batch as it arrived: its ciphertexts still as bytes."""

    index: int
    batches: int
    records: int
    total: int
    items: Sequence[bytes]
    shares: Sequence[bytes] = ()
    """The key holder's randomness, group after group."""
    words: Path | None = None
    """Where its ciphertexts lie rotated, for processes of one machine."""


def read_batches(public: Public, contents: Iterable[bytes], questions: int) -> Iterator[Batch]:
    """The batches of a stream of parcels, in order; only one is held at a time."""
    layout, form = public.room.layout, public.ring.form(seeded=True)
    stream = iter(contents)
    seeds = Seeds(public.seeds)
    batch = batches = total = 0
    while batch <= batches - 1 or not batches:
        items: list[bytes] = []
        for part in range(layout.parcels):
            parcel = _next(stream, public, ParcelKind.RECORDS, layout.parcel_ciphers, form.length)
            if parcel.numbers[0] != batch or parcel.numbers[2] != part:
                raise _disorder()
            total = total or parcel.numbers[5]
            _check_shape(public, parcel, batch, part, total)
            items += parcel.items
        batches = layout.batches(total)
        shares = _read_shares(stream, public, batch, questions, total)
        seeds.take_all(form.seed(item) for item in (*items, *shares))
        size = min(layout.block, total - batch * layout.block)
        whole = [Batch(batch, batches, size, total, tuple(items), tuple(shares))]
        del items, shares, parcel
        yield whole.pop()  # large: from here on only the caller holds it
        batch += 1
    if next(stream, None) is not None:
        raise _disorder()


def _next(stream: Iterator[bytes], public: Public, kind: ParcelKind, most_items: int, length: int) -> Parcel:
    content = next(stream, None)
    if content is None:
        raise ParcelError("Parcels of records are missing at the end.")
    parcel = parcels.read(content, kind, public.study, most_items=most_items, most_bytes=length)
    if any(len(item) != length for item in parcel.items):  # found now, not after hours of work on the others
        raise _another_shape()
    return parcel


def _check_shape(public: Public, parcel: Parcel, batch: int, part: int, total: int) -> None:
    layout = public.room.layout
    count = min(layout.parcel_ciphers, layout.chunks - part * layout.parcel_ciphers)
    size = min(layout.block, total - batch * layout.block)
    wanted = (batch, layout.batches(total), part, layout.parcels, size, total)
    if not 1 <= total <= public.room.terms.records or parcel.numbers[:6] != wanted or len(parcel.items) != count:
        raise _another_shape()


def _read_shares(stream: Iterator[bytes], public: Public, batch: int, questions: int, total: int) -> list[bytes]:
    count = public.room.values
    length = public.ring.form(MIXED, seeded=True).length
    found: list[bytes] = []
    for group in range(public.room.group_count(questions)):
        parcel = _next(stream, public, ParcelKind.SHARES, count, length)
        if parcel.numbers[:4] != (batch, group, questions, total) or len(parcel.items) != count:
            raise ParcelError("The randomness that came with these records is for other questions. Have it made anew.")
        found += parcel.items
    return found


def _another_shape() -> ParcelError:
    return ParcelError("A parcel of records has another shape than the agreement implies.")


def _disorder() -> ParcelError:
    return ParcelError(
        "The parcels of records are not complete or not in order: send them again, in the order they were made."
    )
