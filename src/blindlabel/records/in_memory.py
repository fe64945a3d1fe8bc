"""Tables from what is in memory already: frames of pandas or polars, and rows as dictionaries. The rules are those of
`tables`; neither library is needed for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from blindlabel.errors import InputError
from blindlabel.records.readers import check_columns
from blindlabel.records.tables import Table, assembled, renaming
from blindlabel.records.values import text_of, unusable


@runtime_checkable
class Frame(Protocol):
    """What is used of a data frame: pandas, polars and others have it."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""
        ...

    def __getitem__(self, column: Any, /) -> Any:
        """A column."""
        ...


Rows = Sequence[Mapping[str, object]]


def table_of(
    source: Frame | Rows,
    *,
    id_column: str | None = None,
    attributes: Sequence[str] | Mapping[str, str] | None = None,
    name: str | None = None,
) -> Table:
    """The table of a frame or of rows as dictionaries; its position is a row's id where there is no `id` column."""
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
        length = max((len(one) for one in texts if one is not None), default=0)
        rows: Iterable[Sequence[str]] = zip(*([""] * length if one is None else one for one in texts))
    else:
        rows = _rows(source, columns, needed, called)
    return assembled(columns, rows, called, id_column=id_column, renamed=renamed, shown=called)


def _columns(source: Frame | Rows) -> list[str]:
    if isinstance(source, Frame):
        return [str(column) for column in source.columns]
    if not isinstance(source, Sequence) or not all(isinstance(row, Mapping) for row in source):
        raise InputError("A table is a file, a frame of pandas or polars, or a list of dictionaries.")
    return list(dict.fromkeys(str(column) for row in source for column in row))


def _rows(source: Rows, columns: Sequence[str], needed: set[str], called: str) -> Iterator[list[str]]:
    for position, row in enumerate(source):
        try:
            yield [text_of(row.get(column)) if column in needed else "" for column in columns]
        except (TypeError, ValueError) as error:
            raise InputError(f"{called}, row {position + 1}: {unusable(error)}.") from error


def _texts(values: Iterable[object], column: str, called: str) -> list[str]:
    try:
        return [text_of(value) for value in values]
    except (TypeError, ValueError) as error:
        raise InputError(f"{called}, column {column!r}: {unusable(error)}.") from error
