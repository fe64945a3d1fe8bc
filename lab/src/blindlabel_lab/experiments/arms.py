"""What a study with people came to: labels against the truth, agreement and time, blind and side by side; and the
archive of it, in which nobody has another name than a pseudonym.

Both parts label all pairs of a sample. Of those that were not shown side by side nobody thought, and they count as no
match, as they do wherever blocking goes first; `shown` says how many true pairs were among the others. Means and
intervals are over couples for labels (a couple's people and sets averaged first) and over participants for times:
Student's t, at 95 %. A part that is not finished is named, and left out.
"""

from __future__ import annotations

import csv
import io
import json
import math
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from blindlabel.api.ground_truth import scores
from blindlabel.errors import OutsideError, reason
from blindlabel.estimates.intervals import beta_quantile
from blindlabel.export.truth import own_ids
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.labels import byte_of, no_labels
from blindlabel.storage.annotations import Annotations, Visit
from blindlabel.storage.workspace import Workspace
from blindlabel.web.practice import visits_of_practice
from blindlabel_lab.experiments.learning import LONGEST, timed
from blindlabel_lab.experiments.participants import BESIDE, BLIND, PeopleStudy, Sitting, pairs_to_show
from blindlabel_lab.experiments.prepared import OWNERS, Prepared
from blindlabel_lab.experiments.scoring import COMPARED, document_of, figures_by_round, labels_of, read_truth, sign_flip
from blindlabel_lab.experiments.seat import answers_in

SHARE = 0.95
NOBODY = "not a participant"
"""In the archive, in place of any other name."""

Figures = dict[str, Any]


def interval(values: Sequence[float]) -> Figures:
    """The mean with its interval; none of one value."""
    mean, freedom = fmean(values), len(values) - 1
    if not freedom:
        return {"mean": mean, "low": None, "high": None, "of": 1}
    share = beta_quantile(SHARE, 0.5, freedom / 2)  # t² / (freedom + t²) has a beta distribution
    half = math.sqrt(freedom * share / (1 - share)) * stdev(values) / math.sqrt(len(values))
    return {"mean": mean, "low": mean - half, "high": mean + half, "of": len(values)}


# One couple and set


def blind_part(study: PeopleStudy, couple: int, sitting: Sitting) -> Figures | None:
    """Figures by round of a couple's blind study; None before it is over."""
    folder = study.blind_folder(couple, sitting.set)
    if not (folder / OWNERS[0]).exists() or Workspace.open(folder / OWNERS[0]).state().truth is None:
        return None
    found = labels_of(folder)
    sample = study.sample(sitting.set, sitting.blind)
    return {"rounds": figures_by_round(found, read_truth(sample.truth))}


def pairs_answered(study: PeopleStudy, participant: str, sitting: Sitting) -> dict[int, list[dict[str, str]]] | None:
    """All answers of a participant by pair; None before each pair has one."""
    answered: dict[int, list[dict[str, str]]] = defaultdict(list)
    for one in answers_in(study.own_folder(participant)):
        if (one["set"], one["sample"]) == (sitting.set, sitting.beside):
            answered[int(one["pair"])].append(one)
    shown = pairs_to_show(study.sample(sitting.set, sitting.beside), study.seed)
    return answered if len(answered) == len(shown) else None


def beside_part(sample: Prepared, seed: int, answered: Mapping[int, list[dict[str, str]]]) -> Figures:
    """Figures of one participant who saw the pairs."""
    shown = pairs_to_show(sample, seed)
    labels = no_labels(*sample.sample.truth.shape)
    labels[:] = byte_of(False, 1)
    for place, (i, j) in enumerate(shown):
        labels[i, j] = byte_of(answered[place][-1]["match"] == "yes", 1)
    true = sample.sample.truth
    return document_of(scores(labels, true)) | {
        "pairs_shown": len(shown),
        "shown": sum(bool(true[cell]) for cell in shown) / int(true.sum()),
    }


def _agreed(first: Mapping[int, list[dict[str, str]]], second: Mapping[int, list[dict[str, str]]]) -> Figures:
    """How far two people agree about the pairs that both saw."""
    said = [(first[place][-1]["match"] == "yes", second[place][-1]["match"] == "yes") for place in first]
    tally = Tally(
        both=said.count((True, True)),
        first_only=said.count((True, False)),
        second_only=said.count((False, True)),
        neither=said.count((False, False)),
    )
    return tally.as_figures()


def _seconds_blind(study: PeopleStudy, participant: str, name: str) -> float:
    """Of work on one of the owner's records, over all rounds."""
    workspace = Workspace.open(study.workspace_folder(participant, name))
    spent = timed(asdict(visit) for visit in Annotations(workspace).log() if visit.annotator == participant)
    return 60 * sum(one.minutes for one in spent) / len(workspace.records())


def _seconds_beside(sample: Prepared, answered: Mapping[int, list[dict[str, str]]]) -> float:
    """Of work on all pairs of one record of the first table."""
    given = [one for several in answered.values() for one in several]
    spent = sum(min(LONGEST, float(one["answered"]) - float(one["shown"])) for one in given)
    return spent / len(sample.sample.a)


# The whole study


def unfinished(study: PeopleStudy, couple: int) -> list[Sitting]:
    """What a couple has not done with, in its order."""
    sittings, people = study.sittings(couple), study.members(couple)
    return [
        one
        for one in sittings
        if blind_part(study, couple, one) is None or not all(pairs_answered(study, p, one) for p in people)
    ]


