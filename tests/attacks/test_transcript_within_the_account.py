"""Everything that a study tells an owner can be written down in as many bits as the account says, and read back: so no
owner, whatever it answers and computes, learns more. The code below knows the agreement and the sizes of the samples,
nothing else.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb, log2

import numpy as np
import pytest

from blindlabel.engines.interface import Outcomes
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels, messages
from blindlabel.protocol.account import account
from blindlabel.protocol.figures import Tally
from support.study_by_rules import Study


@dataclass
class Written:
    """A number in mixed radix: digits, and how many values each could have had."""

    digits: list[tuple[int, int]] = field(default_factory=list)

    def put(self, digit: int, base: int) -> None:
        assert 0 <= digit < base
        self.digits.append((digit, base))

    @property
    def bits(self) -> float:
        return sum(log2(base) for _, base in self.digits)


Told = tuple[object, ...]


def rounds_of(seen: Sequence[messages.Message]) -> list[messages.Round]:
    return [message.body for message in seen if isinstance(message.body, messages.Round)]


def tallies_of(seen: Sequence[messages.Message], peer: str) -> tuple[Tally, ...]:
    (truth,) = (message.body for message in seen if isinstance(message.body, messages.Truth))
    (pairing,) = (one for one in truth.pairings if one.peer == peer)
    return pairing.tallies


COUNTS = ("both", "first_only", "second_only", "neither", "loose")


def after(seen: Sequence[messages.Message], peer: str) -> list[tuple[Tally, list[int], bool, list[int], int]]:
    """What was told after each round: its totals; of every own record whether it is settled (0), open because of a
    disagreement (1), too loose (2) or somebody else (3), or set aside (4); whether a void round is repeated; the
    other's open records; how many of its questions were too loose. The end tells of the last round only what it set
    aside.
    """
    (truth,) = (message.body for message in seen if isinstance(message.body, messages.Truth))
    (pairing,) = (one for one in truth.pairings if one.peer == peer)
    (sample,) = (message.body for message in seen if isinstance(message.body, messages.Sample))
    rounds, told, found = rounds_of(seen), set[int](), []
    for number, tally in enumerate(pairing.tallies):
        following = rounds[number + 1] if number + 1 < len(rounds) else None
        assert following is None or following.tallies[peer] == tally, "the truth repeats what the round said"
        aside = set(following.aside[peer]) if following else set(pairing.aside) - told
        told |= aside
        own = dict.fromkeys(following.open[peer].own, 1) if following else {}
        own |= {one: 2 for one in following.loose if one in own} if following else {}
        own |= {one: 3 for one in following.kept if one in own} if following else {}
        own |= dict.fromkeys(aside, 4)
        states = [own.get(place, 0) for place in range(len(sample.positions))]
        others, loose = (list(following.open[peer].others), following.others_loose[peer]) if following else ([], 0)
        found.append((tally, states, bool(following and following.repeats), others, loose))
    assert told == set(pairing.aside)
    return found


def write(seen: Sequence[messages.Message], told: labels.Labels, peer: str, most_yes: int) -> Written:
    """What an owner was told in a study of two, as digits."""
    n, m = told.shape
    written, tallies = Written(), tallies_of(seen, peer)
    for tally, own, repeats, others, loose in after(seen, peer):
        for count in COUNTS:
            written.put(getattr(tally, count), n * m + 1)
        for state in own:
            written.put(state, 5)
        written.put(repeats, 2)
        for place in range(m):
            written.put(place in others, 2)
        written.put(loose, m + 1)
    for column in told.T:
        chosen = np.flatnonzero(labels.is_match(column)).tolist()
        most = min(n, most_yes * len(tallies))
        assert len(chosen) <= most
        written.put(
            sum(comb(n, k) for k in range(len(chosen))) + sum(comb(place, k + 1) for k, place in enumerate(chosen)),
            sum(comb(n, k) for k in range(most + 1)),
        )
    return written


def read(written: Written, n: int, m: int, rounds: int, most_yes: int) -> Told:
    """The same again, from the digits alone."""
    digits = iter(digit for digit, _ in written.digits)
    found: list[object] = []
    for _ in range(rounds):
        tally = Tally(**{count: next(digits) for count in COUNTS})
        own, repeats = [next(digits) for _ in range(n)], bool(next(digits))
        others = [j for j in range(m) if next(digits)]
        found.append((tally, own, repeats, others, next(digits)))
    told = labels.no_labels(n, m)
    for j in range(m):
        rank, count = next(digits), 0
        while rank >= comb(n, count):
            rank, count = rank - comb(n, count), count + 1
        for k in range(count, 0, -1):
            place = max(one for one in range(n) if comb(one, k) <= rank)
            rank -= comb(place, k)
            told[place, j] = 2 * labels.UNSAID + 1
    assert most_yes * rounds >= np.count_nonzero(told, axis=0).max(initial=0)
    return (found, told.tolist())


@pytest.mark.parametrize("release", ["matches", "none"])
@pytest.mark.parametrize("yes", [0.03, 0.2, 0.6])
@pytest.mark.parametrize(("seed", "names"), [(1, ["anna", "berta"]), (2, ["anna", "berta", "clara"])])
def test_all_that_an_owner_is_told_fits_into_the_bits_of_the_account(
    seed: int, names: list[str], yes: float, release: str
) -> None:
    """Pairing by pairing; of three owners each is told of its two, and that is all."""
    agreement = agreements.new(
        "told", names, ["name"], sampling={"records": 9}, encoding={"engine": "plain"},
        budget={"most_yes": 2}, release=release,
    )  # fmt: skip
    chance = np.random.default_rng(seed)

    def answering(asker: str, _holder: str, _number: int, asked: Sequence[int], served: Sequence[int]) -> Outcomes:
        share = yes if asker == "anna" else 0.15
        return (chance.random((len(asked), len(served))) < share).astype(np.uint8)

    study = Study(agreement, random.Random(seed), answering=answering, records=9)
    study.to_the_end()
    for own, peer in itertools.permutations(names, 2):
        told, seen = study.truth(own, peer), study.seen(own)
        written = write(seen, told, peer, agreement.budget.most_yes)
        rounds = len(tallies_of(seen, peer))
        assert read(written, 9, 9, rounds, agreement.budget.most_yes) == (after(seen, peer), told.tolist())
        owner = account(agreement.exposure).entries[1]
        bits = written.bits - (0 if release == "matches" else sum(log2(base) for _, base in written.digits[-9:]))
        assert bits <= owner.honest - messages.MOST_VOID, "more is told than the account says"
        if release == "none":
            assert not told.any()
        rounds_seen = rounds_of(seen)
        said = [
            states for other in agreement.peers(own) for _, states, *_ in after(seen, other)[: len(rounds_seen) - 1]
        ]
        for state, name in ((2, "loose"), (3, "kept")):
            found = {place for states in said for place, one in enumerate(states) if one == state}
            assert found == {place for one in rounds_seen for place in getattr(one, name)}, "nothing is left out"
        for place, one in enumerate(rounds_seen):
            repeated = [number for number in range(1, place + 1) if rounds_seen[number].repeats]
            assert list(one.voided) == repeated, "it says again what `repeats` said"
    fields = {"open", "repeats", "loose", "aside", "kept", "others_loose", "tallies", "voided"}
    assert set(messages.Round.model_fields) == fields
    kinds = {message.kind for message in study.seen("anna")}
    assert kinds == {"keys", "sample", "round", "relay", "truth"}, "a new kind of message has to be counted"
