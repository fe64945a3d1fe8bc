"""The benchmark sets: where they come from, where they lie, and reading them. Nothing of them is part of the project.

A set is a folder with a.csv, b.csv (each may be gzipped) and matches.csv (id_a, id_b). Five are known by name, with the
attributes that the publication used and checksums; any other folder of that shape is taken as it is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blindlabel.errors import InputError
from blindlabel.language.record import Record
from blindlabel.records.preparation import Recipe
from blindlabel.records.proposing import proposals, readable, together
from blindlabel.records.tables import Table, read_table


@dataclass(frozen=True)
class ChosenPreparation:
    """How the values of a set are to be prepared."""

    steps: tuple[str, ...]
    proposed: bool = False
    """With the types that `owner check` proposes to both owners; else everything is text."""

    def recipe(self, tables: Sequence[Table]) -> Recipe:
        """For these two tables."""
        recipe = Recipe.of(self.steps)
        if not self.proposed:
            return recipe
        named = [{one.attribute: one.type for one in proposals(table, recipe)} for table in tables]
        return Recipe.of(self.steps, together(named, [readable(table, recipe) for table in tables])[0])

    @property
    def words(self) -> list[str]:
        """For reports."""
        return [*self.steps, *(["types as proposed"] if self.proposed else [])]


PREPARATION = ChosenPreparation(("nfkc", "ascii", "strip_punctuation", "lower", "collapse_space"), proposed=True)
"""The preparation of all experiments unless said, the same for all sets: what two owners would agree on."""
PUBLISHED_PREPARATION = ChosenPreparation(("ascii",))
"""The publication's: "all the Unicode characters are mapped into the ASCII range", and nothing else."""

ENVIRONMENT = "BLINDLABEL_DATA"
STEMS = ("a", "b", "matches")
"""The files of a set."""

_LEIPZIG = "Leipzig entity resolution benchmark (Köpcke, Thor, Rahm, VLDB 2010)"
_LEIPZIG_LICENCE = "published for research by the Leipzig database group; ask them for other use"
_PUBLICATIONS = ("title", "authors", "venue", "year")


@dataclass(frozen=True)
class Known:
    """What is known of a set before it is read."""

    attributes: tuple[str, ...]
    source: str
    licence: str
    checksums: Mapping[str, str]
    ids_tell: bool = False
    """Whether its ids say which records belong together, so that nobody who annotates may see them."""


KNOWN: Mapping[str, Known] = MappingProxyType(
    {
        "abt-buy": Known(
            ("name",),
            _LEIPZIG,
            _LEIPZIG_LICENCE,
            {
                "a.csv": "69c5c32c1d47ed321c4626bb307344882718f8959ff86ec53a1e7bc4fc66e699",
                "b.csv": "1562ac0c21e98f21681c6f415fd32c028f54da31d4caf4dc2205b0a7015fae3b",
                "matches.csv": "ea121b2315016f3dc86308824c05f8aec8f8dfb5b6026502d836b3090e1433de",
            },
        ),
        "amazon-google": Known(
            ("name",),
            _LEIPZIG,
            _LEIPZIG_LICENCE,
            {
                "a.csv": "3887cc18a2ee8b78e95a3eb324f4f7c7853152105fd985fe87e745db859581cd",
                "b.csv": "2381ebcb33bf8622b727e877be43845084e2ed6d4eb2e8050da46fff6b975723",
                "matches.csv": "3d61e88d26c022c1af5398805840a1e6c944eff38b7bd530cf0161f481d71066",
            },
        ),
        "dblp-scholar": Known(
            _PUBLICATIONS,
            _LEIPZIG,
            _LEIPZIG_LICENCE,
            {
                "a.csv": "ef4feaf68f8bc35f11bf47cc08f7bcba1d66f8f8227e40b10f911aef8c02072c",
                "b.csv.gz": "bb8231359358990c2eaa25ace79bf7b42244cfb9904b328704c200efa7810699",
                "matches.csv": "dbc461676ffe09a7b6bd427029383e2f6914a37f6d595cd82505a5a01ea94f9f",
            },
        ),
        "dblp-acm": Known(
            _PUBLICATIONS,
            _LEIPZIG,
            _LEIPZIG_LICENCE,
            {
                "a.csv": "f3a7b8144ef5b99178a93552953816c99c1d5e148f01cca0bdeeac34810d136d",
                "b.csv": "050075c30cb1a95d88fc5c97741f7e38eb3aeaff42adb28f61b5082db6e56959",
                "matches.csv": "e1419c3ed16be0a09dc1fcf4dd394e967a9b3e511bb4ff615b91f26d24c72a75",
            },
        ),
        "febrl": Known(
            ("given_name", "surname", "sex", "age", "title", "address_1", "phone_number"),
            "made with Febrl's generator (Christen 2008): 1,500 originals and 3,500 duplicates, split 1,500/3,500",
            "synthetic persons, free of personal data; Febrl itself is under its own open licence",
            {
                "a.csv": "e105766810d9c0e83ac0e528a0596abb06275204289f5bc8cd993b83a55bec87",
                "b.csv": "cab322438a0b58fb284a24b340ab4ef8daa268a1cca8269cad154f93bb19ced1",
                "matches.csv": "9007c6f876bc69ed61339a93892e0f140659203ebc056b84a012e4a7a0834d13",
            },
            ids_tell=True,
        ),
    }
)

