"""Writes CSV files as RFC 4180 has them, in UTF-8 with LF, so that every value reads back as it was. Reading is in
`tables`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO


class _Lines:
    """Takes rows that end with CR LF and writes them with LF.

    csv quotes only those line ends that its own terminator has; with LF alone it would leave a CR inside a value bare.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, row: str) -> None:
        self._file.write(row.removesuffix("\r\n") + "\n")


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ",") -> None:
    """Write a header and rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(_Lines(file), delimiter=delimiter, lineterminator="\r\n")
        writer.writerow(header)
        writer.writerows(rows)
