"""The publication's experiment with people, made ready: a sample around known matches, an agreement that names its
rows, a table for each owner, and the truth apart.

    prepared.json         which set, seed, matches, preparation
    agreement.toml        for everybody
    tables/owner-a.csv    for the first owner alone; tables/owner-b.csv for the second
    truth/matches.csv     for whoever scores, and nobody else: id_a, id_b
    questions/owner-a     where an owner's exported questions are looked for afterwards

Who plays whom is up to the people. Where they play on one machine, the coordinator's folder and the owners' workspaces
are here as well (`coordinator`, `owner-a`, `owner-b`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from blindlabel.errors import InputError
from blindlabel.parties.accepting import beside_default
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.records.table_files import write_csv
from blindlabel.records.tables import Table
from blindlabel_lab.experiments.datasets import KNOWN, Dataset, read_files
from blindlabel_lab.experiments.simulation import Sample, check_engine, draw, sample_of

OWNERS = ("owner-a", "owner-b")
FORMAT, VERSION = "blindlabel prepared study", 1
CRITERIA = "Two records match when they are about the same thing in the real world, however it is written."


@dataclass(frozen=True)
class Prepared:
    """A prepared folder."""

    folder: Path
    name: str
    """Of the set."""
    seed: int
    agreement: Agreement

    @property
    def tables(self) -> tuple[Path, Path]:
        """The owners' tables."""
        return table_path(self.folder, OWNERS[0]), table_path(self.folder, OWNERS[1])

    @property
    def truth(self) -> Path:
        """The known matches of the sample."""
        return self.folder / "truth" / "matches.csv"

    @cached_property
    def dataset(self) -> Dataset:
        """Tables, prepared records and truth as a set."""
        agreed = self.agreement
        return read_files([*self.tables, self.truth], self.name, agreed.attributes, agreed.recipe)

    @cached_property
    def sample(self) -> Sample:
        """The rows that the agreement names."""
        rows = self.agreement.sampling.rows
        return sample_of(self.dataset, rows[OWNERS[0]], rows[OWNERS[1]])


def table_path(folder: Path, owner: str) -> Path:
    """Where an owner's table lies."""
    return folder / "tables" / f"{owner}.csv"


def check_new(folder: Path) -> None:
    """Refuse a folder that has something in it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder; choose a new one.")


def prepare(
    dataset: Dataset,
    folder: Path,
    *,
    seed: int,
    size: int = 50,
    rounds: int = 3,
    engine: str = "packed",
    published: bool = False,
    sample: Sample | None = None,
) -> Prepared:
    """Draw the matches, unless a sample is given, and write the folder, which must be new or empty."""
    check_engine(engine)
    check_new(folder)
    if not dataset.matches:
        raise InputError(f"{dataset.name} has no known match, so there is nothing to draw a sample around.")
    sample = sample or draw(dataset, seed, size)
    agreement = _agreement(dataset, sample, seed, rounds, engine, published)
    made = Prepared(folder, dataset.name, seed, agreement)
    (folder / "tables").mkdir(parents=True)
    made.truth.parent.mkdir()
    for side, path in enumerate(made.tables):
        _write_table(path, dataset.tables[side], _ids(dataset, side), dataset.attributes)
    (folder / "agreement.toml").write_text(to_text(agreement), encoding="utf-8")
    write_csv(made.truth, ("id_a", "id_b"), _true_rows(dataset, sample))
    about = {
        "format": FORMAT,
        "version": VERSION,
        "set": dataset.name,
        "seed": seed,
        "matches": size,
        "records": {OWNERS[0]: len(sample.a), OWNERS[1]: len(sample.b)},
        "preparation": list(dataset.recipe.steps),
        "types": dict(dataset.recipe.types),
    }
    (folder / "prepared.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return made


def _true_rows(dataset: Dataset, sample: Sample) -> list[tuple[str, str]]:
    first, second = set(sample.a), set(sample.b)
    ids_a, ids_b = _ids(dataset, 0), _ids(dataset, 1)
    return [(ids_a[i], ids_b[j]) for i, j in dataset.matches if i in first and j in second]


def _ids(dataset: Dataset, side: int) -> Sequence[str]:
    """The ids that people see: the table's, or numbers where those would tell which records belong together."""
    ids = dataset.tables[side].ids
    tell = dataset.name in KNOWN and KNOWN[dataset.name].ids_tell
    return [f"{'ab'[side]}{place}" for place in range(len(ids))] if tell else ids


