"""What encryption costs: bytes a record against its length, and seconds against sizes, for the packed and the gates
engine.

The gates figures are measured on one small circuit and multiplied by exact gate counts (`blindlabel_lab.bench`): the
publication's own sizes take days. What cannot be run on this machine is named in `not_run`, with the reason, and its
figures are null, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from blindlabel.engines.ask import EncryptedRecords
from blindlabel.engines.interface import EngineError
from blindlabel.engines.registry import engine_named
from blindlabel_lab.bench import compare, gates
from blindlabel_lab.bench.machine import machine
from blindlabel_lab.bench.workload import workload
from blindlabel_lab.experiments.quality import Advance
from blindlabel_lab.experiments.results import COSTS, Results
from blindlabel_lab.gates.elsewhere import find_python

PUBLISHED_BYTES = 32 * 1024
"""Bytes a character in the publication."""
LENGTHS, SIZE = (15, 46, 53, 100, 118, 148, 300), 50
_BROKEN = (EngineError, ImportError, AttributeError)


def communication(results: Results, advance: Advance) -> dict[str, Any]:
    """Bytes of one encrypted record, by its length: 50 records of that length encrypted, their parcels divided by
    50.
    """
    not_run: list[dict[str, Any]] = []
    advance("one character with the gates engine", 0.0)
    gates_bytes: int | None = None
    try:
        find_python()
        gates_bytes = results.once(COSTS, ["gates", machine()], gates.figures)["bytes_per_character"]["packed"]
    except _BROKEN as error:
        not_run.append({"engine": "gates", "reason": str(error)})
    rows, keys = [], {}
    for number, length in enumerate(LENGTHS):
        advance(f"records of {length} characters with the packed engine", (1 + number) / (1 + len(LENGTHS)))
        sizes: Mapping[str, int] = {}
        try:
            sizes = results.once(COSTS, ["record", length, SIZE, machine()], partial(_sizes, length))
            keys = {"public_bytes": sizes["keys"], "default_agreement_bytes": sizes["default_keys"]}
        except _BROKEN as error:
            not_run.append({"engine": "packed", "length": length, "reason": str(error)})
        rows.append(
            {
                "length": length,
                "plain_bytes": length,
                "packed_bytes": sizes["records"] / SIZE if sizes else None,
                "packed_bytes_per_character": sizes["records"] / SIZE / length if sizes else None,
                "default_bytes": sizes["default_records"] / SIZE if sizes else None,
                "gates_bytes": None if gates_bytes is None else gates_bytes * length,
                "published_bytes": PUBLISHED_BYTES * length,
            }
        )
    return {"machine": machine(), "records": SIZE, "packed_keys": keys, "rows": rows, "not_run": not_run}


def _sizes(length: int) -> dict[str, int]:
    """Bytes of all records and of the keys that go with them: `is_in` alone, and the agreement that a study gets."""
    least, full, engine = workload(length, SIZE), workload(length, SIZE, said="default"), engine_named("packed")
    encrypted = EncryptedRecords(engine, least.terms, least.records)
    keys = engine.make_keys(full.terms)
    parcels = engine.encrypt(full.terms, keys.secret, full.records, questions=SIZE)
    return {
        "records": sum(map(len, encrypted.parcels)),
        "keys": len(encrypted.keys.public),
        "default_records": sum(map(len, parcels)),
        "default_keys": len(keys.public),
    }


def computation(results: Results, advance: Advance) -> dict[str, Any]:
    """Seconds and bytes of one round on 50 by 50 records, packed and gates, beside the published seconds."""
    once: compare.Once = lambda key, work: results.once(COSTS, ["computation", *key, machine()], work)  # noqa: E731
    return compare.comparison(size=SIZE, progress=advance, once=once)
