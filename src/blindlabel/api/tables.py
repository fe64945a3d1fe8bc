"""`blindlabel.read_table`: a table from a file, a frame or a list of dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Union

from blindlabel.records import tables
from blindlabel.records.tables import Dictionaries, Frame, Table, table_of

Source = Union[Table, str, Path, Frame, Dictionaries]
"""Whatever a table can be read from."""


def read_table(
    source: Source,
    *,
    id_column: str | None = None,
    attributes: Sequence[str] | Mapping[str, str] | None = None,
    encoding: str | None = None,
    name: str | None = None,
) -> Table:
    """Read a table: a file (CSV, JSON lines, Parquet), a frame of pandas or polars, or a list of dictionaries.

    `id_column` names the column that identifies a row (else `id` where there is one, else the row's position);
    `attributes` chooses columns, and renames them where it is a mapping of name to column; `encoding` is that of a
    text file that is not UTF-8. Every value becomes text. A table that has been read is given back as it is.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, Path)):
        return tables.read_table(source, id_column=id_column, attributes=attributes, encoding=encoding, name=name)
    return table_of(source, id_column=id_column, attributes=attributes, name=name)
