"""An owner's records become parcels. A parcel carries some of a batch's ciphertexts; its numbers say which batch, which
part, how many records.

Numbers of a records parcel: batch, batches, part, parts, records in the batch, records in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from blindlabel.engines.interface import ParcelError
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Plain
from blindlabel.engines.packed.ways.interface import Public


def encrypt_batch(public: Public, features: Residues, batch: int, total: int) -> Iterator[bytes]:
    """The parcels of one batch of feature vectors."""
    plains = public.way.plaintexts(features)
    for part in range(public.way.layout.parcels):
        yield _encrypt(public, plains, features.shape[0], (batch, part, total))


def encrypt_part(public: Public, features: Residues, batch: int, part: int, total: int) -> bytes:
    """One parcel of a batch, on its own."""
    plains = islice(public.way.plaintexts(features), part * public.way.layout.parcel_ciphers, None)
    return _encrypt(public, plains, features.shape[0], (batch, part, total))


def _encrypt(public: Public, plains: Iterator[Plain], records: int, place: tuple[int, int, int]) -> bytes:
    """The next parcel of plaintexts."""
    batch, part, total = place
    layout = public.way.layout
    count = min(layout.parcel_ciphers, layout.chunks - part * layout.parcel_ciphers)
    items = tuple(public.way.ring.sent(public.records.encryptor.encrypt(next(plains))) for _ in range(count))
    numbers = (batch, layout.batches(total), part, layout.parcels, records, total)
    return parcels.write(Parcel(Kind.RECORDS, public.study, numbers, items))


@dataclass(frozen=True)
class Batch:
    """One batch as it arrived: its ciphertexts still as bytes."""

    index: int
    batches: int
    records: int
    total: int
    items: Sequence[bytes]


def read_batches(public: Public, contents: Iterable[bytes]) -> Iterator[Batch]:
    """The batches of a stream of parcels, in order; only one is held at a time."""
    layout = public.way.layout
    limit = public.way.ring.form().length
    items: list[bytes] = []
    expected, total = (0, 0), 0
    finished = False
    for content in contents:
        parcel = parcels.read(
            content, (Kind.RECORDS,), public.study, most_items=layout.parcel_ciphers, most_bytes=limit
        )
        batch, batches, part, parts, records, in_all = parcel.numbers[:6]
        if finished or (batch, part) != expected:
            raise ParcelError(
                "The parcels of records are not complete or not in order: send them again, in the order they were made."
            )
        if expected == (0, 0):
            total = in_all
        size = min(layout.block, total - batch * layout.block)
        count = min(layout.parcel_ciphers, layout.chunks - part * layout.parcel_ciphers)
        if not (
            1 <= total <= public.way.terms.records
            and in_all == total
            and batches == layout.batches(total)
            and parts == layout.parcels
            and records == size
            and len(parcel.items) == count
        ):
            raise ParcelError("A parcel of records has another shape than the agreement implies.")
        items += parcel.items
        expected = (batch, part + 1)
        if part + 1 == parts:
            whole = [Batch(batch, batches, records, total, tuple(items))]
            items = []
            yield whole.pop()  # large: from here on only the caller holds it
            expected = (batch + 1, 0)
            finished = batch + 1 == batches
    if not finished:
        raise ParcelError("Parcels of records are missing at the end.")
