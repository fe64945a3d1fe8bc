"""Scores over many samples: means and deviations. What the scores are is `blindlabel.api.ground_truth`."""

from __future__ import annotations

from dataclasses import asdict, fields
from statistics import fmean, stdev

from blindlabel.api.ground_truth import Scores


def mean(samples: list[Scores]) -> dict[str, float]:
    """Each figure's mean over samples."""
    return {field.name: fmean(getattr(one, field.name) for one in samples) for field in fields(Scores)}


def deviation(samples: list[Scores]) -> dict[str, float]:
    """Each figure's standard deviation over samples, that of a sample; none if there is only one."""
    values = {field.name: [getattr(one, field.name) for one in samples] for field in fields(Scores)}
    return {name: stdev(found) if len(found) > 1 else 0.0 for name, found in values.items()}


def to_json(one: Scores) -> dict[str, float]:
    """The scores as a document."""
    return asdict(one)
