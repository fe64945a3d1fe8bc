"""Choosing the rows that are labelled. Positions come out ascending, so that their order says nothing; what is drawn is
a position in its owner's secret order of its rows (`parties.joining.secret_order`), so neither does the position.

- uniform: every set of rows is equally likely;
- rows: the agreement names them;
- enriched: a part of the rows by blocking keys that both owners have, without showing the keys (`blocking`); the rest
  uniformly.

Which kinds there are, and what each means for the rest of the protocol, is asked of `Sampling` and of nothing else.
Chance comes from `Draw`; outside of simulations that is `secrets.randbelow`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from math import ceil, log2
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from blindlabel.language.record import Record
from blindlabel.protocol.shape import Label, Name, Position, Shape
from blindlabel.settings import Setting

_Thing = TypeVar("_Thing")
Draw = Callable[[int], int]
"""A whole number from 0 to below the argument, each equally likely."""

KEYS_PER_ROW = 8
"""Blocking keys of a row, at most."""


class Sampling(Shape):
    """Which rows of the tables are labelled."""

    method: Annotated[
        Literal["uniform", "enriched", "rows"],
        Setting('"uniform", "enriched" (more likely partners) or "rows" (positions given below).'),
    ] = "uniform"
    records: Annotated[int, Setting("Rows of each table, at most.", 1, 10**9)] = 50
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
    def named_bits(self) -> int:
        """Bits that the agreement says about which rows of one table are sampled; none where they are drawn."""
        named = self.rows.values() if self.method == "rows" else ()
        return max((ceil(len(rows) * log2(max(rows) + 2)) for rows in named if rows), default=0)

    def named(self, owner: str) -> tuple[int, ...]:
        """The rows of an owner that the agreement names; none where they are drawn."""
        return tuple(sorted(self.rows[owner])) if self.method == "rows" else ()

    def drawn(self, owner: str, size: int, draw: Draw) -> tuple[int, ...]:
        """Rows of an owner's table of this size, where nothing has to be exchanged for it."""
        return self.named(owner) or uniform(size, self.records, draw)

    def most_matches(self, rows: int) -> float | None:
        """Matches that a sample of two tables of this size has on average if every row had one; None where it is not
        chance that decides.
        """
        return min(rows, self.records) ** 2 / rows if self.method == "uniform" and rows else None

    def matching(self, rows: int) -> float:
        """The share of all pairs of a sample that is expected to match, of two tables of this size where each row has
        one partner. Rows that are named are taken to be named for their partners. Keys bring partners and look-alikes
        alike, so a sample that is enriched is no easier than a uniform one.
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
        for owner in self.rows:
            if owner not in owners:
                yield f"sampling.rows: {owner!r} is not one of the owners"


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
    attributes' first words (which outlast an error further on); further words. What is common is left
    out later (`blocking.rare_keys`).
    """
    words = {
        number: record.attributes.get(attribute, "").lower().split() for number, attribute in enumerate(attributes)
    }
    firsts = [(number, found[0]) for number, found in words.items() if found]
    keys = [f"{number}:{word}" for number, word in firsts]
    keys += [f"{a}:{one[:4]}&{b}:{two[:4]}" for index, (a, one) in enumerate(firsts) for b, two in firsts[index + 1 :]]
    keys += [f"{number}:{word}" for number, found in words.items() for word in found[1:]]
    return list(dict.fromkeys(keys))[:KEYS_PER_ROW]
