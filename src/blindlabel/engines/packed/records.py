"""An owner's records become parcels. A parcel carries some of a batch's ciphertexts; its numbers say which batch, which
part, how many records.

Numbers of a records parcel: batch, batches, part, parts, records in the batch, records in all. Where owners hold the
keys, each batch is followed by one parcel of shares for every group of questions: batch, group, questions, records in
all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from blindlabel.engines.interface import ParcelError
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.opening import joint
from blindlabel.engines.packed.seal.forms import Seeds
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Plain
from blindlabel.engines.packed.ways.interface import Public, Secret

Key = Public | Secret
"""Records are encrypted with the coordinator's public key, or with the secret key of whoever owns them."""


def encrypt_batch(key: Key, features: Residues, batch: int, total: int) -> Iterator[bytes]:
    """The parcels of one batch of feature vectors."""
    plains = key.way.plaintexts(features)
    for part in range(key.way.layout.parcels):
        yield _encrypt(key, plains, features.shape[0], (batch, part, total))


def encrypt_part(key: Key, features: Residues, batch: int, part: int, total: int) -> bytes:
    """One parcel of a batch, on its own."""
    plains = islice(key.way.plaintexts(features), part * key.way.layout.parcel_ciphers, None)
    return _encrypt(key, plains, features.shape[0], (batch, part, total))


def _encrypt(key: Key, plains: Iterator[Plain], records: int, place: tuple[int, int, int]) -> bytes:
    """The next parcel of plaintexts."""
    batch, part, total = place
    layout = key.way.layout
    count = min(layout.parcel_ciphers, layout.chunks - part * layout.parcel_ciphers)
    if isinstance(key, Secret):
        items = tuple(key.records.encrypt(next(plains)) for _ in range(count))
    else:
        items = tuple(key.way.ring.sent(key.records.encryptor.encrypt(next(plains))) for _ in range(count))
    numbers = (batch, layout.batches(total), part, layout.parcels, records, total)
    return parcels.write(Parcel(Kind.RECORDS, key.study, numbers, items))


def share_parcels(key: Secret, batch: int, questions: int, total: int) -> Iterator[bytes]:
    """The key holder's share of the randomness for a batch's answers to so many questions."""
    for group in range(key.way.group_count(questions)):
        items = tuple(joint.shares(key.answers, joint.share_count(key.way.values)))
        yield parcels.write(Parcel(Kind.SHARES, key.study, (batch, group, questions, total), items))


@dataclass(frozen=True)
class Batch:
    """One batch as it arrived: its ciphertexts still as bytes."""

    index: int
    batches: int
    records: int
    total: int
    items: Sequence[bytes]
    shares: Sequence[bytes] = ()
    """The key holder's randomness, group after group, where an owner holds the key."""


def read_batches(public: Public, contents: Iterable[bytes], questions: int) -> Iterator[Batch]:
    """The batches of a stream of parcels, in order; only one is held at a time."""
    layout = public.way.layout
    stream = iter(contents)
    seeds = Seeds(public.seeds)
    batch = batches = total = 0
    while batch <= batches - 1 or not batches:
        items: list[bytes] = []
        for part in range(layout.parcels):
            parcel = _next(stream, public, Kind.RECORDS, layout.parcel_ciphers, public.way.record_form.length)
            if parcel.numbers[0] != batch or parcel.numbers[2] != part:
                raise _disorder()
            total = total or parcel.numbers[5]
            _check_shape(public, parcel, batch, part, total)
            items += parcel.items
        batches = layout.batches(total)
        shares = _read_shares(stream, public, batch, questions, total) if public.way.terms.keys == "owners" else []
        if public.way.terms.keys == "owners":
            form = public.way.record_form
            seeds.take_all(form.seed(item) for item in (*items, *shares))
        size = min(layout.block, total - batch * layout.block)
        whole = [Batch(batch, batches, size, total, tuple(items), tuple(shares))]
        del items, shares, parcel
        yield whole.pop()  # large: from here on only the caller holds it
        batch += 1
    if next(stream, None) is not None:
        raise _disorder()


def _next(stream: Iterator[bytes], public: Public, kind: Kind, most_items: int, length: int) -> Parcel:
    content = next(stream, None)
    if content is None:
        raise ParcelError("Parcels of records are missing at the end.")
    return parcels.read(content, (kind,), public.study, most_items=most_items, most_bytes=length)


def _check_shape(public: Public, parcel: Parcel, batch: int, part: int, total: int) -> None:
    layout = public.way.layout
    count = min(layout.parcel_ciphers, layout.chunks - part * layout.parcel_ciphers)
    size = min(layout.block, total - batch * layout.block)
    wanted = (batch, layout.batches(total), part, layout.parcels, size, total)
    if not 1 <= total <= public.way.terms.records or parcel.numbers[:6] != wanted or len(parcel.items) != count:
        raise ParcelError("A parcel of records has another shape than the agreement implies.")


def _read_shares(stream: Iterator[bytes], public: Public, batch: int, questions: int, total: int) -> list[bytes]:
    way = public.way
    count = joint.share_count(way.values)
    length = way.answer_ring.form(joint.LEVEL, seeded=True).length
    found: list[bytes] = []
    for group in range(way.group_count(questions)):
        parcel = _next(stream, public, Kind.SHARES, count, length)
        if parcel.numbers[:4] != (batch, group, questions, total) or len(parcel.items) != count:
            raise ParcelError("The randomness that came with these records is for other questions. Have it made anew.")
        found += parcel.items
    return found


def _disorder() -> ParcelError:
    return ParcelError(
        "The parcels of records are not complete or not in order: send them again, in the order they were made."
    )
