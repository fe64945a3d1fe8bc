"""Choosing the rows that are labelled. Positions come out in ascending order, so that their order says nothing. They
are positions in an owner's secret order of its rows (`parties.joining.secret_order`), so they say nothing either.

- uniform: every set of rows is equally likely;
- rows: the agreement names them;
- enriched: some of the rows by blocking keys that both owners have, without showing the keys (`blocking`), the rest
  uniformly;
- candidates: the rows of pairs that the coordinator drew from a linkage's list (`estimates.candidate_pairs`), whose
  hash stands in the agreement. Of all pairs of these rows only the drawn ones are labelled.

If a linkage is to be judged (candidates; uniform with `estimates`), the coordinator draws rows by their numbers in the
linkage's tables, and so knows which they are. Then positions come in random order instead: a record's place in the
sample tells other owners nothing about its row.

Only `Sampling` knows which methods there are, and what each means for the rest of the protocol. Randomness comes from
`Draw`; outside simulations that is `secrets.randbelow`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from math import ceil, log2
from typing import Annotated, Literal, TypeVar

from pydantic import Field, StringConstraints

from blindlabel.language.record import Record
from blindlabel.protocol.shape import Hex16, Label, Name, Position, Shape
from blindlabel.settings import Setting

_Thing = TypeVar("_Thing")
Draw = Callable[[int], int]
"""A whole number from 0 up to but not including the argument, each equally likely."""

KEYS_PER_ROW = 8
"""Blocking keys of a row, at most."""
CLASSES = 6
"""Classes of labelled pairs: linked or not; match, no match, not certain."""
SHARE_ABOVE = 0.4
"""The share of linked pairs among those that are drawn from a list."""


class Sampling(Shape):
    """Which rows of the tables are labelled."""

    method: Annotated[
        Literal["uniform", "enriched", "candidates", "rows"],
        Setting(
            '"uniform", "enriched" (more likely partners), "candidates" (pairs of a linkage\'s list) or "rows"'
            " (positions given below)."
        ),
    ] = "uniform"
    records: Annotated[int, Setting("Rows of each table, at most; candidates: pairs that are drawn.", 1, 10**9)] = 50
    estimates: Annotated[
        bool,
        Setting(
            "uniform: the coordinator knows which rows are sampled, so that it can estimate how good a linkage is."
        ),
    ] = False
    candidates: Annotated[
        str,
        StringConstraints(pattern=r"^([0-9a-f]{64})?$"),
        Setting("candidates, estimates: the hash of the linkage's list, which must not change; `new` writes it."),
    ] = ""
    threshold: Annotated[
        float | None,
        Setting(
            "From this score on the list's pairs are linked; absent: its column `linked` says so.", -(10**9), 10**9
        ),
    ] = None
    checked: Annotated[
        int,
        Setting(
            "Pairs of each of six classes that both owners' experts see side by side in the end, so that estimates have"
            " values: 20 would do; 0: none.",
            0,
            1000,
        ),
    ] = 0
    pilot: Annotated[
        int,
        Setting(
            "Pairs that both owners know and may show each other in clear, so that verdicts have the right level: 10 to"
            " 20 would do; 0: none.",
            0,
            20,
        ),
    ] = 0
    tables: Annotated[
        dict[Name, Position],
        Setting("How many rows the linkage's table of each owner had.", example="anna = 1200\nberta = 900"),
    ] = Field(default_factory=dict)
    fingerprints: Annotated[
        dict[Name, Hex16],
        Setting("What `owner check` called the fingerprint of that table, where owners gave it.", example='anna = "…"'),
    ] = Field(default_factory=dict)
    share: Annotated[
        float,
        Setting("enriched: the share of the sample that is chosen by blocking keys; the rest is uniform.", 0, 0.5),
    ] = 0.5
    blocking: Annotated[tuple[Label, ...], Setting("enriched: the attributes that blocking keys are made from.")] = ()
    rows: Annotated[
        dict[Name, tuple[Position, ...]],
        Setting(
            "rows: the positions by owner, data rows counted from 0.", example="anna = [0, 17, 42]\nberta = [3, 5, 8]"
        ),
    ] = Field(default_factory=dict)

    @property
    def by_keys(self) -> bool:
        """Whether owners exchange blocking keys before the sample is known."""
        return self.method == "enriched"

    @property
    def by_list(self) -> bool:
        """Whether pairs are drawn from a linkage's list."""
        return self.method == "candidates"

    @property
    def by_row(self) -> bool:
        """Whether the coordinator draws rows by their numbers in the owners' tables."""
        return self.by_list or self.estimates

    @property
    def most_checked(self) -> int:
        """Pairs that are checked in clear, at most."""
        return CLASSES * self.checked

    @property
    def most_shown(self) -> int:
        """Pairs that are shown in clear, at most."""
        return self.most_checked + self.pilot

    @property
    def named_bits(self) -> int:
        """Bits that say which rows of one table are sampled, if the agreement names them or the coordinator draws them
        by number.
        """
        named = self.rows.values() if self.method == "rows" else ()
        found = [len(rows) * log2(max(rows) + 2) for rows in named if rows]
        found += [min(self.records, rows) * log2(rows + 1) for rows in self.tables.values() if self.by_row]
        return ceil(max(found, default=0))

    def named(self, owner: str) -> tuple[int, ...]:
        """The rows of an owner that the agreement names; none if they are drawn."""
        return tuple(sorted(self.rows[owner])) if self.method == "rows" else ()

    def drawn(self, owner: str, size: int, draw: Draw) -> tuple[int, ...]:
        """Rows of an owner's table of this size, if owners need not exchange anything for it."""
        found = tuple(choose(range(size), self.records, draw))
        return self.named(owner) or (found if self.estimates else tuple(sorted(found)))

    def expected_matches(self, rows: int) -> dict[str, float]:
        """Matches in a sample of a table with this many rows, by method: at most this many on average, if every row had
        a match in a table of the same size, every key found one, and every linked pair of a list were one.
        """
        drawn = min(rows, self.records)
        part = drawn - int(0.5 * drawn)
        by_keys = int(0.5 * drawn) + part**2 / max(1, rows)
        return {
            "uniform": drawn**2 / max(1, rows),
            "enriched": by_keys,
            "candidates": round(SHARE_ABOVE * self.records),
        }

    def misfit(self, owner: str, rows: int, fingerprint: str = "") -> str:
        """Why a table cannot be the one that the linkage was made from, or empty if nothing speaks against it."""
        wanted, known = self.tables.get(owner, rows), self.fingerprints.get(owner, fingerprint)
        if wanted != rows:
            return f"The linkage's table of {owner} has {wanted:,} rows, and this one {rows:,}: rows would be confused."
        if fingerprint and known != fingerprint:
            return f"This is not the table of {owner} that the linkage was made from: its fingerprint is {fingerprint}."
        return ""

    def matching(self, rows: int) -> float:
        """The share of all pairs of a sample that is expected to match, for two tables of this size in which each row
        has one partner. Rows that are named are assumed to be named for their partners. Keys bring both partners and
        look-alikes, so an enriched sample is no easier than a uniform one.
        """
        return 1 / max(1, self.records if self.method == "rows" else rows)

    def contradictions(self, owners: Sequence[str], attributes: Sequence[str]) -> Iterator[str]:
        """What does not fit the rest of the agreement, each with its place in the file."""
        if self.by_keys:
            if not self.blocking:
                yield "sampling.blocking: enriched sampling needs the attributes that blocking keys are made from"
            for attribute in self.blocking:
                if attribute not in attributes:
                    yield f"sampling.blocking: {attribute!r} is not one of the attributes"
        if self.method == "rows":
            for owner in owners:
                rows = self.rows.get(owner, ())
                if not 0 < len(rows) <= self.records:
                    yield f"sampling.rows: {owner} needs between 1 and {self.records} positions, and has {len(rows)}"
                if len(set(rows)) != len(rows):
                    yield f"sampling.rows: {owner} has a position twice"
        yield from self._contradictions_of_list(owners)
        for what in ("rows", "tables", "fingerprints"):
            for owner in getattr(self, what):
                if owner not in owners:
                    yield f"sampling.{what}: {owner!r} is not one of the owners"

    def _contradictions_of_list(self, owners: Sequence[str]) -> Iterator[str]:
        if self.by_row and (len(owners) != 2 or not self.candidates):
            yield "sampling.candidates: a list has pairs of two owners' rows, and its hash is needed"
        if self.estimates and self.method != "uniform":
            yield 'sampling.estimates: only rows that are drawn uniformly are told for estimates: method = "uniform"'
        if self.checked and not self.by_row:
            yield "sampling.checked: pairs are checked for estimates of a linkage, and this agreement is about none"
        if self.by_row and set(self.tables) != set(owners):
            yield "sampling.tables: how many rows the linkage's table of each owner had is needed"


def choose(rows: Sequence[_Thing], wanted: int, draw: Draw) -> list[_Thing]:
    """`wanted` of these (or all), every set equally likely: the first steps of a Fisher-Yates shuffle, without copying
    big tables.
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
    """A row's blocking keys in clear, the most telling first: each attribute's first word; the beginnings of the first
    words of two attributes (which survive an error further on); further words. Common keys are left out later
    (`blocking.rare_keys`).
    """
    texts = [record.attributes.get(attribute, "").lower() for attribute in attributes]
    words = {number: text.split() for number, text in enumerate(texts)}
    firsts = [(number, found[0]) for number, found in words.items() if found]
    keys = [f"{number}:{word}" for number, word in firsts]
    keys += [f"{a}:{one[:4]}&{b}:{two[:4]}" for index, (a, one) in enumerate(firsts) for b, two in firsts[index + 1 :]]
    keys += [f"{number}:{word}" for number, found in words.items() for word in found[1:]]
    return list(dict.fromkeys(keys))[:KEYS_PER_ROW]
