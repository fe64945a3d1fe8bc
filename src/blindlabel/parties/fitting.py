"""Whether a table fits an agreement, before anybody joins with it. Reads; makes nothing, and tells nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from blindlabel.language.record import Record
from blindlabel.parties.joining import TableOptions, missing_columns, read_own_table
from blindlabel.protocol.agreement import Agreement
from blindlabel.records.preparation import WHOLE, check_lengths, named_rows, prepare_text
from blindlabel.records.tables import Table

_SHARES = (("median", 0.5), ("95 of 100", 0.95), ("99 of 100", 0.99), ("longest", 1.0))

_FEW_MATCHES = 5
"""Fewer expected matches than that say little about a linkage."""


@dataclass(frozen=True)
class Fit:
    """How a table fits."""

    fits: bool
    """Whether `owner join` would take it."""
    rows: int
    columns: tuple[str, ...]
    missing: tuple[str, ...]
    """Attributes for which there is no column."""
    has_ids: bool
    lengths: dict[str, dict[str, int]]
    """Characters after preparation, of every attribute and of the whole record: median to longest."""
    too_long: int
    """Rows beyond the agreed lengths."""
    longest_rows: str
    limit_that_would_do: dict[str, int]
    """For what is too long: the limit that would take every row."""
    empty: dict[str, int]
    """Rows without a value, by attribute."""
    lost: dict[str, int]
    """Values of which preparation leaves nothing, by attribute."""
    duplicates: int
    """Rows that read like an earlier row after preparation."""
    enough: bool
    """Whether there are as many rows as the sample takes."""
    most_matches: float | None
    """Matches in a uniform sample, on average, if every row had one in a table of the same size; None: not uniform."""

    def to_json(self) -> dict[str, Any]:
        """As the command prints it."""
        return asdict(self)

    def lines(self, agreement: Agreement) -> Iterator[str]:
        """As a person reads it."""
        if self.missing:
            yield f"There is no column for {', '.join(self.missing)}. The table has: {', '.join(self.columns)}."
            yield "Name one with --column attribute=column; --column attribute= says that the table has none."
            return
        yield f"{self.rows:,} rows" + (
            "." if self.enough else f", fewer than the {agreement.sampling.records:,} that the sample takes."
        )
        if not self.has_ids:
            yield "There is no id column, so rows are named by position. Name one with --id-column, or add `id`."
        for what, shares in self.lengths.items():
            yield f"Characters of {what}: " + ", ".join(f"{name} {count:,}" for name, count in shares.items()) + "."
        if self.too_long:
            done = "are refused" if agreement.preparation.too_long == "refuse" else "are cut"
            would = ", ".join(f"{count:,} for {what}" for what, count in self.limit_that_would_do.items())
            yield f"{self.too_long:,} rows are too long and {done}: {self.longest_rows}. Limits that would do: {would}."
        for name, count in self.empty.items():
            yield f"{name} is empty in {_rows(count)}."
        for name, count in self.lost.items():
            yield f"Preparation leaves nothing of {name} in {_rows(count)}."
        if self.duplicates:
            read = "reads" if self.duplicates == 1 else "read"
            yield f"{_rows(self.duplicates)} {read} like an earlier one: what is asked of one fits the others too."
        if self.most_matches is not None and self.most_matches < _FEW_MATCHES:
            yield (
                f"{agreement.sampling.records:,} of {self.rows:,} rows are drawn uniformly: about"
                f" {self.most_matches:.1f} matches in the sample if every row had one. More records, or"
                ' method = "enriched" under [sampling], bring more.'
            )
        yield "The table fits the agreement." if self.fits else "The table does not fit the agreement yet."


def fit_of(agreement: Agreement, options: TableOptions) -> Fit:
    """Look at a table with an agreement's eyes."""
    columns, missing = missing_columns(agreement, options)
    if missing:
        return Fit(False, 0, columns, missing, False, {}, 0, "", {}, {}, {}, 0, False, None)
    table = read_own_table(agreement, options)
    prepared, lost = _prepared(agreement, table)
    lengths = agreement.lengths()
    measured = {name: [len(record.attributes[name]) for record in prepared] for name in agreement.attributes}
    if lengths.encode_whole:
        measured[WHOLE] = [len(record.whole) for record in prepared]
    excess = check_lengths(prepared, lengths, refuse=False)
    longest: dict[str, int] = {}
    for one in excess:
        longest[one.what] = max(longest.get(one.what, 0), one.length)
    too_long = len({one.position for one in excess})
    seen = Counter(record.whole for record in prepared)
    empty = {name: measured[name].count(0) for name in agreement.attributes}
    return Fit(
        fits=not (too_long and lengths.too_long == "refuse"),
        rows=len(table),
        columns=columns,
        missing=(),
        has_ids=table.has_ids,
        lengths={what: _spread(sizes) for what, sizes in measured.items()},
        too_long=too_long,
        longest_rows=named_rows(excess) if excess else "",
        limit_that_would_do=longest,
        empty={name: count for name, count in empty.items() if count},
        lost=lost,
        duplicates=len(prepared) - len(seen),
        enough=len(table) >= agreement.sampling.records,
        most_matches=agreement.sampling.most_matches(len(table)),
    )


def _prepared(agreement: Agreement, table: Table) -> tuple[list[Record], dict[str, int]]:
    """Every row as a record, and how many values of each attribute preparation leaves nothing of."""
    steps, names = agreement.preparation.steps, agreement.attributes
    lost: Counter[str] = Counter()
    prepared = []
    for row in table.rows:
        texts = {name: prepare_text(text, steps) for name, text in zip(table.attributes, row)}
        lost.update(name for name, text in zip(table.attributes, row) if text.strip() and not texts[name])
        prepared.append(Record.of({name: texts[name] for name in names}))
    return prepared, dict(lost)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _spread(sizes: list[int]) -> dict[str, int]:
    ordered = sorted(sizes)
    return {name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in _SHARES}
