"""Whether a study goes well, from its totals alone: what to tell a coordinator about stopping and about loose
questions.

Every sentence names the figures that it rests on; without figures nothing is said:

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

from blindlabel.protocol.figures import Tally

FAIR = 0.4
LITTLE = 1 / 3
LATER = (
    "Matches that were agreed only in later rounds are right far less often. With suggested questions, on four pairs of"
    " tables whose truth is known, 87 to 100 of 100 that were agreed in round 1 were right, 29 to 68 in round 2, and 24"
    " to 35 in round 3."
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
    every = tally.pairs + tally.loose
    if not every:
        return "–"
    return "100 %" if tally.agreed == every else f"{1000 * tally.agreed // every / 10} %"


def of_round(rounds: Sequence[Tally]) -> str:
    """What the last of these rounds did to the pairs that were open. Kappa and AC1 are of all pairs until then: those
    of a few hard pairs would look like collapse.
    """
    last, now = rounds[-1], so_far(rounds)[-1]
    figures = ["–" if figure is None else f"{figure:.3f}" for figure in (now.kappa, now.ac1)]
    return (
        f"{last.agreed:,} of {last.pairs + last.loose:,} open pairs agreed, {last.both:,} as"
        f" {'a match' if last.both == 1 else 'matches'}; of all pairs {agreed_of_all(now)}, kappa {figures[0]}, AC1"
        f" {figures[1]}"
    )


def headline(rounds: Sequence[Tally]) -> str:
    """What has become of all pairs so far: matches by when they were agreed, other settled pairs, and the rest."""
    if not rounds:
        return ""
    now = so_far(rounds)[-1]
    first, later = rounds[0].both, now.both - rounds[0].both
    apart = f" ({first:,} agreed in round 1, {later:,} later)" if later else ""
    matches = f"{now.both:,} {'match' if now.both == 1 else 'matches'}{apart}"
    return (
        f"{matches} and {now.neither:,} settled as no match; {now.disagreed + now.loose:,} of"
        f" {now.pairs + now.loose:,} pairs are not settled."
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
    compared, left = last.pairs + last.loose, last.disagreed + last.loose
    if not compared or last.agreed / compared >= LITTLE:
        return []
    return [
        f"Round {len(rounds)} settled {last.agreed:,} of {compared:,} open pairs. At that rate the next one asks"
        f" {questions:,} questions and settles about"
        f" {left * last.agreed / compared:.0f} of {left:,}: consider closing the study (blindlabel coordinator close)."
    ]
