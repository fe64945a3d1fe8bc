"""Ground truth as files for other tools. Every format here needs names of rows only, no content of any record.

`write` writes one file in the format and beside it `<name>.discarded.csv` with the pairs that were discarded, always,
even where there are none: a pair that is missing from both files was not sampled; a discarded pair is never written as
"no match".
"""

from __future__ import annotations

import io
import itertools
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blindlabel.errors import InputError, OutsideError
from blindlabel.export.truth import STUDY, AgreedTruth, own_ids
from blindlabel.records.table_files import write_csv
from blindlabel.storage.files import sync_file, sync_folder

if TYPE_CHECKING:
    from blindlabel.storage.workspace import Workspace

JSON_MARK = "blindlabel ground truth"
JSON_VERSION = 3
RECORD, ID, SAMPLED = "record_", "id_", "sampled_"
"""Columns with places in the sample (counted from 0), ids, and how a record came into an enriched sample begin so; the
owner's name follows.
"""
_PARQUET_ROWS = 1 << 17


_Write = Callable[[AgreedTruth, Path], None]


@dataclass(frozen=True)
class Format:
    """One way to write ground truth."""

    name: str
    description: str
    suffix: str
    write: _Write
    needs_labels: bool
    """Whether it is of no use without pairs that are no match."""


FORMATS: dict[str, Format] = {}
"""Every format that needs no record content, by name."""


def _format(name: str, suffix: str, description: str, *, needs_labels: bool = False) -> Callable[[_Write], _Write]:
    """The function below writes this format."""

    def known(write: _Write) -> _Write:
        FORMATS[name] = Format(name, description, suffix, write, needs_labels)
        return write

    return known


def write(truth: AgreedTruth, format: str, path: Path) -> list[Path]:
    """Write the ground truth to a file (or into a folder, as `ground_truth`); returns that file and the one with the
    discarded pairs.
    """
    if format not in FORMATS:
        raise InputError(f"There is no format {format!r}. There are {', '.join(FORMATS)}.")
    chosen = FORMATS[format]
    if chosen.needs_labels and truth.only_matches:
        raise InputError(
            f"The format {format} needs pairs that are no match, and this study released the matches alone"
            ' (release = "matches" in its agreement). Take splink-matches, pyjedai, leipzig or csv, or ask the'
            " coordinator, who has all labels."
        )
    path = prepared(path, chosen.suffix)
    beside = discarded_path(path)
    replacing(path, lambda part: chosen.write(truth, part))
    if truth.only_matches:
        return [path]
    replacing(beside, lambda part: _write_discarded(truth, part))
    return [path, beside]


def write_ids(workspace: Workspace, path: Path) -> int:
    """Write what labels call an owner's sampled records, and their ids; returns how many they are."""
    ids, name = own_ids(workspace), workspace.name
    if not ids:
        raise InputError("The sample has not been drawn yet, so there are no ids to write.")
    lines = [(number, own, workspace.agreement.hash[:STUDY]) for number, own in ids.items()]
    replacing(path, lambda part: write_csv(part, (f"{RECORD}{name}", f"{ID}{name}", "study"), lines))
    return len(ids)


def archive_of(truth: AgreedTruth, format: str) -> bytes:
    """A ground truth in one format, with the discarded pairs beside it, as an archive."""
    buffer = io.BytesIO()
    archive = zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED)
    with tempfile.TemporaryDirectory(prefix="blindlabel-") as folder, archive:
        for path in write(truth, format, Path(folder)):
            archive.write(path, path.name)
    return buffer.getvalue()


def prepared(path: Path, suffix: str) -> Path:
    """The file to write: in a folder it gets its usual name; folders are made."""
    path = path / f"ground_truth{suffix}" if path.is_dir() else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutsideError(f"The folder {path.parent} cannot be made: {error.strerror}.") from error
    return path


