"""How far a verdict can be trusted: on every set, how often the real partner is found and wrong ones are let through,
by what the verdict said; beside the count of other rows alone (the verdict before) and the bar divided by the points.

Both sides of a set ask about records that have a partner: as suggested in rounds 1 to 3, looser and stricter, and
degraded as people do (all points asked for, the first one to three conditions alone, every condition worth the same,
without exclusions). *Found* is said of one partner of the record. *Let through* is a question that fits a record of
the other table that is no partner; sets of candidate pairs know only some partners, so they say nothing of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from blindlabel.estimates.intervals import exact
from blindlabel.language import Question
from blindlabel.language.chain import Chain, text_of
from blindlabel.language.suggestions import OwnTable, Suggester, Verdict
from blindlabel.language.suggestions.judgement import CHANCES, Level, chance_of_being_found, level_by
from blindlabel.parties.piloting import versions
from blindlabel.records.generator import Size, generate
from blindlabel.records.generator import write as write_tables
from blindlabel_lab.experiments import candidates as hard
from blindlabel_lab.experiments.datasets import Dataset, names_in, read_dataset
from blindlabel_lab.experiments.quality import Advance, Plan, of_each
from blindlabel_lab.experiments.results import Results

AROUND_MATCHES = 0.1
"""The share of pairs that suggestions expect to match here: every record has its partner."""
BUILT_ON = ("abt-buy", "dblp-acm", "febrl", "candidates/walmart-amazon")
"""What the words claim was set looking at these; the others were seen as a table while that was done."""
ONLY_IN_CANDIDATES = ("walmart-amazon", "walmart-amazon-dirty")
"""The other candidate sets are parts of sets that are there whole."""
MOST_ROWS = 6000
"""Rows of a table that are used, those with a partner of a chosen record always."""
ENOUGH = 10
"""Questions in a bin from which on a set's share is taken into the mean."""
PILOT, DRAWS = 15, 10
"""Known pairs of a pilot, and how often they are drawn."""
FOUND = ("verdict", "own rows", "bar")


def sets_in(folder: Path) -> list[str]:
    """All sets in a folder, those of candidates last."""
    inner = folder / hard.SUBFOLDER
    return [*names_in(folder), *(f"{hard.SUBFOLDER}/{one}" for one in ONLY_IN_CANDIDATES if (inner / one).is_dir())]


def verdicts(plan: Plan, results: Results, advance: Advance) -> dict[str, Any]:
    """The document: a set's questions by what was said of them, and how well that ranks them; and the means."""

    def of(name: str) -> Any:
        key = [str(plan.folder), name, plan.records]
        return results.once("verdicts", key, partial(_of_set, plan.folder, name, plan.records))

    sets = of_each(plan.names or sets_in(plan.folder), advance, of)
    document = {"records": plan.records, "built_on": list(BUILT_ON), "datasets": sets}
    return document | summary(sets) | {"witness": witness()}


def witness() -> dict[str, Any]:
    """The same for two generated sets, which anybody can work out again: where it comes out otherwise than a document
    says, verdicts or suggestions have changed since, and that document is about others.
    """
    with tempfile.TemporaryDirectory(prefix="blindlabel-verdicts-") as made:
        for kind in ("persons", "products"):
            write_tables(generate(kind, Size(120, 60), 5), Path(made) / kind)
        return {kind: _of_set(Path(made), kind, 6) for kind in ("persons", "products")}


def summary(sets: Mapping[str, Any]) -> dict[str, Any]:
    """The means of the sets; and those of the sets that the words were set by, and of the others."""
    others = [name for name in sets if name not in BUILT_ON]
    groups = {"all": list(sets), "built on": [name for name in BUILT_ON if name in sets], "others": others}
    return {"means": {group: _means([sets[name] for name in found]) for group, found in groups.items() if found}}


