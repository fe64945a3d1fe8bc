"""Table files: reading CSV, JSON lines, Parquet and Excel into columns and rows of text; and writing CSV. A new format
is a new reader here, chosen in `read_columns`.

Text files are UTF-8, with or without byte order mark, unless an encoding is named or a UTF-16/32 mark says otherwise. A
file that is not UTF-8 is refused with the encoding it looks like, never read on a guess: a wrong guess would quietly
spoil names. Values are separated by commas, or by semicolons, tabs or bars if the first line has those and no comma.
Files are written as RFC 4180 says, in UTF-8 with LF, so that every value reads back as it was.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import gzip
import io
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO, TypeGuard

from blindlabel.errors import InputError

# Values as text

_MISSING = ("NAType", "NaTType")
"""What pandas uses for a missing value; known by name, because pandas may not be installed."""


def text_of(value: object) -> str:
    """A value as text: missing and not-a-number are empty, truth is `true` or `false`, a whole number has no decimals
    (31.0 is `31`), other numbers are written shortest without rounding, dates and times as in ISO 8601, lists joined by
    `, `."""
    if value is None or type(value).__name__ in _MISSING:
        return ""
    if isinstance(value, str):
        value.encode()  # half a surrogate pair is no text: it could not be sent
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Decimal):
        return "" if value.is_nan() else format(value, "f")
    if isinstance(value, (datetime.date, datetime.time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, (list, tuple)):
        return ", ".join(text_of(part) for part in value)
    if hasattr(value, "item"):  # a number of NumPy
        return text_of(value.item())
    raise TypeError(f"a value of type {type(value).__name__} has no text form")


def texts_of(values: Iterable[object]) -> list[str]:
    """The values of a column as texts. If all its times are midnight they are dates: frames have no type for dates."""
    column = list(values)
    times = [value for value in column if _is_time(value)]
    if any(value.time() != datetime.time() for value in times):
        return [text_of(value) for value in column]
    return [value.date().isoformat() if _is_time(value) else text_of(value) for value in column]


def _is_time(value: object) -> TypeGuard[datetime.datetime]:
    return isinstance(value, datetime.datetime) and type(value).__name__ not in _MISSING


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(float(value))


def unusable(error: Exception) -> str:
    """Why a value has no text form, for a sentence."""
    return "a text that is not valid Unicode" if isinstance(error, UnicodeError) else str(error)


# Reading

ColumnsAndRows = tuple[list[str], Iterable[Sequence[str]]]
"""The names of columns, and the rows."""

_TEXT_SUFFIXES = {".csv": "csv", ".tsv": "\t", ".tab": "\t", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
_PARQUET_SUFFIXES = (".parquet", ".pq")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_columns(
    path: Path, encoding: str | None, needed: set[str] | None, delimiter: str | None = None
) -> ColumnsAndRows:
    """The columns and rows of a file. In columns that are not needed, values may be left empty and need not have a text
    form.
    """
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a table.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    try:
        if suffixes and suffixes[-1] in _PARQUET_SUFFIXES:
            return _read_parquet(path, needed)
        if suffixes and suffixes[-1] in (".xlsx", ".xlsm"):
            return _read_excel(path)
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
            suffixes = suffixes[:-1] if suffixes and suffixes[-1] == ".gz" else suffixes
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path.name} is not a complete gzip file: {error}.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    if content[:4] == b"PAR1":
        return _read_parquet(path, needed)
    kind = _TEXT_SUFFIXES.get(suffixes[-1]) if suffixes else None
    if delimiter is not None and len(delimiter := {"tab": "\t"}.get(delimiter, delimiter)) != 1:
        raise InputError("--delimiter takes one character, or the word tab.")
    return _read_text(content, delimiter or kind, path.name, encoding, needed)


def _read_text(
    content: bytes, kind: str | None, shown: str, encoding: str | None, needed: set[str] | None
) -> ColumnsAndRows:
    """The columns and rows of a text. Its kind is csv, jsonl, a separator, or None: to be detected."""
    if content[:4] == b"PK\x03\x04" or content[:4] == b"\xd0\xcf\x11\xe0":
        raise InputError(
            f"{shown} is not a table but looks like a spreadsheet or an archive. Save it as CSV (UTF-8) first."
        )
    text = _decoded(content, shown, encoding)
    if not text.strip():
        raise InputError(f"{shown} is empty.")
    if kind is None:
        kind = "jsonl" if text.lstrip()[0] in "{[" else "csv"
    if kind == "jsonl":
        return _read_json_lines(text, shown, needed)
    return _read_csv(text, None if kind == "csv" else kind, shown)


def _decoded(content: bytes, shown: str, encoding: str | None) -> str:
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), None)
    chosen = encoding or marked or "utf-8"
    try:
        if marked == "utf-8-sig" and codecs.lookup(chosen).name == "utf-8":
            chosen = marked  # the mark is not part of the first column's name
        return content.decode(chosen)
    except LookupError as error:
        raise InputError(
            f"There is no text encoding called {encoding!r}. Known ones are utf-8, cp1252, latin-1, utf-16 and many"
            " more."
        ) from error
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = content.count(b"\n", 0, start) + 1
        if encoding:
            raise InputError(
                f"{shown} cannot be read as {encoding}: line {line} has bytes that do not fit it."
            ) from error
        raise InputError(
            f"{shown} is not UTF-8: line {line} has bytes that do not fit it. {_advice(content, start)}"
        ) from error


def _advice(content: bytes, start: int) -> str:
    """What to do about a file that is not UTF-8, and the encoding that it looks like."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 (slow to import, and needed only here)

    # What is around the first odd byte is enough to tell, and quick to read in a large file.
    sample = content[max(0, start - 50_000) : start + 50_000]
    if b"\0" in sample[:1000]:
        return "It does not look like text at all; it must be CSV, JSON lines or Parquet."
    best = from_bytes(sample).best()
    if _is_western(sample) and (_stand_alone(sample) or (best is not None and best.encoding in _WESTERN)):
        name = "cp1252"
    elif best is not None:
        name = best.encoding.replace("_", "-")
    else:
        return "Its encoding could not be told; name it with --encoding, or convert the file to UTF-8."
    return (
        f"It looks like {name}: read it with --encoding {name} and check a few names with accents, or convert the file"
        " to UTF-8."
    )


