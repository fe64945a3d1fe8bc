"""Reads ground truth that blindlabel wrote (csv, json, parquet), with the discarded pairs beside it. Other tools'
formats are not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from blindlabel.errors import InputError
from blindlabel.export.formats import JSON_MARK, JSON_VERSION, discarded_path
from blindlabel.export.truth import GroundTruth, LabelledPair
from blindlabel.records.tables import EmptyTableError, read_table

_LABELS = {"1": True, "0": False, "true": True, "false": False}


def read_ground_truth(path: Path, *, dataset_a: str | None = None, dataset_b: str | None = None) -> GroundTruth:
    """Read it back. CSV holds no names of the tables: they are `a` and `b` unless given; given names win everywhere."""
    names: tuple[str, str] = ("a", "b")
    if path.suffix == ".json":
        rows, names = _json_rows(path)
    else:
        rows = _table_rows(path, ("i", "j", "label", "round"))
        if path.suffix == ".parquet":
            names = _parquet_names(path)
    beside = discarded_path(path)
    discarded = _table_rows(beside, ("i", "j")) if beside.exists() else []
    try:
        pairs = tuple(
            LabelledPair(_whole(row["i"]), _whole(row["j"]), _LABELS[str(row["label"]).lower()], _whole(row["round"]))
            for row in rows
        )
        never = tuple((_whole(row["i"]), _whole(row["j"])) for row in discarded)
        both = [*rows, *discarded]
        ids_a, ids_b = _ids(both, "i", "id_a"), _ids(both, "j", "id_b")
        by_keys = (_by_keys(both, "i", "sampled_a"), _by_keys(both, "j", "sampled_b"))
        tables = (dataset_a or names[0], dataset_b or names[1])
        # Whoever was told matches alone writes no file of discarded pairs; everybody else does, even an empty one.
        only = not beside.exists() and all(pair.label for pair in pairs)
        return GroundTruth(*tables, pairs, never, ids_a, ids_b, only, by_keys)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path.name} is not a ground truth file of blindlabel: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    return f"{error} is missing or has an unknown value" if isinstance(error, KeyError) else str(error)


def _whole(value: object) -> int:
    number = int(str(value))
    if number < 0:
        raise ValueError(f"{number} is no position")
    return number


def _ids(rows: Iterable[Mapping[str, Any]], position: str, column: str) -> dict[int, str] | None:
    found = {_whole(row[position]): str(row[column]) for row in rows if column in row}
    return found or None


def _by_keys(rows: Iterable[Mapping[str, Any]], position: str, column: str) -> frozenset[int]:
    return frozenset(_whole(row[position]) for row in rows if row.get(column) == "keys")


def _table_rows(path: Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    try:
        table = read_table(path)
    except EmptyTableError:
        return []
    missing = [column for column in needed if column not in table.attributes]
    if missing:
        raise InputError(f"{path.name} is not a ground truth file of blindlabel: it has no column {missing[0]!r}.")
    return [table.row(position) for position in range(len(table))]


def _json_rows(path: Path) -> tuple[list[dict[str, Any]], tuple[str, str]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != JSON_MARK:
            raise ValueError("its format has another name")
        if document["version"] != JSON_VERSION:
            raise ValueError(f"it has version {document['version']}, and this blindlabel reads {JSON_VERSION}")
        rows = list(document["pairs"])
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("a pair is not an object")
        return rows, (str(document["datasets"]["a"]), str(document["datasets"]["b"]))
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}.") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path.name} is not a ground truth file of blindlabel: {_reason(error)}.") from error


def _parquet_names(path: Path) -> tuple[str, str]:
    import pyarrow.parquet as pq  # noqa: PLC0415 (slow to import, and needed only here)

    metadata = pq.read_schema(path).metadata or {}
    return (metadata.get(b"blindlabel.dataset_a", b"a").decode(), metadata.get(b"blindlabel.dataset_b", b"b").decode())