def _means(sets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    bins = {}
    for one in CHANCES:
        shares = [each["bins"][one.words]["share"] for each in sets if each["bins"][one.words]["questions"] >= ENOUGH]
        spread = [float(np.quantile(shares, edge)) for edge in (0.1, 0.9)] if shares else None
        bins[one.words] = {"share": fmean(shares) if shares else None, "spread": spread, "sets": len(shares)}
    off, pilot = ([one for each in sets for one in each[kind]] for kind in ("off", "pilot_off"))
    auc = {
        kind: {
            name: fmean(known) for name in FOUND if (known := [v for s in sets if (v := s[kind].get(name)) is not None])
        }
        for kind in ("found_auc", "record_auc", "wrong_auc")
    }
    seldom = {"seldom_off": float(np.quantile(off, 0.9)), "pilot_seldom_off": float(np.quantile(pilot, 0.9))}
    return {"bins": bins, **auc, "off": fmean(off), "pilot_off": fmean(pilot), **seldom}


def _of_set(folder: Path, name: str, records: int) -> dict[str, Any]:
    inner, _, of_candidates = name.rpartition("/")
    given = hard.read_candidates(folder / inner, of_candidates).dataset if inner else read_dataset(folder, name)
    whole = not inner
    sides = [list(_side(given, name, side, records, whole=whole)) for side in (0, 1)]
    both = [*sides[0], *sides[1]]
    bins = {}
    for one in CHANCES:
        found = [each["found"] for each in both if each["chance"] == one.words]
        share, interval = (fmean(found), exact(sum(found), len(found))) if found else (None, None)
        bins[one.words] = {"questions": len(found), "share": share, "interval": interval}
    kinds = {
        level: _let_through([each for each in both if level in (each["level"], each["kind"])])
        for level in ("good", "warn", "bad", "relatives")
    }
    return {
        "pairs": len(both),
        "whole": whole,
        "bins": bins,
        "levels": kinds,
        "off": [_off(side, Level()) for side in sides if side],
        "pilot_off": [one for side in sides if side for one in _off_with_pilot(side, name)],
        "found_auc": {key: auc([one[key] for one in both], [one["found"] for one in both]) for key in FOUND},
        "record_auc": {key: _of_one_record(sides, key) for key in FOUND},
        "wrong_auc": {key: auc([one[f"wrong {key}"] for one in both], [one["wrong"] for one in both]) for key in FOUND}
        if whole
        else {},
    }


def _of_one_record(sides: Sequence[Sequence[dict[str, Any]]], key: str) -> float | None:
    """The mean of the same among questions about one record, as a person compares them."""
    groups = (list(group) for side in sides for _, group in groupby(side, lambda one: int(one["row"])))
    shares = (auc([one[key] for one in each], [one["found"] for one in each]) for each in groups)
    known = [one for one in shares if one is not None]
    return fmean(known) if known else None


def _off(side: Sequence[dict[str, Any]], level: Level) -> float:
    """By how much what is said of the questions of one side is off, on the whole."""
    said = fmean(chance_of_being_found(level.set(one["verdict"])).said for one in side)
    return abs(said - fmean(one["found"] for one in side))


def _off_with_pilot(side: Sequence[dict[str, Any]], name: str) -> list[float]:
    """The same where some records with their partners have set the level, and the others are asked about; for a few
    draws of them.
    """
    rows, off = sorted({one["row"] for one in side}), []
    chance = Random(f"pilot {name}")  # noqa: S311 (no secret)
    for _ in range(DRAWS):
        known = set(chance.sample(rows, min(PILOT, len(rows) - 1)))
        tried = [(one["verdict"], one["found"]) for one in side if one["row"] in known]
        off.append(_off([one for one in side if one["row"] not in known], level_by(tried, len(known))))
    return off


def _let_through(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if not several:
        return {"questions": 0}
    return {
        "questions": len(several),
        "found": fmean(one["found"] for one in several),
        "let_through": fmean(one["wrong"] for one in several),
    }


def _side(given: Dataset, name: str, side: int, records: int, *, whole: bool) -> Iterator[dict[str, Any]]:
    """Every question of one side, with one partner of its record. `whole`: all partners are known."""
    chance = Random(f"{name} {side}")  # noqa: S311 (no secret)
    partners: dict[int, list[int]] = {}
    for pair in given.matches:
        partners.setdefault(pair[side], []).append(pair[1 - side])
    asked = chance.sample(sorted(partners), min(records, len(partners)))
    own = _some(len(given.records[side]), asked, chance)
    suggester = Suggester(
        [given.records[side][row] for row in own],
        given.attributes,
        lowered=given.lowered,
        typed=given.recipe.with_one_form if whole else frozenset(),
        matching=AROUND_MATCHES,
    )
    others = _some(len(given.records[1 - side]), [], chance)
    other_table = OwnTable([given.records[1 - side][row] for row in others], given.attributes)
    for row in asked:
        record, partner = given.records[side][row], given.records[1 - side][chance.choice(partners[row])]
        for chain in versions(suggester, record):
            question = Question(text_of(chain, lowered=given.lowered), attributes=given.attributes)
            if question.formula is None or not chain.fits(record):
                continue
            verdict = suggester.verdict(question, record)
            fits = {others[place] for place in np.flatnonzero(other_table.fitting(question.formula))}
            found, wrong = chain.fits(partner), bool(fits - set(partners[row]))
            yield _about(verdict, chain) | {"found": found, "wrong": wrong, "row": row}


def _some(rows: int, always: Sequence[int], chance: Random) -> list[int]:
    return sorted({*always, *chance.sample(range(rows), min(rows, MOST_ROWS))})


def _about(verdict: Verdict, chain: Chain) -> dict[str, Any]:
    strict = chain.bar / max(1, chain.total)
    return {
        "chance": verdict.chance,
        "level": verdict.level,
        "kind": verdict.kind,
        "verdict": verdict.found,
        "own rows": float(verdict.others > 0),
        "bar": -strict,
        "wrong verdict": verdict.risk,
        "wrong own rows": float(verdict.others),
        "wrong bar": -strict,
    }


def auc(scores: Sequence[float], truth: Sequence[bool]) -> float | None:
    """How probably a true one has the higher score; None if all are true, or none is."""
    yes, no = (np.array([s for s, t in zip(scores, truth) if t == wanted]) for wanted in (True, False))
    if not len(yes) or not len(no):
        return None
    ordered = np.sort(no)
    below, above = np.searchsorted(ordered, yes, "left"), np.searchsorted(ordered, yes, "right")
    return float(np.mean(below + above) / 2 / len(no))
