"""How good a real study's labels are against the known matches, and several studies together.

A study is a prepared folder, a coordinator's folder, an owner's workspace, or an exported ground truth (csv, json,
parquet). The coordinator has all labels with their rounds. An owner has what the agreement released: where that is the
matches alone, precision, strict recall and strict F are known at the end, and nothing else.

Two conditions (`--against`) are compared study by study: the mean of the differences, and how often a random swap of
the two in each pair would give one as large (the exact sign-flip test; beyond 16 pairs from 100,000 random swaps).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any

from blindlabel.api.ground_truth import GroundTruth, Scores
from blindlabel.errors import InputError
from blindlabel.export import read_ground_truth
from blindlabel.export.truth import AgreedPairs, truths_of_coordinator, truths_of_owner
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.records.tables import Table, read_table
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel_lab.experiments.prepared import is_prepared, read_prepared

COMPARED = ("precision", "recall", "f", "recall_strict", "f_strict")
_EXACT = 16
_SWAPS = 100_000

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Found:
    """A study's labels, and how many rounds it had at most (0: not known)."""

    truth: GroundTruth
    rounds: int


def find(study: Path, passphrase: str | None = None) -> Found:
    """The labels of a study, wherever they are."""
    if is_prepared(study):
        home = read_prepared(study).coordinator
        if not home.is_dir():
            raise InputError(
                f"There is no coordinator's folder in {study}. Name the one of the study instead, and --truth"
                f" {study}/truth/matches.csv."
            )
        return find(home, passphrase)
    if (study / "coordinator.sqlite").exists():
        return _of_coordinator(study, passphrase)
    if (study / "workspace.sqlite").exists():
        workspace = Workspace.open(study, passphrase)
        (truth,) = _only(list(truths_of_owner(workspace).values()), study)
        return Found(GroundTruth.of(truth), 0 if truth.only_matches else workspace.agreement.rounds)
    if study.is_file():
        truth = read_ground_truth(study)
        return Found(GroundTruth.of(truth), max((pair.round for pair in truth.pairs), default=0))
    raise InputError(f"{study} is no study: neither a folder of one, nor an exported ground truth.")


def _of_coordinator(home: Path, passphrase: str | None) -> Found:
    coordinator = CoordinatorParty(CoordinatorStore(home, None, passphrase))
    rows = coordinator.store.studies()
    if len(rows) != 1:
        raise InputError(f"{home} holds {len(rows)} studies. Export the one you mean, and score that file.")
    (truth,) = _only(list(truths_of_coordinator(coordinator, rows[0].study).values()), home)
    return Found(GroundTruth.of(truth), coordinator.agreement(rows[0].study).rounds)


def _only(truths: Sequence[Any], study: Path) -> Sequence[Any]:
    if len(truths) != 1:
        raise InputError(f"{study} has {len(truths)} pairings. Export them, and score each file with its own truth.")
    return truths


# -- the truth, in the names that the labels use


def read_truth(path: Path, found: GroundTruth, tables: Sequence[Path]) -> Pairs:
    """Known matches by the names that the labels have for rows: ids where it knows them, else positions. The file has
    id_a, id_b or i, j (rows counted from 0), or both; tables turn ids into positions where it has ids alone.
    """
    listed = read_table(path, name=path.name)
    rows = [listed.row(place) for place in range(len(listed))]
    columns = [_column(listed, side, ids is not None, path) for side, ids in ((0, found.ids_a), (1, found.ids_b))]
    if all(columns):
        return [(row[columns[0]], row[columns[1]]) for row in rows]
    if len(tables) != 2:
        raise InputError(
            f"The study names rows by their positions, and {path.name} by ids. Add both tables: --table A --table B."
        )
    read = [read_table(table) for table in tables]
    return [
        (
            row[columns[0]] if columns[0] else str(read[0].position(row["id_a"])),
            row[columns[1]] if columns[1] else str(read[1].position(row["id_b"])),
        )
        for row in rows
    ]


def _column(listed: Table, side: int, ids: bool, path: Path) -> str:
    """The column with the names that are used for one side's rows; empty where positions must be looked up."""
    by_id, by_position = ("id_a", "id_b")[side], ("i", "j")[side]
    wanted = by_id if ids else by_position
    if wanted in listed.attributes:
        return wanted
    if by_id not in listed.attributes:
        raise InputError(f"{path.name} has no column {by_id!r}: known matches have id_a, id_b.")
    return ""


