"""Tables of records, read from files (`table_files`) or made from what is already in memory: frames of pandas or polars
(neither has to be installed), and rows as dictionaries. Only reads; prepares nothing (see `preparation`).

The rules, the same for every source:

- a row's position counts data rows from 0 in the order of the file; blank lines do not count. Sentences for people
  say "row 1" for the one at position 0;
- the id column is `id` if there is one and no other was named; without any, the position is the id;
- ids are unique and not empty; attributes are all other columns in the order of the file unless some were chosen;
- a frame's index counts as the id column if it has that name;
- every value is text (`text_of` says how numbers, dates and the like are written; missing is empty text).

A study names rows by their positions. A table whose rows were sorted again, or whose columns were swapped, can still be
read, and every label would be about other records. So an owner keeps its table's `Fingerprint`, which
notices that it has changed and says what. Only hashes are kept: of the ids in their order, of the ids in any order, and
of every attribute's prepared values. What preparation makes equal counts as equal.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from blindlabel.errors import InputError
from blindlabel.language.record import Record
from blindlabel.records.table_files import check_columns, read_columns, text_of, texts_of, unusable


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
    """Whether the ids came from a column; otherwise they are the rows' positions."""

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
    def fingerprint(self) -> str:
        """A hash of ids and values, in the order of the rows."""
        return _hash([*self.ids, *(text for row in self.rows for text in row)])

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {own: position for position, own in enumerate(self.ids)}


def read_table(
    path: Path | str,
    *,
    id_column: str | None = None,
    attributes: Sequence[str] | Mapping[str, str] | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    name: str | None = None,
) -> Table:
    """Read a table. `attributes` chooses columns; a mapping also renames them (name in the table to column of the
    file).
    """
    path = Path(path)
    renamed = renaming(attributes)
    needed = None if renamed is None else {*renamed.values(), id_column or "id"}
    columns, rows = read_columns(path, encoding, needed, delimiter)
    called = path.name.split(".")[0] if name is None else name
    return assembled(columns, rows, called, id_column=id_column, renamed=renamed, shown=path.name)


def columns_of(path: Path, encoding: str | None = None, delimiter: str | None = None) -> list[str]:
    """The names of a file's columns."""
    return read_columns(path, encoding, None, delimiter)[0]


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
    """The table with these columns and rows, by the rules above; `shown` is what messages call the source."""
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


def near_name(wanted: str, known: Sequence[str]) -> str:
    """The known name that is most like the wanted one, ignoring case, spaces and dashes; else empty."""
    plain = {re.sub(r"[\W_]", "", name).casefold(): name for name in reversed(known)}
    near = difflib.get_close_matches(re.sub(r"[\W_]", "", wanted).casefold(), plain, n=1)
    return plain[near[0]] if near else ""


def _nearest(wanted: str, known: Sequence[str]) -> str:
    return f" Did you mean {near!r}?" if (near := near_name(wanted, known)) else ""


def _check_ids(ids: Sequence[str], id_column: str, shown: str) -> None:
    first: dict[str, int] = {}
    for position, own in enumerate(ids):
        if not own or "\0" in own:
            has = "an id with a character that is no text (NUL)" if own else "no id"
            raise InputError(f"{shown}: row {position + 1} has {has} in column {id_column!r}.")
        if own in first:
            raise InputError(
                f"{shown}: the id {own!r} in column {id_column!r} stands in rows {first[own] + 1} and {position + 1};"
                " ids must be unique."
            )
        first[own] = position


# What is in memory already


@runtime_checkable
class Frame(Protocol):
    """What we use of a data frame: pandas, polars and others have it."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""

    def __getitem__(self, column: Any, /) -> Any:
        """A column."""


Dictionaries = Sequence[Mapping[str, object]]


def table_of(
    source: Frame | Dictionaries,
    *,
    id_column: str | None = None,
    attributes: Sequence[str] | Mapping[str, str] | None = None,
    name: str | None = None,
) -> Table:
    """The table of a frame, or of rows as dictionaries. Without an `id` column, a row's position is its id."""
    called = name or "table"
    renamed = renaming(attributes)
    columns = _columns(source)
    check_columns(columns, called)
    needed = set(columns) if renamed is None else {*renamed.values(), id_column or "id"}
    if isinstance(source, Frame):
        texts = [
            _texts(source[own], column, called) if column in needed else None
            for own, column in zip(source.columns, columns)  # a frame may name columns by numbers
        ]
        index: Any = getattr(source, "index", None)
        if (named := getattr(index, "name", None)) == (id_column or "id") and named not in columns:
            columns.append(str(named))
            texts.append(_texts(index, str(named), called))
        length = max((len(one) for one in texts if one is not None), default=0)
        rows: Iterable[Sequence[str]] = zip(*([""] * length if one is None else one for one in texts))
    else:
        rows = _rows(source, columns, needed, called)
    return assembled(columns, rows, called, id_column=id_column, renamed=renamed, shown=called)


def _columns(source: Frame | Dictionaries) -> list[str]:
    if isinstance(source, Frame):
        return [str(column) for column in source.columns]
    if not isinstance(source, Sequence) or not all(isinstance(row, Mapping) for row in source):
        raise InputError("A table is a file, a frame of pandas or polars, or a list of dictionaries.")
    return list(dict.fromkeys(str(column) for row in source for column in row))


def _rows(source: Dictionaries, columns: Sequence[str], needed: set[str], called: str) -> Iterator[list[str]]:
    for position, row in enumerate(source):
        try:
            yield [text_of(row.get(column)) if column in needed else "" for column in columns]
        except (TypeError, ValueError) as error:
            raise InputError(f"{called}, row {position + 1}: {unusable(error)}.") from error


def _texts(values: Iterable[object], column: str, called: str) -> list[str]:
    try:
        return texts_of(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{called}, column {column!r}: {unusable(error)}.") from error


@dataclass(frozen=True)
class Fingerprint:
    """What identifies a table as it was read."""

    rows: int
    ids: str
    ids_in_any_order: str
    attributes: Mapping[str, str]
    """The hash of each attribute's prepared values."""

    @classmethod
    def of(cls, ids: Sequence[str], prepared: Sequence[Record]) -> Fingerprint:
        """The fingerprint of a table that was prepared as the agreement says, of any length."""
        names = list(prepared[0].attributes) if prepared else []
        columns = {name: _hash(record.attributes[name] for record in prepared) for name in names}
        return cls(len(ids), _hash(ids), _hash(sorted(ids)), columns)

    def to_text(self) -> str:
        """As it is kept."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Fingerprint:
        """Read it again."""
        return cls(**json.loads(text))

    def what_changed(self, now: Fingerprint) -> str | None:
        """A part of a sentence that says what differs, beginning with "it" or "its", or None if nothing does."""
        if now.rows != self.rows:
            return f"it had {self.rows:,} rows when you joined, and has {now.rows:,} now"
        if now.ids_in_any_order != self.ids_in_any_order:
            return "its ids are not those it had when you joined"
        if now.ids != self.ids:
            return "its rows stand in another order than when you joined"
        changed = [name for name, hashed in self.attributes.items() if now.attributes.get(name) != hashed]
        if changed:
            return f"its values of {', '.join(changed)} have changed since you joined"
        return None


def _hash(texts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(4, "little"))
        digest.update(content)
    return digest.hexdigest()
