"""How long the rest of a round will take a person, from that person's own pace."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from blindlabel.storage.annotations import Visit

LONGEST = 600.0
"""Seconds; a record that was open for longer was left alone, not worked on."""
LATEST = 15
LEAST = 3
"""Records from which on something is said."""


def seconds_left(log: Sequence[Visit], annotator: str, left: int) -> float | None:
    """Seconds until the last record, by the median of this person's latest records; None where that is not known."""
    taken = [
        visit.saved - visit.opened
        for visit in log
        if visit.annotator == annotator and visit.saved is not None and visit.saved - visit.opened <= LONGEST
    ]
    return left * statistics.median(taken[-LATEST:]) if len(taken) >= LEAST and left else None


def in_words(seconds: float | None) -> str:
    """As the page says it behind the number of records; empty where nothing is known."""
    if seconds is None:
        return ""
    if seconds < 60:
        return ", less than a minute left"
    minutes = round(seconds / 60)
    return f", about {minutes:,} minute{'' if minutes == 1 else 's'} left"
