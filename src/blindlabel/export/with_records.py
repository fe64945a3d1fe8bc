"""Ground truth with the content of both records, for tools that train on content. This ends the blindness, so it stands
apart.

Whoever calls this has both tables in clear: after the study, by agreement of the owners, or on synthetic data. It must
be said explicitly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from blindlabel.errors import InputError
from blindlabel.export.formats import Format, prepared, replacing, write_json
from blindlabel.export.truth import AgreedTruth, LabelledPair
from blindlabel.records.table_files import write_csv
from blindlabel.records.tables import Table

ENDS_BLINDNESS = (
    "This format puts both records of every pair side by side in clear text. "
    "That ends the blindness: whoever holds the file sees records of both tables."
)

DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "dedupe": (
            "Training file of dedupe (match and distinct pairs of records). Needs both tables and ends the blindness."
        ),
        "zingg": "Training rows of Zingg (z_cluster, z_isMatch, fields). Needs both tables and ends the blindness.",
        "deepmatcher": "DeepMatcher pairs (id, label, left_…, right_…). Needs both tables and ends the blindness.",
    }
)
"""The formats that need both tables, by name."""


def write_with_records(
    truth: AgreedTruth, format: str, path: Path, table_a: Table, table_b: Table, *, blindness_may_end: bool
) -> list[Path]:
    """Write labelled pairs with their records. `blindness_may_end` must be True: the caller has told the user
    `ENDS_BLINDNESS`.
    """
    if format not in DESCRIPTIONS:
        raise InputError(f"There is no format {format!r} with records. There are {', '.join(DESCRIPTIONS)}.")
    if not blindness_may_end:
        raise InputError(f"{ENDS_BLINDNESS} Confirm that this is meant.")
    truth = replace(truth, pairs=_by_rows(truth, table_a, table_b), discarded=(), ids_a=None, ids_b=None)
    writer, suffix = _WRITERS[format]
    chosen = Format(format, DESCRIPTIONS[format], suffix, lambda ground, part: writer(ground, part, table_a, table_b))
    path = prepared(path, chosen.suffix)
    replacing(path, lambda part: chosen.write(truth, part))
    return [path]


def _by_rows(truth: AgreedTruth, table_a: Table, table_b: Table) -> list[LabelledPair]:
    """The pairs by the rows of the tables, which the ids tell."""
    if truth.ids_a is None or truth.ids_b is None:
        raise InputError("Which row a record is, its id says: merge the exports of both owners first.")
    i_of, j_of = (
        {place: table.position(own) for place, own in ids.items()}
        for ids, table in ((truth.ids_a, table_a), (truth.ids_b, table_b))
    )
    return [replace(pair, i=i_of[pair.i], j=j_of[pair.j]) for pair in truth.pairs]


def _dedupe(truth: AgreedTruth, path: Path, table_a: Table, table_b: Table) -> None:
    def pair(labelled: LabelledPair) -> dict[str, object]:
        # dedupe wants None, not empty text, for what is missing.
        records = [
            {name: text or None for name, text in row.items()}
            for row in (table_a.row(labelled.i), table_b.row(labelled.j))
        ]
        return {"__class__": "tuple", "__value__": records}

    write_json(
        path,
        {"match": [pair(p) for p in truth.pairs if p.label], "distinct": [pair(p) for p in truth.pairs if not p.label]},
    )


def _zingg(truth: AgreedTruth, path: Path, table_a: Table, table_b: Table) -> None:
    columns = list(dict.fromkeys((*table_a.attributes, *table_b.attributes)))
    rows: list[list[object]] = []
    for cluster, labelled in enumerate(truth.pairs):
        for table, position in ((table_a, labelled.i), (table_b, labelled.j)):
            row = table.row(position)
            rows.append([cluster, int(labelled.label), *(row.get(column, "") for column in columns)])
    write_csv(path, ("z_cluster", "z_isMatch", *columns), rows)


def _deepmatcher(truth: AgreedTruth, path: Path, table_a: Table, table_b: Table) -> None:
    header = (
        "id",
        "label",
        *(f"left_{name}" for name in table_a.attributes),
        *(f"right_{name}" for name in table_b.attributes),
    )
    rows = ((number, int(p.label), *table_a.rows[p.i], *table_b.rows[p.j]) for number, p in enumerate(truth.pairs))
    write_csv(path, header, rows)


_WRITERS = {"dedupe": (_dedupe, ".json"), "zingg": (_zingg, ".csv"), "deepmatcher": (_deepmatcher, ".csv")}
