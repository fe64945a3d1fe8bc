"""The clear protocol, written a second time: no messages, no matrices, nothing shared with `protocol`. What studies are
judged by.

Pairs are named by the owners' table rows, so labels that are right but stand at the wrong rows are found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Row = tuple[str, int]
"""An owner and a row of its table."""

Says = Callable[[Row, Row, int], bool]
"""What the first row's owner answers about the second row in a round."""


@dataclass
class Played:
    """What the clear protocol comes to."""

    labels: dict[tuple[Row, Row], tuple[bool, int]] = field(default_factory=dict)
    """Pair (owners in order of name) to label and round."""
    asked: list[set[Row]] = field(default_factory=list)
    """Rows asked, by round."""
    reason: str = ""


def play(
    samples: Mapping[str, Sequence[int]],
    says: Says,
    rounds: int,
    most_asked: int,
    most_yes: int = 10**9,
    stop_after: int | None = None,
) -> Played:
    """Play at most so many rounds; `stop_after` stops earlier, as an operator may."""
    rows = [(owner, row) for owner in sorted(samples) for row in samples[owner]]
    undecided = {(a, b) for a, b in itertools.combinations(rows, 2) if a[0] != b[0]}
    played = Played()
    spent = dict.fromkeys(samples, 0)
    careless = dict.fromkeys(samples, 0)
    for number in range(1, rounds + 1):
        if stop_after is not None and number > stop_after:
            played.reason = "stopped"
            return played
        ask = set(rows) if number == 1 else {row for pair in undecided for row in pair}
        if any(count >= 2 for count in careless.values()):
            played.reason = "loose"
            return played
        need = {owner: spent[owner] + sum(1 for row in ask if row[0] == owner) for owner in samples}
        if any(count > most_asked for count in need.values()):
            played.reason = "budget"
            return played
        spent = need
        played.asked.append(ask)
        loose = _too_loose(ask, says, number, most_yes)
        for a, b in sorted(undecided):
            if (a, b[0]) in loose or (b, a[0]) in loose:
                continue
            if says(a, b, number) == says(b, a, number):
                played.labels[(a, b)] = (says(a, b, number), number)
                undecided.discard((a, b))
        for owner in samples:
            own = [row for row in ask if row[0] == owner]
            if 2 * sum(1 for row in own if any(row == one for one, _ in loose)) > len(own):
                careless[owner] += 1
        if not undecided:
            played.reason = "agreed"
            return played
    played.reason = "rounds"
    return played


def _too_loose(ask: set[Row], says: Says, number: int, most_yes: int) -> set[tuple[Row, str]]:
    """Asked rows whose question says yes to too many asked rows of another owner, with that owner."""
    found = set()
    for one in ask:
        for owner in {other[0] for other in ask} - {one[0]}:
            if sum(1 for other in ask if other[0] == owner and says(one, other, number)) > most_yes:
                found.add((one, owner))
    return found
