"""Tables of records, read from files (`readers`) or made in memory. Reads only; prepares nothing (see `preparation`).

The rules, the same for every source:

- a row's position counts data rows from 0 in the order of the file; blank lines do not count. Sentences for people
  say "row 1" for the one at position 0;
- the id column is `id` where there is one and none was named; without any, the position is the id;
- ids are unique and not empty; attributes are all other columns in the order of the file unless some were chosen;
- every value is text (`text_of` says how numbers, dates and the like are written; missing is empty text).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from blindlabel.errors import InputError
from blindlabel.records.readers import read_columns


class EmptyTableError(InputError):
    """A table has columns but no row."""


@dataclass(frozen=True)
class Table:
    """A table in memory: one id and one tuple of attribute texts a row."""

    name: str
    ids: tuple[str, ...]
    attributes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    has_ids: bool = True
    """Whether ids came from a column; else they are the rows' positions."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, str]]:
        """The rows in order, each with its attributes by name."""
        return (dict(zip(self.attributes, row)) for row in self.rows)

    def row(self, position: int) -> dict[str, str]:
        """The attributes of one row by name."""
        if not 0 <= position < len(self.rows):
            raise InputError(f"{self.name} has no row {position + 1}: it has {len(self.rows)}.")
        return dict(zip(self.attributes, self.rows[position]))

    def position(self, id: str) -> int:
        """Where the row with this id stands."""
        found = self._positions.get(id)
        if found is None:
            raise InputError(f"{self.name} has no row with the id {id!r}.{_nearest(id, self.ids[:5000])}")
        return found

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {own: position for position, own in enumerate(self.ids)}


def read_table(
    path: Path | str,
    *,
    id_column: str | None = None,
    attributes: Sequence[str] | Mapping[str, str] | None = None,
    encoding: str | None = None,
    name: str | None = None,
) -> Table:
    """Read a table. `attributes` chooses columns; a mapping also renames them (name in the table to column of the
    file).
    """
    path = Path(path)
    renamed = renaming(attributes)
    needed = None if renamed is None else {*renamed.values(), id_column or "id"}
    columns, rows = read_columns(path, encoding, needed)
    called = path.name.split(".")[0] if name is None else name
    return assembled(columns, rows, called, id_column=id_column, renamed=renamed, shown=path.name)


def columns_of(path: Path, encoding: str | None = None) -> list[str]:
    """The names of a file's columns."""
    return read_columns(path, encoding, None)[0]


def renaming(attributes: Sequence[str] | Mapping[str, str] | None) -> dict[str, str] | None:
    """Chosen attributes as a mapping: name in the table to column of the source. None: all columns."""
    if attributes is None:
        return None
    renamed = dict(attributes) if isinstance(attributes, Mapping) else {name: name for name in attributes}
    if len(renamed) != len(attributes):
        raise InputError("An attribute is named twice.")
    return renamed


def assembled(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    name: str,
    *,
    id_column: str | None,
    renamed: dict[str, str] | None,
    shown: str,
) -> Table:
    """The table of columns and rows, by the rules above; `shown` is what sentences call the source."""
    if id_column is None and "id" in columns:
        id_column = "id"
    if renamed is None:
        renamed = {column: column for column in columns if column != id_column}
    wanted = [_column(columns, column, shown) for column in renamed.values()]
    if not wanted:
        raise InputError(f"{shown} has no attribute column{' besides the ids' if id_column else ''}.")
    id_index = None if id_column is None else _column(columns, id_column, shown)
    ids: list[str] = []
    kept: list[tuple[str, ...]] = []
    for position, row in enumerate(rows):
        ids.append(str(position) if id_index is None else row[id_index])
        kept.append(tuple([row[index] for index in wanted]))
    if not kept:
        raise EmptyTableError(f"{shown} has no rows.")
    if id_column is not None:
        _check_ids(ids, id_column, shown)
    return Table(name, tuple(ids), tuple(renamed), tuple(kept), id_column is not None)


def _column(columns: Sequence[str], wanted: str, shown: str) -> int:
    if wanted not in columns:
        raise InputError(f"{shown} has no column {wanted!r}.{_nearest(wanted, columns)} It has: {', '.join(columns)}.")
    return columns.index(wanted)


def _nearest(wanted: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(wanted, known, n=1) or [name for name in known if name.lower() == wanted.lower()]
    return f" Did you mean {near[0]!r}?" if near else ""


def _check_ids(ids: Sequence[str], id_column: str, shown: str) -> None:
    first: dict[str, int] = {}
    for position, own in enumerate(ids):
        if not own:
            raise InputError(f"{shown}: row {position + 1} has no id in column {id_column!r}.")
        if own in first:
            raise InputError(
                f"{shown}: the id {own!r} in column {id_column!r} stands in rows {first[own] + 1} and {position + 1};"
                " ids must be unique."
            )
        first[own] = position
