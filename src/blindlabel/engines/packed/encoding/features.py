"""What is encoded of a record: tables of numbers, one after the other in a record's feature vector.

A table holds a set as the coefficients of a polynomial Q of degree below the family's public bound, and a few spare
values z, such that Q(point(s)) + <spare(s), z> = fingerprint(s) for every element s of the set. For an element outside
the set this holds with probability 1/t only, because its fingerprint was used nowhere. The test is linear in (Q, z),
and the size of the set does not show.

Every set family of the whole record has a place of its own in the vector. The attributes of a record share one, the
name of the attribute being part of what is hashed: together they are no longer than the whole record, so their sets
need no more room than its own. A record with a single attribute *is* that attribute, so the two share everything.

An element of a family becomes a point, a fingerprint and a few further values, all in F_t and all from one SHAKE-256
call keyed by the study's public salt. The output is 8 bytes a value, so the bias of reducing modulo t < 2^32 is below
2^-32 of 1/t and does not matter.

This module says which tables there are, fills them from records, and gives the weights that ask a table about an
element. It does not know how feature vectors are laid out in ciphertexts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby

import numpy as np

from blindlabel.engines.allowed import longest_text, text_views
from blindlabel.engines.interface import RecordError, Terms
from blindlabel.engines.packed import residues
from blindlabel.engines.packed.residues import Residues
from blindlabel.language.families import Family
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import SEPARATOR, Record, View
from blindlabel.language.signatures import CaseRule

_FAILURE = 2.0**-40
"""The probability that a table cannot be encoded, at most (see `spare_columns`)."""
_LARGEST, _BUCKET_MEAN, _BUCKET = 1024, 256, "/"
"""Families beyond the first size are divided into buckets of about the second, named with the third."""


@dataclass(frozen=True)
class SetTable:
    """One set family of one view: where its features stand and how many there are. Several may stand at one place, and
    what is there is then filled from all of them.
    """

    view: View
    family: Family
    name: str
    """The name under which its elements are hashed."""
    offset: int
    bound: int
    """Coefficients of the polynomial: the most elements that the sets at this place can have."""
    spare: int

    @property
    def size(self) -> int:
        """How many features the table has."""
        return self.bound + self.spare

    @property
    def end(self) -> int:
        """The first feature behind the table."""
        return self.offset + self.size


@dataclass(frozen=True, eq=False)
class Tables:
    """All tables of an agreement, in order, over one field."""

    modulus: int
    salt: bytes
    tables: tuple[SetTable, ...]

    @property
    def features(self) -> int:
        """Length of a record's feature vector."""
        return self.tables[-1].end if self.tables else 0

    def find(self, view: View, family: str, element: str) -> SetTable | None:
        """The table of a view in which an element of a family would be, if there is one."""
        found = _positions(self).get((view, family), [])
        if len(found) > 1:
            return found[bucket_of(self.salt, found[0].name.partition(_BUCKET)[0], element, len(found))]
        return found[0] if found else None


@lru_cache(maxsize=64)
def _positions(tables: Tables) -> dict[tuple[View, str], list[SetTable]]:
    positions: dict[tuple[View, str], list[SetTable]] = {}
    for table in tables.tables:
        positions.setdefault((table.view, table.family.name.partition(_BUCKET)[0]), []).append(table)
    return positions