def discarded_path(path: Path) -> Path:
    """Where the discarded pairs of a ground truth file stand."""
    return path.with_name(f"{path.stem}.discarded.csv")


def replacing(path: Path, write_to: Callable[[Path], None]) -> None:
    """Write a file whole or not at all: what was there stays until the new one is complete."""
    part = path.with_name(path.name + ".part")
    try:
        write_to(part)
        sync_file(part)
        part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise OutsideError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)


def _write_json_pairs(path: Path, head: dict[str, Any], pairs: Iterable[dict[str, Any]]) -> None:
    """One JSON document that ends with many pairs, a line each, written as they come."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "pairs": [')
        for number, pair in enumerate(pairs):
            file.write((",\n" if number else "\n") + json.dumps(pair, ensure_ascii=False))
        file.write("\n]}\n")


def _row_columns(truth: AgreedTruth) -> tuple[str, str]:
    """The columns with the records' places, named by owner."""
    return f"{RECORD}{truth.dataset_a}", f"{RECORD}{truth.dataset_b}"


def _more_columns(truth: AgreedTruth) -> list[str]:
    """The columns with ids, of the sides where they are known; and where the sample was enriched, how each row came
    into it; and of which study it is.
    """
    names = (truth.dataset_a, truth.dataset_b)
    ids = [f"{ID}{name}" for name, known in zip(names, (truth.ids_a, truth.ids_b)) if known is not None]
    return [*ids, *(f"{SAMPLED}{name}" for name in names if any(truth.by_keys)), *(["study"] if truth.study else [])]


def _more(truth: AgreedTruth, i: int, j: int) -> list[str]:
    """What `_more_columns` names, of one pair."""
    ids = [known[row] for known, row in ((truth.ids_a, i), (truth.ids_b, j)) if known is not None]
    parts = (sampled(truth, 0, i), sampled(truth, 1, j)) if any(truth.by_keys) else ()
    return [*ids, *parts, *([truth.study] if truth.study else [])]


def sampled(truth: AgreedTruth, side: int, row: int) -> str:
    """How a row came into an enriched sample."""
    return "keys" if row in truth.by_keys[side] else "uniform"


def _write_discarded(truth: AgreedTruth, path: Path) -> None:
    rows = ((i, j, *_more(truth, i, j)) for i, j in truth.discarded)
    write_csv(path, (*_row_columns(truth), *_more_columns(truth)), rows)


@_format(
    "csv", ".csv", "Table of record_<owner> (place in the sample, from 0), label (1, 0), round, id_<owner> where known."
)
def _csv(truth: AgreedTruth, path: Path) -> None:
    rows = ((p.i, p.j, int(p.label), p.round, *_more(truth, p.i, p.j)) for p in truth.pairs)
    write_csv(path, (*_row_columns(truth), "label", "round", *_more_columns(truth)), rows)


@_format("json", ".json", "The same as a JSON document with the names of both tables. blindlabel reads it again.")
def _json(truth: AgreedTruth, path: Path) -> None:
    columns = (*_row_columns(truth), "label", "round", *_more_columns(truth))
    pairs = (dict(zip(columns, (p.i, p.j, p.label, p.round, *_more(truth, p.i, p.j)))) for p in truth.pairs)
    datasets = {"a": truth.dataset_a, "b": truth.dataset_b}
    _write_json_pairs(path, {"format": JSON_MARK, "version": JSON_VERSION, "datasets": datasets}, pairs)


