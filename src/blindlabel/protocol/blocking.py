"""Likely partners for an enriched sample, without showing rows, keys or frequencies to anybody.

1. Of its blocking keys, an owner leaves out those that more than `MOST_ROWS` of its rows have: what is frequent tells
   nothing apart, and frequencies are what names are guessed from. Of each key that is left, one row chosen by chance
   stands for it.
2. Both owners hash their keys under their common secret and offer the `OFFERS_PER_RECORD` × sample keys with the
   smallest hashes: keys that both have are among the smallest on both sides. Too few are filled up with points of
   no key, so their number says nothing.
3. An offer is a blinded point (`envelope.blinding`) and a tag that only the offering owner can read. The other
   owner blinds the points once more, shuffles the list and hands it to the coordinator, which finds equal points in
   two lists and learns neither keys nor rows.
4. The coordinator answers each owner with tags: those of equal points, and as many of others. So an owner that offers
   names it has guessed learns little about which of them the other has, and `confirmed` bounds how many.
5. An owner samples the rows of its tags beside rows drawn uniformly. Rows with rare keys are over-represented in
   that part, so results are reported for both parts.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from blindlabel.language.record import Record
from blindlabel.protocol.errors import NotFitting
from blindlabel.protocol.sampling import Draw, blocking_keys, choose

MOST_ROWS = 3
"""Rows of its own table that a key may stand for, else it is left out."""
OFFERS_PER_RECORD = 20
"""Keys that an owner offers for each record of the sample."""
TAG_BYTES = 16


@dataclass(frozen=True)
class Offered:
    """One key of an owner and the row that stands for it."""

    key: bytes
    row: int


def offers(
    records: Iterable[Record],
    attributes: Sequence[str],
    secret: bytes,
    wanted: int,
    draw: Draw = secrets.randbelow,
) -> list[Offered]:
    """The rare keys of a table with the smallest hashes under the two owners' secret, smallest first, at most so
    many.
    """
    rows: list[int] = []
    hashes: list[int] = []
    for row, record in enumerate(records):
        for key in blocking_keys(record, attributes):
            hashes.append(int.from_bytes(_keyed(key, secret)[:8], "big"))
            rows.append(row)
    if not hashes:
        return []
    values, of_row = np.array(hashes, dtype=np.uint64), np.array(rows, dtype=np.int64)
    order = np.argsort(values, kind="stable")
    values, of_row = values[order], of_row[order]
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    ends = np.append(starts[1:], len(values))
    rare = np.flatnonzero(ends - starts <= MOST_ROWS)[:wanted]
    found = []
    for start, end in zip(starts[rare].tolist(), ends[rare].tolist(), strict=True):
        row = int(of_row[start + draw(end - start)])
        found.append(Offered(int(values[start]).to_bytes(8, "big"), row))
    return found


def _keyed(key: str, secret: bytes) -> bytes:
    return hashlib.blake2b(key.encode(), key=secret, digest_size=32, person=b"bl-blocking").digest()


@dataclass(frozen=True)
class Tagged:
    """A blinded point and the tag by which its owner knows it again."""

    point: bytes
    tag: bytes


@dataclass(frozen=True)
class Chosen:
    """What the coordinator answers the owners of a pairing: tags in an order of chance, and how many stand for equal
    points.
    """

    first: tuple[bytes, ...]
    second: tuple[bytes, ...]
    confirmed: int


def partners(first: Sequence[Tagged], second: Sequence[Tagged], wanted: int, draw: Draw = secrets.randbelow) -> Chosen:
    """Tags for at most `wanted` rows of each owner: half of them of points that both lists have, half of others."""
    here, there = ({one.point: one.tag for one in offered} for offered in (first, second))
    if len(here) != len(first) or len(there) != len(second):
        raise NotFitting("A blinded key stands twice in one list.")
    equal = choose(sorted(here.keys() & there.keys()), wanted // 2, draw)
    answers = []
    for offered, other in ((here, there), (there, here)):
        decoys = choose(sorted(offered.keys() - other.keys()), len(equal), draw)
        tags = [offered[point] for point in (*equal, *decoys)]
        answers.append(tuple(choose(tags, len(tags), draw)))
    return Chosen(answers[0], answers[1], len(equal))
