"""How well two owners agree: percent, Cohen's kappa and Gwet's AC1 from a table of four counts.

Matches are rare, so plain percent is nearly 1 whatever the owners do; kappa corrects for chance by each owner's own
rate of "match", AC1 by the mean rate, which stays meaningful when one answer is very rare.

Edge cases: without any pair, every figure is None. Kappa is None if chance alone explains everything (both owners gave
the same answer for all pairs), because it would be 0/0. AC1 is defined whenever there is a pair.

`advice` says from these totals alone whether a study goes well: what to tell a coordinator about stopping and about
loose questions. Every sentence names the figures that it rests on; without figures nothing is said:

1. Another round is worth what the last later round was worth: the share of its open pairs that it settled. Below
   `LITTLE` it is not worth its questions. Until one later round is settled, nothing is known, and nothing is said.
2. A record rarely has more than one partner, so questions that say yes to more than one record each, on average, are
   too loose whatever the pairs are. So are questions that were set aside.
3. A kappa below `FAIR` in the first round says that the two sides' questions hardly mean the same pairs.
4. Matches agreed in later rounds are counted separately: see `LATER`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import log2
from typing import Annotated

from blindlabel.protocol.shape import Amount, Shape
from blindlabel.protocol.telling import Tells

_TOTAL = Tells(lambda sizes: log2(sizes.own * sizes.others + 1), "one of the round's totals")


class Tally(Shape):
    """The pairs of one pairing in one round, by both owners' answers; `first` is the owner whose name sorts first."""

    both: Annotated[Amount, _TOTAL] = 0
    """Both say match."""
    first_only: Annotated[Amount, _TOTAL] = 0
    second_only: Annotated[Amount, _TOTAL] = 0
    neither: Annotated[Amount, _TOTAL] = 0
    """Both say no match."""
    loose: Annotated[Amount, _TOTAL] = 0
    """Not compared: a question said yes to more records than agreed, or more questions than agreed to a record."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{name: getattr(self, name) + getattr(other, name) for name in Tally.model_fields})

    @property
    def pairs(self) -> int:
        """The number of pairs that were compared."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def agreed(self) -> int:
        """Pairs with equal answers."""
        return self.both + self.neither

    @property
    def disagreed(self) -> int:
        """Pairs with different answers."""
        return self.first_only + self.second_only

    @property
    def asked(self) -> int:
        """The number of pairs that were asked about, compared or not."""
        return self.pairs + self.loose

    @property
    def unsettled(self) -> int:
        """Pairs that are not agreed on, compared or not."""
        return self.disagreed + self.loose

    @property
    def percent(self) -> float | None:
        """Share of pairs with equal answers, in percent."""
        return 100.0 * self.agreed / self.pairs if self.pairs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa."""
        if not self.pairs:
            return None
        first = (self.both + self.first_only) / self.pairs
        second = (self.both + self.second_only) / self.pairs
        chance = first * second + (1 - first) * (1 - second)
        if first == second and first in (0.0, 1.0):
            return None
        return (self.agreed / self.pairs - chance) / (1 - chance)

    @property
    def ac1(self) -> float | None:
        """Gwet's AC1."""
        if not self.pairs:
            return None
        rate = (2 * self.both + self.first_only + self.second_only) / (2 * self.pairs)
        chance = 2 * rate * (1 - rate)
        return (self.agreed / self.pairs - chance) / (1 - chance)

    def as_figures(self) -> dict[str, float | int | None]:
        """All figures, for reports and pages."""
        named = {name: getattr(self, name) for name in ("pairs", "agreed", "disagreed", "percent", "kappa", "ac1")}
        return named | {"matches": self.both, "too_loose": self.loose}


# What the figures say

FAIR = 0.4
LITTLE = 1 / 3
FIRST_RIGHT, LATER_RIGHT = (660, 800), (33, 56)
"""How many matches agreed in round 1, and how many agreed later, were right in trials, each with the number of all of
them. A test compares docs/prevalence.json, which `blindlabel experiment prevalence` writes.
"""
LATER = (
    "Matches that were agreed only in later rounds are right less often. With suggested questions, on uniform samples"
    f" of four pairs of tables whose truth is known, {FIRST_RIGHT[0]} of {FIRST_RIGHT[1]} that were agreed in round 1"
    f" were right, and {LATER_RIGHT[0]} of {LATER_RIGHT[1]} that were agreed later."
)
NOT_RECALL = "Agreement is not recall: a pair that the questions of both sides miss is agreed on, as no match."


