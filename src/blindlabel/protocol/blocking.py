"""Finds likely partners for an enriched sample, without showing rows, keys or frequencies to anybody.

1. An owner leaves out those of its blocking keys that more than `MOST_ROWS` of its rows have: frequent keys tell
   nothing apart, and names can be guessed from frequencies. For each other key, one row chosen at random stands for it.
2. Both owners hash their keys under their common secret and offer the keys with the smallest hashes: keys that both
   have are among the smallest on both sides. There are `OFFERS_PER_RECORD` offers for each record of the sample. Keys
   that nobody has make up for missing ones, each standing for a random row, so the number of keys says nothing.
3. An offer is a point blinded by its owner's secret number (`envelope.blinding`). Offers go to the other owner, sealed,
   in the order of the points. The other owner blinds them with its own number, puts them into the new order, and hands
   them to the coordinator, which finds equal points in the two lists of a pairing and learns neither keys nor rows.
4. The coordinator chooses places in both lists: of equal points, and as many of others (decoys). It names them to the
   owner that blinded the list, who finds them in the offers and passes their places on. So an owner does not know which
   of its chosen rows have a partner; the coordinator does not know which rows they are; and an owner and the
   coordinator who pool what an honest study left them cannot look any other key up, since each order is known to the
   *other* owner alone.
5. An owner samples the rows of its chosen offers beside rows that the coordinator drew uniformly. Rows with rare keys
   are over-represented in the first part, so results are reported for both.

Everything that an owner makes here follows from its secret keys, its table and the agreement. So it is the same when it
is made again after a crash, or by a workspace restored from a backup.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from blindlabel.envelope import identity
from blindlabel.envelope.identity import POINT_BYTES
from blindlabel.language.record import Record
from blindlabel.protocol.account import OFFERS_PER_RECORD
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.refusals import NotFitting
from blindlabel.protocol.sampling import Draw, blocking_keys, choose

MOST_ROWS = 3
"""A key that more rows than this have is left out."""


@dataclass(frozen=True)
class Extent:
    """How much two owners exchange. Both of them know it, and so does the coordinator."""

    records: int
    """Rows of each table in the sample, at most."""
    share: float
    """The part of them that is chosen by keys, at most."""
    peers: int
    """Other owners that an owner has."""

    @classmethod
    def of(cls, agreement: Agreement) -> Extent:
        """What an agreement says about it."""
        return cls(agreement.sampling.records, agreement.sampling.share, len(agreement.owners) - 1)

    def uniform(self, size: int) -> int:
        """Rows of a table of this size that are drawn uniformly."""
        sampled = min(self.records, size)
        return sampled - int(self.share * sampled)

    def offers(self, size: int, other: int) -> int:
        """Offers between the owners of tables of these sizes, either way."""
        return OFFERS_PER_RECORD * min(self.records, size, other)

    def chosen(self, size: int, other: int) -> int:
        """Offers of either owner that the coordinator chooses at most: half of them keys that both have."""
        return int(self.share * min(self.records, size, other)) // (2 * self.peers) * 2


@dataclass(frozen=True)
class Offer:
    """One key of an owner, hashed, and the row that stands for it."""

    key: bytes
    row: int


def rare_keys(
    records: Iterable[Record], attributes: Sequence[str], secret: bytes, wanted: int, draw: Draw
) -> list[Offer]:
    """The rare keys of a table with the smallest hashes under the two owners' secret, smallest first, at most `wanted`
    of them.
    """
    rows, hashes = array("q"), array("Q")
    for row, record in enumerate(records):
        for key in blocking_keys(record, attributes):
            hashed = hashlib.blake2b(key.encode(), key=secret, digest_size=8, person=b"bl-blocking").digest()
            hashes.append(int.from_bytes(hashed, "big"))
            rows.append(row)
    if not hashes:
        return []
    values, of_row = np.array(hashes, dtype=np.uint64), np.array(rows, dtype=np.int64)
    order = np.argsort(values, kind="stable")
    values, of_row = values[order], of_row[order]
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    ends = np.append(starts[1:], len(values))
    rare = np.flatnonzero(ends - starts <= MOST_ROWS)[:wanted]
    return [
        Offer(int(values[start]).to_bytes(8, "big"), int(of_row[start + draw(end - start)]))
        for start, end in zip(starts[rare].tolist(), ends[rare].tolist(), strict=True)
    ]


def filled_up(offers: Sequence[Offer], wanted: int, size: int, draw: Draw) -> list[Offer]:
    """`wanted` offers: the given ones, and keys that nobody has, each for a random row."""
    missing = range(wanted - len(offers))
    return [*offers, *(Offer(draw(2**256).to_bytes(32, "big"), draw(size)) for _ in missing)]


def drawn_from(seed: bytes) -> Draw:
    """Random numbers that follow from secret bytes: the same bytes draw the same numbers."""
    numbers = itertools.count()

    def draw(below: int) -> int:
        drawn = hashlib.blake2b(next(numbers).to_bytes(8, "big"), key=seed, person=b"bl-drawing").digest()
        return int.from_bytes(drawn, "big") % below

    return draw


@dataclass(frozen=True)
class BlindedOffers:
    """Points in their own order, and where each of them stood before."""

    points: tuple[bytes, ...]
    origin: tuple[int, ...]

    @property
    def body(self) -> bytes:
        """The points as they travel."""
        return b"".join(self.points)


def offered(offers: Sequence[Offer], context: bytes, scalar: bytes) -> BlindedOffers:
    """The offers as points whose keys only this owner can find again."""
    return blinded([identity.point_of(offer.key, context) for offer in offers], scalar)


def blinded(points: Sequence[bytes], scalar: bytes) -> BlindedOffers:
    """Points times a secret number, in the order of the products, which says nothing about the order before."""
    made = sorted((identity.blinded(point, scalar), place) for place, point in enumerate(points))
    return BlindedOffers(tuple(point for point, _ in made), tuple(place for _, place in made))


def points_of(body: bytes, wanted: int) -> list[bytes]:
    """The points of a list, which must be exactly this many."""
    if len(body) != wanted * POINT_BYTES:
        raise NotFitting("The size of a list of blinded keys is not the one that the agreement asks for.")
    return [body[place : place + POINT_BYTES] for place in range(0, len(body), POINT_BYTES)]


@dataclass(frozen=True)
class ChosenOffers:
    """Places in the two lists of a pairing, ascending, and how many in each list stand for equal points."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    partners: int