def score_study(study: PeopleStudy) -> Figures:
    """Every part's figures, and both kinds of parts side by side."""
    parts: dict[str, Figures] = {BLIND: {}, BESIDE: {}}
    agreement: dict[str, Figures] = {}
    labels: dict[str, dict[int, list[Figures]]] = {BLIND: defaultdict(list), BESIDE: defaultdict(list)}
    seconds: dict[str, dict[str, list[float]]] = {BLIND: defaultdict(list), BESIDE: defaultdict(list)}
    unfinished = []
    for couple in range(1, len(study.couples) + 1):
        for sitting in study.sittings(couple):
            name, people = f"couple {couple}, {sitting.set}", study.members(couple)
            blind = blind_part(study, couple, sitting)
            if blind is None:
                unfinished.append(f"{name}: {BLIND}")
            else:
                parts[BLIND][name] = blind | {"final": blind["rounds"][-1]}
                labels[BLIND][couple].append(blind["rounds"][-1])
                for one in people:
                    seconds[BLIND][one].append(_seconds_blind(study, one, sitting.set))
            sample = study.sample(sitting.set, sitting.beside)
            given = {one: pairs_answered(study, one, sitting) for one in people}
            for one, answered in given.items():
                if answered is None:
                    unfinished.append(f"{one}, {sitting.set}: {BESIDE}")
                    continue
                figures = beside_part(sample, study.seed, answered)
                parts[BESIDE][f"{one}, {sitting.set}"] = {"rounds": [figures], "final": figures}
                labels[BESIDE][couple].append(figures)
                seconds[BESIDE][one].append(_seconds_beside(sample, answered))
            first, second = given.values()
            if first is not None and second is not None:
                agreement[name] = _agreed(first, second)
    return {
        "seed": study.seed,
        "published_conditions": study.published,
        "participants": list(study.participants),
        "parts": parts,
        "agreement_side_by_side": agreement,
        "labels": {kind: _over_couples(found) for kind, found in labels.items()},
        "labels_differ": _differing(labels),
        "seconds_a_record": _times(seconds),
        "practice": {
            one: json.loads(path.read_text("utf-8"))
            for one in study.participants
            if (path := study.own_folder(one) / "practice.json").exists()
        },
        "unfinished": unfinished,
    }


def _over_couples(found: Mapping[int, list[Figures]]) -> Figures:
    return {key: interval([fmean(one[key] for one in some) for some in found.values()]) for key in COMPARED if found}


def _differing(labels: Mapping[str, Mapping[int, list[Figures]]]) -> Figures:
    """Blind less side by side, over the couples that have done both, with the exact sign-flip test."""
    both = [(some, labels[BESIDE][couple]) for couple, some in labels[BLIND].items() if couple in labels[BESIDE]]
    found = {}
    for key in COMPARED if both else ():
        apart = [fmean(one[key] for one in blind) - fmean(one[key] for one in beside) for blind, beside in both]
        found[key] = interval(apart) | {"p": sign_flip(apart)}
    return found


def _times(seconds: Mapping[str, Mapping[str, list[float]]]) -> Figures:
    means = {kind: {one: fmean(some) for one, some in found.items()} for kind, found in seconds.items()}
    both = [means[BLIND][one] - means[BESIDE][one] for one in means[BLIND] if one in means[BESIDE]]
    found = {kind: interval(list(some.values())) | {"by_participant": some} for kind, some in means.items() if some}
    return found | ({"difference": interval(both)} if both else {})


# The archive


def archive(study: PeopleStudy, document: Mapping[str, Any], to: Path) -> list[str]:
    """Write what there is to keep of a study as one archive, the same bytes for the same study; the names of its files.
    Tables, keys, notes and people's names are not in it.
    """
    content = {"score.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n"}
    for name in ("study.json", "consent.txt"):
        content[name] = (study.folder / name).read_text("utf-8")
    for one in study.participants:
        for path in sorted(study.own_folder(one).glob("*.[jc]s*")):
            content[f"participants/{one}/{path.name}"] = path.read_text("utf-8")
        for name in study.sets:
            at = study.workspace_folder(one, name)
            if at.exists():
                content[f"participants/{one}/questions-{name}.csv"] = _log_of(study, Workspace.open(at))
    for path in sorted(study.folder.glob("sets/*/*/truth/matches.csv")):
        content[str(path.relative_to(study.folder))] = path.read_text("utf-8")
    try:
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as file:
            for name, text in sorted(content.items()):
                file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    except OSError as error:
        raise OutsideError(f"{to} cannot be written: {reason(error)}.") from error
    return sorted(content)


def _log_of(study: PeopleStudy, workspace: Workspace) -> str:
    """The visits of one owner's people, practice among them as round 0."""
    ids, written = own_ids(workspace), io.StringIO()
    visits = [*visits_of_practice(workspace)]
    visits += [(visit, ids[visit.record]) for visit in Annotations(workspace).log()]
    rows = csv.DictWriter(written, [*(one.name for one in fields(Visit)), "id"], lineterminator="\n")
    rows.writeheader()
    for visit, own in visits:
        known = visit.annotator if visit.annotator in study.participants else NOBODY
        rows.writerow({**asdict(visit), "annotator": known, "id": own})
    return written.getvalue()