@lru_cache(maxsize=64)
def tables_of(terms: Terms, modulus: int) -> Tables:
    """Every table that questions under these terms can be asked of."""
    found: list[SetTable] = []
    seen: set[tuple[View, str]] = set()
    offset = 0
    for together in _sharing(terms):
        for family, shown in _families(terms, together):
            bound = _bound(terms, family, shown)
            if bound == 0 or (shown[0], family.name) in seen:
                continue
            seen.add((shown[0], family.name))
            named = [(view, _name(terms, family, view)) for view in shown]
            buckets = 1 if bound <= _LARGEST else -(-bound // _BUCKET_MEAN)
            size = bound if buckets == 1 else bucket_bound(bound, buckets)
            parts = [_divided(terms.salt, family, name, buckets) for _, name in named]
            for number in range(buckets):
                spare = spare_columns(size, modulus)
                for (view, name), families in zip(named, parts, strict=True):
                    tagged = name if buckets == 1 else f"{name}{_BUCKET}{number}"
                    found.append(SetTable(view, families[number], tagged, offset, size, spare))
                offset = found[-1].end
    return Tables(modulus, terms.salt, tuple(found))


def _sharing(terms: Terms) -> list[tuple[View, ...]]:
    """Texts that share a place: all attributes one; the whole has its own, unless it is the only attribute."""
    views = text_views(terms)
    if len(terms.attributes) == 1:
        return [views]
    whole = tuple(view for view in views if view.attribute is None)
    attributes = tuple(view for view in views if view.attribute is not None)
    return [group for group in (whole, attributes) if group]


def _families(terms: Terms, together: tuple[View, ...]) -> Iterator[tuple[Family, tuple[View, ...]]]:
    """The families of such texts, each in every case in which it is encoded."""
    for name in terms.functions:
        if name not in PREDICATES:  # common_words and other forms: rewritten into predicates
            continue
        predicate = PREDICATES[name]
        cases = zip(*(case_views(terms, view, predicate.case_rule) for view in together), strict=True)
        for shown in cases:
            for family in predicate.all_families(terms.limits):
                yield family, shown


def _bound(terms: Terms, family: Family, shown: tuple[View, ...]) -> int:
    """Elements that texts which share a place can have together."""
    if len(terms.attributes) == 1:
        return max(family.bound(longest_text(terms, view)) for view in shown)
    alone = sum(family.bound(longest_text(terms, view)) for view in shown)
    joined = family.joins and terms.encode_whole
    return min(alone, family.bound(terms.record_length)) if joined else alone


def _name(terms: Terms, family: Family, view: View) -> str:
    """What elements are hashed under: of a single attribute as of the whole, which is the same text."""
    if view.attribute is None or len(terms.attributes) == 1:
        return family.name
    return f"{family.name} of {terms.attributes.index(view.attribute)}"


def _divided(salt: bytes, family: Family, name: str, buckets: int) -> list[Family]:
    """A family as it is; a very large one in buckets, each a family of its own, so that encoding and asking stay
    cheap.
    """
    if buckets == 1:
        return [family]

    @lru_cache(maxsize=256)
    def divided(text: str) -> tuple[frozenset[str], ...]:
        parts: list[set[str]] = [set() for _ in range(buckets)]
        for element in family.elements(text):
            parts[bucket_of(salt, name, element, buckets)].add(element)
        return tuple(map(frozenset, parts))

    def part(number: int) -> Family:
        return Family(f"{family.name}{_BUCKET}{number}", lambda text: divided(text)[number], family.bound)

    return [part(number) for number in range(buckets)]


def check_sharing(terms: Terms, records: Sequence[Record]) -> None:
    """Refuse records whose attributes are not what the whole is made of, where both are encoded: their tables count on
    it.
    """
    if not (terms.encode_whole and terms.encode_attributes):
        return
    for number, record in enumerate(records, start=1):
        joined = SEPARATOR.join(record.attributes.get(name, "") for name in terms.attributes)
        if len(joined) > terms.record_length:
            raise RecordError(
                f"Record {number}: its attributes have {len(joined)} characters together, and the agreement encodes"
                f" {terms.record_length}. Shorten them, or agree on a longer limit."
            )
        if len(terms.attributes) == 1 and record.whole != joined:
            raise RecordError(f"Record {number}: the whole record is not its only attribute.")


def case_views(terms: Terms, view: View, rule: CaseRule) -> tuple[View, ...]:
    """The cases in which a family of this view is encoded: those whose answers do not follow from another."""
    lower = () if rule is CaseRule.IGNORED or terms.case == "lower" else (View(view.attribute, "lower"),)
    upper = (View(view.attribute, "upper"),) if rule is CaseRule.SEPARATE else ()
    return (view, *lower, *upper)


def features_of(tables: Tables, records: Sequence[Record]) -> Residues:
    """The feature vectors: one row per record."""
    result = np.zeros((len(records), tables.features), dtype=np.uint64)
    for _, group in groupby(tables.tables, key=lambda table: table.offset):
        sharing = list(group)
        result[:, sharing[0].offset : sharing[0].end] = _fill(tables, sharing, records)
    return result


def _elements(sharing: Sequence[SetTable], record: Record) -> dict[str, list[str]]:
    """The elements of a record at one place, by what they are hashed under."""
    found: dict[str, set[str]] = {}
    for table in sharing:
        found.setdefault(table.name, set()).update(table.family.elements(record.text(table.view)))
    return {name: sorted(elements) for name, elements in found.items()}


def _fill(tables: Tables, sharing: Sequence[SetTable], records: Sequence[Record]) -> Residues:
    modulus, table = tables.modulus, sharing[0]
    points = np.empty((len(records), table.bound), dtype=np.uint64)
    values = residues.uniform(points.size, modulus).reshape(points.shape)
    spares = np.zeros((len(records), table.spare), dtype=np.uint64)
    for row, record in enumerate(records):
        elements = _elements(sharing, record)
        count = sum(map(len, elements.values()))
        if count > table.bound:
            raise RecordError(
                "A record's set elements crowd together more than the encoding allows for. Agree again with a new salt."
            )
        hashed = np.concatenate(
            [hash_elements(tables.salt, name, some, table.spare, modulus) for name, some in elements.items()]
        )
        own_points, first = np.unique(hashed[:, 0], return_index=True)
        if own_points.size < count:
            spares[row] = _separate(hashed, modulus)
        kept = hashed[first]
        lean = (kept[:, 2:] * spares[row] % np.uint64(modulus)).sum(axis=1) % np.uint64(modulus)
        count = own_points.size
        points[row, :count] = own_points
        values[row, :count] = (kept[:, 1] + np.uint64(modulus) - lean) % np.uint64(modulus)
        # The rest of the points carry no meaning: any that are not taken, with random values, so that neither the
        # cost nor any linear form shows how many there are.
        points[row, count:] = np.setdiff1d(np.arange(table.bound, dtype=np.uint64), own_points)[: table.bound - count]
    return np.concatenate([interpolate(points, values, modulus), spares], axis=1)


def _separate(hashed: Residues, modulus: int) -> Residues:
    """Values z of the spare columns that make elements with the same point agree: <g(s) - g(s'), z> = f(s) - f(s')."""
    rows: list[list[int]] = []
    first: dict[int, list[int]] = {}
    for row in hashed.tolist():
        if row[0] in first:
            rows.append(
                [(a - b) % modulus for a, b in zip(row[2:], first[row[0]][2:])]
                + [(row[1] - first[row[0]][1]) % modulus]
            )
        else:
            first[row[0]] = row
    solution = _solve(rows, hashed.shape[1] - 2, modulus)
    if solution is None:
        raise RecordError(
            "A record's set elements collide more often than the encoding allows for. Agree again with a new salt."
        )
    return np.array(solution, dtype=np.uint64)


def _solve(rows: list[list[int]], unknowns: int, modulus: int) -> list[int] | None:
    """Some solution of a small linear system (rows end with the right-hand side), None if there is none."""
    pivots: list[tuple[int, list[int]]] = []
    for given in rows:
        row = given
        for column, pivot in pivots:
            row = [(value - row[column] * known) % modulus for value, known in zip(row, pivot)]
        column = next((i for i in range(unknowns) if row[i]), -1)
        if column < 0:
            if row[-1]:
                return None
            continue
        scale = pow(row[column], -1, modulus)
        row = [value * scale % modulus for value in row]
        pivots = [(c, [(v - p[column] * k) % modulus for v, k in zip(p, row)]) for c, p in pivots]
        pivots.append((column, row))
    solution = [0] * unknowns
    for column, pivot in pivots:
        solution[column] = pivot[-1]
    return solution


def interpolate(points: Residues, values: Residues, modulus: int) -> Residues:
    """Coefficients of the polynomials through (points, values), one polynomial a row (Lagrange, all rows at once)."""
    rows, count = points.shape
    reduced = partial(residues.reduced, modulus=modulus)
    master = np.zeros((rows, count + 1), dtype=np.uint64)  # the product of (x - point), lowest coefficient first
    master[:, 0] = 1
    for i in range(count):
        lower = np.zeros((rows, i + 2), dtype=np.uint64)
        lower[:, 1:] = master[:, : i + 1]
        lower += (np.uint64(modulus) - points[:, i : i + 1]) * master[:, : i + 2]
        master[:, : i + 2] = reduced(lower)
    slope = np.zeros_like(points)  # the derivative of the product at each point
    for k in range(count, 0, -1):
        slope *= points
        slope += np.uint64(k) * master[:, k : k + 1]
        slope = reduced(slope)
    weights = reduced(values * residues.inverse(slope, modulus))
    result = np.empty((rows, count), dtype=np.uint64)
    quotient = np.zeros_like(points)  # the product divided by (x - point), from the top coefficient down
    for k in range(count, 0, -1):
        quotient = reduced(quotient * points + master[:, k : k + 1])
        result[:, k - 1] = reduced(reduced(quotient * weights).sum(axis=1))
    return result


def asking(tables: Tables, table: SetTable, element: str) -> tuple[Residues, int]:
    """Weights w over the table's features and the fingerprint f: the element is in the set iff <w, features> = f."""
    (hashed,) = hash_elements(tables.salt, table.name, [element], table.spare, tables.modulus)
    point, fingerprint, *spare = hashed.tolist()
    weights = np.concatenate([residues.powers(point, table.bound, tables.modulus), np.array(spare, dtype=np.uint64)])
    return weights, fingerprint


# -- hashing


def spare_columns(elements: int, modulus: int) -> int:
    """How many further values a table of this many elements needs so that colliding points can still be told apart.

    Two elements with the same point need one spare column to be separated. The number of such coincidences is at most
    Poisson-like with mean n²/2t; the tail beyond the spare columns is held below 2^-40.
    """
    mean = elements * elements / (2 * modulus)
    spare, tail = 1, mean**2 / 2
    while tail > _FAILURE:
        spare += 1
        tail = mean ** (spare + 1) / math.factorial(spare + 1)
    return spare


def bucket_of(salt: bytes, family: str, element: str, buckets: int) -> int:
    """Which of the buckets of a large family an element belongs to."""
    start = hashlib.blake2b(element.encode("utf-8", "surrogatepass"), digest_size=8, key=salt[:64], person=b"bl-bucket")
    start.update(b"\0" + family.encode())
    return int.from_bytes(start.digest(), "little") % buckets


def bucket_bound(elements: int, buckets: int) -> int:
    """The most elements that a bucket is given room for: more come together with probability below 2^-40 (Chernoff, all
    buckets).
    """
    mean = elements / buckets
    bound = math.ceil(mean)
    while bound < elements:
        excess = (bound + 1) / mean - 1
        if buckets * math.exp(-mean * ((1 + excess) * math.log1p(excess) - excess)) < _FAILURE:
            break
        bound += 1
    return bound


def hash_elements(salt: bytes, family: str, elements: Sequence[str], spare: int, modulus: int) -> Residues:
    """One row per element: point, fingerprint, spare values."""
    columns = 2 + spare
    start = hashlib.shake_256(len(salt).to_bytes(2, "little") + salt + family.encode() + b"\0")
    digests = []
    for element in elements:
        state = start.copy()
        state.update(element.encode("utf-8", "surrogatepass"))
        digests.append(state.digest(8 * columns))
    raw = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
    return (raw % np.uint64(modulus)).reshape(len(elements), columns)