def partners(
    first: Sequence[bytes], second: Sequence[bytes], wanted: int, draw: Draw = secrets.randbelow
) -> ChosenOffers:
    """At most `wanted` places of each list: half of them of points that both lists have, half of others."""
    here, there = ({point: place for place, point in enumerate(points)} for points in (first, second))
    equal = choose(sorted(here.keys() & there.keys()), wanted // 2, draw)
    answers = []
    for offers, other in ((here, there), (there, here)):
        decoys = choose(sorted(offers.keys() - other.keys()), len(equal), draw)
        answers.append(tuple(sorted(offers[point] for point in (*equal, *decoys))))
    return ChosenOffers(answers[0], answers[1], len(equal))


def sampled(
    uniform: Sequence[int], chosen: Iterable[int], size: int, wanted: int, draw: Draw = secrets.randbelow
) -> tuple[int, ...]:
    """The sample of one table: rows drawn uniformly, rows of chosen offers and, if these overlap, more random rows."""
    rows = set(uniform)
    more = sorted(set(chosen) - rows)
    rows.update(choose(more, wanted - len(rows), draw))
    rest = [row for row in range(size) if row not in rows] if len(rows) < wanted else []
    rows.update(choose(rest, wanted - len(rows), draw))
    return tuple(sorted(rows))