_WESTERN = {"cp1250", "cp1252", "cp1254", "cp1257", "cp1258", "latin_1", "iso8859_2", "iso8859_9", "iso8859_15"}
_WESTERN_LETTERS = frozenset("äöüßÄÖÜéèêëàâáãåæçíìîïñóòôõøœúùûýÿÉÈÀÁÅÆÇÍÑÓÕØŒÚŠšŽž’‘“”–—€°§«»…")


def _is_western(sample: bytes) -> bool:
    """Whether everything that is not ASCII, read as cp1252, is what Western European text has: spreadsheets there write
    cp1252. A short sample fits many code pages equally well, and the others are far less likely.
    """
    try:
        odd = {letter for letter in sample.decode("cp1252") if ord(letter) > 127}
    except UnicodeDecodeError:
        return False
    return odd <= _WESTERN_LETTERS


def _stand_alone(sample: bytes) -> bool:
    """Whether bytes that are not ASCII mostly stand alone among ASCII letters, as letters with accents do. In other
    alphabets whole words are not ASCII, and characters of two bytes come in pairs.
    """
    runs = re.findall(rb"[\x80-\xff]+", sample)
    return sum(map(len, runs)) <= 1.2 * len(runs)


def _read_csv(text: str, delimiter: str | None, shown: str) -> ColumnsAndRows:
    # newline="" leaves line ends inside quotes alone; strict refuses broken quoting instead of guessing.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or ",", strict=True)
    rows = _csv_rows(reader, shown)
    _, columns = next(rows)
    if len(columns) == 1 and delimiter is None:
        for other in (one for one in ";\t|" if one in columns[0]):
            return _read_csv(text, other, shown)
    check_columns(columns, shown)
    return columns, _even_rows(rows, len(columns), shown)