# -- figures


def rounds_of(found: Found, known: Pairs) -> list[Scores]:
    """The scores after each round, or at the end alone where rounds are not known."""
    truth = found.truth
    if truth.only_matches and not isinstance(truth.pairs, AgreedPairs):
        return [_of_matches(truth, known)]
    if not found.rounds or truth.only_matches or any(pair.round == 0 for pair in truth.matches()):
        return [truth.score(known)]
    return [truth.score(known, round=number) for number in range(1, found.rounds + 1)]


def _of_matches(truth: GroundTruth, known: Pairs) -> Scores:
    """From a file of matches alone, which does not say which rows were sampled: all known matches count."""
    said = {(truth.name_a(pair.i), truth.name_b(pair.j)) for pair in truth.pairs}
    right, true = len(said & set(known)), len(set(known))
    precision = right / len(said) if said else 1.0
    recall = right / true if true else 1.0
    f = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    empty = Scores(**dict.fromkeys((field.name for field in fields(Scores)), math.nan))
    return replace(
        empty,
        precision=precision,
        recall_strict=recall,
        f_strict=f,
        true_positives=right,
        false_positives=len(said) - right,
    )


def document_of(scores: Scores) -> dict[str, float | None]:
    """As JSON has it: what is not known is null."""
    return {name: None if math.isnan(value) else value for name, value in asdict(scores).items()}


def score(studies: Sequence[Path], truths: Sequence[Path], tables: Sequence[Path]) -> dict[str, Any]:
    """Every study's figures by round, and where there are several their means and spread."""
    if len(truths) not in (0, 1, len(studies)):
        raise InputError("Give --truth once for all studies, or once for each of them, in their order.")
    figures: dict[str, Any] = {}
    for place, study in enumerate(studies):
        path = truths[place if len(truths) > 1 else 0] if truths else _own_truth(study)
        found = find(study)
        rounds = [document_of(one) for one in rounds_of(found, read_truth(path, found.truth, tables))]
        figures[str(study)] = {"rounds": rounds, "final": rounds[-1], "truth": str(path)}
    if len(figures) != len(studies):
        raise InputError("A study is named twice.")
    finals = [one["final"] for one in figures.values()]
    return {"studies": figures} | ({"together": spread(finals)} if len(finals) > 1 else {})


def _own_truth(study: Path) -> Path:
    if not is_prepared(study):
        raise InputError(f"Which matches are known of {study}? Name their file with --truth.")
    return read_prepared(study).truth


def spread(finals: Sequence[Mapping[str, float | None]]) -> dict[str, dict[str, float]]:
    """Mean, standard deviation (of a sample), smallest and largest of every figure that all of them have."""
    found = {}
    for name in finals[0]:
        values = [value for one in finals if (value := one[name]) is not None]
        if len(values) == len(finals):
            deviation = stdev(values) if len(values) > 1 else 0.0
            found[name] = {"mean": fmean(values), "deviation": deviation, "least": min(values), "most": max(values)}
    return found


def paired(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Two conditions of as many studies each, compared in order."""
    if len(first) != len(second):
        raise InputError(
            f"A paired test needs as many studies on both sides; there are {len(first)} and {len(second)}."
        )
    found = {}
    for name in COMPARED:
        pairs = [(one["final"][name], other["final"][name]) for one, other in zip(first.values(), second.values())]
        if all(None not in pair for pair in pairs):
            differences = [one - other for one, other in pairs]
            found[name] = {
                "difference": fmean(differences),
                "better": sum(d > 0 for d in differences),
                "worse": sum(d < 0 for d in differences),
                "p": sign_flip(differences),
            }
    return found


def sign_flip(differences: Sequence[float]) -> float:
    """How often the sum of the differences, each with a random sign, is at least as far from 0 as theirs."""
    reached = abs(sum(differences)) - 1e-12
    if len(differences) <= _EXACT:
        swaps = list(itertools.product((1, -1), repeat=len(differences)))
        return fmean(abs(sum(s * d for s, d in zip(signs, differences))) >= reached for signs in swaps)
    chance = Random("sign flips")  # noqa: S311 (nothing secret)
    hits = sum(abs(sum(d if chance.random() < 0.5 else -d for d in differences)) >= reached for _ in range(_SWAPS))
    return (hits + 1) / (_SWAPS + 1)