@_format("parquet", ".parquet", "The same as Parquet, names in its metadata. blindlabel reads it again.")
def _parquet(truth: AgreedTruth, path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 (slow to import, and needed only here)
    import pyarrow.parquet as pq  # noqa: PLC0415

    first, second = _row_columns(truth)
    schema = pa.schema(
        [(first, pa.int64()), (second, pa.int64()), ("label", pa.bool_()), ("round", pa.int32())]
        + [(column, pa.string()) for column in _more_columns(truth)],
        metadata={"blindlabel.dataset_a": truth.dataset_a, "blindlabel.dataset_b": truth.dataset_b},
    )
    with pq.ParquetWriter(path, schema) as writer:
        pairs = iter(truth.pairs)
        while part := list(itertools.islice(pairs, _PARQUET_ROWS)):
            rows = [(p.i, p.j, p.label, p.round, *_more(truth, p.i, p.j)) for p in part]
            writer.write_table(pa.table(dict(zip(schema.names, map(list, zip(*rows)))), schema=schema))


@_format(
    "splink", ".csv", "Splink labels for evaluation, with a clerical match score of 1.0 or 0.0.", needs_labels=True
)
def _splink(truth: AgreedTruth, path: Path) -> None:
    header = ("source_dataset_l", "unique_id_l", "source_dataset_r", "unique_id_r", "clerical_match_score")
    write_csv(path, header, ((*_splink_names(truth, p.i, p.j), f"{float(p.label):.1f}") for p in truth.pairs))


@_format("splink-matches", ".csv", "Matches only, for Splink's estimation of m from pairwise labels.")
def _splink_matches(truth: AgreedTruth, path: Path) -> None:
    header = ("source_dataset_l", "unique_id_l", "source_dataset_r", "unique_id_r")
    write_csv(path, header, [_splink_names(truth, p.i, p.j) for p in truth.matches()])


def _splink_names(truth: AgreedTruth, i: int, j: int) -> tuple[str, str, str, str]:
    return (truth.dataset_a, truth.name_a(i), truth.dataset_b, truth.name_b(j))


@_format("recordlinkage", ".json", "Annotation file of the Python Record Linkage Toolkit.", needs_labels=True)
def _recordlinkage(truth: AgreedTruth, path: Path) -> None:
    # Where only the position is known it stays a number, as in the index that pandas gives a table.
    pairs: Iterable[dict[str, Any]] = (
        {
            "fields": [],
            "identifiers": {
                "a": {"dataset": truth.dataset_a, "record": p.i if truth.ids_a is None else truth.ids_a[p.i]},
                "b": {"dataset": truth.dataset_b, "record": p.j if truth.ids_b is None else truth.ids_b[p.j]},
            },
            "label": int(p.label),
            "label_str": "Match" if p.label else "Distinct",
        }
        for p in truth.pairs
    )
    _write_json_pairs(path, {"version": 1}, pairs)


@_format("py_entitymatching", ".csv", "Labelled candidate set: _id, ltable_id, rtable_id, label.", needs_labels=True)
def _py_entitymatching(truth: AgreedTruth, path: Path) -> None:
    rows = ((number, truth.name_a(p.i), truth.name_b(p.j), int(p.label)) for number, p in enumerate(truth.pairs))
    write_csv(path, ("_id", "ltable_id", "rtable_id", "label"), rows)


@_format("rltk", ".csv", "Ground truth of RLTK: id1, id2, label (True or False).", needs_labels=True)
def _rltk(truth: AgreedTruth, path: Path) -> None:
    rows = ((truth.name_a(p.i), truth.name_b(p.j), str(p.label)) for p in truth.pairs)
    write_csv(path, ("id1", "id2", "label"), rows)


@_format("pyjedai", ".csv", "Ground truth of pyJedAI: D1|D2, matches only.")
def _pyjedai(truth: AgreedTruth, path: Path) -> None:
    write_csv(path, ("D1", "D2"), [(truth.name_a(p.i), truth.name_b(p.j)) for p in truth.matches()], delimiter="|")


@_format("leipzig", ".csv", "Perfect mapping as in the Leipzig benchmarks: two id columns, matches only.")
def _leipzig(truth: AgreedTruth, path: Path) -> None:
    header = (f"id{truth.dataset_a}", f"id{truth.dataset_b}")
    write_csv(path, header, [(truth.name_a(p.i), truth.name_b(p.j)) for p in truth.matches()])