HOW_TO_PLACE = (
    "Put each set in a folder of its own, <data>/<name>/a.csv, b.csv (or .csv.gz) and matches.csv: UTF-8, a header"
    f" row, a column id; matches.csv has id_a,id_b. Name <data> with --data or the environment variable {ENVIRONMENT};"
    " else ../shared/data is looked at. Without any download: blindlabel generate persons --out <data>/persons."
)


@dataclass(frozen=True)
class Dataset:
    """A set as read: two tables, prepared records, and the truth as pairs of positions."""

    name: str
    attributes: tuple[str, ...]
    tables: tuple[Table, Table]
    records: tuple[tuple[Record, ...], tuple[Record, ...]]
    matches: tuple[tuple[int, int], ...]
    fingerprint: str
    recipe: Recipe

    def places(self, ids: Sequence[str]) -> tuple[int, int]:
        """The places of two rows, by their ids."""
        return self.tables[0].position(ids[0]), self.tables[1].position(ids[1])

    @property
    def lowered(self) -> bool:
        """Whether the records are in lower case."""
        return self.recipe.lowered


def preparation_named(named: str) -> ChosenPreparation:
    """A preparation as commands take it: "ours", "published", or steps separated by commas."""
    known = {"ours": PREPARATION, "published": PUBLISHED_PREPARATION}
    if named in known:
        return known[named]
    return ChosenPreparation(Recipe.of(part.strip() for part in named.split(",")).steps)


def data_folder(named: Path | None) -> Path:
    """The folder of sets: as named, else from the environment, else beside the checkout or the current folder."""
    if named is not None:
        if not named.is_dir():
            raise InputError(f"There is no folder {named}. {HOW_TO_PLACE}")
        return named
    if os.environ.get(ENVIRONMENT):
        folder = Path(os.environ[ENVIRONMENT])
        if not folder.is_dir():
            raise InputError(f"{ENVIRONMENT} names {folder}, which is not a folder. {HOW_TO_PLACE}")
        return folder
    checkout = Path(__file__).resolve().parents[3]
    for base in (Path.cwd(), checkout):
        if (base.parent / "shared" / "data").is_dir():
            return base.parent / "shared" / "data"
    raise InputError(f"The benchmark sets were not found. {HOW_TO_PLACE}")


def file_of(folder: Path, stem: str) -> Path | None:
    """The file of a set with this stem, plain or gzipped."""
    return next((path for path in (folder / f"{stem}.csv", folder / f"{stem}.csv.gz") if path.is_file()), None)


def is_set(folder: Path, stems: Sequence[str] = STEMS) -> bool:
    """Whether a folder has the files of a set."""
    return all(file_of(folder, stem) for stem in stems)


def names_in(folder: Path, stems: Sequence[str] = STEMS, first: Iterable[str] = KNOWN) -> list[str]:
    """The sets in a folder: the known ones first, then the others by name."""
    found = [path.name for path in sorted(folder.iterdir()) if path.is_dir() and is_set(path, stems)]
    return [name for name in first if name in found] + [name for name in found if name not in first]