def _csv_rows(reader: Any, shown: str) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the line it begins on."""
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{shown}, line {line}: {error}. Text with commas, quotes or line ends must be in double quotes."
        ) from error


def _even_rows(rows: Iterator[tuple[int, list[str]]], width: int, shown: str) -> Iterator[Sequence[str]]:
    for line, row in rows:
        if len(row) != width:
            more = "more" if len(row) > width else "fewer"
            raise InputError(
                f"{shown}, line {line}: {len(row)} values, {more} than the {width} columns of the first line."
            )
        yield row


def _read_json_lines(text: str, shown: str, needed: set[str] | None) -> ColumnsAndRows:
    columns: dict[str, int] = {}
    rows: list[dict[str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
            raise InputError(f"{shown}, line {number}: not a JSON object on one line ({reason}).") from error
        if not isinstance(found, dict):
            raise InputError(
                f"{shown}, line {number}: JSON lines need one object a line, not a {type(found).__name__}."
            )
        row = {}
        for column, value in found.items():
            columns.setdefault(column, len(columns))
            if needed is not None and column not in needed:
                continue
            try:
                row[column] = text_of(value)
            except (TypeError, ValueError) as error:
                raise InputError(f"{shown}, line {number}, column {column!r}: {unusable(error)}.") from error
        rows.append(row)
    check_columns(list(columns), shown)
    return list(columns), ([row.get(column, "") for column in columns] for row in rows)


def _read_parquet(path: Path, needed: set[str] | None) -> ColumnsAndRows:
    import pyarrow as pa  # noqa: PLC0415 (slow to import, and needed only here)
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(path) as file:
            columns = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
            check_columns(columns, path.name)
            found = file.read(columns=[column for column in columns if needed is None or column in needed])
            count = file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path.name} cannot be read as Parquet: {str(error).splitlines()[0]}") from error
    texts: list[list[str]] = []
    for column in columns:
        if column not in found.column_names:
            texts.append([""] * count)
            continue
        values = found.column(column)
        if pa.types.is_timestamp(values.type):  # nanoseconds would need pandas; nobody's birthday does
            values = values.cast(pa.timestamp("us", tz=values.type.tz), safe=False)
        try:
            texts.append(texts_of(values.to_pylist()))
        except (TypeError, ValueError, pa.ArrowException) as error:
            raise InputError(f"{path.name}, column {column!r}: {unusable(error)}.") from error
    return columns, zip(*texts)


def _read_excel(path: Path) -> ColumnsAndRows:
    """The only sheet that has anything in it; its first row names the columns."""
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise InputError(
            f"To read {path.name} Excel's reader is needed: pip install 'blindlabel[excel]'. Or save it as CSV (UTF-8)."
        ) from error
    try:
        found = [[row for row in sheet.values if set(row) != {None}] for sheet in load_workbook(path, data_only=True)]
    except Exception as error:  # whatever the library meets in somebody else's file
        raise InputError(f"{path.name} cannot be read as an Excel file. Save it as CSV (UTF-8).") from error
    sheets = [rows for rows in found if rows]
    if len(sheets) != 1:
        raise InputError(f"{path.name} has {len(sheets)} sheets with values in them, not one. Keep one, or save CSV.")
    width = max(place + 1 for row in sheets[0] for place, value in enumerate(row) if value is not None)
    try:
        columns, *rows = zip(*(texts_of(row[place] for row in sheets[0]) for place in range(width)))
    except (TypeError, ValueError) as error:
        raise InputError(f"{path.name}: {unusable(error)}.") from error
    check_columns(columns, path.name)
    return list(columns), rows


def check_columns(columns: Sequence[str], shown: str) -> None:
    """Refuse columns without a name, or with the same."""
    if any("\0" in column for column in columns):
        raise InputError(f"{shown} is not a table: its first line is not text.")
    seen: set[str] = set()
    for number, column in enumerate(columns, start=1):
        if not column.strip():
            raise InputError(f"{shown}: column {number} has no name.")
        if column in seen:
            raise InputError(f"{shown}: two columns are called {column!r}.")
        seen.add(column)


# Writing


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
