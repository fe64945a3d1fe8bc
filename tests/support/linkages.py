"""Linkages that are made up: a list of candidates with scores, and which of them are matches."""

from __future__ import annotations

from random import Random

import numpy as np

from blindlabel.estimates import Candidates
from blindlabel.estimates.candidate_pairs import Flags, Whole
from blindlabel.estimates.estimating import Drawing
from blindlabel.estimates.intervals import Bounds
from blindlabel.export import AgreedTruth, LabelledPair

SHAPES = ("steep", "flat", "tail", "perfect", "ties")


def linkage(
    shape: str, linked: int, times: int, seed: int = 0, precision: float = 0.9, recall: float = 0.9
) -> tuple[Candidates, Flags]:
    """This many linked pairs, a list this many times as long, and the matches: below the line they get rarer steeply,
    or are spread evenly, or lie in the tail; or there are none, and every linked pair is one; or scores have ties.
    """
    rank, count = np.arange(linked * times), linked * times
    above, below = rank < linked, (rank - linked) / linked
    chance = {
        "steep": np.where(above, 1 - 0.3 * (rank / linked) ** 2, np.exp(-below / 0.15)),
        "flat": np.ones(count),
        "tail": np.where(above, 1.0, np.where(rank > 0.7 * count, 1.0, 0.1)),
        "perfect": np.where(above, 1.0, 0.0),
        "ties": np.where(above, 1.0, np.exp(-below / 0.5)),
    }[shape]
    if shape != "perfect":
        wanted = precision * linked
        chance = chance * np.where(above, wanted / chance[above].sum(), 1.0)
        if times > 1:
            chance = np.where(above, chance, chance * wanted * (1 / recall - 1) / chance[~above].sum())
    matches = np.random.default_rng(seed).random(count) < chance
    scores = 1 - rank / count
    scores = np.round(scores, 1) + above if shape == "ties" else scores
    pairs = tuple((str(row), str(row)) for row in rank)
    return Candidates(pairs, scores, above), matches


def true_measures(candidates: Candidates, matches: Flags) -> tuple[float, float, float]:
    """Precision, recall and F as they are."""
    right, linked, all_ = (int(part.sum()) for part in (matches & candidates.linked, candidates.linked, matches))
    return right / linked, right / all_, 2 * right / (linked + all_)


def blind_labels(matches: Flags, seed: int) -> Whole:
    """Kinds of labels as blind annotation makes them: matches missed, agreed late or never, and look-alikes taken for
    matches, the more the better their score.
    """
    chance = np.random.default_rng(seed).random(len(matches))
    alike = 0.06 * np.exp(-6 * np.arange(len(matches)) / len(matches))
    of_matches = np.select([chance < 0.75, chance < 0.9, chance < 0.95], [1, 2, 3], 0)
    of_others = np.select([chance < alike, chance < 3 * alike, chance < 3 * alike + 0.01], [1, 2, 3], 0)
    return np.where(matches, of_matches, of_others)


def drawing(candidates: Candidates, matches: Flags, pairs: int, chance: Random, kinds: Whole | None = None) -> Drawing:
    """Pairs drawn from a list; with true labels, all of them checked, or with those of `kinds`, unchecked."""
    places = np.flatnonzero(candidates.draw(pairs, chance.randrange).drawn)
    settled = matches[places].astype(float) if kinds is None else np.full(len(places), np.nan)
    return Drawing(candidates, 0, places, (matches.astype(np.int64) if kinds is None else kinds)[places], settled)


def checked(found: Drawing, matches: Flags, number: int, chance: Random) -> Drawing:
    """The same with this many checked pairs of every class."""
    settled = found.checked.copy()
    places = found.to_check(number, chance.randrange)
    settled[places] = matches[found.places[places]]
    return Drawing(found.candidates, found.outside, found.places, found.kinds, settled)


def bounds(found: Drawing) -> tuple[Bounds, ...]:
    """What a drawing says of the linkage."""
    at = found.at(found.candidates.linked)
    assert at is not None
    return at


def labelled(candidates: Candidates, kinds: Whole) -> AgreedTruth:
    """Labels of these kinds for every drawn pair of a list."""
    known = [(int(a), int(b), int(kinds[place])) for place, (a, b) in enumerate(candidates.pairs)]
    known = [one for one, drawn in zip(known, candidates.drawn) if drawn]
    pairs = tuple(LabelledPair(a, b, kind == 1, 1 if kind < 2 else 2) for a, b, kind in known if kind < 3)
    return AgreedTruth("anna", "berta", pairs, tuple((a, b) for a, b, kind in known if kind == 3))