def files_of(folder: Path, name: str, stems: Sequence[str] = STEMS, how: str = HOW_TO_PLACE) -> list[Path]:
    """The files of a set, or a sentence about how to place them."""
    found = [path for stem in stems if (path := file_of(folder / name, stem))]
    if len(found) == len(stems):
        return found
    near = ", ".join(names_in(folder, stems)) if folder.is_dir() else ""
    raise InputError(f"There is no set {name} in {folder}{f' (it has {near})' if near else ''}. {how}")


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_dataset(
    folder: Path,
    name: str,
    attributes: Sequence[str] | None = None,
    preparation: ChosenPreparation | Recipe = PREPARATION,
) -> Dataset:
    """Read and prepare a set. Attributes: as named, else those known, else all columns that both tables have, but the
    id.
    """
    paths = files_of(folder, name)
    if attributes is None and name in KNOWN:
        attributes = KNOWN[name].attributes
    return read_files(paths, name, attributes, preparation)


def read_files(
    paths: Sequence[Path],
    name: str,
    attributes: Sequence[str] | None,
    preparation: ChosenPreparation | Recipe = PREPARATION,
) -> Dataset:
    """A set from its three files: the two tables and the known matches."""
    made = read_sides(paths, name, attributes, preparation)
    listed = read_table(paths[2], attributes=("id_a", "id_b"), name=f"{name}/matches")
    return replace(made, matches=tuple(dict.fromkeys(made.places(row) for row in listed.rows)))


def read_sides(
    paths: Sequence[Path], name: str, attributes: Sequence[str] | None, preparation: ChosenPreparation | Recipe
) -> Dataset:
    """The two tables of a set, and no match yet; its fingerprint is of all files."""
    a, b = (read_table(path, attributes=attributes, name=f"{name}/{path.name}") for path in paths[:2])
    chosen = tuple(a.attributes if attributes is None else attributes)
    chosen = tuple(one for one in chosen if one in b.attributes)
    if not chosen:
        raise InputError(
            f"The two tables of {name} have no column in common besides the id; name some with --attributes."
        )
    recipe = preparation if isinstance(preparation, Recipe) else preparation.recipe((a, b))
    recipe = replace(recipe, types=tuple(one for one in recipe.types if one[0] in chosen))
    records = (tuple(recipe.rows(a, chosen)), tuple(recipe.rows(b, chosen)))
    digest = hashlib.sha256("\0".join([*chosen, repr(recipe), *map(checksum, paths)]).encode())
    return Dataset(name, chosen, (a, b), records, (), digest.hexdigest(), recipe)


def listing(folder: Path | None) -> list[dict[str, Any]]:
    """Every known set and every other in the folder: source, licence, checksums, whether it is found and unchanged."""
    rows = []
    found = names_in(folder) if folder else []
    for name in [*KNOWN, *(one for one in found if one not in KNOWN)]:
        known = KNOWN.get(name)
        checksums = {file.partition(".")[0]: value for file, value in known.checksums.items()} if known else {}
        files = {}
        for stem in STEMS:
            path = file_of(folder / name, stem) if folder and name in found else None
            actual, expected = checksum(path) if path else None, checksums.get(stem)
            unchanged = actual == expected if actual and expected else None
            name_of = path.name if path else None
            files[stem] = {"file": name_of, "sha256": actual, "expected": expected, "as_expected": unchanged}
        rows.append(
            {
                "name": name,
                "known": known is not None,
                "attributes": list(known.attributes) if known else None,
                "source": known.source if known else "not known to blindlabel",
                "licence": known.licence if known else "not known to blindlabel",
                "found": name in found,
                "files": files,
            }
        )
    return rows


def said_of(row: Mapping[str, Any]) -> Iterator[str]:
    """A set of the listing, for people."""
    state, files = "found" if row["found"] else "not found", row["files"].values()
    if row["found"] and row["known"]:
        state += ", checksums right" if all(one["as_expected"] for one in files) else ", CHECKSUMS DIFFER"
    yield from (f"{row['name']}: {state}", f"  source: {row['source']}", f"  licence: {row['licence']}")
    for one in files:
        if one["sha256"] or one["expected"]:
            yield f"  {one['file'] or '(missing)'} sha256 {one['sha256'] or one['expected']}"