def _write_table(path: Path, table: Table, ids: Sequence[str], attributes: Sequence[str]) -> None:
    rows = (table.row(place) for place in range(len(table)))
    write_csv(path, ("id", *attributes), ((own, *(row[a] for a in attributes)) for own, row in zip(ids, rows)))


PUBLISHED: Mapping[str, dict[str, Any]] = {
    "encoding": {"functions": ["is_in"], "profile": [1] * 10},
    "limits": {"total_weight": 1},
}
"""What an agreement says so that questions are the publication's: texts that are in the record, and no points."""


def _agreement(dataset: Dataset, sample: Sample, seed: int, rounds: int, engine: str, published: bool) -> Agreement:
    """The default agreement, with the sample's rows and lengths. Rows that are not asked about are cut, not refused."""
    records = [dataset.records[0][i] for i in sample.a] + [dataset.records[1][j] for j in sample.b]
    whole = _rounded(max(len(record.whole) for record in records))
    value = _rounded(max(len(text) for record in records for text in record.attributes.values()))
    settings: dict[str, Any] = {
        "criteria": CRITERIA,
        "rounds": rounds,
        "preparation": {"steps": list(dataset.recipe.steps), "types": dict(dataset.recipe.types), "too_long": "cut"},
        "sampling": {
            "method": "rows",
            "records": max(len(sample.a), len(sample.b)),
            "rows": {OWNERS[0]: list(sample.a), OWNERS[1]: list(sample.b)},
        },
        "encoding": {"engine": engine, "record_length": whole, "attribute_length": min(value, whole)},
    }
    if published:
        settings["encoding"] |= PUBLISHED["encoding"]
        settings["limits"] = PUBLISHED["limits"]
    return agreements.new(f"{dataset.name} {seed}", OWNERS, dataset.attributes, **settings)


def _rounded(length: int) -> int:
    return 8 * (length // 8 + 1)


def read_about(path: Path, version: tuple[str, int]) -> Any:
    """What a folder says of itself, in this format and version."""
    about = json.loads(path.read_text("utf-8"))
    if (about["format"], about["version"]) != version:
        raise InputError(f"{path.parent} was prepared by another version of blindlabel. Prepare it anew.")
    return about


def is_prepared(folder: Path) -> bool:
    """Whether `prepare` made this folder."""
    return (folder / "prepared.json").is_file()


def read_prepared(folder: Path) -> Prepared:
    """A prepared folder again."""
    try:
        about = read_about(folder / "prepared.json", (FORMAT, VERSION))
        agreement = agreements.from_text((folder / "agreement.toml").read_text("utf-8"), source="agreement.toml")
        return Prepared(folder, str(about["set"]), int(about["seed"]), agreement)
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} is no prepared study: {Path(error.filename).name} is missing. `blindlabel experiment prepare`"
            " makes one."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder} cannot be read as a prepared study: {error}.") from error


def commands(made: Prepared) -> list[str]:
    """What the three parties type, and whoever scores afterwards. One list, so that a test can run it."""
    folder = made.folder
    weaker = " --accept-weaker" if beside_default(made.agreement).weaker() else ""
    lines = [
        "# coordinator",
        f"blindlabel coordinator invite {folder}/agreement.toml --at {folder}/coordinator --to {folder}/invitations"
        " --address http://127.0.0.1:8470",
        f"blindlabel coordinator serve --at {folder}/coordinator",
    ]
    for owner, peer in (OWNERS, OWNERS[::-1]):
        lines += [
            f"# {owner}, who needs its table and its invitation and nothing else of this folder",
            f"blindlabel owner join {folder}/invitations/{owner}.invitation {table_path(folder, owner)}"
            f" --at {folder}/{owner}{weaker}",
            f"blindlabel owner verify --at {folder}/{owner}",
            f"blindlabel owner verify {peer} --at {folder}/{owner}",
            f"blindlabel owner annotate --at {folder}/{owner} --run",
            f"blindlabel owner questions export --at {folder}/{owner} --to {folder}/questions/{owner}",
        ]
    lines += [
        "# whoever knows the truth, when the study is over",
        f"blindlabel experiment score {folder}",
        f"blindlabel experiment replay {folder}",
        f"blindlabel experiment learning {folder}",
    ]
    return lines
