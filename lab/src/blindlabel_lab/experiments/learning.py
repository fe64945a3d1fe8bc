"""How long people take for a record, and how that changes as they go: the publication's claims of 30 minutes to learn
and under a minute a record, from the annotation log of the owner's web app.

A record's time is the sum of its visits in which something was saved, from opening to saving; a visit of over ten
minutes was left alone, and counts as ten. `position` is how many records the person had saved before, plus one, within
a round. A person has *learned* when the median of five records in a row is at most a minute.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from blindlabel.errors import InputError
from blindlabel.protocol.interfaces import CHANGED, SUGGESTED
from blindlabel.storage.annotations import Annotations
from blindlabel.storage.workspace import Workspace

LONGEST = 600.0
"""Seconds; the same bound as the web app's own estimate has."""
IN_A_ROW = 5
UNDER = 60.0


@dataclass(frozen=True)
class Timed:
    """One record as one person worked on it in a round."""

    annotator: str
    round: int
    record: int
    position: int
    minutes: float
    saves: int
    """How often something was saved: 1 is written once, more are edits later on."""
    source: str
    changed: float | None
    """How far the last saved question is from the suggestion."""


def read_log(path: Path) -> list[Mapping[str, Any]]:
    """Visits from `owner log export` (CSV or JSON), from an exported folder's log.csv, or from a workspace."""
    if (path / "workspace.sqlite").exists():
        return [asdict(visit) for visit in Annotations(Workspace.open(path)).log()]
    file = path / "log.csv" if path.is_dir() else path
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise InputError(f"{file} cannot be read as an annotation log: {error}.") from error
    try:
        visits: list[Mapping[str, Any]] = (
            json.loads(text)["visits"] if file.suffix == ".json" else list(csv.DictReader(text.splitlines()))
        )
        for visit in visits:
            _seconds(visit["opened"]), _seconds(visit["saved"]), int(visit["round"]), int(visit["record"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is no annotation log (`blindlabel owner log export` writes one): {error}.") from error
    return visits


def logs_in(folder: Path) -> list[Path]:
    """The logs of a prepared study or one with people: exported ones, else those of workspaces; else itself."""
    exported = sorted(path.parent for path in folder.glob("questions/*/log.csv"))
    own = sorted(path.parent for depth in ("*", "couples/*/*/*") for path in folder.glob(f"{depth}/workspace.sqlite"))
    return exported or own or [folder]


def _seconds(value: Any) -> float | None:
    return None if value in (None, "") else float(value)


def timed(visits: Iterable[Mapping[str, Any]]) -> list[Timed]:
    """Every record of every person and round, in the order in which they were first saved."""
    grouped: dict[tuple[str, int, int], list[Mapping[str, Any]]] = {}
    for visit in sorted(visits, key=lambda one: float(one["opened"])):
        if _seconds(visit["saved"]) is not None:
            key = (str(visit["annotator"]), int(visit["round"]), int(visit["record"]))
            grouped.setdefault(key, []).append(visit)
    places: dict[tuple[str, int], int] = {}
    found = []
    for (annotator, number, record), some in sorted(grouped.items(), key=lambda one: float(one[1][0]["saved"])):
        places[annotator, number] = places.get((annotator, number), 0) + 1
        seconds = sum(min(LONGEST, float(visit["saved"]) - float(visit["opened"])) for visit in some)
        last = some[-1]
        changed, source = _seconds(last["changed"]), str(last["source"] or "")
        place = places[annotator, number]
        found.append(Timed(annotator, number, record, place, seconds / 60, len(some), source, changed))
    return found


def learning(paths: Sequence[Path]) -> dict[str, Any]:
    """Minutes a record by position, edits and suggestions taken, person by person and in all."""
    people: dict[str, list[Timed]] = {}
    logs = [log for path in paths for log in logs_in(path)]
    for log in logs:
        for one in timed(read_log(log)):
            name = one.annotator or "somebody"
            people.setdefault(name if len(logs) == 1 else f"{log.name}: {name}", []).append(one)
    if not people:
        raise InputError("Nobody has saved a question in the web app yet, so there is nothing to show.")
    return {
        "people": {name: _figures(some) | {"records": [asdict(one) for one in some]} for name, some in people.items()},
        "together": _figures([one for some in people.values() for one in some]),
    }


def _figures(some: Sequence[Timed]) -> dict[str, Any]:
    first = [one for one in some if one.round == 1]
    positions = sorted({one.position for one in first})
    changed = [one.changed for one in some if one.changed is not None]
    return {
        "questions": len(some),
        "minutes": sum(one.minutes for one in some),
        "minutes_a_record": fmean(one.minutes for one in some),
        "minutes_a_record_median": median(one.minutes for one in some),
        "learned_after_minutes": _learned(some),
        "by_position": {str(p): fmean(one.minutes for one in first if one.position == p) for p in positions},
        "edited_again": sum(one.saves > 1 for one in some),
        "suggestions_taken": sum(one.source == SUGGESTED for one in some),
        "suggestions_changed": sum(one.source == CHANGED for one in some),
        "own": sum(one.source not in (SUGGESTED, CHANGED) for one in some),
        "changed": fmean(changed) if changed else None,
    }


def _learned(some: Sequence[Timed]) -> float | None:
    """Minutes of work until the first of five records in a row with a median of at most a minute; None: not yet."""
    minutes = [one.minutes for one in some]
    for place in range(len(minutes) - IN_A_ROW + 1):
        if median(minutes[place : place + IN_A_ROW]) * 60 <= UNDER:
            return sum(minutes[:place])
    return None
