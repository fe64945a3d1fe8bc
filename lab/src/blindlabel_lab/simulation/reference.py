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
    open: list[int] = field(default_factory=list)
    """Pairs without a decision, by round."""
    reason: str = ""


def play(
    samples: Mapping[str, Sequence[int]],
    says: Says,
    rounds: int,
    most_asked: int,
    most_yes: int = 10**9,
    stop_after: int | None = None,
) -> Played:
    """Play at most this many rounds; `stop_after` stops earlier, as an operator may."""
    rows = [(owner, row) for owner in sorted(samples) for row in samples[owner]]
    undecided = {(a, b) for a, b in itertools.combinations(rows, 2) if a[0] != b[0]}
    played = Played()
    spent = dict.fromkeys(samples, 0)
    careless = dict.fromkeys(samples, 0)
    written: dict[Row, int] = {}
    """The round in which a row's question was written."""
    stands: set[Row] = set()
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
        played.open.append(len(undecided))
        written |= dict.fromkeys(ask - stands, number)
        asked = {(row, other[0]) for pair in undecided for row, other in (pair, pair[::-1])}
        yes = {(a, b) for a, b in _both_ways(asked) if says(a, b, written[a])}
        loose, aside = _beyond(asked, yes, most_yes, samples)
        differ: set[Row] = set()
        for a, b in sorted(undecided):
            if (a, b[0]) in aside or (b, a[0]) in aside:
                undecided.discard((a, b))
            elif (a, b[0]) in loose or (b, a[0]) in loose:
                continue
            elif ((a, b) in yes) == ((b, a) in yes):
                played.labels[(a, b)] = ((a, b) in yes, number)
                undecided.discard((a, b))
            else:
                differ |= {a, b}
        left = {(row, other[0]) for pair in undecided for row, other in (pair, pair[::-1])}
        loose &= left  # a question of which nothing is left does not come back
        stands = ask - differ - {row for row, _ in loose}
        for owner in samples:
            own = [row for row in ask if row[0] == owner]
            if 2 * sum(1 for row in own if any(row == one for one, _ in loose)) > len(own):
                careless[owner] += 1
        if not undecided:
            played.reason = "agreed"
            return played
    played.reason = "rounds"
    return played


def _both_ways(asked: set[tuple[Row, str]]) -> set[tuple[Row, Row]]:
    """Every asked row with every row that it is asked of: rows that stand on an undecided pair with its owner."""
    return {(a, b) for a, to in asked for b, of in asked if to == b[0] and of == a[0]}


def _beyond(
    asked: set[tuple[Row, str]], yes: set[tuple[Row, Row]], most_yes: int, samples: Mapping[str, Sequence[int]]
) -> tuple[set[tuple[Row, str]], set[tuple[Row, str]]]:
    """Asked rows whose question says yes to too many of another owner's rows, with that owner; and rows to which too
    many of another owner's questions say yes, with that owner.
    """
    loose, aside = set[tuple[Row, str]](), set[tuple[Row, str]]()
    for asker, holder in itertools.permutations(samples, 2):
        asking = [row for row, other in asked if (row[0], other) == (asker, holder)]
        served = [row for row, other in asked if (row[0], other) == (holder, asker)]
        crowded = {row for row in served if sum(1 for one in asking if (one, row) in yes) > most_yes}
        if 2 * len(crowded) > len(samples[holder]):
            loose |= {(one, holder) for one in asking}
            continue
        aside |= {(row, asker) for row in crowded}
        loose |= {
            (one, holder)
            for one in asking
            if sum(1 for row in served if (one, row) in yes and row not in crowded) > most_yes
        }
    return loose, aside
