"""A cheating owner makes its answers speak of the other's key: (0, Δ) is a valid encryption of the key itself, so each
pair can be a test "is this coefficient zero?". In the first version the labels gave back 8,189 of 8,192 coefficients.
What an answer can be made to say is not limited by anything; what comes back is. So the robber's answers are simply
given here, from a key drawn at random, and the rest of the study follows the protocol's rules.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from blindlabel.engines.interface import Outcomes
from blindlabel.engines.packed import PackedRules
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels
from blindlabel.protocol.account import key_bits
from blindlabel.protocol.agreement import Agreement
from support.study_by_rules import Study

RECORDS, ROUNDS, DEGREE = 128, 3, 128 * 128
PER_PAIR = np.arange(DEGREE).reshape(RECORDS, RECORDS)
"""The coefficient that each pair asks about: the robber's record, the victim's."""


def robbed(owners: int = 2, **settings: object) -> Agreement:
    return agreements.new(
        "robbed", ["anna", "berta", "clara"][:owners], ["name", "born"], sampling={"records": RECORDS}, rounds=ROUNDS,
        encoding={"functions": ["is_in"], "attributes": False}, **settings,
    )  # fmt: skip


class Robbery:
    """Answers of a study in which everybody but the victim robs the victim's keys, a new one for each asker and round.
    The victim's own questions say yes to as many of the robbers' records as may be, and the robbers know to which: they
    chose the records. More can nobody hope for.
    """

    def __init__(self, agreement: Agreement, seed: int, tested: int) -> None:
        chance = np.random.default_rng(seed)
        self.victim = "berta"
        self.tested = (np.arange(RECORDS)[:, None] - np.arange(RECORDS)[None, :]) % RECORDS < tested
        """Pairs that ask about a coefficient; the others say no."""
        most = agreement.budget.most_yes
        self.lured = (np.arange(RECORDS)[:, None] - np.arange(RECORDS)[None, :]) % RECORDS < most
        """Pairs to which the victim's question says yes."""
        self.keys: dict[tuple[str, int], npt.NDArray[np.int64]] = {}
        for asker in agreement.peers(self.victim):
            for number in range(1, agreement.rounds + 1):
                self.keys[asker, number] = chance.integers(-1, 2, DEGREE)

    def __call__(self, asker: str, holder: str, number: int, asked: Sequence[int], served: Sequence[int]) -> Outcomes:
        place = np.ix_(asked, served)
        if asker == self.victim:
            lured: Outcomes = self.lured.T[place].astype(np.uint8)
            return lured
        if holder != self.victim:
            return np.zeros((len(asked), len(served)), dtype=np.uint8)
        zero = self.keys[asker, number][PER_PAIR] == 0
        said: Outcomes = (zero & self.tested)[place].astype(np.uint8)
        return said


def most_read_back(told: labels.Labels, tested: npt.NDArray[np.bool_], lured: npt.NDArray[np.bool_]) -> int:
    """Coefficients of which an owner can know whether they are zero: pairs that both asked about, match or not. (With a
    match it does not even know of which round's key.)
    """
    return int((tested & lured).sum()) if labels.is_match(told).any() else 0


def test_the_first_versions_labels_would_have_given_the_whole_key() -> None:
    """What the coordinator has, label and round of every pair, is what owners were told then."""
    agreement = robbed(budget={"most_yes": RECORDS})
    robbery = Robbery(agreement, 1, tested=RECORDS)
    robbery.lured[:] = False  # an honest victim that says no
    study = Study(agreement, random.Random(1), answering=robbery, records=RECORDS)
    study.to_the_end()
    kept = study.labels_now("anna", "berta")
    first = kept >> 1 != 1  # not agreed at once: the robber's answer was a yes
    assert (first == (robbery.keys["anna", 1][PER_PAIR] == 0)).all()


@pytest.mark.parametrize("tested", [5, 15, RECORDS])
def test_a_robber_reads_no_more_of_a_key_than_the_account_says(tested: int) -> None:
    agreement = robbed()
    robbery = Robbery(agreement, 2, tested)
    study = Study(agreement, random.Random(2), answering=robbery, records=RECORDS)
    study.to_the_end()
    told = study.truth("anna", "berta")
    learnt = most_read_back(told, robbery.tested, robbery.lured)
    allowed = key_bits(agreement.exposure, RECORDS, RECORDS)
    bears = PackedRules().zero_tests(agreement.terms())
    matches = int(labels.is_match(told).sum())
    print(f"{tested} tests a question: {matches} matches, at most {learnt} of {DEGREE} coefficients; account {allowed}")
    assert learnt <= allowed <= bears // 2
    assert not (told[~robbery.lured] & 1).any(), "what the victim denies is never told as a match"
    if tested == RECORDS:
        assert study.state.ended == "loose" and not matches, "people look before a third round"
    if tested == agreement.budget.most_yes:  # the best a robber can do: what was not a match is known not to be zero
        page = (Path(__file__).parents[2] / "docs" / "laboratory" / "attacks.md").read_text("utf-8")
        assert f"{learnt} of {DEGREE:,} coefficients of one round's key, {allowed:,} by the account" in page
        denied = robbery.tested & robbery.lured & ~labels.is_match(told)
        assert (robbery.keys["anna", 1][PER_PAIR][denied] != 0).all() and matches > 100


@pytest.mark.parametrize("release", ["none", "matches"])
def test_two_robbers_have_a_key_each_and_no_more_of_either(release: str) -> None:
    agreement = robbed(3, release=release)
    robbery = Robbery(agreement, 3, tested=5)
    study = Study(agreement, random.Random(3), answering=robbery, records=RECORDS)
    study.to_the_end()
    allowed = key_bits(agreement.exposure, RECORDS, RECORDS)
    for robber in ("anna", "clara"):
        learnt = most_read_back(study.truth(robber, "berta"), robbery.tested, robbery.lured)
        print(f"{robber}, release {release}: at most {learnt} coefficients of a key of its own; account {allowed}")
        assert learnt <= allowed
        assert (learnt > 0) == (release == "matches")