def so_far(rounds: Sequence[Tally]) -> list[Tally]:
    """After each settled round, all pairs: those agreed until then, and the open ones by the answers of that round."""

    def added(before: Tally, now: Tally) -> Tally:
        return now.model_copy(update={"both": before.both + now.both, "neither": before.neither + now.neither})

    return list(accumulate(rounds, added))


def agreed_of_all(tally: Tally) -> str:
    """Share of all pairs with equal answers, rounded down, so that 100 % are all of them. Those that were not compared
    are not agreed on.
    """
    if not tally.asked:
        return "–"
    return "100 %" if tally.agreed == tally.asked else f"{1000 * tally.agreed // tally.asked / 10} %"


def of_round(rounds: Sequence[Tally]) -> str:
    """What the last of these rounds did to the pairs that were open. Kappa and AC1 are of all pairs until then: those
    of a few hard pairs would look like collapse.
    """
    last, now = rounds[-1], so_far(rounds)[-1]
    figures = ["–" if figure is None else f"{figure:.3f}" for figure in (now.kappa, now.ac1)]
    return (
        f"{last.agreed:,} of {last.asked:,} open pairs agreed, {last.both:,} as"
        f" {'a match' if last.both == 1 else 'matches'}; of all pairs {agreed_of_all(now)}, kappa {figures[0]}, AC1"
        f" {figures[1]}"
    )


def headline(rounds: Sequence[Tally], *, over: bool = False) -> str:
    """What has become of all pairs so far, or in the end: matches by when they were agreed, other settled pairs, and
    the rest.
    """
    if not rounds:
        return ""
    now = so_far(rounds)[-1]
    first, later, left = rounds[0].both, now.both - rounds[0].both, now.unsettled
    apart = f" ({first:,} agreed in round 1, {later:,} later)" if later else ""
    one = left == 1
    rest = ("was discarded" if one else "were discarded") if over else ("is not settled" if one else "are not settled")
    return (
        f"{now.both:,} {'match' if now.both == 1 else 'matches'}{apart}, {now.neither:,} settled as no match;"
        f" {left:,} of {now.asked:,} pairs {rest}."
    )


def advice(
    rounds: Sequence[Tally], pairings: Sequence[Mapping[str, Tally]], asked: Sequence[Mapping[str, int]]
) -> list[str]:
    """What to consider. `pairings` has the same tallies by `first second`; `asked` has each owner's number of
    questions, for the settled rounds and for the open one, if there is one.
    """
    if not rounds:
        return []
    return [*_of_first(rounds[0], pairings[0], asked[0]), *_of_next(rounds, asked)]


def _of_first(total: Tally, pairings: Mapping[str, Tally], asked: Mapping[str, int]) -> list[str]:
    said = []
    for pairing, tally in pairings.items():
        first, second = pairing.split(" ")
        for owner, yes in ((first, tally.both + tally.first_only), (second, tally.both + tally.second_only)):
            if asked.get(owner, 0) and yes > asked[owner]:
                said.append(
                    f"In round 1, {owner}'s {asked[owner]:,} questions said yes to {yes:,} pairs,"
                    f" {yes / asked[owner]:.1f} each. A record rarely has more than one partner, so they are too"
                    " loose: ask for more points."
                )
    if total.loose:
        said.append(
            f"{total.loose:,} pairs of round 1 were set aside, because questions said yes to too many records. Ask for"
            " more points there."
        )
    if total.kappa is not None and total.kappa < FAIR:
        said.append(
            f"Kappa of round 1 is {total.kappa:.2f} ({total.both:,} pairs with yes on both sides, {total.disagreed:,}"
            " with yes on one): the two sides hardly mean the same pairs. Let the experts speak about the criteria."
        )
    return said


def _of_next(rounds: Sequence[Tally], asked: Sequence[Mapping[str, int]]) -> list[str]:
    if len(rounds) < 2 or len(asked) <= len(rounds):
        return []
    last, questions = rounds[-1], sum(asked[len(rounds)].values())
    if not last.asked or last.agreed / last.asked >= LITTLE:
        return []
    expected = last.unsettled * last.agreed / last.asked
    return [
        f"Round {len(rounds)} settled {last.agreed:,} of {last.asked:,} open pairs. At that rate the next one asks"
        f" {questions:,} questions and settles about {expected:.0f} of {last.unsettled:,}: consider closing the study"
        " (blindlabel coordinator close)."
    ]
