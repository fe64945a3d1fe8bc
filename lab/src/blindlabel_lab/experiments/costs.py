"""What encryption costs: bytes a record against its length, and seconds against sizes, for the packed and the gates
engine.

The gates figures are measured on one small circuit and multiplied by exact gate counts (`blindlabel_lab.bench`): the
publication's own sizes take days. What cannot be run on this machine is named in `not_run`, with the reason, and its
figures are null, never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blindlabel.engines.ask import EncryptedRecords
from blindlabel.engines.interface import EngineError
from blindlabel.engines.registry import engine_named
from blindlabel_lab.bench import compare, gates
from blindlabel_lab.bench.machine import machine
from blindlabel_lab.bench.workload import PUBLISHED_PAIRS, PUBLISHED_PARALLEL, PUBLISHED_SECONDS, workload
from blindlabel_lab.experiments.quality import Advance
from blindlabel_lab.experiments.results import Results

PUBLISHED_BYTES = 32 * 1024
"""Bytes a character in the publication."""
LENGTHS = (15, 46, 53, 100, 118, 148, 300)
_BROKEN = (EngineError, ImportError, AttributeError)


def communication(
    results: Results, advance: Advance, lengths: Sequence[int] = LENGTHS, size: int = 50
) -> dict[str, Any]:
    """Bytes of one encrypted record, by its length: 50 records of that length encrypted, their parcels divided by
    50.
    """
    not_run: list[dict[str, Any]] = []
    key = ["communication", list(lengths), size, machine()]
    kept = results.kept("costs", key)
    if kept is not None:
        return dict(kept)
    gates_bytes: int | None = None
    advance("one character with the gates engine", 0.0)
    try:
        gates_bytes = gates.figures()["bytes_per_character"]["openfhe"]
    except _BROKEN as error:
        not_run.append({"engine": "gates", "reason": str(error)})
    rows = []
    keys: dict[str, Any] = {}
    for number, length in enumerate(lengths):
        advance(f"records of {length} characters with the packed engine", (1 + number) / (1 + len(lengths)))
        packed: int | None = None
        default: int | None = None
        try:
            work = workload(length, size)
            encrypted = EncryptedRecords(engine_named("packed"), work.terms, work.records)
            packed = sum(map(len, encrypted.parcels))
            default, default_keys = _default_agreement(length, size)
            keys = {"public_bytes": len(encrypted.keys.public), "default_agreement_bytes": default_keys}
        except _BROKEN as error:
            not_run.append({"engine": "packed", "length": length, "reason": str(error)})
        rows.append(
            {
                "length": length,
                "plain_bytes": length,
                "packed_bytes": None if packed is None else packed / size,
                "packed_bytes_per_character": None if packed is None else packed / size / length,
                "default_bytes": None if default is None else default / size,
                "gates_bytes": None if gates_bytes is None else gates_bytes * length,
                "published_bytes": PUBLISHED_BYTES * length,
            }
        )
    document = {
        "machine": machine(),
        "records": size,
        "encoded": "substrings of up to 16 characters of the whole record, exact and lower case",
        "packed_keys": keys,
        "gates_bytes_per_character": gates_bytes,
        "published_bytes_per_character": PUBLISHED_BYTES,
        "rows": rows,
        "not_run": not_run,
    }
    if not not_run:
        results.keep("costs", key, document)
    return document


def _default_agreement(length: int, size: int) -> tuple[int, int]:
    """Bytes of all records of one round, and of the keys that go with them, under the agreement that a study gets."""
    work, engine = workload(length, size, full=True), engine_named("packed")
    keys = engine.make_keys(work.terms)
    parcels = engine.encrypt(work.terms, keys.secret, work.records, questions=size)
    return sum(map(len, parcels)), len(keys.public)


def computation(
    results: Results, advance: Advance, lengths: Sequence[int] = compare.LENGTHS, size: int = 50
) -> dict[str, Any]:
    """Seconds and bytes of one round on 50 by 50 records, packed and gates, beside the published seconds."""
    key = ["computation", list(lengths), size, machine()]
    kept = results.kept("costs", key)
    if kept is not None:
        return dict(kept)
    document = compare.comparison(tuple(lengths), size, advance)
    document["published"] = {
        "what": f"one needle of 6 characters, {PUBLISHED_PAIRS} pairs, serial mode",
        "seconds": {str(length): seconds for length, seconds in PUBLISHED_SECONDS.items()},
        "parallel": PUBLISHED_PARALLEL,
    }
    if not document["not_run"]:
        results.keep("costs", key, document)
    return dict(document)
