"""How good a real study's labels are against the known matches, and several studies together.

A study is a prepared folder with the coordinator's and both owners' folders in it, or an exported ground truth with the
ids of both (`merge` makes it). Where it has the matches alone, precision, strict recall and strict F are known at the
end, and nothing else.
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
from blindlabel.export.truth import AgreedPairs, truths_of_coordinator, with_ids
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.facts import key_of
from blindlabel.protocol.figures import Tally
from blindlabel.records.tables import read_table
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel_lab.experiments.learning import learning, logs_in, read_log
from blindlabel_lab.experiments.prepared import OWNERS, is_prepared, read_prepared

COMPARED = ("precision", "recall", "f", "recall_strict", "f_strict")
_EXACT = 16
_SWAPS = 100_000

_MERGE = " `export`, `export --ids` of both owners' workspaces and `merge` make one file that can be scored."

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Found:
    """A study's labels, how many rounds it had at most (0: not known), and by round how its owners answered, where that
    is known.
    """

    truth: GroundTruth
    rounds: int
    tallies: tuple[Tally, ...] = ()


def find(study: Path) -> Found:
    """The labels of a study with the ids of both owners: nothing else says which records they are of."""
    if is_prepared(study):
        return labels_of(study)
    if not study.is_file():
        raise InputError(f"{study} is not a study: neither a prepared folder, nor an exported ground truth.{_MERGE}")
    truth = read_ground_truth(study)
    if truth.pairs and (truth.ids_a is None or truth.ids_b is None):
        raise InputError(f"The labels in {study.name} do not have the ids of both owners.{_MERGE}")
    return Found(GroundTruth.of(truth), max((pair.round for pair in truth.pairs), default=0))


def labels_of(study: Path) -> Found:
    """The labels of a folder with the coordinator's and both owners' folders in it."""
    homes = [study / "coordinator", *(study / owner for owner in OWNERS)]
    missing = [home.name for home in homes if not home.is_dir()]
    if missing:
        raise InputError(f"There is no folder of {' and '.join(missing)} in {study}.{_MERGE}")
    coordinator = CoordinatorParty(CoordinatorStore(homes[0]))
    rows = coordinator.store.studies()
    if len(rows) != 1:
        raise InputError(f"{homes[0]} holds {len(rows)} studies, and a prepared one has one.")
    (truth,) = truths_of_coordinator(coordinator, rows[0].study).values()
    owners = [Workspace.open(home) for home in homes[1:]]
    settled = [one.tallies[key_of(*OWNERS)] for one in coordinator.load(rows[0].study).state.settled]
    return Found(GroundTruth.of(with_ids(truth, *owners)), coordinator.agreement(rows[0].study).rounds, tuple(settled))


def read_truth(path: Path) -> Pairs:
    """Known matches, by the ids that the tables have."""
    listed = read_table(path, name=path.name)
    for column in ("id_a", "id_b"):
        if column not in listed.attributes:
            raise InputError(f"{path.name} has no column {column!r}: known matches have id_a, id_b.")
    return [(row["id_a"], row["id_b"]) for row in map(listed.row, range(len(listed)))]


# -- figures

Rounds = list[dict[str, float | None]]


def figures_by_round(found: Found, known: Pairs) -> Rounds:
    """Every round's scores, with the kappa and AC1 of what both owners answered in it. A file does not say which of
    them said yes where they differed: half of those pairs are taken for each, so that kappa is at least this.
    """
    rounds = [document_of(one) for one in rounds_of(found, known)]
    for number, one in enumerate(rounds):
        tally = found.tallies[number] if number < len(found.tallies) else None
        if not found.tallies and one["agreed"] is not None and len(rounds) == found.rounds:
            tally = _from_labels(found.truth, number + 1)
        one.update(kappa=None, ac1=None) if tally is None else one.update(kappa=tally.kappa, ac1=tally.ac1)
    return rounds


def _from_labels(truth: GroundTruth, round: int) -> Tally | None:
    now = [pair.label for pair in truth.pairs if pair.round == round]
    if not now:
        return None  # not asked any more
    differed = len(truth.discarded) + sum(pair.round > round for pair in truth.pairs)
    half = differed // 2
    return Tally(both=sum(now), neither=len(now) - sum(now), first_only=half, second_only=differed - half)


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


def score(studies: Sequence[Path], truths: Sequence[Path], logs: Sequence[Path]) -> dict[str, Any]:
    """Every study's figures by round, where there are several their means and spread, and what logs say of the time."""
    if len(truths) not in (0, 1, len(studies)):
        raise InputError("Give --truth once for all studies, or once for each of them, in their order.")
    figures: dict[str, Any] = {}
    for place, study in enumerate(studies):
        path = truths[place if len(truths) > 1 else 0] if truths else _own_truth(study)
        found = find(study)
        rounds = figures_by_round(found, read_truth(path))
        figures[str(study)] = {"rounds": rounds, "final": rounds[-1], "truth": str(path)}
    if len(figures) != len(studies):
        raise InputError("A study is named twice.")
    finals = [one["final"] for one in figures.values()]
    kept = [log for study in studies if is_prepared(study) for log in logs_in(study) if log != study]
    timed_in = [log for log in kept if any(visit["saved"] for visit in read_log(log))] + list(logs)
    document = {"studies": figures} | ({"together": spread(finals)} if len(finals) > 1 else {})
    return document | ({"time": learning(timed_in)} if timed_in else {})


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


def sign_flip(differences: Sequence[float]) -> float:
    """How often the sum of the differences, each with a random sign, is at least as far from 0 as theirs; of more than
    16 differences from 100,000 random swaps.
    """
    reached = abs(sum(differences)) - 1e-12
    if len(differences) <= _EXACT:
        swaps = list(itertools.product((1, -1), repeat=len(differences)))
        return fmean(abs(sum(s * d for s, d in zip(signs, differences))) >= reached for signs in swaps)
    chance = Random("sign flips")  # noqa: S311 (nothing secret)
    hits = sum(abs(sum(d if chance.random() < 0.5 else -d for d in differences)) >= reached for _ in range(_SWAPS))
    return (hits + 1) / (_SWAPS + 1)
