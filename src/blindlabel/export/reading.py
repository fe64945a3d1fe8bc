"""Reads ground truth that blindlabel wrote (csv, json, parquet), with the discarded pairs beside it. Other tools'
formats are not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from blindlabel.errors import InputError
from blindlabel.export.formats import ID, JSON_MARK, JSON_VERSION, RECORD, SAMPLED, discarded_path
from blindlabel.export.truth import AgreedTruth, LabelledPair
from blindlabel.records.tables import EmptyTableError, columns_of, read_table

_LABELS = {"1": True, "0": False, "true": True, "false": False}


def read_ground_truth(path: Path, *, dataset_a: str | None = None, dataset_b: str | None = None) -> AgreedTruth:
    """Read it back. The columns name the tables; given names win. Where no file of discarded pairs lies beside it and
    every pair is a match, it is taken for an export of matches alone.
    """
    rows = _json_rows(path) if path.suffix == ".json" else _table_rows(path)
    beside = discarded_path(path)
    discarded = _table_rows(beside, needed=()) if beside.exists() else []
    try:
        names = _names([*rows, *discarded], path)
        columns = tuple(f"{RECORD}{name}" for name in names)
        cells = [(_whole(row[columns[0]]), _whole(row[columns[1]])) for row in (*rows, *discarded)]
        labels = [(_LABELS[str(row["label"]).lower()], _whole(row["round"])) for row in rows]
        pairs = tuple(LabelledPair(*cell, *said) for cell, said in zip(cells, labels))
        never = tuple(cells[len(rows) :])
        both, sides = [*rows, *discarded], list(zip(columns, names))
        ids_a, ids_b = (_ids(both, column, f"{ID}{name}") for column, name in sides)
        first, second = (_by_keys(both, column, f"{SAMPLED}{name}") for column, name in sides)
        tables = (dataset_a or names[0], dataset_b or names[1])
        # Whoever was told matches alone writes no file of discarded pairs; everybody else does, even an empty one.
        only = not beside.exists() and all(pair.label for pair in pairs)
        studies = {str(row.get("study", "")) for row in both} or {""}
        if len(studies) > 1:
            raise ValueError("its lines are of several studies")
        return AgreedTruth(*tables, pairs, never, ids_a, ids_b, only, (first, second), *studies)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path.name} is not a ground truth file of blindlabel: {_reason(error)}.") from error


def _names(rows: Sequence[Mapping[str, Any]], path: Path) -> tuple[str, str]:
    """The two tables, by the columns of any row; of a file without rows, by its head."""
    columns = list(rows[0]) if rows else _columns(path)
    named = [column.removeprefix(RECORD) for column in columns if column.startswith(RECORD)]
    if len(named) != 2:
        raise ValueError(f"it needs two columns that begin with {RECORD}, named by owner")
    return named[0], named[1]


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


def _table_rows(path: Path, needed: tuple[str, ...] = ("label", "round")) -> list[dict[str, str]]:
    try:
        table = read_table(path)
    except EmptyTableError:
        return []
    missing = [column for column in needed if column not in table.attributes]
    if missing:
        raise InputError(f"{path.name} is not a ground truth file of blindlabel: it has no column {missing[0]!r}.")
    return [table.row(position) for position in range(len(table))]


def _columns(path: Path) -> list[str]:
    """The columns of a file without rows."""
    if path.suffix == ".json":
        datasets = json.loads(path.read_text(encoding="utf-8"))["datasets"]
        return [f"{RECORD}{datasets['a']}", f"{RECORD}{datasets['b']}"]
    return columns_of(path)


def _json_rows(path: Path) -> list[dict[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != JSON_MARK:
            raise ValueError("its format has another name")
        if document["version"] != JSON_VERSION:
            raise ValueError(f"it has version {document['version']}, and this blindlabel reads {JSON_VERSION}")
        rows = list(document["pairs"])
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("a pair is not an object")
        return rows
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}.") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path.name} is not a ground truth file of blindlabel: {_reason(error)}.") from error


def merged(one: AgreedTruth, other: AgreedTruth) -> AgreedTruth:
    """The pairs of two exports with the ids that either knows."""
    names = (one.dataset_a, one.dataset_b)
    if (other.dataset_a, other.dataset_b) != names:
        raise InputError(
            f"These are exports of different pairings: {' and '.join(names)} here,"
            f" {other.dataset_a} and {other.dataset_b} there."
        )
    if one.study != other.study:
        raise InputError("These are exports of different studies.")
    said = [{(pair.i, pair.j): (pair.label, pair.round) for pair in truth.pairs} for truth in (one, other)]
    if said[0] != said[1] or sorted(one.discarded) != sorted(other.discarded):
        differing = [pair for pair in said[0].keys() | said[1].keys() if said[0].get(pair) != said[1].get(pair)]
        raise InputError(
            f"The two exports say different things about {max(1, len(differing)):,} pairs: they are of different"
            " studies, or of different times."
        )
    for first, second, name in ((one.ids_a, other.ids_a, names[0]), (one.ids_b, other.ids_b, names[1])):
        if first is not None and second is not None and first != second:
            raise InputError(f"The two exports have different ids for the same rows of {name}.")
    return replace(one, ids_a=one.ids_a or other.ids_a, ids_b=one.ids_b or other.ids_b)


def with_own_ids(truth: AgreedTruth, path: Path) -> AgreedTruth:
    """The same labels with the ids of one owner, as `export --ids` wrote them."""
    table = read_table(path)
    side = next((side for side in ("a", "b") if f"{RECORD}{getattr(truth, f'dataset_{side}')}" in table.attributes), "")
    name = getattr(truth, f"dataset_{side}", "")
    rows = [table.row(position) for position in range(len(table))]
    if not side or {row.get("study") for row in rows} != {truth.study}:
        raise InputError(f"The ids in {path.name} are not of this study: merge the labels and ids of one study.")
    ids = {_whole(row[f"{RECORD}{name}"]): row[f"{ID}{name}"] for row in rows}
    try:
        return replace(truth, ids_a=ids) if side == "a" else replace(truth, ids_b=ids)
    except ValueError as error:
        raise InputError(f"{path.name} lacks the id of a record of {name} that is labelled.") from error


def joined(paths: Sequence[Path]) -> AgreedTruth:
    """One ground truth with the ids of both owners, from an export of each, or from labels and the ids of each."""
    truth = read_ground_truth(paths[0])
    for path in paths[1:]:
        is_truth = path.suffix == ".json" or "label" in columns_of(path)
        truth = merged(truth, read_ground_truth(path)) if is_truth else with_own_ids(truth, path)
    for ids, name in ((truth.ids_a, truth.dataset_a), (truth.ids_b, truth.dataset_b)):
        if ids is None and truth.pairs:
            raise InputError(
                f"Nothing here has the ids of {name}: add its export, or what `blindlabel export --ids` writes."
            )
    return truth
