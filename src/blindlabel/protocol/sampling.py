"""Choosing the rows that are labelled. Positions come out ascending, so that their order says nothing.

- uniform: every set of rows is equally likely;
- rows: the agreement names them;
- enriched: owners send, for every row and every other owner, a few keyed hashes (blocking keys under a secret that only
  the two owners have); rows with a hash in common are likely partners. The coordinator picks partners until the agreed
  share of the sample has one, then fills up uniformly. The coordinator learns which rows of two owners share a blocking
  key, and how often keys repeat; not the keys.

Chance comes from `Draw`; outside of simulations that is `secrets.randbelow`.
"""

from __future__ import annotations

import hashlib
import secrets
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from blindlabel.language.record import Record
from blindlabel.protocol.errors import NotFitting

_Thing = TypeVar("_Thing")
Draw = Callable[[int], int]
"""A whole number from 0 to below the argument, each equally likely."""

KEYS_PER_ROW = 8
"""Hashes of every row, whatever it holds: shorter lists are filled with random ones, so their number says nothing."""
HASH_BYTES = 8
MOST_COMMON = 64
"""Pairs of rows that a hash may connect; a hash that connects more is left out."""
_ROW_BYTES = KEYS_PER_ROW * HASH_BYTES


def choose(rows: Sequence[_Thing], wanted: int, draw: Draw) -> list[_Thing]:
    """So many of these (or all), every set equally likely: the first steps of a Fisher-Yates shuffle, without
    copying big tables.
    """
    moved: dict[int, int] = {}
    chosen = []
    for index in range(min(wanted, len(rows))):
        other = index + draw(len(rows) - index)
        chosen.append(rows[moved.get(other, other)])
        moved[other] = moved.get(index, index)
    return chosen


def uniform(size: int, wanted: int, draw: Draw = secrets.randbelow) -> tuple[int, ...]:
    """Rows of a table of this size."""
    return tuple(sorted(choose(range(size), wanted, draw)))


def blocking_keys(record: Record, attributes: Sequence[str]) -> list[str]:
    """A row's blocking keys in clear, the most telling first: each attribute's first word; the beginnings of two
    attributes' first words (which outlast an error further on); further words. What is common in both tables is left
    out by the coordinator, not here."""
    words = {
        number: record.attributes.get(attribute, "").lower().split() for number, attribute in enumerate(attributes)
    }
    firsts = [(number, found[0]) for number, found in words.items() if found]
    keys = [f"{number}:{word}" for number, word in firsts]
    keys += [f"{a}:{one[:4]}&{b}:{two[:4]}" for index, (a, one) in enumerate(firsts) for b, two in firsts[index + 1 :]]
    keys += [f"{number}:{word}" for number, found in words.items() for word in found[1:]]
    return list(dict.fromkeys(keys))[:KEYS_PER_ROW]


def keyed_hashes(records: Iterable[Record], attributes: Sequence[str], secret: bytes) -> bytes:
    """The body of a blocking message: `KEYS_PER_ROW` hashes for each row of the table, keyed with the two owners'
    secret.
    """
    body = bytearray()
    for record in records:
        keys = blocking_keys(record, attributes)
        hashes = [
            hashlib.blake2b(key.encode(), key=secret, digest_size=HASH_BYTES, person=b"bl-blocking").digest()
            for key in keys
        ]
        hashes += [secrets.token_bytes(HASH_BYTES) for _ in range(KEYS_PER_ROW - len(hashes))]
        body += b"".join(sorted(hashes))
    return bytes(body)


def enriched(
    sizes: Mapping[str, int],
    hashes: Mapping[tuple[str, str], bytes],
    wanted: int,
    share: float,
    draw: Draw = secrets.randbelow,
) -> dict[str, tuple[int, ...]]:
    """Samples of all owners; `hashes[(owner, peer)]` is what `owner` sent for its pairing with `peer`."""
    picked: dict[str, set[int]] = {owner: set() for owner in sizes}
    quota = {owner: round(share * min(wanted, size)) for owner, size in sizes.items()}
    for first, row, second, partner in _partners(sizes, hashes, draw):
        room = all(
            place in picked[owner] or len(picked[owner]) < quota[owner]
            for owner, place in ((first, row), (second, partner))
        )
        if room:
            picked[first].add(row)
            picked[second].add(partner)
    for owner, size in sizes.items():
        rest = [row for row in range(size) if row not in picked[owner]]
        picked[owner].update(choose(rest, min(wanted, size) - len(picked[owner]), draw))
    return {owner: tuple(sorted(rows)) for owner, rows in picked.items()}


_Pair = tuple[str, int, str, int]


def _partners(sizes: Mapping[str, int], hashes: Mapping[tuple[str, str], bytes], draw: Draw) -> list[_Pair]:
    """Likely partners: first those with several hashes in common, then those with one, each in an order of chance.

    A hash that many rows have says nothing and is left out. Among pairs with several hashes in common there is no
    ranking by their number: that would prefer partners that are easy to recognise even more than blocking does anyway.
    """
    shared: Counter[_Pair] = Counter()
    owners = sorted(sizes)
    for index, first in enumerate(owners):
        for second in owners[index + 1 :]:
            left = _rows_by_hash(hashes[(first, second)], sizes[first])
            right = _rows_by_hash(hashes[(second, first)], sizes[second])
            for key in left.keys() & right.keys():
                if len(left[key]) * len(right[key]) <= MOST_COMMON:
                    shared.update((first, row, second, partner) for row in left[key] for partner in right[key])
    several = sorted(pair for pair, count in shared.items() if count > 1)
    single = sorted(pair for pair, count in shared.items() if count == 1)
    return [part[place] for part in (several, single) for place in choose(range(len(part)), len(part), draw)]


def _rows_by_hash(body: bytes, size: int) -> dict[bytes, list[int]]:
    if len(body) != size * _ROW_BYTES:
        raise NotFitting("The size of the blocking hashes is wrong for the table.")
    rows: dict[bytes, list[int]] = {}
    for number, (key,) in enumerate(struct.iter_unpack(f"{HASH_BYTES}s", body)):
        rows.setdefault(key, []).append(number // KEYS_PER_ROW)
    return rows
